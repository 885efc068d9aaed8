"""The foot of the results: another page of the list, or the word that it ends here."""

from __future__ import annotations

import time
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rag_core.types import MAX_DEPTH, Answer
from rag_core.wording import plural
from ui import hits
from ui.search_state import Request, turn

LAST_PAGE: Final = f"These are the first {MAX_DEPTH:,} passages. A narrower search finds the rest."
_SHOWN: Final = "search_page_shown"
_A_MOMENT: Final = 0.1


def from_the_top(request: Request) -> DeltaGenerator:
    """The place for a page's passages. When the page was turned it is empty for a moment: the browser
    would stay scrolled to where the button was, at the end of passages that nobody has read."""
    slot = st.empty()
    if st.session_state.get(_SHOWN, request.page) != request.page:
        time.sleep(_A_MOMENT)
    st.session_state[_SHOWN] = request.page
    return slot


def show(answer: Answer, request: Request) -> None:
    """Previous and Next where there is anything before or behind, and the word that the list ends."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        if request.page > 1 or answer.has_more:
            _turning(answer, request)
        if end := ending(answer):
            st.html(hits.paragraphs(end), width="content")


def _turning(answer: Answer, request: Request) -> None:
    name, before = ("Previous", request.page - 1) if answer.hits else ("First page", 1)
    st.button(
        name, key="page_before", icon=":material/arrow_back:", on_click=turn, args=(before,),
        disabled=request.page == 1,
    )  # fmt: skip
    st.html(hits.paragraphs(f"Page {request.page:,}"), width="content")
    st.button(
        "Next", key="page_after", icon=":material/arrow_forward:", icon_position="right", on_click=turn,
        args=(request.page + 1,), disabled=not answer.has_more,
    )  # fmt: skip


def ending(answer: Answer) -> str:
    """What is to be said where the list ends; nothing where it goes on."""
    shown = answer.offset + len(answer.hits)
    if answer.has_more or not shown:
        return ""
    if not answer.hits:
        return "The list ends before this page."
    if shown == MAX_DEPTH:
        return LAST_PAGE
    return f"That is all: {plural(shown, 'passage')}."
