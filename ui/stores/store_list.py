"""The list of stores, with the errors of damaged stores, and forms to create and to import a store."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag_core.errors import InvalidInput, RagError, StoreError
from rag_core.index.portable import SUFFIX
from rag_core.providers import LOCAL
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import freshness, plural, size, some
from ui.frame import hits, tasks
from ui.frame.deps import library
from ui.frame.links import STORES_PAGE
from ui.frame.messages import errors_wait, show_error, show_waiting, show_warning
from ui.frame.tasks import TaskReport
from ui.index.folders import path_text, typed_folder, typed_name
from ui.index.runs import is_active
from ui.search.results import offer_folder
from ui.stores.placement import choose, choose_shape, offer_attaching
from ui.stores.task_status import forget_results, is_at_work, library_name, show_tasks, tasks_of

_POLL_S: Final = 1.0


def show_stores(viewer: Viewer, error: RagError | None = None) -> None:
    """Draw ``error`` if there is one, then the list of stores, the forms to add a store, and the running
    tasks."""
    st.title("Stores", anchor=False)
    with st.container():
        if error is not None:
            show_error(error)
        show_waiting("stores")
        if lost := library().stores.lost_default(viewer):  # for example after a rename
            show_warning(lost)
    # These containers are always drawn. Otherwise the expanders would close when the list above them grows.
    with st.container():
        names = library().stores.names(viewer)
        if not names:
            st.html(hits.paragraphs("There is no store yet. A store holds what was read from your folders."))
            offer_folder("Choose a folder", "first_folder")
        polling = _at_work(viewer, names)
        st.fragment(_rows, run_every=_POLL_S if polling else None)(viewer, names, polling=polling)
    with st.expander("New store", icon=":material/add:"):
        _new_store(viewer)
    with st.expander("Import a store", icon=":material/upload_file:"):
        offer_import(viewer)
    with st.container():
        show_tasks(("import",), polling=is_at_work(("import",)))
    with st.expander("Attach a store", icon=":material/cloud_download:"):
        offer_attaching(viewer)
    with st.container():
        show_tasks(("attach",), polling=is_at_work(("attach",)))


def _at_work(viewer: Viewer, names: Sequence[str]) -> bool:
    active = False
    for name in names:
        with suppress(RagError):  # a damaged store shows its error in its row
            active = active or is_active(viewer, name)
    return active


def _rows(viewer: Viewer, names: Sequence[str], *, polling: bool) -> None:
    if polling and not _at_work(viewer, names):
        st.rerun()  # draw the whole page once more, without the timer
    for name in names:
        with st.container(border=True, gap="xsmall", key=f"stores_row_{name}"):
            _row(viewer, name)


def _row(viewer: Viewer, name: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.page_link(
            STORES_PAGE,
            label=f"**{hits.label(name)}**",
            icon=":material/database:",
            query_params={"store": name},
        )
        place = st.container()
    try:
        info = library().stores.info(viewer, name)
        now = freshness(library().jobs.freshness(viewer, [name]))
        guests = library().sharing.guests(viewer, name)
        shared = f"shared with {some(guests, 'guest')}" if guests else ""
        facts = (plural(info.file_count, "file"), size(info.size_bytes), now, shared)
        st.html(hits.paragraphs(" · ".join(filter(None, facts)) if info.sources else "empty"))
    except RagError as error:  # a damaged store must not hide the others
        place.badge("Damaged", icon=":material/error:", color="red")
        show_error(error)


def _new_store(viewer: Viewer) -> None:
    name = st.text_input("Name", key="stores_new_name", placeholder="notes", autocomplete="off")
    refused = st.container()  # nearly every error is about the box above it
    usual = library().settings
    more = st.expander(
        "More", expanded=usual.backend != LOCAL, key="stores_more", type="compact", on_change="rerun"
    )
    with more:
        placed = choose(viewer, "stores", usual.embedder, usual.backend)
        metric, dimension = choose_shape("stores", placed)
    if not st.button("Create store", key="stores_create", type="primary"):
        return
    try:
        made = library().stores.create(
            viewer,
            typed_name(name),
            placed.embedder,
            metric=metric,
            dimension=dimension,
            backend=placed.backend,
            sends_private=placed.sends_private,
        )
    except RagError as error:
        with refused:
            show_error(error)
    else:
        open_store(made)


def open_store(info: StoreInfo) -> None:
    """Go to the page of a store."""
    st.query_params["store"] = info.name
    st.rerun()


_PATH: Final = "stores_import_path"
_IMPORT_NAME: Final = "stores_import_name"
_UPLOAD: Final = "stores_import_upload"
_TAKEN_IN: Final = "stores_import_taken_in"
_IMPORT: Final = "stores_import"
_LONGEST_NAME: Final = 60
_MOST_EXPORTS: Final = 6


def offer_import(viewer: Viewer) -> None:
    """Draw the boxes and the button that import a file. `ui.stores.task_status` shows the progress."""
    state = st.session_state
    done = next((task for task in tasks_of(("import",)) if isinstance(task.result, StoreInfo)), None)
    # the boxes are emptied, because the name is taken now
    if done is not None and state.get(_TAKEN_IN) is not done:
        state[_TAKEN_IN] = done
        state[_PATH], state[_IMPORT_NAME] = "", ""
    with st.container(horizontal=True, gap="small"):
        for number, file in enumerate(sorted(exports().glob(f"*{SUFFIX}"))[:_MOST_EXPORTS]):
            st.button(
                hits.label(path_text(Path(file.name))),
                key=f"stores_import_{number}",
                icon=":material/save:",
                on_click=state.update,
                args=({_PATH: path_text(file)},),
            )
    st.text_input(
        "File on this computer",
        key=_PATH,
        placeholder=f"Type or paste a path, such as ~/notes{SUFFIX}",
        autocomplete="off",
    )
    st.file_uploader("Or drop it here", type=SUFFIX.removeprefix("."), key=_UPLOAD)
    st.text_input(
        "Name", key=_IMPORT_NAME, placeholder="Leave empty to keep the name it has", autocomplete="off"
    )
    st.button("Import", key="stores_import", type="primary", on_click=_start_import, args=(viewer,))
    show_waiting(_IMPORT)


def exports() -> Path:
    """Return the default folder for exports."""
    return library().settings.data_dir / "exports"


def _start_import(viewer: Viewer) -> None:
    own, name = library(), typed_name(st.session_state[_IMPORT_NAME])
    uploaded: UploadedFile | None = st.session_state[_UPLOAD]
    with errors_wait(_IMPORT):
        path = typed_folder(st.session_state[_PATH])
        if path is None and uploaded is None:
            raise InvalidInput("No file is named.", "Type the path of one, or drop it on the page.")
        dropped = uploaded.getvalue() if uploaded else b""
        called = hits.in_one_line((path or Path(uploaded.name if uploaded else "")).name)[-_LONGEST_NAME:]

        def act(report: TaskReport) -> StoreInfo:
            if path is not None:
                return own.stores.import_file(viewer, path, name, report)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / called
                try:
                    file.write_bytes(dropped)
                except OSError as error:
                    raise StoreError(
                        f"The dropped file cannot be saved: {error.strerror}.",
                        "Type the path of the file instead.",
                    ) from error
                return own.stores.import_file(viewer, file, name, report)

        forget_results(("import",))
        tasks.start_task(library_name(), "import", called, act)
