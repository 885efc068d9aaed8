"""Sharing on the Settings page: the state of Tailscale, people with access, and their visits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import pandas as pd
import streamlit as st

from rag_core.config import Settings, load
from rag_core.reports import Door, Tailscale, TailscaleState, Visit
from rag_core.types import Viewer
from rag_core.wording import moment, plural
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.links import SHARE
from ui.frame.messages import show_warning
from ui.settings.people import fill_in, show_people

_LIFE_S: Final = 10

_Colour = Literal["green", "gray", "orange", "blue"]
_READY: Final[tuple[str, str, _Colour]] = ("Forwards to this app", ":material/check:", "green")
_BADGES: Final[Mapping[TailscaleState, tuple[str, str, _Colour]]] = {
    "not installed": ("Not installed", ":material/circle:", "gray"),
    "no answer": ("No answer", ":material/link_off:", "orange"),
    "logged out": ("Logged out", ":material/logout:", "orange"),
    "stopped": ("Stopped", ":material/pause:", "orange"),
    "not approved": ("Not approved", ":material/block:", "orange"),
    "starting": ("Starting", ":material/hourglass_empty:", "blue"),
    "running": ("Running", ":material/circle:", "blue"),
}


def show_sharing(viewer: Viewer) -> None:
    """Draw who has access, and the state of Tailscale, which may take seconds to find out."""
    whole = st.expander(
        "Share with other people",
        SHARE in st.query_params,
        icon=":material/group_add:",
        key="settings_sharing",
        on_change="rerun",
    )
    if whole.open:
        with whole:
            _show_all(viewer)


def _show_all(viewer: Viewer) -> None:
    with st.container(border=True, gap="xsmall", key="settings_tailscale"):
        tailscale = _show_tailscale(viewer)
    show_people(viewer, tailscale)
    show_visits(viewer)


def _show_tailscale(viewer: Viewer) -> Tailscale:
    head, below = st.container(horizontal=True, vertical_alignment="center", gap="small"), st.container()
    with below, st.spinner("Asking Tailscale …"):
        tailscale = _look(load(), viewer, st.get_option("server.port"))
    name, icon, colour = _READY if tailscale.forwards else _BADGES[tailscale.state]
    with head:
        st.markdown("**Tailscale**", width="content")
        st.badge(name, icon=icon, color=colour)
        st.button(
            "Check again",
            key="settings_tailscale_look",
            icon=":material/refresh:",
            type="tertiary",
            on_click=_look.clear,
        )
    typed = (
        ("The address that guests open", tailscale.address, "address"),
        ("", tailscale.command, "command"),
    )
    with below:
        st.html(
            hits.plain_sentences(
                tailscale.sentence, f"Next: {tailscale.next_step}" if tailscale.next_step else ""
            )
        )
        for warning in tailscale.warnings:
            show_warning(warning)
        for title, text, key in typed:
            if text:
                with st.container(key=f"settings_tailscale_{key}", gap="xxsmall"):
                    st.html(hits.paragraphs(title))
                    st.code(text, language=None, wrap_lines=True)
    return tailscale


@st.cache_data(max_entries=8, ttl=_LIFE_S, show_spinner=False)
def _look(settings: Settings, viewer: Viewer, port: int) -> Tailscale:  # noqa: ARG001 - part of the key
    return library().sharing.tailscale(viewer, port)


_MOST_KNOCKS: Final = 5
_FILLED: Final = "settings_knock_filled"

_DOORS: Final[Mapping[Door, str]] = {"pages": "pages", "rest": "REST", "mcp": "MCP"}
_text = st.column_config.TextColumn
_COLUMNS: Final[dict[str, Any]] = {
    "Who": _text(width=190),
    "Let in": st.column_config.CheckboxColumn(width=65),
    "Through": _text(width=75),
    "Until": _text(width=130),
    "From": _text(width=130),
    "Requests": st.column_config.NumberColumn(width=85),
}


def show_visits(viewer: Viewer) -> None:
    """Draw the last visits, if there were any. Above them, draw the logins that were refused and still have
    no access."""
    visits = library().sharing.visits(viewer)
    if not visits:
        return
    st.subheader("Recent visits", anchor=False)
    people = {person.login for person in library().sharing.people(viewer)}
    _show_knocks([visit for visit in visits if visit.refused and visit.login not in people])
    if login := st.session_state.pop(_FILLED, ""):
        st.html(hits.paragraphs(f"{login} is in the form above: choose stores there.", status=True))
    _show_table(visits)
    st.html(hits.paragraphs("What visitors searched is not recorded."))


def _show_knocks(refused: Sequence[Visit]) -> None:
    def fill(login: str) -> None:
        fill_in(login)
        st.session_state[_FILLED] = login

    by_login: defaultdict[str, list[Visit]] = defaultdict(list)
    for visit in refused:
        by_login[visit.login].append(visit)
    for login, visits in list(by_login.items())[:_MOST_KNOCKS]:
        with st.container(horizontal=True, vertical_alignment="center", key=f"settings_knock_{login}"):
            st.html(hits.name(login), width="content")
            requests = plural(sum(visit.requests for visit in visits), "request")
            st.html(hits.paragraphs(f"was refused: {requests}, last {moment(visits[0].last_at)}"))
            st.button(
                "Share …",
                key=f"settings_knock_share_{login}",
                icon=":material/person_add:",
                type="tertiary",
                on_click=fill,
                args=(login,),
                help="Fills the login into the form above; nothing is shared yet.",
            )


def _show_table(visits: Sequence[Visit]) -> None:
    rows = [
        (
            visit.login,
            not visit.refused,
            _DOORS[visit.door],
            moment(visit.last_at),
            moment(visit.started_at),
            visit.requests,
        )
        for visit in visits
    ]
    with st.container(key="settings_visits"):
        st.dataframe(
            pd.DataFrame(rows, columns=list(_COLUMNS)),
            hide_index=True,
            column_config=_COLUMNS,
            alt="The last visits: who, through what, when, and how many requests.",
        )
