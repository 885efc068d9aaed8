"""The connections of the Settings page: every model, server and service that stores can use, live."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

import streamlit as st

from rag_core.config import Settings, load
from rag_core.reports import Connection, ConnectionKind, ConnectionState
from rag_core.types import Viewer
from ui import hits
from ui.deps import library
from ui.messages import sentence
from ui.task_status import found as tasks_of

_LIFE_S: Final = 60
_ASK_ALL: Final = "settings_ask_all"

_KINDS: Final[Mapping[ConnectionKind, str]] = {
    "embedder": "Turning text into vectors",
    "llm": "Answering questions",
    "reranker": "Ordering the best hits anew",
    "pictures": "Reading the text in pictures",
    "vectors": "Keeping vectors outside a store's own file",
}
_Colour = Literal["green", "gray", "orange", "red"]
_BADGES: Final[Mapping[ConnectionState, tuple[str, str, _Colour]]] = {
    "ready": ("Ready", ":material/check:", "green"),
    "not set up": ("Not set up", ":material/circle:", "gray"),
    "unreachable": ("Unreachable", ":material/link_off:", "orange"),
    "refused": ("Refused", ":material/block:", "orange"),
}


def show_connections(viewer: Viewer) -> list[Connection]:
    """The checks and their results, which are a minute old at most."""
    st.header("Connections", anchor=False)
    head = st.container(horizontal=True, vertical_alignment="center")
    with st.spinner("Checking …"):
        downloads = tuple((task.name, task.running) for task in tasks_of(("pull",)))
        ask_all = bool(st.session_state.get(_ASK_ALL))
        found, at = _look(load(), viewer, tuple(library().stores.names(viewer)), downloads, ask_all=ask_all)
    with head:
        st.button("Check again", key="settings_check", icon=":material/refresh:", on_click=_look.clear)
        if any(each.unasked for each in found):
            st.button(
                "Ask Amazon", key="settings_ask_amazon", icon=":material/cloud:",
                on_click=st.session_state.update, args=({_ASK_ALL: True},),
                help="Amazon S3 Vectors is asked for one bucket with the credentials of this computer.",
            )  # fmt: skip
        st.html(hits.paragraphs(f"Checked at {at:%H:%M:%S}.", status=True))
    for kind, title in _KINDS.items():
        st.subheader(title, anchor=False)
        for each in found:
            if each.kind == kind:
                _show(each)
    return found


def _show(each: Connection) -> None:
    if each.state == "not set up" and not each.is_missed:
        step = f" {sentence(each.next_step)}" if each.next_step else ""
        with st.container(horizontal=True, key=f"settings_row_{each.key}"):
            st.html(hits.sentences(f"{each.name}: {each.sentence}{step}"))
        return
    name, icon, colour = _BADGES[each.state]
    with st.container(border=True, gap="xsmall", key=f"settings_row_{each.key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{hits.label(each.name)}**", width="content")
            st.badge(name, icon=icon, color="red" if each.is_missed else colour)
        step = f"Next: {sentence(each.next_step)}" if each.next_step else ""
        st.html(hits.sentences(each.sentence, step))
        used = f" Used by {', '.join(each.used_by)}." if each.used_by else ""
        st.html(hits.paragraphs(f"{each.where_text_goes}.{used}"))


@st.cache_data(max_entries=8, ttl=_LIFE_S, show_spinner=False)
def _look(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    stores: tuple[str, ...],  # noqa: ARG001 - part of the key
    downloads: tuple[tuple[str, bool], ...],  # noqa: ARG001 - part of the key: one that ended may be of use
    *,
    ask_all: bool,
) -> tuple[list[Connection], datetime]:
    return library().models.connections(viewer, ask_all=ask_all), datetime.now().astimezone()
