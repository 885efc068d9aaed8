"""The conversations that were kept, on the Ask page: opening them and deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.replies import Conversation
from rag_core.types import Viewer
from rag_core.wording import plural
from ui import ask_jobs, hits
from ui.deps import library
from ui.links import ASK_PAGE
from ui.messages import show_error

PARAM: Final = "c"
"""The parameter of the address that names the conversation shown."""

_MOST: Final = 50
_LONGEST: Final = 100
_ERROR: Final = "ask_history_error"
_SURE: Final = "ask_history_sure"
_KEPT: Final = "They are kept in the data folder of this computer, and nowhere else."
_KEPT_FOR_GUEST: Final = "They are kept on the owner's computer; the app shows them to you alone."


def show_history(viewer: Viewer) -> None:
    """What was kept, with ways to open and to delete it."""
    if error := st.session_state.pop(_ERROR, None):
        show_error(error)
    try:
        kept = library().asking.conversations(viewer)
    except RagError as error:
        show_error(error)
        return
    if not kept:
        return
    with st.expander(f"Earlier questions ({len(kept):,})", key="ask_history"):
        for each in kept[:_MOST]:
            _show(viewer, each)
        if len(kept) > _MOST:
            st.html(hits.paragraphs(f"{plural(len(kept) - _MOST, 'conversation')} before these."))
        _offer_to_delete_all(viewer, [each.id for each in kept])
        st.html(hits.paragraphs(_KEPT if viewer.is_owner else _KEPT_FOR_GUEST))


def _show(viewer: Viewer, each: Conversation) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"ask_kept_{each.id}"):
        st.page_link(
            ASK_PAGE, label=hits.label(_short(each.title)), query_params={PARAM: each.id}, width="stretch"
        )
        st.button(
            "Delete", key=f"ask_delete_{each.id}", type="tertiary", on_click=_forget, args=(viewer, [each.id])
        )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


def _offer_to_delete_all(viewer: Viewer, conversations: Sequence[str]) -> None:
    if not st.session_state.get(_SURE):
        st.button(
            "Delete all", key="ask_delete_all", icon=":material/delete:", on_click=_ask_if_sure, args=(True,)
        )
        return
    st.html(hits.sentences("They cannot be brought back.", status=True))
    with st.container(horizontal=True):
        st.button(
            f"Delete {plural(len(conversations), 'conversation')}", key="ask_delete_sure", type="primary",
            on_click=_forget, args=(viewer, conversations),
        )  # fmt: skip
        st.button("Keep them", key="ask_delete_keep", on_click=_ask_if_sure, args=(False,))


def _ask_if_sure(asking: bool) -> None:
    st.session_state[_SURE] = asking


def _forget(viewer: Viewer, conversations: Sequence[str]) -> None:
    own = library()
    _ask_if_sure(False)
    ask_jobs.forget(own, viewer, conversations)
    try:
        for each in conversations:
            own.asking.forget_conversations(viewer, each)
    except RagError as error:
        st.session_state[_ERROR] = error
    if st.query_params.get(PARAM) in conversations:
        del st.query_params[PARAM]
