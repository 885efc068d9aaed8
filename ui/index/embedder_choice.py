"""The available embedders, and how each is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from rag_core.errors import InvalidInput
from rag_core.models.addresses import destination
from rag_core.models.built_in import BUILT_IN
from rag_core.providers import EMBEDDERS
from rag_core.reports import Connection
from rag_core.types import Viewer
from ui.frame import hits
from ui.frame.deps import library, store_infos
from ui.frame.links import SETTINGS_PAGE

_FOUND: Final = "embedders_found"
_IN_WORDS: Final = {name: row.label for name, row in EMBEDDERS.items() if row.after.usual == ""}


def at_hand(viewer: Viewer, *first: str) -> dict[str, str]:
    """Return the available embedders: name → where text for it is sent, in words. Those named ``first`` come
    before the others. Names that cannot be an embedder are left out."""
    used = sorted({info.embedder for info in store_infos(viewer)})
    seen: list[str] = st.session_state.get(_FOUND, [])
    names = dict.fromkeys((*first, library().settings.embedder, *BUILT_IN, *used, *seen))
    return {name: goes for name in names if (goes := _goes(viewer, name))}


def _goes(viewer: Viewer, name: str) -> str:
    try:
        return library().models.destination_of(viewer, name)
    except InvalidInput:
        return ""


def in_words(name: str, goes: str) -> str:
    """Return an embedder as the line of a select box. ``goes`` says where its text is sent, as `at_hand`
    returns it; the line repeats this unless text stays on this computer."""
    return _IN_WORDS.get(name) or (name if goes == destination("") else f"{name} ({goes})")


def look_for_others(viewer: Viewer, key: str) -> None:
    """Draw a button that asks servers and packages for their embedders, which takes seconds, and then offers
    them in select boxes. ``key`` begins the button's session key; each page needs another one."""
    if st.button("Look for other models", key=f"{key}_look", icon=":material/sensors:", type="tertiary"):
        with st.spinner("Looking …"):
            connections = library().models.connections(viewer)
        st.session_state[f"{key}_looked"] = True
        offer_embedders(connections)
    if st.session_state.get(f"{key}_looked"):
        others = [name for name in st.session_state.get(_FOUND, []) if name not in _IN_WORDS]
        sentence = f"You can now also choose {', '.join(others)}." if others else "No other model was found."
        with st.container(horizontal=True, vertical_alignment="center"):
            st.html(hits.paragraphs(sentence, status=True), width="content")
            if not others:
                st.page_link(SETTINGS_PAGE, label="Connections", icon=":material/settings:")


def offer_embedders(connections: Sequence[Connection]) -> None:
    """Add the embedders of these connections to the available ones. If some are new, draw the page again."""
    names = [name for connection in connections for name in connection.embedders]
    before = st.session_state.get(_FOUND, [])
    if not {*names} <= {*before, *_IN_WORDS}:
        st.session_state[_FOUND] = names
        st.rerun()
