"""What a page says in whole sentences. They quote paths and patterns, so nothing in them is Markdown."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.api.http import refusal
from rag_core.errors import RagError
from rag_core.messages import TEXTS, Message, render
from ui import access
from ui.hits import spoken

ON_INDEX_PAGE: Final = frozenset({"add_folder", "edit_exclude", "include_pattern", "index", "resume_folder"})
"""The next steps that are done on the Index page."""

_TEXTS: Final = TEXTS | {
    "add_folder": "Add its folder on the Index page.",
    "ask_amazon": "Press Ask Amazon.",
    "edit_exclude": "Change the folder's exclude patterns on the Index page, with Edit at the folder.",
    "heal_vectors": "Heal it on the Stores page: it is made again.",
    "include": "Include it again on the Files page.",
    "include_pattern": "Add a pattern that names it to the folder on the Index page.",
    "index": "Index the store again on the Index page.",
    "install_model": "Install it on the Index page.",
    "make_store": "Make one on the Index page.",
    "min_score": "The best score is {best:g}, below the minimum of {least:g}.",
    "pending": TEXTS["pending_guest"],
    "pull_model": "Download {model!r} below.",
    "read_again": "Read it again on the Files page.",
    "replace_file": "Choose another name, or tick the box that replaces it.",
    "resume_folder": "Resume the folder on the Index page, then index it.",
}
"""Code → sentence, where a page has a button for what the command line does with a command."""


def sentence(message: str | Message) -> str:
    """A message as a page says it."""
    if isinstance(message, str):
        return message
    data = {
        name: sentence(value) if isinstance(value, Message) else value for name, value in message.data.items()
    }
    return render(_TEXTS, message.code, data)


def show_error(error: RagError) -> None:
    """Show the two sentences of an error, to guests as over REST: nothing of files and servers."""
    who = access.viewer()
    shown = error if who is not None and who.is_owner else refusal(error, for_owner=False)[1]
    st.error(spoken(sentence(shown.as_message())))


def show_warning(*texts: str) -> None:
    """Whole sentences that may hold anything, each on a line of its own."""
    st.warning("  \n".join(map(spoken, texts)))


def show_done(text: str) -> None:
    """A whole sentence about what was done, which may hold anything; nothing for an empty one."""
    if text:
        st.success(spoken(text))
