"""One document: what is known of it, what can be done with it, its links, and its text."""

from __future__ import annotations

from contextlib import suppress
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from rag_core.errors import NotFound, RagError
from rag_core.search.query import parse
from rag_core.types import DocumentView, Viewer
from ui import hits, passages
from ui.deps import library
from ui.file_actions import runs_now, show_actions, show_file_outcome, show_run
from ui.links import FILES_PAGE, SEARCH_PAGE
from ui.messages import show_warning
from ui.passages import Origin
from ui.search_state import Params, last_search, searched

PAGE: Final = 200
"""So many passages are shown at once."""
_NOT_YET: Final = "The file is not in the store, or not yet."
_CHANGED: Final = "The passage that the link leads to is no longer in the document: it was changed."


def show_document(
    viewer: Viewer, store: str, path: str, passage: str = "", first: int = 0, search: str = ""
) -> None:
    """The page of ``path``, with ``passage`` marked or from passage number ``first`` on. ``search`` holds the
    parameters of the search that led here. Raises NotFound if the viewer has no such file."""
    before = searched(search)
    with st.container(horizontal=True, gap="small"):
        if back := before or last_search():
            arrow = ":material/arrow_back:"
            st.page_link(SEARCH_PAGE, label="Back to the results", icon=arrow, query_params=back)
        st.page_link(FILES_PAGE, label="All files", icon=":material/folder:", query_params={"store": store})
    active = runs_now(viewer, store)
    try:
        view = library().documents.get(viewer, store, path, passage)
    except NotFound:
        st.title(hits.label(passages.file_name(path)), anchor=False)
        if not active:
            raise
        st.html(hits.paragraphs(_NOT_YET))  # it may be one that was taken back just now
        show_run(viewer, store)
        return
    file, marked = view.document, next((chunk for chunk in view.chunks if chunk.is_hit), None)
    st.title(hits.label(file.title or passages.file_name(path)), anchor=False)
    place = file.absolute_path or file.path
    with st.container(key="place_document"):  # to be copied with one click
        line = f":{marked.start_line}" if marked and marked.anchor is None else ""
        st.code(hits.one_line(place + line), language=None)
    show_file_outcome(viewer, store, active=active)
    if active:
        show_run(viewer, store)
    st.html(passages.facts(view))
    if view.warnings:
        show_warning(*view.warnings)
    if viewer.is_owner:
        with st.container(horizontal=True):
            show_actions(viewer, file)
    _show_text(view, before, first, _CHANGED if passage and marked is None else "")


def _show_text(view: DocumentView, search: Params, first: int, note: str) -> None:
    query = None
    with suppress(KeyError, RagError):  # nothing was typed, or what no search takes
        query = parse(search["q"][-1])
    origin = Origin(urlencode(search, doseq=True), query)
    start, end = window(view, first)
    turning = passages.turning(view, start, end, PAGE, origin)
    parts = [passages.links(view, origin), hits.paragraphs(note) if note else "", turning]
    if view.chunks:
        parts += [passages.text(view, start, end, origin), turning]
    for part in filter(None, parts):
        st.html(part)


def window(view: DocumentView, first: int) -> tuple[int, int]:
    """Which passages to show: from number ``first`` (counted from 1) on, else those around the mark."""
    total = len(view.chunks)
    marked = next((number for number, chunk in enumerate(view.chunks) if chunk.is_hit), None)
    if 1 <= first <= total:
        start = first - 1
    else:
        start = 0 if marked is None else max(0, min(marked - PAGE // 2, total - PAGE))
    return start, min(total, start + PAGE)
