"""Sharing on the Settings page: how Tailscale stands here, who may come in, and who did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal

import streamlit as st

from rag_core.config import Settings, load
from rag_core.reports import Tailscale, TailscaleState
from rag_core.types import Viewer
from ui import hits
from ui.deps import library
from ui.messages import show_warning
from ui.people import fill_in_places, show_people
from ui.visitors import show_visits

_LIFE_S: Final = 10

_Colour = Literal["green", "gray", "orange", "blue"]
_READY: Final[tuple[str, str, _Colour]] = ("Leads to this app", ":material/check:", "green")
_BADGES: Final[Mapping[TailscaleState, tuple[str, str, _Colour]]] = {
    "not installed": ("Not installed", ":material/circle:", "gray"),
    "no answer": ("No answer", ":material/link_off:", "orange"),
    "logged out": ("Logged out", ":material/logout:", "orange"),
    "stopped": ("Stopped", ":material/pause:", "orange"),
    "not approved": ("Not approved", ":material/block:", "orange"),
    "starting": ("Starting", ":material/hourglass_empty:", "blue"),
    "running": ("Running", ":material/circle:", "blue"),
}


def show_sharing(viewer: Viewer) -> Callable[[], None]:
    """What is known at once. What comes back asks Tailscale, which may take seconds, and shows the rest."""
    st.header("Sharing", anchor=False)
    st.html(
        hits.paragraphs(
            "Through Tailscale you let in whom you name here, each to the stores that you choose. Nobody"
            " else gets an answer, and nothing is opened to the internet."
        )
    )
    place = st.container(border=True, gap="xsmall", key="settings_tailscale")
    logins = show_people(viewer)
    show_visits(viewer)

    def ask_tailscale() -> None:
        with place:
            found = _show_tailscale(viewer)
        fill_in_places(viewer, found, logins)

    return ask_tailscale


def _show_tailscale(viewer: Viewer) -> Tailscale:
    head, below = st.container(horizontal=True, vertical_alignment="center", gap="small"), st.container()
    with below, st.spinner("Asking Tailscale …"):
        found = _look(load(), viewer, st.get_option("server.port"))
    name, icon, colour = _READY if found.forwards else _BADGES[found.state]
    with head:
        st.markdown("**Tailscale**", width="content")
        st.badge(name, icon=icon, color=colour)
        st.button(
            "Look again", key="settings_tailscale_look", icon=":material/refresh:", type="tertiary",
            on_click=_look.clear,
        )  # fmt: skip
    with below:
        _say(found)
    return found


def _say(found: Tailscale) -> None:
    st.html(hits.sentences(found.sentence, f"Next: {found.next_step}" if found.next_step else ""))
    for warning in found.warnings:
        show_warning(warning)
    if found.address:
        _code("The address that guests open", found.address, "address")
    if found.command:
        _code("", found.command, "command")
    if found.undo:
        _code("To undo it", found.undo, "undo")


def _code(title: str, text: str, name: str) -> None:
    with st.container(key=f"settings_tailscale_{name}", gap="xxsmall"):
        if title:
            st.html(hits.paragraphs(title))
        st.code(text, language=None, wrap_lines=True)


@st.cache_data(max_entries=8, ttl=_LIFE_S, show_spinner=False)
def _look(settings: Settings, viewer: Viewer, port: int) -> Tailscale:  # noqa: ARG001 - part of the key
    return library().sharing.tailscale(viewer, port)
