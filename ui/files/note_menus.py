"""The two menus of a document's page: one opens the document elsewhere, the other offers actions."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import streamlit as st

from rag_core.library.originals import IN_OWN_PROGRAM
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.types import OWNER, Document, DocumentView, Neighbour, Viewer
from ui.files.file_actions import show_actions
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.links import FILES_PAGE, document_parameters, in_vault, obsidian, vscode
from ui.frame.messages import errors_wait, say_later
from ui.frame.search_state import searched
from ui.index.runs import INDEX_PLACE
from ui.reader.missing_file import OF, WHY


def show_menus(
    viewer: Viewer, view: DocumentView, marked: Neighbour | None, search: str, *, shows_source: bool
) -> None:
    """Draw the menu *Open* for the owner, who has the files, and the menu *More* for every viewer.

    Args:
        viewer: Who sees the page.
        view: The document.
        marked: The passage that the page marks; None without one.
        search: The search that led here, as a query string; '' without one.
        shows_source: Whether a note is shown as its Markdown source.

    """
    file = view.document
    if viewer.is_owner and file.absolute_path:
        with st.popover("Open", icon=":material/open_in_new:", type="tertiary"):
            _show_programs(viewer, file, marked)
    with st.popover("More", icon=":material/more_horiz:", type="tertiary", key="note_more"):
        _show_rest(viewer, file, marked, search, shows_source=shows_source)


def _show_programs(viewer: Viewer, file: Document, marked: Neighbour | None) -> None:
    line = marked.start_line if marked and marked.anchor is None else None
    whole = file.absolute_path
    if in_vault(whole):
        st.link_button("Obsidian", obsidian(whole), icon=":material/diamond:", type="tertiary")
    if file.file_type not in IN_OWN_PROGRAM:
        st.link_button("VS Code", vscode(whole, line), icon=":material/code:", type="tertiary")
    elif viewer == OWNER:
        st.button(
            "Default program",
            icon=":material/open_in_new:",
            type="tertiary",
            key="note_program",
            on_click=_open,
            args=(library().originals.open_file, viewer, file.store, file.path),
        )
    if viewer == OWNER:  # another owner may be at another computer than the files
        st.button(
            "Show in folder",
            icon=":material/folder_open:",
            type="tertiary",
            key="note_folder",
            on_click=_open,
            args=(library().originals.open_folder, viewer, file.store, file.path),
        )
    with st.container(key="copy_path"):
        st.code(hits.in_one_line(f"{whole}:{line}" if line else whole), language=None)


def _open(act: Callable[[Viewer, str, str], None], viewer: Viewer, store: str, path: str) -> None:
    with errors_wait(INDEX_PLACE):
        act(viewer, store, path)


def _show_rest(
    viewer: Viewer, file: Document, marked: Neighbour | None, search: str, *, shows_source: bool
) -> None:
    here = document_parameters(file.store, file.path, marked.key if marked else "", search=search)
    if base := st.context.url:
        with st.container(key="copy_link"):
            st.code(
                f"{base}?{urlencode(document_parameters(file.store, file.path, here.get('passage', '')))}",
                language=None,
            )
    if file.file_type == "markdown" or file.file_type in LIGHT_MARKUP:
        st.page_link(
            FILES_PAGE,
            label="As it looks" if shows_source else "Show source",
            icon=":material/article:",
            query_params=here if shows_source else here | {"source": "1"},
        )
    if viewer.is_owner:
        query = searched(search).get("q", [""])[-1].strip()
        st.page_link(
            FILES_PAGE,
            label="Why is it found?" if file.chunks else "Why is it not found?",
            icon=":material/help:",
            query_params={"store": file.store, WHY: query or "1", OF: file.path},
        )
        if query:
            st.button(
                "Mark as right for this search",
                icon=":material/check_circle:",
                key="note_right",
                help="`commonplace eval` measures how well searches find the right answers.",
                on_click=_mark,
                args=(viewer, query, file.path),
            )
        show_actions(viewer, file)


def _mark(viewer: Viewer, query: str, path: str) -> None:
    with errors_wait(INDEX_PLACE):
        library().evaluating.mark(viewer, query, path)
        say_later(INDEX_PLACE, f"{path!r} is marked as a right answer for {query!r}.")
