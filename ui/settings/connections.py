"""The connections of the Settings page: every model, server and service that stores can use, live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal

import streamlit as st

from rag_core.config import Settings, load
from rag_core.reports import Connection, ConnectionState
from rag_core.types import Viewer
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import sentence
from ui.stores.task_status import tasks_of as tasks_of

_LIFE_S: Final = 60
_ASK_ALL: Final = "settings_ask_all"

_Colour = Literal["green", "gray", "orange", "red"]
_BADGES: Final[Mapping[ConnectionState, tuple[str, str, _Colour]]] = {
    "ready": ("Ready", ":material/check:", "green"),
    "not set up": ("Not set up", ":material/circle:", "gray"),
    "unreachable": ("Unreachable", ":material/link_off:", "orange"),
    "refused": ("Refused", ":material/block:", "orange"),
}


def show_connections(viewer: Viewer) -> list[Connection]:
    """Draw the state of every model, server and service, as checked within the last minute, and return these
    results. Services that are not set up share one line."""
    st.header("Connections", anchor=False)
    head = st.container(horizontal=True, vertical_alignment="center")
    with st.spinner("Checking …"):
        downloads = tuple((task.name, task.running) for task in tasks_of(("pull",)))
        ask_all = bool(st.session_state.get(_ASK_ALL))
        connections, looked_at = _look(
            load(), viewer, tuple(library().stores.names(viewer)), downloads, ask_all=ask_all
        )
    with head:
        st.button("Check again", key="settings_check", icon=":material/refresh:", on_click=_look.clear)
        if any(connection.unasked for connection in connections):
            st.button(
                "Ask Amazon",
                key="settings_ask_amazon",
                icon=":material/cloud:",
                on_click=st.session_state.update,
                args=({_ASK_ALL: True},),
                help="Amazon S3 Vectors is asked for one bucket with the credentials of this computer.",
            )
        st.html(hits.paragraphs(f"Checked at {looked_at:%H:%M:%S}.", status=True))
    unused = [
        connection
        for connection in connections
        if connection.state == "not set up" and not connection.is_missed
    ]
    for connection in connections:
        if connection not in unused:
            _show(connection)
    _show_unused(unused)
    return connections


def _show(connection: Connection) -> None:
    name, icon, colour = _BADGES[connection.state]
    with st.container(gap="xxsmall", key=f"settings_row_{connection.key}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f"**{hits.label(connection.name)}**", width="content")
            st.badge(name, icon=icon, color="red" if connection.is_missed else colour)
        used = f" Used by {', '.join(connection.used_by)}." if connection.used_by else ""
        st.html(hits.plain_sentences(f"{_said(connection)} Text {connection.goes}.{used}"))


def _show_unused(unused: Sequence[Connection]) -> None:
    if unused:
        names = ", ".join(connection.name for connection in unused)
        with st.expander(f"Not set up: {hits.label(names)}", type="compact", key="settings_unused"):
            st.html(
                hits.plain_sentences(*(f"{connection.name}: {_said(connection)}" for connection in unused))
            )


def _said(connection: Connection) -> str:
    return f"{connection.sentence} {sentence(connection.next_step)}".strip()


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
