"""Tokens on the Settings page: scripts and assistants that may use REST and MCP as the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from rag_core.types import Viewer
from rag_core.wording import moment
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import errors_wait, say_later, show_waiting

_WHAT_FOR: Final = (
    "With a token, a script (REST) or an assistant (MCP) on another computer reads every store, private notes"
    " included. With the setting mcp_allow_writes, assistants also change the index."
)
_NAME: Final = "settings_token_name"
_MADE: Final = "settings_token_made"
_PLACE: Final = "settings_token"


def show_tokens(viewer: Viewer) -> None:
    """Draw the tokens with a button to revoke each, and a form for a new token, which is shown once."""

    def make() -> None:
        with errors_wait(_PLACE):
            made = library().sharing.create_token(viewer, st.session_state[_NAME].strip())
            st.session_state[_MADE], st.session_state[_NAME] = made.token, ""

    def revoke(name: str) -> None:
        with errors_wait(_PLACE):
            library().sharing.revoke_token(viewer, name)
            say_later(_PLACE, f"The token {name} is revoked: scripts that send it are refused.")

    with st.expander("Tokens for scripts", icon=":material/key:", key="settings_tokens"):
        _show_all(viewer, make, revoke)


def _show_all(viewer: Viewer, make: Callable[[], None], revoke: Callable[[str], None]) -> None:
    show_waiting(_PLACE)
    if made := st.session_state.pop(_MADE, None):
        st.html(
            hits.plain_sentences("Copy it now: it opens every store, and is not shown again.", status=True)
        )
        st.code(made, language=None, wrap_lines=True)
        with st.container(key="copy_token"):
            st.code(made, language=None)
    for token in library().sharing.tokens(viewer):
        with st.container(horizontal=True, vertical_alignment="center", key=f"settings_token_{token.name}"):
            st.markdown(f"**{hits.label(token.name)}**", width="content")
            st.html(hits.paragraphs(f"made {moment(token.created_at)}"))
            st.button(
                "Revoke",
                key=f"settings_revoke_{token.name}",
                icon=":material/key_off:",
                help=f"Scripts that send the token {token.name} are refused from now on.",
                on_click=revoke,
                args=(token.name,),
            )
    with st.form("settings_token", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            "Name of a new token",
            key=_NAME,
            placeholder="letters, digits, - and _",
            autocomplete="off",
            help=_WHAT_FOR,
        )
        st.form_submit_button("Make token", icon=":material/key:", key="settings_token_make", on_click=make)
