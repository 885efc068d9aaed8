"""Where the browser is scrolled to when a page becomes another one at the same place."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

_A_MOMENT: Final = 0.1


def from_the_top(name: str, shown: object) -> DeltaGenerator:
    """The place ``name`` on a page. When something else than before is ``shown`` there, it is empty for
    a moment: the browser would stay scrolled to where the link was."""
    slot = st.empty()
    if st.session_state.get(f"shown_{name}", shown) != shown:
        time.sleep(_A_MOMENT)
    st.session_state[f"shown_{name}"] = shown
    return slot
