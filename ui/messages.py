"""What a page says in whole sentences. They quote paths and patterns, so nothing in them is Markdown."""

from __future__ import annotations

import streamlit as st

from rag_core.api.http import refusal
from rag_core.errors import RagError
from ui import access
from ui.hits import spoken


def show_error(error: RagError) -> None:
    """The two sentences of an error, the second one for who has a page before him. Guests are told as much as
    over REST: nothing of files and servers."""
    who = access.viewer()
    said = error if who is not None and who.is_owner else refusal(error, for_owner=False)[1]
    st.error(spoken(said.for_page()))


def show_warning(*texts: str) -> None:
    """Whole sentences that may hold anything, each on a line of its own."""
    st.warning("  \n".join(map(spoken, texts)))


def show_done(text: str) -> None:
    """A whole sentence about what was done, which may hold anything; nothing for an empty one."""
    if text:
        st.success(spoken(text))
