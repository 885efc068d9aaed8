"""A stay on a page: it begins when the page is opened, and ends with another page or a reload.

What a stay has seen need not come again with the next.
"""

from __future__ import annotations

from typing import Final
from uuid import uuid4

import streamlit as st

_PAGE: Final = "stay_page"
_STAY: Final = "stay"


def begin(page: str) -> None:
    """The shell draws ``page``: a new stay, unless it drew the same one before."""
    if st.session_state.get(_PAGE) != page:
        st.session_state[_PAGE], st.session_state[_STAY] = page, uuid4().hex


def current() -> str:
    """What tells this stay from every other one, also of other sessions; in a callback that of the page whose
    button was pressed."""
    return str(st.session_state.get(_STAY, ""))
