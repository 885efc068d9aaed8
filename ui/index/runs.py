"""A store's indexing runs. Callbacks request them and cannot draw, so an error is shown later, by
``show_waiting(INDEX_PLACE)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import streamlit as st

from rag_core.running import background
from rag_core.types import Job, Viewer
from ui.frame import hits, visit
from ui.frame.deps import library
from ui.frame.messages import errors_wait

INDEX_PLACE: Final = "index"
_STARTED: Final = "index_started"
ENDED_EARLY: Final = ("cancelled", "interrupted")
_AFTER_READING: Final = ("embedding", "pictures", "sending", "done")


def newest_job(viewer: Viewer, store: str) -> Job | None:
    """Return the running job or the last one; None if there was none. If a run continues an unfinished one,
    its progress includes the files read before."""
    jobs = library().jobs.all(viewer, store, 2)
    if len(jobs) == 2 and jobs[1].state in ENDED_EARLY and jobs[0].progress.phase == "reading":
        now, done = jobs[0].progress, jobs[0].total_files  # including unchanged files
        return replace(jobs[0], progress=replace(now, done=done, total=done + now.total - now.done))
    return jobs[0] if jobs else None


def is_active(viewer: Viewer, store: str) -> bool:
    """Whether ``store`` is being indexed, in this or another process, or is about to be."""
    newest = newest_job(viewer, store)
    return background.working(library(), store) or (newest is not None and newest.state == "running")


def has_read(viewer: Viewer, store: str) -> bool:
    """Whether the running job has read all files and now works on their passages."""
    newest = newest_job(viewer, store)
    return newest is not None and newest.state == "running" and newest.progress.phase in _AFTER_READING


def start_run(
    viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
) -> None:
    """Start to update folders in the background, given by their ids. None means all folders that are not
    paused. With ``force``, unchanged files are read, too."""
    request_run(viewer, store, lambda: library().jobs.request(viewer, store, source_ids, force=force))


def scroll_to_the_run() -> None:
    """If a button of this page has started a run in this visit, draw an element that the browser scrolls to,
    once for each run. The button may be far below."""
    started_in, number = st.session_state.get(_STARTED, ("", 0))
    if number and started_in == visit.current():
        st.html(hits.arrival("Indexing has begun.", number))


def continue_run(viewer: Viewer, store: str) -> None:
    """Start a run for the store's waiting requests. If there are none, update all folders that are not
    paused."""
    with errors_wait(INDEX_PLACE):
        if library().jobs.requested(viewer, store):
            background.go_on(library(), viewer, store)
        else:
            background.start(library(), viewer, store)


def request_run(viewer: Viewer, store: str, request: Callable[[], object]) -> None:
    """Call ``request``, which must add a request for a run to the store, and start the run. A RagError is
    stored for ``show_waiting(INDEX_PLACE)``."""
    with errors_wait(INDEX_PLACE):
        request()
        background.go_on(library(), viewer, store)
        _, number = st.session_state.get(_STARTED, ("", 0))
        st.session_state[_STARTED] = visit.current(), number + 1  # the browser scrolls to the run
