"""Taking in a store that was exported: from a path on this computer, or dropped on the page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag_core.errors import InvalidInput, RagError, StoreError
from rag_core.library import Library
from rag_core.library.portable import SUFFIX
from rag_core.types import StoreInfo, Viewer
from ui import hits, tasks
from ui.deps import library
from ui.folders import shown, typed_folder
from ui.messages import show_error
from ui.task_status import forget, found, library_name
from ui.tasks import Report

_PATH: Final = "stores_import_path"
_NAME: Final = "stores_import_name"
_EXPORTED: Final = "stores_import_exported"
_UPLOAD: Final = "stores_import_upload"
_TAKEN_IN: Final = "stores_import_taken_in"
_ERROR: Final = "stores_import_error"
_LONGEST_NAME: Final = 60


def offer_import(viewer: Viewer) -> None:
    """The boxes and the button; what is under way is shown by `ui.task_status`."""
    _clear_when_taken_in()
    st.html(
        hits.paragraphs(
            f"A store that was exported is one file that ends in {SUFFIX}. It is checked before it is taken"
            " in, and its folders that are not on this computer are paused."
        )
    )
    if exported := _exported():
        st.selectbox(
            "Exported before", exported, None, key=_EXPORTED, on_change=_fill_in,
            placeholder=f"Choose a file of {shown(exports())}",
        )  # fmt: skip
    st.text_input(
        "File on this computer", key=_PATH, placeholder=f"Type or paste a path, such as ~/notes{SUFFIX}",
        autocomplete="off",
    )  # fmt: skip
    st.file_uploader(
        "Or drop it here (a larger one: give its path above)", type=SUFFIX.removeprefix("."), key=_UPLOAD
    )
    st.text_input("Name", key=_NAME, placeholder="Leave empty to keep the name it has", autocomplete="off")
    st.button("Import", key="stores_import", type="primary", on_click=_start, args=(viewer,))
    if error := st.session_state.pop(_ERROR, None):
        show_error(error)


def exports() -> Path:
    """Where exports go, if nothing else is said."""
    return library().settings.data_dir / "exports"


def _exported() -> list[str]:
    """The names of the files there, the newest first."""
    with suppress(OSError), os.scandir(exports()) as there:
        files = [(file.stat().st_mtime, file.name) for file in there if file.name.endswith(SUFFIX)]
        return [name for _, name in sorted(files, reverse=True)]
    return []  # there is no such folder yet


def _fill_in() -> None:
    if name := st.session_state[_EXPORTED]:
        st.session_state[_PATH] = shown(exports() / name)


def _start(viewer: Viewer) -> None:
    name, uploaded = st.session_state[_NAME].strip(), st.session_state[_UPLOAD]
    own = library()
    try:
        path = typed_folder(st.session_state[_PATH])
        if path is None and uploaded is None:
            raise InvalidInput("No file is named.", "Type the path of one, or drop it on the page.")
        if path is not None:
            _begin(shown(Path(path.name)), lambda report: own.stores.take_in(viewer, path, name, report))
        else:
            _begin(uploaded.name, _from_upload(own, viewer, uploaded, name))
    except RagError as error:
        st.session_state[_ERROR] = error


def _clear_when_taken_in() -> None:
    """What was typed stays until it has led to a store: a name may be refused."""
    done = next((task for task in found(("import",)) if isinstance(task.result, StoreInfo)), None)
    if done is not None and st.session_state.get(_TAKEN_IN) is not done:
        st.session_state[_TAKEN_IN] = done
        st.session_state[_PATH] = st.session_state[_NAME] = ""
        st.session_state[_EXPORTED] = None


def _begin(file: str, act: Callable[[Report], StoreInfo]) -> None:
    forget(("import",))
    tasks.start(library_name(), "import", file, act)


def _from_upload(
    own: Library, viewer: Viewer, uploaded: UploadedFile, name: str
) -> Callable[[Report], StoreInfo]:
    data = uploaded.getvalue()
    called = hits.one_line(Path(uploaded.name).name)[-_LONGEST_NAME:]

    def act(report: Report) -> StoreInfo:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / (called if called.endswith(SUFFIX) else f"upload{SUFFIX}")
            try:
                file.write_bytes(data)
            except OSError as error:
                raise StoreError(
                    f"What was dropped cannot be kept: {error.strerror}.",
                    "Type the path of the file instead.",
                ) from error
            return own.stores.take_in(viewer, file, name, report)

    return act
