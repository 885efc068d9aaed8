"""A store's indexing runs, as the pages need them: is one under way, and starting one."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core import jobs
from rag_core.errors import RagError
from rag_core.types import Job, Viewer
from ui.deps import library
from ui.messages import show_error

_ERROR: Final = "index_start_error"


def newest_job(viewer: Viewer, store: str) -> Job | None:
    """The run under way or the last one."""
    return next(iter(library().jobs(viewer, store, 1)), None)


def is_active(viewer: Viewer, store: str) -> bool:
    """Whether ``store`` is being indexed, in this or another process, or is about to be."""
    newest = newest_job(viewer, store)
    return jobs.working(library(), store) or (newest is not None and newest.state == "running")


def start_run(viewer: Viewer, store: str, *, force: bool = False) -> None:
    """Start a run in the background, from a callback; what goes wrong waits for ``show_start_error``."""
    try:
        jobs.start(library(), viewer, store, force=force)
    except RagError as error:
        remember_error(error)


def remember_error(error: RagError) -> None:
    """Keep an error of a callback until the page is drawn: a callback draws nothing that stays."""
    st.session_state[_ERROR] = error


def show_start_error() -> None:
    """Say once why the last start failed, if it did."""
    error = st.session_state.pop(_ERROR, None)
    if error is not None:
        show_error(error)
