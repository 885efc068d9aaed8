"""The answer of a search: cards or a table, near misses, and what to say where there is nothing."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlencode
from zlib import crc32

import streamlit as st

from rag_core.api.encoding import place
from rag_core.errors import NotFound
from rag_core.hits import facts
from rag_core.messages import say
from rag_core.types import MAX_DEPTH, Answer, Hit, Viewer
from rag_core.wording import NOTHING_FITS, found, freshness, plural, since_last_run, unshown
from ui import deps, downloads, hits, visit
from ui.access import require_viewer
from ui.deps import library, store_infos
from ui.folders import open_picker
from ui.links import FILES_PAGE, INDEX_PAGE, address
from ui.messages import sentence
from ui.missing_file import WHY
from ui.search_state import SEARCH, Request, to_params, usual

_OPENED: Final = "search_opened"
_HOW: Final = (
    "Open shows a passage in its document. Tick its row to read it here; with the keyboard, go to the row and"
    " press Shift and Space: the passage follows the table."
)
EXAMPLES: Final = (
    ("moving house checklist", "words, in any form and by meaning"),
    ('"exact phrase"', "only passages that hold exactly this"),
    ("tea -green", "without a word"),
    ("type:markdown", "one type of file"),
    ("tag:recipe", "one tag, and the tags below it"),
    ("tag:recipe tag:winter", "either of two tags; so with every key"),
    ("path:projects/garden", "one folder and what is in it; with * a pattern"),
    ("after:2026-01 before:2026-07", "from a day, month or year on; before one"),
    ("store:work", "one store"),
)


def show(viewer: Viewer, request: Request) -> None:
    """Search, and show what was found."""
    loading = request.mode != "lexical" and deps.meaning_is_loading(viewer)
    answer = deps.search(viewer, request, "lexical" if loading else request.mode)
    _headline(answer, loading=loading)
    if loading:

        @st.fragment(run_every=0.5)
        def again_when_loaded() -> None:
            if not deps.meaning_is_loading(require_viewer()):
                st.rerun()

        again_when_loaded()
    with visit.from_the_top("results", request.page):
        _passages(answer, request)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        show_paging(answer, request)
        if answer.hits:
            downloads.show(answer, viewer)


def _passages(answer: Answer, request: Request) -> None:
    if not answer.hits and not answer.offset:
        st.html(hits.paragraphs(*loosen(request)))
    elif answer.convincing or answer.offset:
        _list(answer, request)
    else:
        has_words = answer.hits[0].bm25 is not None
        with st.expander("The nearest passages", expanded=has_words, key=f"near_{table_key(request)}"):
            _list(answer, request)
    if not answer.offset and not answer.convincing:
        show_newer_files(require_viewer(), answer)


def _list(answer: Answer, request: Request) -> None:
    if answer.hits and request.view == "table":
        _table(answer, request)
    else:
        _cards(answer, written(request))


def written(request: Request) -> str:
    """A search as it stands in the page's address, for the links to what it found."""
    return urlencode(to_params(request, usual()), doseq=True)


def _headline(answer: Answer, *, loading: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        fits = answer.convincing or not answer.hits or answer.offset
        viewer = require_viewer()
        behind = freshness(library().jobs.freshness(viewer, answer.stores)) if viewer.is_owner else ""
        said = found(answer) if fits else NOTHING_FITS
        st.html(hits.paragraphs(said, behind, status=True), width="stretch")
        st.segmented_control(
            "Show as", ["cards", "table"], key=SEARCH.key("view"), on_change=SEARCH.push,
            format_func=str.capitalize, required=True, label_visibility="collapsed",
        )  # fmt: skip
    notes = [sentence(notice) for notice in answer.notices]
    if loading:
        notes.append("The meaning index is loading; these are the passages found by words.")
    if answer.pending:
        notes.append(sentence(say("pending_guest", count=answer.pending)))
    if notes:
        st.html(hits.sentences(*notes))


def _cards(answer: Answer, search: str) -> None:
    good = [hit for hit in answer.hits if hit.relevant]
    near = [hit for hit in answer.hits if not hit.relevant]
    for hit in [*good, *near]:
        if near and hit is near[0] and (good or answer.offset):
            st.html(hits.divider("Near misses"))
        _card(hit, len(answer.stores) > 1, search)


@st.fragment
def _card(hit: Hit, with_store: bool, search: str) -> None:
    """One hit. Opening it runs this fragment alone, and only then reads the whole passage."""
    with st.container(border=True, gap="xsmall"):
        st.html(hits.card(hit, with_store=with_store, search=search))
        _place(hit, search)
        opened = st.expander(
            "Whole passage", type="compact", key=f"open_{hit.store}_{hit.key}", on_change="rerun"
        )
        if opened.open:
            with opened:
                _details(hit)


def _details(hit: Hit) -> None:
    viewer = require_viewer()
    try:
        beside = deps.library().documents.neighbours(viewer, hit.store, hit.key)
    except NotFound as gone:
        st.html(hits.paragraphs(sentence(gone.as_message())))
        return
    st.html(hits.details(hit, beside))


def _place(hit: Hit, search: str) -> None:
    """Where the passage is, to be copied with one click for an editor, and the way to its document."""
    with st.container(
        key=f"place_card_{hit.rank}", horizontal=True, vertical_alignment="center", gap="small"
    ):
        st.code(hits.one_line(place(hit)), language=None, width="content")
        st.page_link(
            FILES_PAGE, label="Open document", icon=":material/description:",
            query_params=address(hit.store, hit.document.path, hit.key, search=search),
        )  # fmt: skip


def table_key(request: Request) -> str:
    """The session key of the table: another one for every search, so that no selection outlives it."""
    return f"hits_{crc32(repr(sorted(to_params(request).items())).encode()):08x}"


def _table(answer: Answer, request: Request) -> None:
    table, search = table_key(request), written(request)

    def open_row() -> None:
        """Have the page go to the document of a row, when it is drawn."""
        hit = answer.hits[st.session_state[f"{table}_open"]["row"]]
        st.session_state[_OPENED] = address(hit.store, hit.document.path, hit.key, search=search)

    opens = st.column_config.ButtonColumn(
        "Open", width=75, pinned=True, type="tertiary", key=f"{table}_open", on_click=open_row
    )
    st.html(hits.paragraphs(_HOW))
    with st.container(key="found_table"):
        state = st.dataframe(
            {"Open": [":material/description: Open"] * len(answer.hits), **_columns(answer)},
            key=table,
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            column_config={"Open": opens, **_COLUMNS},
            alt="The passages found, best first. Choose a row to read its passage below.",
        )
    rows = state["selection"]["rows"]
    if rows and rows[0] < len(answer.hits):
        hit = answer.hits[rows[0]]
        with st.container(border=True):
            st.html(hits.card(hit, with_store=len(answer.stores) > 1, search=search))
            _place(hit, search)
            _details(hit)


def follow_row() -> None:
    """Go to the document whose row was opened, if one was: a callback cannot leave its page."""
    if opened := st.session_state.pop(_OPENED, None):
        st.switch_page(FILES_PAGE, query_params=opened)


def _columns(answer: Answer) -> dict[str, list[object]]:
    found = answer.hits
    columns: dict[str, list[object]] = {
        "#": [hit.rank for hit in found],
        "Score": [round(hit.score, 2) for hit in found],
        "Fit": ["fits" if hit.relevant else "near miss" for hit in found],
        "Title": [hits.one_line(hit.document.title) for hit in found],
        "Place": [hits.place(hit) for hit in found],
        "Passage": [hits.extract(hit) for hit in found],
    }
    told = [facts(hit, "table") for hit in found]
    for label in told[0] if told else ():
        if any(row[label] for row in told):
            columns[label] = [hits.one_line(row[label]) for row in told]
    if len(answer.stores) == 1:
        columns.pop("Store", None)
    if len({*columns["Fit"]}) == 1:  # which is said above the table
        del columns["Fit"]
    return columns


def first_run(viewer: Viewer) -> None:
    """The whole page, where there is no store that the viewer may see."""
    st.set_page_config(layout="centered")
    st.title("Nothing to search yet", anchor=False)
    if not viewer.is_owner:
        st.html(hits.paragraphs("No store is shared with you yet. Ask the owner of this library."))
        return
    st.html(hits.paragraphs(
        "Choose a folder. Markdown, plain text, HTML, code, and data such as JSON and CSV are read; PDF"
        " and Word are not yet. Commonplace never changes a file, and everything stays on this computer."
    ))  # fmt: skip
    offer_folder("Choose a folder", "first_folder")


def offer_folder(name: str, key: str, store: str = "") -> None:
    """The button with which everything begins: the picker of the Index page."""
    if st.button(name, key=key, type="primary", icon=":material/folder_open:", on_click=open_picker):
        st.switch_page(INDEX_PAGE, query_params={"store": store} if store else None)


def nothing_indexed(viewer: Viewer) -> None:
    """There are stores, but no document in them."""
    st.html(hits.paragraphs("There is no document to search yet."))
    if viewer.is_owner:
        with st.container(key="first_step"):  # it looks like a button
            st.page_link(INDEX_PAGE, label="**Choose or read a folder**", icon=":material/folder_open:")


def start(viewer: Viewer) -> None:
    """Nothing was typed: what can be typed, and in what it would be looked for."""
    st.html(hits.examples(EXAMPLES))
    sizes = (
        f"{info.name}: {plural(info.chunk_count, 'passage')} in {plural(info.file_count, 'file')}"
        for info in deps.store_infos(viewer)
    )
    st.html(hits.paragraphs(*sizes))


def loosen(request: Request) -> list[str]:
    """What would let more be found, the most likely first."""
    filtered = request.store or request.filters != Request().filters or re.search(r"\w:\S", request.q)
    advice = {
        "Take the quotes away: a quoted phrase must occur exactly.": '"' in request.q,
        "Take the words with a minus away.": re.search(r"(^|\s)-\S", request.q),
        f"Lower the minimum score, which is {request.min:g}.": request.min,
        "Remove a filter.": filtered,
        "Search by words and meaning.": request.mode == "lexical",
    }
    return [step for step, holds in advice.items() if holds] or ["Try other words, or fewer of them."]


_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
_COLUMNS: Final[dict[str, Any]] = {
    "#": _number(width=40),
    "Score": st.column_config.ProgressColumn(min_value=0, max_value=1, format="%.2f", width=110),
    "Fit": _text(width=80),
    "Title": _text(width=170),
    "Place": _text(width=190),
    "Passage": _text(width=320),
    "Store": _text(width=70),
    "Type": _text(width=90),
    "Date": _text(width=95),
}
LAST_PAGE: Final = f"These are the first {MAX_DEPTH:,} passages. A narrower search finds the rest."


def show_paging(answer: Answer, request: Request) -> None:
    """Previous and Next where there is anything before or behind, and that the list ends."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if request.page > 1 or answer.has_more:
            name, before = ("Previous", request.page - 1) if answer.hits else ("First page", 1)
            st.button(
                name, key="page_before", icon=":material/arrow_back:", on_click=SEARCH.turn, args=(before,),
                disabled=request.page == 1,
            )  # fmt: skip
            st.html(hits.paragraphs(f"Page {request.page:,}"), width="content")
            st.button(
                "Next", key="page_after", icon=":material/arrow_forward:", icon_position="right",
                on_click=SEARCH.turn, args=(request.page + 1,), disabled=not answer.has_more,
            )  # fmt: skip
        if end := ending(answer):
            st.html(hits.paragraphs(end), width="content")


def ending(answer: Answer) -> str:
    """What is to be said where the list ends; nothing where it goes on."""
    shown = answer.offset + len(answer.hits)
    if answer.has_more or not shown or not (answer.convincing or answer.offset):
        return ""
    if not answer.hits:
        return "The list ends before this page."
    if shown == MAX_DEPTH:
        return LAST_PAGE
    return unshown(answer) or f"That is all: {plural(shown, 'document')}."


def show_newer_files(viewer: Viewer, answer: Answer) -> None:
    """From when on files are not known yet, with the ways to Index and to the question why. Only the owner is
    told."""
    if not (viewer.is_owner and answer.stores):
        return
    begun = library().jobs.last_begun(viewer, answer.stores)
    sizes = {info.name: info.file_count for info in store_infos(viewer)}
    largest = max(answer.stores, key=lambda name: sizes.get(name, 0))
    likely = visit.last_store(answer.stores) or largest  # the store that is probably meant
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="newer_files"):
        st.html(hits.paragraphs(since_last_run(begun)), width="content")
        st.page_link(INDEX_PAGE, label="Index", icon=":material/sync:", query_params={"store": likely})
        st.page_link(
            FILES_PAGE, label="Why is a file not found?", icon=":material/help:",
            query_params={"store": likely, WHY: answer.query.raw or "1"},
        )  # fmt: skip
