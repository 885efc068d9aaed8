"""One document to read: its text, rendered by type, with the found passage marked. Its links are next to it,
and two menus offer actions."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import streamlit as st

from rag_core.errors import NotFound, RagError
from rag_core.search.query import parse
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.types import Document, DocumentView, Similar, Viewer
from rag_core.wording import unread
from ui.files.file_actions import is_asked_for, runs_now, show_file_outcome, show_run
from ui.files.file_filters import last_list
from ui.files.note_menus import show_menus
from ui.frame import components, hits
from ui.frame.deps import library
from ui.frame.links import ASK_PAGE, CONVERSATION, FILES_PAGE, SEARCH_PAGE
from ui.frame.messages import show_warning
from ui.frame.search_state import last_search, searched
from ui.reader import passages
from ui.reader.code_view import TYPES
from ui.reader.passages import SearchOrigin
from ui.reader.rendered import NotePlace, Rendered, note_html, render_code, written_note

PAGE: Final = 200
"""Maximum number of passages shown at once if a text is not shown in full."""
MOST_RENDERED: Final = 400_000
"""Maximum characters of a text that is shown in full."""
_SLOW: Final = 40_000
"""Maximum characters of a note that is rendered at once, in 40 ms. A longer note is shown as plain text
meanwhile."""
_SIMILAR: Final = 6
_NOT_YET: Final = "The file is not in the store, or not yet."
_CHANGED: Final = "The passage that the link leads to is no longer in the document, which was changed."


@dataclass(frozen=True, slots=True)
class DocumentAddress:
    """The parameters in the address of a document's page: the document, the passage or heading to mark, the
    number of the first passage shown, the search that led here, and whether to show the source."""

    store: str
    path: str
    passage: str = ""
    heading: str = ""
    first: int = 0
    search: str = ""
    source: bool = False


def show_document(viewer: Viewer, asked: DocumentAddress) -> None:
    """Draw the page of a document. Raises NotFound if the store has no such file for this viewer. While the
    store is being indexed, a sentence says so instead."""
    components.draw("reader", "reader")
    before = searched(asked.search)
    active = runs_now(viewer, asked.store)
    try:
        view = library().documents.get(viewer, asked.store, asked.path, asked.passage)
    except NotFound:
        _show_way_back(asked.store, before or last_search())
        st.title(hits.label(passages.file_name(asked.path)), anchor=False)
        if not active:
            raise
        st.html(hits.paragraphs(_NOT_YET))  # the file may have been included again a moment ago
        show_run(viewer, asked.store)
        return
    file, marked = view.document, next((chunk for chunk in view.chunks if chunk.is_hit), None)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="note_bar"):
        _show_way_back(asked.store, before or last_search())
        st.html(passages.breadcrumb(file))
        show_menus(viewer, view, marked, asked.search, shows_source=asked.source)
    show_file_outcome(viewer, asked.store, active=active)
    if active and is_asked_for(asked.store, asked.path):
        show_run(viewer, asked.store)
    text, side = st.columns([3, 1], gap="large")
    with text:
        st.title(hits.label(file.title or passages.file_name(file.path)), anchor=False)
        st.html(passages.facts_line(view))
        if view.warnings:
            show_warning(*view.warnings)
        if asked.passage and marked is None and not unread(file):
            st.html(hits.paragraphs(_CHANGED))
        origin = _origin(before)
        rendered = _show_text(viewer, view, asked, origin)
    with side:
        st.html(passages.beside(view, rendered.headings if rendered else (), origin))
        place = st.empty()
        st.html(passages.details(view))
        with suppress(RagError):  # reading works even if the vector index does not answer
            if near := _similar(viewer, file):
                place.html(passages.similar(near, origin))


def _similar(viewer: Viewer, file: Document) -> list[Similar]:
    """Return documents with similar text that are not linked with this document."""
    near = library().searching.similar(viewer, file.store, file.address, limit=_SIMILAR)
    return [document for document in near if document.relevant and not document.is_linked]


def _show_way_back(store: str, search: dict[str, list[str]] | None) -> None:
    back = ":material/arrow_back:"
    if conversation := st.query_params.get(CONVERSATION, ""):
        answer = {CONVERSATION: conversation}
        st.page_link(ASK_PAGE, label="Answer", icon=back, query_params=answer, help="Back to the answer")
    elif search:
        st.page_link(SEARCH_PAGE, label="Results", icon=back, query_params=search, help="Back to the results")
    else:
        st.page_link(
            FILES_PAGE,
            label="Files",
            icon=back,
            query_params=last_list(store),
            help="Back to the list of files",
        )


def _origin(search: dict[str, list[str]]) -> SearchOrigin:
    query = None
    with suppress(KeyError, RagError):  # nothing was typed, or what no search takes
        query = parse(search["q"][-1])
    return SearchOrigin(urlencode(search, doseq=True), query)


def _show_text(
    viewer: Viewer, view: DocumentView, asked: DocumentAddress, origin: SearchOrigin
) -> Rendered | None:
    """Draw the text in the way that suits its type. Return a rendered note with its headings; None for other
    types."""
    file = view.document
    marked = next((chunk for chunk in view.chunks if chunk.is_hit), None)
    lines = (marked.start_line, marked.end_line) if marked else None
    has_lines = bool(view.chunks) and all(chunk.anchor is None for chunk in view.chunks)
    as_source = asked.source and file.file_type in LIGHT_MARKUP
    if has_lines and (file.file_type == "markdown" or file.file_type in TYPES or as_source):
        text = _text(viewer, file.store, file.address, library().stores.generations(viewer, [file.store]))
        if len(text) <= MOST_RENDERED:
            leads = {link.target: link.path for link in view.links_out if link.path is not None}
            place = NotePlace(
                file.store,
                file.path,
                view.chunks[0].start_line,
                leads,
                origin.search,
                origin.query,
                lines,
                asked.heading,
            )
            if file.file_type == "markdown" and not asked.source:
                return _show_note(text, place, file.title)
            st.html(_render_code(text, file.file_type, place))
            return None
    if view.chunks:
        _show_passages(view, asked.first, origin)
    return None


def _show_passages(view: DocumentView, first: int, origin: SearchOrigin) -> None:
    """Draw one page of passages, between links to the pages before and after it."""
    start, end = window(view, first)
    turning = passages.turning(view, start, end, PAGE, origin)
    for part in (turning, passages.text(view, start, end, origin), turning):
        if part:
            st.html(part)


def _show_note(text: str, place: NotePlace, title: str) -> Rendered:
    body = st.empty()
    if len(text) > _SLOW:
        body.html(written_note(text, place, _SLOW // 4))
    rendered = _render(text, place, title)
    body.html(rendered.html)
    return rendered


@st.cache_data(max_entries=64, show_spinner=False)
def _text(viewer: Viewer, store: str, path: str, generations: tuple[tuple[str, int], ...]) -> str:  # noqa: ARG001
    return library().originals.text(viewer, store, path)


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs={NotePlace: repr})
def _render_code(text: str, language: str, place: NotePlace) -> str:
    return render_code(text, language, place)


@st.cache_data(max_entries=64, show_spinner=False, hash_funcs={NotePlace: repr})
def _render(text: str, place: NotePlace, title: str) -> Rendered:
    return note_html(text, place, title)


def window(view: DocumentView, first: int) -> tuple[int, int]:
    """Return the first index and the last (excluded) of the passages to show. They start at passage number
    ``first`` (from 1). For 0 they surround the marked passage, or are the first ones."""
    total = len(view.chunks)
    marked = next((number for number, chunk in enumerate(view.chunks) if chunk.is_hit), None)
    if 1 <= first <= total:
        start = first - 1
    else:
        start = 0 if marked is None else max(0, min(marked - PAGE // 2, total - PAGE))
    return start, min(total, start + PAGE)
