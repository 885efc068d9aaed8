"""The store of the Index page: choose or create one.

The choice is in the address (``?store=NAME``), and the session remembers it. The options show only the names
of stores: a browser sends the label of the chosen option, so a label must not contain counts that change.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import streamlit as st

from rag_core.errors import InvalidInput, RagError
from rag_core.types import StoreInfo, Viewer
from ui.frame import visit
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import show_unknown_store, show_waiting
from ui.index import store_facts
from ui.index.embedder_choice import at_hand, in_words
from ui.index.folders import choose_folder, typed_name
from ui.index.indexing import choose_files, show_start
from ui.index.runs import INDEX_PLACE, has_read, is_active

PARAM: Final = "store"
_BOX: Final = "index_store"
_CREATING: Final = "index_store_creating"
_NAME: Final = "index_new_name"
_NAMED_AFTER: Final = "index_named_after"
_EMBEDDER: Final = "index_embedder"


@dataclass(frozen=True, slots=True)
class StoreChoice:
    """The store shown on the page."""

    info: StoreInfo  #: Read after the other fields, so that the whole page shows one state.
    active: bool  #: Whether the store is being indexed, or is about to be.
    has_read: bool  #: Whether its run has read all files.


def choose_store(viewer: Viewer) -> StoreChoice | None:
    """Draw the choice of a store and return it; None if there is no store or a new one is being created."""
    names = library().stores.names(viewer)
    if not names or _CREATING in st.session_state:
        new_store(viewer, has_others=bool(names))
        return None
    active = dict.fromkeys(names, False)
    for name in names:
        with suppress(RagError):  # a damaged store must not hide the others; choosing it shows the error
            active[name] = is_active(viewer, name)
    _follow_address(viewer, active)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox("Store", names, key=_BOX, on_change=_choose, label_visibility="collapsed")
        st.button(
            "New store",
            key="index_new_store",
            icon=":material/add:",
            on_click=st.session_state.update,
            args=({_CREATING: True},),
        )
    read = active[name] and has_read(viewer, name)
    info = library().stores.info(viewer, name)
    if not active[name]:  # otherwise the numbers change, and the status shows them
        st.caption(label(store_facts.counts_line(info)))
    return StoreChoice(info, active[name], read)


def _follow_address(viewer: Viewer, active: Mapping[str, bool]) -> None:
    """Choose the store in the address, else the last open store, else a store that is being indexed."""
    asked = st.query_params.get(PARAM)
    if asked is not None and asked not in active:
        show_unknown_store(viewer, asked)
    # the first store that is being indexed, else the first store
    at_work = max(active, key=lambda name: active[name])
    name = asked if asked is not None and asked in active else visit.last_store(active) or at_work
    visit.remember_store(name)
    st.session_state[_BOX] = name


def _choose(name: str = "") -> None:
    st.query_params[PARAM] = name = name or st.session_state[_BOX]
    visit.remember_store(name)


def new_store(viewer: Viewer, *, has_others: bool) -> None:
    """Draw all steps for a new store: a folder, the choice of its files, one button. ``has_others`` says
    whether there are stores to go back to with *Cancel*."""
    if has_others:
        st.header("New store", anchor=False)
        st.button(
            "Cancel",
            key="index_keep_store",
            type="tertiary",
            on_click=st.session_state.pop,
            args=(_CREATING, None),
        )
    folder = choose_folder(viewer)
    start = st.container()
    choice = choose_files(viewer, folder) if folder is not None else None
    if folder is None or choice is None:
        return
    if st.session_state.get(_NAMED_AFTER) != folder or _NAME not in st.session_state:
        st.session_state[_NAME] = library().sources.default_name(viewer, folder, free=True)
        st.session_state[_NAMED_AFTER] = folder
    with st.expander("More", type="compact", key="index_more"):
        st.text_input("Name of the new store", key=_NAME, autocomplete="off")
        offered = at_hand(viewer, library().settings.embedder)
        st.selectbox("Model", offered, key=_EMBEDDER, format_func=lambda name: in_words(name, offered[name]))

    def create() -> str:
        embedder = st.session_state[_EMBEDDER]
        made = library().stores.create(viewer, typed_name(st.session_state[_NAME]), embedder)
        if embedder != library().settings.embedder:
            with suppress(InvalidInput):  # a variable sets the embedder
                library().upkeep.change_setting(viewer, "embedder", embedder)
        st.session_state.pop(_CREATING, None)
        _choose(made.name)
        return made.name

    with start:
        show_start(viewer, choice, create)
    show_waiting(INDEX_PLACE)
