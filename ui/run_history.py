"""The last runs of a store as a table; the chosen one is shown with what became of its files."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.types import Job, StoreInfo, Viewer
from rag_core.wording import moment, outcome, outcomes, took
from ui.deps import library
from ui.hits import one_line
from ui.job_status import show_summary
from ui.problems import problems_of_job, show_groups

_MOST_RUNS: Final = 20
_MOST_FILES: Final = 500


def show_history(viewer: Viewer, info: StoreInfo) -> None:
    """The runs that have ended, the newest first; nothing when there was none."""
    jobs = [job for job in library().jobs.all(viewer, info.name, _MOST_RUNS) if job.state != "running"]
    if not jobs:
        return
    st.header("Last runs", anchor=False)
    chosen = st.dataframe(
        [_row(job) for job in jobs],
        hide_index=True,
        key=f"index_runs_{info.name}",
        alt="The last runs of this store, the newest first",
        on_select="rerun",
        selection_mode="single-row",
        height="content",
        column_config={
            "Files": st.column_config.TextColumn(width=290),
            "Took": st.column_config.TextColumn(width=120),
        },
    )
    rows = chosen["selection"]["rows"]
    if rows and rows[0] < len(jobs):
        _show(viewer, jobs[rows[0]])
    else:
        st.caption(
            "Choose a row to see what a run did; with the keyboard, go to it and press Shift and Space."
        )


def _row(job: Job) -> dict[str, str]:
    return {
        "Began": moment(job.start_time),
        "State": job.state,
        "Files": ", ".join(outcomes(job.counts)) or "no files",
        "Took": took(job),
        "Note": one_line(job.message),
    }


def _show(viewer: Viewer, job: Job) -> None:
    with st.container(border=True, key="index_chosen_run"):
        show_summary(job)
        show_groups(viewer, job.store, problems_of_job(viewer, job), f"index_run_{job.id}")
        _show_files(viewer, job)


def _show_files(viewer: Viewer, job: Job) -> None:
    results = library().jobs.results(viewer, job.store, job.id, _MOST_FILES)
    done = [result for result in results if result.outcome not in ("failed", "skipped")]
    if not done:
        return
    st.dataframe(
        [
            {
                "What": outcome(result.outcome),
                "File": result.source_file,
                "Passages": result.chunks_added,
                "Note": one_line(result.message),
            }
            for result in done
        ],
        hide_index=True,
        key=f"index_run_files_{job.id}",
        alt="What became of each file",
        column_config={
            "What": st.column_config.TextColumn(width=90),
            "Passages": st.column_config.NumberColumn(width=90),
        },
    )
    if len(results) == _MOST_FILES:
        st.caption(f"These are the first {_MOST_FILES:,} files.")
