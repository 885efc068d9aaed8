"""Search: one box, a row of filters, and the passages found."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui import deps, filters, first_run, hits, results
from ui.access import require_viewer
from ui.messages import show_error
from ui.search_state import SEARCH


def page(viewer: Viewer) -> None:
    """The whole page, for one viewer."""
    results.follow_row()
    stores = deps.library().stores.names(viewer)
    if not stores:
        first_run.choose_first_folder(viewer) if viewer.is_owner else results.first_run(viewer)
        return
    offered = filters.choices(viewer, stores, SEARCH.stores_in_url(stores))
    SEARCH.restore(offered)
    with st.container(gap=None):
        st.html(hits.hidden_title("Search"))
        with st.form("search", border=False), st.container(horizontal=True):
            st.text_input(
                "Search your notes",
                key=SEARCH.key("q"),
                type="search",
                label_visibility="collapsed",
                placeholder='Search: moving house tag:home "exact words" -without',
            )
            st.form_submit_button("Search", type="primary", on_click=SEARCH.push)
    filters.show(offered, SEARCH)
    request = SEARCH.current()
    st.set_page_config(layout="wide" if request.view == "table" else "centered")
    if gone := SEARCH.unknown_store(stores):
        deps.library().stores.info(viewer, gone)  # says that it is not there, and which are
    if request.asks:
        results.show(viewer, request)
    elif offered.types:
        results.start(viewer)
    else:
        first_run.wait_for_words(viewer, stores) if viewer.is_owner else results.nothing_indexed(viewer)


try:
    page(require_viewer())
except RagError as problem:
    show_error(problem)
