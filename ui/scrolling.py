"""Where the browser is scrolled to when a page becomes another one at the same place."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui import hits


def from_the_top(name: str, shown: object) -> DeltaGenerator:
    """The place ``name`` on a page. When something else than before is ``shown`` there, the browser scrolls
    to the top of the page: it would stay where the link was."""
    state, before, turned = st.session_state, f"shown_{name}", f"turned_{name}"
    if state.get(before, shown) != shown:
        state[turned] = state.get(turned, 0) + 1
    state[before] = shown
    place = st.container()
    if turned in state:
        place.html(hits.beginning(state[turned]))
    return place
