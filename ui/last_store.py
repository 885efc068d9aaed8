"""The store that a session was last at, for pages that are opened by their link above, without one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import streamlit as st

_KEY: Final = "last_store"


def remember(name: str) -> None:
    """The session is at the store ``name`` now."""
    st.session_state[_KEY] = name


def last(names: Collection[str]) -> str | None:
    """The store it was at, if that is still one of ``names``."""
    name = st.session_state.get(_KEY)
    return name if name in names else None
