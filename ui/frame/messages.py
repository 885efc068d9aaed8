"""The messages of pages. They quote paths and patterns, so they are never read as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from rag_core.api.http import refusal
from rag_core.errors import RagError
from rag_core.messages import TEXTS, Message, message_text
from rag_core.types import Viewer
from ui.frame import access
from ui.frame.deps import library
from ui.frame.hits import spoken

ON_INDEX_PAGE: Final = frozenset({"add_folder", "edit_exclude", "include_pattern", "index", "resume_folder"})
"""Codes of the next steps that are carried out on the Index page."""

_TEXTS: Final = TEXTS | {
    "add_folder": "Add its folder on the Index page.",
    "ask_amazon": "Press Ask Amazon on the Settings page.",
    "edit_exclude": "Change the folder's exclude patterns on the Index page, with Edit at the folder.",
    "heal_vectors": "Press Heal on the Stores page: it creates the index again.",
    "include": "Include the file again on the Files page.",
    "include_pattern": "Add a pattern that names the file to the folder on the Index page.",
    "index": "Index the store again on the Index page.",
    "install_model": "Install the model on the Index page.",
    "make_store": "Create a store on the Index page.",
    "min_score": "The best score is {best:g}, below the minimum of {least:g}.",
    "pull_model": "Download {model!r} below.",
    "read_again": "Read the file again on the Files page.",
    "replace_file": "Choose another name, or tick the box that replaces it.",
    "resume_folder": "Resume the folder on the Index page, then index it.",
}
"""Code → sentence, for steps that have a button on a page and a command in a terminal."""


def sentence(message: str | Message) -> str:
    """Return the text of a message for a page. It names buttons where a terminal names commands."""
    if isinstance(message, str):
        return message
    data = {
        name: sentence(value) if isinstance(value, Message) else value for name, value in message.data.items()
    }
    return message_text(_TEXTS, message.code, data)


def said_of_error(error: RagError) -> str:
    """Return an error as two sentences: what happened, and what to do. For guests, names of files and servers
    are left out, as in REST."""
    who = access.viewer()
    shown = error if who is not None and who.is_owner else refusal(error, for_owner=False)[1]
    return sentence(shown.as_message())


def show_error(error: RagError) -> None:
    """Draw an error as worded by `said_of_error`."""
    st.error(spoken(said_of_error(error)))


def show_warning(*texts: str) -> None:
    """Draw a warning of whole sentences, each on its own line. Their text is escaped."""
    st.warning("  \n".join(map(spoken, texts)))


def show_done(text: str) -> None:
    """Draw an escaped sentence about a finished action; nothing if it is empty."""
    if text:
        st.success(spoken(text))


def show_unknown_store(viewer: Viewer, name: str) -> None:
    """Draw an error that there is no store ``name``, with the existing names."""
    try:
        library().stores.info(viewer, name)
    except RagError as error:
        show_error(error)


@contextmanager
def errors_wait(place: str) -> Iterator[None]:
    """Context manager for a callback, which cannot draw. A RagError inside is caught and stored until
    `show_waiting` draws it. ``place`` is a name that both calls use."""
    try:
        yield
    except RagError as error:
        st.session_state[f"{place}_error"] = error


def say_later(place: str, text: str) -> None:
    """Store a sentence about a finished action until `show_waiting` draws it. ``place`` is a name that both
    calls use."""
    st.session_state[f"{place}_done"] = text


def show_waiting(place: str) -> None:
    """Draw, once, the sentence or error that `say_later` or `errors_wait` stored under ``place``, if any."""
    show_done(st.session_state.pop(f"{place}_done", ""))
    if error := st.session_state.pop(f"{place}_error", None):
        show_error(error)
