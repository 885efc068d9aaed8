"""Sentences that quote file names, patterns and paths: shown as they are, never as Markdown."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from rag_core.errors import RagError

_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")


def escaped(text: str) -> str:
    """``text`` on one line, for a label or notice that Streamlit reads as Markdown."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def show_error(error: RagError) -> None:
    """The two sentences of an error, as every other face says them."""
    st.error(escaped(str(error)))


def show_warning(text: str) -> None:
    """A whole sentence that may hold anything."""
    st.warning(escaped(text))


def plural(count: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
