"""Search: one box, and the notes found while somebody types."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui import deps, first_run, results
from ui.access import require_viewer
from ui.messages import show_error


def page(viewer: Viewer) -> None:
    """The whole page, for one viewer."""
    if first_run.is_shown(viewer):
        return
    results.show_search()
    if deps.meaning_is_loading(viewer):
        again_when_loaded()


@st.fragment(run_every=0.5)
def again_when_loaded() -> None:
    """Draw the page once more when the model is there."""
    if not deps.meaning_is_loading(require_viewer()):
        st.rerun()


try:
    page(require_viewer())
except RagError as problem:
    show_error(problem)
