"""Ask: a question, the answer with its checked sources, follow-up questions, and earlier conversations."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.library.asking import check_may_ask
from ui.ask.ask_page import show_conversation, show_history, start_over
from ui.frame.access import require_viewer
from ui.frame.deps import library
from ui.frame.messages import show_error
from ui.search import first_run


def main() -> None:
    """Draw the page, top to bottom."""
    viewer = require_viewer()
    if first_run.is_shown(viewer):
        return
    st.title("Ask", anchor=False)
    check_may_ask(viewer)
    start_over()
    show_conversation(viewer, library().stores.names(viewer))
    show_history(viewer)


try:
    main()
except RagError as problem:
    show_error(problem)
