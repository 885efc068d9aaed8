"""Search: one box, and results that appear while a person types."""

from __future__ import annotations

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui.frame.access import require_viewer
from ui.frame.messages import show_error
from ui.search import first_run, results


def page(viewer: Viewer) -> None:
    """Draw the whole page for one viewer."""
    if first_run.is_shown(viewer):
        return
    before = results.state(viewer)  # not after the search: a change meanwhile would be missed
    results.show_search()
    results.follow(before)


try:
    page(require_viewer())
except RagError as problem:
    show_error(problem)
