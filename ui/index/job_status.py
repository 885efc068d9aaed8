"""The progress of a store's run, and the results of its last runs. Both are read from the store, whichever
process runs the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from rag_core.errors import NotFound
from rag_core.reports import PendingRequest
from rag_core.types import Job, Progress, StoreInfo, Viewer
from rag_core.wording import moment, outcomes, progress, read_nothing
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.links import SEARCH_PAGE
from ui.frame.messages import show_warning
from ui.index.model_notice import is_model_missing
from ui.index.runs import ENDED_EARLY, continue_run, has_read, is_active, newest_job

_POLL_S: Final = 0.5
_CANCELLED: Final = "index_cancelled_job"
"""Files or texts done before the time left is worth showing."""
_NOTHING_READ: Final = ("Nothing could be read", ":material/warning:", "orange")
_BADGES: Final = {
    "done": ("Done", ":material/check:", "green"),
    "cancelled": ("Paused", ":material/pause:", "orange"),
    "interrupted": ("Interrupted", ":material/power_off:", "orange"),
    "failed": ("Failed", ":material/error:", "red"),
}


def show_job_status(viewer: Viewer, info: StoreInfo, *, active: bool, read: bool) -> None:
    """Draw the running job, which updates itself, or the last one. ``active`` says whether the store is being
    indexed now, and ``read`` whether this job has read all files.

    When one of the two changes, the whole page is drawn again.
    """
    unembedded = info.pending > 0 and not is_model_missing(info.embedder)
    fragment = st.fragment(_status, run_every=_POLL_S if active else None)
    fragment(viewer, info.name, polling=active, read=read, unembedded=unembedded)


def _status(viewer: Viewer, store: str, *, polling: bool, read: bool, unembedded: bool) -> None:
    try:
        active, job = is_active(viewer, store), newest_job(viewer, store)
    except NotFound:  # the store was deleted meanwhile, and the page says so
        st.rerun()
    if polling != active or (active and read != has_read(viewer, store)):
        st.rerun()  # draw the whole page once more, with or without the timer
    asked = library().jobs.requests(viewer, store)
    if job is None and not active and not asked:
        return
    if active:
        with st.container(border=True, key="index_status"):
            _show_running(viewer, store, job if job and job.state == "running" else None)
        return
    unfinished = unembedded or (job is not None and job.state in ENDED_EARLY)
    if job is not None and job.state == "done" and not (asked or unfinished or read_nothing(job)):
        _show_done(store, job)
        return
    with st.container(border=True, key="index_status", gap="small"):
        _show_ended(viewer, store, job, asked, unfinished=unfinished)


def _show_running(viewer: Viewer, store: str, job: Job | None) -> None:
    if job is None:
        st.progress(0.0, text="Starting …")
        return
    now = job.progress
    st.progress(_part(now), text=progress(now))
    st.text(now.current or "\u00a0")  # a blank line keeps the buttons in place

    def cancel() -> None:
        library().jobs.cancel(viewer, store)
        st.session_state[_CANCELLED] = (store, job.id)

    with st.container(horizontal=True, vertical_alignment="center"):
        if st.session_state.get(_CANCELLED) == (store, job.id):
            st.button("Pausing …", key="index_cancel", icon=":material/pause:", disabled=True)
        else:
            st.button("Pause", key="index_cancel", icon=":material/pause:", on_click=cancel)
        _link_to_search(store)


def _part(now: Progress) -> float:
    return min(now.done / now.total, 1.0) if now.total else 0.0


def _show_done(store: str, job: Job) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{_outcomes(job) or 'Done'} · {moment(job.end_time or '')}", width="content")
        _link_to_search(store)
    if job.message:
        st.caption(label(job.message))


def _show_ended(
    viewer: Viewer, store: str, job: Job | None, asked: Sequence[PendingRequest], *, unfinished: bool
) -> None:
    if job is not None:
        name, icon, colour = _NOTHING_READ if read_nothing(job) else _BADGES[job.state]
        with st.container(horizontal=True, vertical_alignment="center"):
            st.badge(name, icon=icon, color=colour)  # type: ignore[arg-type]
            st.caption(_outcomes(job))
        if job.state == "cancelled" and job.progress.total:
            now = job.progress
            st.progress(_part(now), text=f"{now.done:,} of {now.total:,}")
        if job.message and (job.state == "failed" or read_nothing(job)):
            show_warning(job.message)
        elif job.message:
            st.caption(label(job.message))
    if asked:
        waiting = dict.fromkeys(folder for request in asked for folder in request.folders or ("all folders",))
        st.markdown(f"Waiting: {label(', '.join(waiting))}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        if asked or unfinished:
            st.button(
                "Resume",
                key="index_go_on",
                icon=":material/play_arrow:",
                on_click=continue_run,
                args=(viewer, store),
            )
        _link_to_search(store)


def _outcomes(job: Job) -> str:
    return " · ".join(outcomes(job.counts))


def _link_to_search(store: str) -> None:
    st.page_link(
        SEARCH_PAGE, label="Search this store", icon=":material/search:", query_params={"store": store}
    )
