"""Visits: a visit is the time from opening a page to opening another page or a reload. This module has its
id, the last open store, and scrolling to the top."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Final
from uuid import uuid4

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.search_state import searched

_PAGE: Final = "visit_page"
_VISIT: Final = "visit"
_STORE: Final = "last_store"
_DOCUMENT: Final = "last_document"


def begin_visit(page: str) -> None:
    """Record that ``page`` is drawn. If another page was drawn before, a new visit begins."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE], st.session_state[_VISIT] = page, uuid4().hex


def current() -> str:
    """Return the id of this visit, unique over all sessions. In a callback, it is the visit of the page whose
    button was pressed. A visit ends with another page or a reload."""
    return str(st.session_state.get(_VISIT, ""))


def remember_store(name: str) -> None:
    """Store the name of the open store in the session, for pages without a store in their address."""
    st.session_state[_STORE] = name


def last_store(names: Collection[str]) -> str | None:
    """Return the last open store; None if it is not in ``names`` any more."""
    name = st.session_state.get(_STORE)
    return name if name in names else None


def remember_document(viewer: Viewer) -> None:
    """Record the document in the address and the search that led to it, once in a visit. The start of the
    Search page shows both. Nothing is recorded for guests."""
    store, path = st.query_params.get("store", ""), st.query_params.get("path", "")
    if not (viewer.is_owner and store and path) or st.session_state.get(_DOCUMENT) == (store, path):
        return
    st.session_state[_DOCUMENT] = store, path
    [text] = searched(st.query_params.get("search", "")).get("q", [""])[-1:]
    with suppress(RagError):  # showing the document is more important
        library().searching.remember(viewer, text, (store, path))


def from_the_top(name: str, shown: object) -> DeltaGenerator:
    """Return a container for what a page shows. When ``shown`` differs from the previous call with the same
    ``name``, the browser scrolls to the top."""
    state, before, turned = st.session_state, f"shown_{name}", f"turned_{name}"
    if state.get(before, shown) != shown:
        state[turned] = state.get(turned, 0) + 1
    state[before] = shown
    place = st.container()
    if turned in state:
        place.html(hits.scrolled_to_top(state[turned]))
    return place
