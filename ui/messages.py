"""What a page says in whole sentences. They quote paths and patterns, so nothing in them is Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from rag_core.api.http import refusal
from rag_core.errors import RagError
from rag_core.types import Viewer
from ui import access
from ui.deps import library
from ui.hits import spoken


def show_error(error: RagError) -> None:
    """Show the two sentences of an error, the second one for a page. Guests read what REST tells them:
    nothing about files and servers."""
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


def show_unknown_store(viewer: Viewer, name: str) -> None:
    """Say that there is no store ``name``, and which there are."""
    try:
        library().stores.info(viewer, name)
    except RagError as error:
        show_error(error)


@contextmanager
def errors_wait(place: str) -> Iterator[None]:
    """Keep an error of a callback, which can draw nothing, for `show_waiting` of this ``place``."""
    try:
        yield
    except RagError as error:
        st.session_state[f"{place}_error"] = error


def say_later(place: str, text: str) -> None:
    """Keep what was done for `show_waiting`."""
    st.session_state[f"{place}_done"] = text


def show_waiting(place: str) -> None:
    """Say once what was done at this ``place``, or why it could not be."""
    show_done(st.session_state.pop(f"{place}_done", ""))
    if error := st.session_state.pop(f"{place}_error", None):
        show_error(error)
