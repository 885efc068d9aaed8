"""The foot of the results: another page of the list, or the word that it ends here."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.types import MAX_DEPTH, Answer
from rag_core.wording import plural, unshown
from ui import hits
from ui.search_state import SEARCH, Request

LAST_PAGE: Final = f"These are the first {MAX_DEPTH:,} passages. A narrower search finds the rest."


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
        name, key="page_before", icon=":material/arrow_back:", on_click=SEARCH.turn, args=(before,),
        disabled=request.page == 1,
    )  # fmt: skip
    st.html(hits.paragraphs(f"Page {request.page:,}"), width="content")
    st.button(
        "Next", key="page_after", icon=":material/arrow_forward:", icon_position="right",
        on_click=SEARCH.turn, args=(request.page + 1,), disabled=not answer.has_more,
    )  # fmt: skip


def ending(answer: Answer) -> str:
    """What is to be said where the list ends; nothing where it goes on."""
    shown = answer.offset + len(answer.hits)
    if answer.has_more or not shown or not (answer.convincing or answer.offset):
        return ""
    if not answer.hits:
        return "The list ends before this page."
    if shown == MAX_DEPTH:
        return LAST_PAGE
    return unshown(answer) or f"That is all: {plural(shown, 'passage')}."
