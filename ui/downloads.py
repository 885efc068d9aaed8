"""The passages shown as a file: JSON for programs, CSV for spreadsheets."""

from __future__ import annotations

import re

import streamlit as st

from rag_core import render
from rag_core.types import Answer, Viewer
from rag_core.wording import plural

_LONGEST_NAME = 40


def show(answer: Answer, viewer: Viewer) -> None:
    """A button for each kind. The file is made when it is asked for, from the answer on the page."""
    name, count = file_name(answer), len(answer.hits)
    with st.container(horizontal=True, width="content"):
        st.download_button(
            f"{count:,} as JSON", lambda: render.json_bytes(render.answer(answer)), f"{name}.json",
            "application/json", key="download_json", on_click="ignore", type="tertiary",
            icon=":material/download:",
            help=f"The {plural(count, 'passage')} shown here, for programs",
        )  # fmt: skip
        st.download_button(
            f"{count:,} as CSV", lambda: render.hits_csv(answer, viewer), f"{name}.csv", "text/csv",
            key="download_csv", on_click="ignore", type="tertiary", icon=":material/download:",
            help=f"The {plural(count, 'passage')} shown here, for a spreadsheet",
        )  # fmt: skip


def file_name(answer: Answer) -> str:
    """A name that tells one search from another: its words, and the first rank."""
    words = re.sub(r"[\W_]+", "-", answer.query.raw)[:_LONGEST_NAME].strip("-")
    first = f"-from-{answer.offset + 1}" if answer.offset else ""
    return f"{words or 'passages'}{first}"
