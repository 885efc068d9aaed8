"""Choosing a folder of this computer: a box to type or paste a path, and a picker to click through.

A typed folder may be anywhere that the owner can read. The picker stays inside the setting `roots`, including
links.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.config import Settings, load
from rag_core.errors import InvalidInput
from rag_core.files import Offered, contained, display, list_folders
from rag_core.types import Viewer
from ui.frame import components
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import show_error

FOLDER_BOX: Final = "index_folder"
PICKER: Final = "index_picker_at"
_PICKED: Final = "index_folder_picked"
_MOST: Final = 200
_MANY: Final = 15
_MOST_OFFERED: Final = 6


def choose_folder(viewer: Viewer) -> Path | None:
    """Draw the box for the folder to index, and return the folder; None if the box is empty. Raises
    InvalidInput if the path is not a folder."""
    offer_folders(viewer)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(
            "Folder",
            key=FOLDER_BOX,
            placeholder="Path of a folder, such as ~/notes",
            persist_state="session",
            autocomplete="off",
        )
        st.button("Browse", key="index_browse", icon=":material/folder_open:", on_click=open_picker)
    if PICKER in st.session_state:
        _picker()
    folder = _folder(typed)
    if folder is not None and not os.path.isdir(folder):  # noqa: PTH112  (Path.is_dir raises without permission)
        raise InvalidInput(
            f"There is no folder {path_text(folder)!r}.", "Check the spelling, or mount its disk."
        )
    return folder


_KINDS: Final = {
    "vault": (":material/book_2:", "Obsidian vault"),
    "documents": (":material/description:", ""),
    "code": (":material/code:", "code"),
}
_OFFERED_S: Final = 60


def offer_folders(viewer: Viewer) -> None:
    """Draw buttons for at most six folders that probably hold notes, documents or code. A button puts its
    folder into the box."""
    offered = _offered(load(), viewer, library().stores.generations(viewer))[:_MOST_OFFERED]
    with st.container(horizontal=True, gap="small", key="index_offered"):
        for number, folder in enumerate(offered):
            icon, kind = _KINDS[folder.kind]
            st.button(
                f"**{label(path_text(folder.path.relative_to(folder.path.parent)))}** {kind}",
                key=f"index_offered_{number}",
                icon=icon,
                on_click=_take,
                args=(folder.path,),
                help=label(path_text(folder.path)),
            )


@st.cache_data(max_entries=8, ttl=_OFFERED_S, show_spinner=False)
def _offered(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    generations: tuple[tuple[str, int], ...],  # noqa: ARG001 - part of the key
) -> list[Offered]:
    return library().sources.offered(viewer)


def _take(path: Path) -> None:
    st.session_state[_PICKED] = path
    st.session_state[FOLDER_BOX] = path_text(path)


def folder_in_box() -> Path | None:
    """Return the folder in the box now; None if the box is empty. Callbacks call this. Raises InvalidInput
    for a path that is relative or whose home folder is unknown."""
    return _folder(st.session_state.get(FOLDER_BOX, ""))


def clear_folder() -> None:
    """Empty the box. Only callbacks may call this, before the box is drawn."""
    st.session_state[FOLDER_BOX] = ""
    st.session_state.pop(_PICKED, None)


def path_text(path: Path) -> str:
    r"""Return a path as text for people. Control characters are shown like ``\n``, and bytes that are no text
    like ``\xff``. The text is not escaped for Markdown or HTML."""
    return display(os.fsencode(path))


def _folder(typed: str) -> Path | None:
    picked: Path | None = st.session_state.get(_PICKED)
    if picked is not None and typed == path_text(picked):  # the shown text may differ from the real name
        return picked
    return typed_folder(typed)


def typed_folder(typed: str) -> Path | None:
    """Return a typed or pasted path without quotes around it and with ``~`` replaced; None if it is empty.
    Raises InvalidInput if it is relative or its home folder is unknown."""
    text = typed.strip().strip("'\"")
    if not text:
        return None
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise InvalidInput(f"The home folder in {text!r} is unknown.", "Type the whole path.") from None
    if not path.is_absolute() or "\0" in text:
        raise InvalidInput(f"{text!r} is not a whole path.", "Start with / or ~, as in '~/notes'.")
    return path


def typed_name(typed: str) -> str:
    """Return the typed name of a store, with hyphens instead of spaces."""
    return "-".join(typed.split())


def _roots() -> list[Path]:
    """Return the folders where the picker starts: those of the setting, else the home folder and the whole
    disk."""
    settings = library().settings
    disk = [Path(Path.home().anchor)] if settings.origin("roots").layer == "default" else []
    return [*(root.resolve() for root in settings.roots), *disk]


# The picker is open as long as PICKER is in the session. None there means the list of all roots.


def open_picker() -> None:
    """Callback: open the folder picker on the Index page, at the typed folder if there is one."""
    roots = _roots()
    place = roots[0]
    with suppress(InvalidInput):
        typed = _folder(st.session_state.get(FOLDER_BOX, ""))
        if typed:
            list_folders(typed, roots)  # raises for a folder that cannot be opened
            place = contained(typed, roots)
    st.session_state[PICKER] = place


def _use(path: Path) -> None:
    _take(path)
    del st.session_state[PICKER]


@st.dialog("Choose a folder", width="medium", on_dismiss=lambda: st.session_state.pop(PICKER, None))
def _picker() -> None:
    if PICKER not in st.session_state:
        st.rerun()
    place: Path | None = st.session_state[PICKER]
    roots = _roots()
    root = next((candidate for candidate in roots if place and place.is_relative_to(candidate)), None)
    folders: Sequence[Path] = roots
    if place is not None:
        way = [*reversed([parent for parent in place.parents if root and parent.is_relative_to(root)]), place]
        with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
            if len(roots) > 1:
                _go_button("All folders", "all", None, "")
            for crumb in way:
                name = _name(crumb, roots)
                icon = ":material/chevron_right:" if crumb != way[0] or len(roots) > 1 else ""
                _go_button(f"**{name}**" if crumb == place else name, "crumb", crumb, icon)
        try:
            folders = list_folders(place, roots)
        except InvalidInput as error:
            show_error(error)
            folders = ()
    _folder_list(place, folders)
    if place is not None:
        st.button(
            f"Use this folder: **{_name(place, roots)}**",
            key=_key("use", place),
            type="primary",
            on_click=_use,
            args=(place,),
        )
    first = (
        f"{_key('narrow', place)} input",
        f"{_key('list', place)} button",
        f"{_key('use', place)} button",
    )
    components.draw("focus", _key("focus", place), ", ".join(f".st-key-{element}" for element in first))


def _go_button(name: str, what: str, path: Path | None, icon: str) -> None:
    st.button(
        name,
        key=_key(what, path),
        icon=icon or None,
        type="tertiary",
        on_click=st.session_state.update,
        args=({PICKER: path},),
    )


def _folder_list(place: Path | None, folders: Sequence[Path]) -> None:
    wanted = ""
    if len(folders) > _MANY:
        wanted = st.text_input(
            "Narrow the list",
            key=_key("narrow", place),
            placeholder="Part of a name",
            live=True,
            autocomplete="off",
        )
    matching = [f for f in folders if wanted.casefold() in path_text(Path(f.name)).casefold()]
    # Each place has its own key, so that its list begins at its top.
    with st.container(height=320, border=True, gap="xxsmall", key=_key("list", place)):
        for folder in matching[:_MOST]:
            name = label(path_text(folder if place is None else Path(folder.name)))
            _go_button(name, "open", folder, ":material/folder:")
        if not matching:
            st.caption("No folder inside.")
        elif len(matching) > _MOST:
            st.caption(f"{len(matching) - _MOST:,} more: narrow the list.")


def _name(crumb: Path, roots: Sequence[Path]) -> str:
    if crumb == Path.home().resolve():
        return "Home"
    return label(path_text(crumb if crumb in roots else Path(crumb.name)))


def _key(what: str, path: Path | None) -> str:
    """Return a widget key for a path, whatever bytes are in its name."""
    return f"index_{what}_{hashlib.sha256(os.fsencode(path or '')).hexdigest()[:16]}"
