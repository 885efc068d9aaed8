"""The list on the Files page: filters, number of files in each state, the table, and the chosen file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from rag_core.errors import NotFound
from rag_core.types import Document, Viewer
from rag_core.wording import plural
from ui.files import file_filters
from ui.files.file_actions import runs_now, show_actions, show_file_outcome, show_run
from ui.files.file_filters import STORE_BOX, clear, current_filters, key, push
from ui.files.file_table import (
    CHOSEN,
    ORDERS,
    STATES,
    FileListing,
    chosen_rows,
    listing,
    show_table,
    state_in_words,
    within,
)
from ui.files.folder_tree import tree
from ui.frame import components, hits
from ui.frame.deps import library
from ui.frame.links import FILES_PAGE, document_parameters
from ui.frame.search_state import SEEN_KEY
from ui.reader import passages
from ui.reader.missing_file import show_missing_file
from ui.search.filters import select
from ui.search.results import nothing_indexed


def show_files(viewer: Viewer, stores: Sequence[str], store: str) -> None:
    """Draw a choice of ``stores``, the files of ``store``, and the actions for the chosen file."""
    components.draw("reader", "reader")
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="files_head"):
        st.title("Files", anchor=False, width="content")
        if len(stores) > 1:
            st.session_state[STORE_BOX] = store if store in stores else None
            st.selectbox(
                "Store",
                stores,
                key=STORE_BOX,
                on_change=_choose_store,
                label_visibility="collapsed",
                width=240,
            )
    active = runs_now(viewer, store)
    listed = listing(viewer, store)
    file_filters.restore(
        {
            "folder": list(listed.folders),
            "state": _offered_states(listed),
            "type": list(listed.types),
            "tag": list(listed.tags),
            "sort": _offered_orders(listed),
        }
    )
    file_filters.remember(store)
    # the link back from a document leads here, and not to an earlier search
    st.session_state.pop(SEEN_KEY, None)
    show_file_outcome(viewer, store, active=active)
    if active:
        show_run(viewer, store)
    if listed.rows.empty:
        nothing_indexed(viewer)
        show_missing_file(viewer, store)
    else:
        folders, files = st.columns([1, 4], gap="medium") if listed.folders else (None, st.container())
        if folders:
            folders.html(tree(store, listed.folders, len(listed.rows), current_filters().folder))
        with files:
            _list(viewer, store, within(listed, current_filters().folder), len(listed.rows))


def _choose_store() -> None:
    clear(st.session_state[STORE_BOX])


def _list(viewer: Viewer, store: str, listed: FileListing, total: int) -> None:
    changed = partial(push, store)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="filters"):
        st.text_input(
            "Words in path or title",
            key=key("q"),
            type="search",
            placeholder="Words in path or title",
            on_change=changed,
            label_visibility="collapsed",
        )
        select("Type", key("type"), _with_chosen("type", listed.types), str, changed)
        select("Tag", key("tag"), _with_chosen("tag", listed.tags), lambda tag: f"#{tag}", changed)
        st.selectbox(
            "Order",
            _offered_orders(listed),
            key=key("sort"),
            on_change=changed,
            format_func=lambda name: ORDERS[name][1],
            placeholder="By folder",
            label_visibility="collapsed",
        )
    if len(listed.states) > 1:
        st.pills(
            "State",
            _offered_states(listed),
            key=key("state"),
            on_change=changed,
            label_visibility="collapsed",
            format_func=lambda state: f"{listed.states.get(state, 0):,} {state_in_words(state)}",
        )
    rows = chosen_rows(listed.rows, current_filters())
    _count(store, len(rows), total, has_states=len(listed.states) > 1)
    show_missing_file(viewer, store)
    if not rows.empty:
        show_table(store, rows)
        _chosen(viewer, store)


def _with_chosen(name: str, counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return ``counts``, with 0 for the chosen value if no file in the folder has it."""
    chosen = st.session_state[key(name)]
    return counts if chosen is None or chosen in counts else {**counts, chosen: 0}


def _offered_orders(listed: FileListing) -> list[str]:
    """Return the orders for which the list has a column. Headings of the table also sort, but only with a
    mouse."""
    return [name for name, (column, _) in ORDERS.items() if column in listed.rows]


def _offered_states(listed: FileListing) -> list[str]:
    """Return the states that files have, and the state in the address even if no file has it any more."""
    asked = st.query_params.get("state")
    return [state for state in STATES if state in listed.states or (listed.states and state == asked)]


def _count(store: str, shown: int, total: int, *, has_states: bool) -> None:
    """Draw the number of files, unless the states already show it. If filters are set, also draw how many are
    ``shown``."""
    files = plural(total, "file")
    if not current_filters().narrows:
        if not has_states:
            st.html(hits.paragraphs(files, status=True))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html(hits.paragraphs(f"{shown:,} of {files}", status=True), width="content")
        st.button("Clear filters", key="files_clear", type="tertiary", on_click=clear, args=(store,))


def _chosen(viewer: Viewer, store: str) -> None:
    """Draw the chosen file with its actions."""
    of, path = st.session_state.get(CHOSEN, ("", ""))
    file: Document | None = None
    if path and of == store:
        with suppress(NotFound):  # the file has been removed since
            get = library().files.get if viewer.is_owner else library().documents.get
            opened = get(viewer, store, path)
            file = opened if isinstance(opened, Document) else opened.document
    if file is None:
        return
    with st.container(border=True, key="files_chosen_box"):
        st.html(passages.heading(file))
        with st.container(horizontal=True, vertical_alignment="center"):
            st.page_link(
                FILES_PAGE,
                label="Open document",
                icon=":material/description:",
                query_params=document_parameters(store, file.path),
            )
            if viewer.is_owner:
                show_actions(viewer, file)
