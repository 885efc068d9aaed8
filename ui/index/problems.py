"""Files that could not be read, by reason, with a button to try again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from rag_core.config import Settings, load
from rag_core.reports import Problem
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import plural
from ui.frame.deps import library
from ui.frame.hits import in_one_line, label
from ui.index.runs import newest_job, request_run

_MOST_GROUPS: Final = 20
_FEW: Final = 5
_MOST_FILES: Final = 200


def show_problems(viewer: Viewer, info: StoreInfo) -> None:
    """Draw the files of the store that cannot be read or searched completely, if there are any."""
    newest = newest_job(viewer, info.name)
    # A refused text does not change the generation, but the run in which it was refused has another state.
    state = (info.generation, newest.id if newest else 0, newest.state if newest else "")
    if problems := _problems(load(), viewer, info.name, state):
        st.header("What could not be read", anchor=False)
        again = [problem for problem in problems if problem.kind != "skipped"]
        skipped = [problem for problem in problems if problem.kind == "skipped"]
        _show_each(viewer, info.name, again, "index_retry")
        if skipped:
            with st.expander(f"{plural(sum(group.count for group in skipped), 'file')} skipped, by reason"):
                _show_each(viewer, info.name, skipped, "index_skipped")


@st.cache_data(max_entries=32, show_spinner=False)
def _problems(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    store: str,
    state: tuple[int | str | None, ...],  # noqa: ARG001
) -> list[Problem]:
    return library().jobs.problems(viewer, store)


def _show_each(viewer: Viewer, store: str, problems: Sequence[Problem], key: str) -> None:
    for number, problem in enumerate(problems[:_MOST_GROUPS]):
        with st.container(border=True, gap="xsmall"):
            several = "All for the same reason: " if len(problem.files) > 1 else ""
            st.markdown(f"**{headline(problem)}** {several}{label(problem.reason)}")
            with st.container(horizontal=True, vertical_alignment="top"):
                if len(problem.files) <= _FEW:
                    st.text(_names(problem.files))
                else:
                    with st.expander("Which files", type="compact"):
                        st.text(_names(problem.files))
                st.button(
                    "Try again",
                    key=f"{key}_{number}",
                    icon=":material/refresh:",
                    on_click=request_run,
                    args=(viewer, store, partial(library().jobs.retry, viewer, store, problem)),
                )
    if len(problems) > _MOST_GROUPS:
        st.caption(f"And {plural(len(problems) - _MOST_GROUPS, 'more reason')}.")


def _names(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _MOST_FILES:,} more"] if len(names) > _MOST_FILES else []
    return "\n".join([*map(in_one_line, names[:_MOST_FILES]), *more])


def headline(problem: Problem) -> str:
    """Return a sentence of plain text about a problem, with the number of files or texts. The reason is not
    in it."""
    files = plural(len(problem.files), "file")
    if problem.kind == "waiting":
        return f"The pictures in {files} are not read yet."
    if problem.kind == "refused":
        return f"Found by words only: {plural(problem.count, 'text')} of {files}."
    if problem.kind == "in part":
        return f"{files} could be read only in part."
    return f"{files} could not be read." if problem.kind == "failed" else f"{files} skipped."
