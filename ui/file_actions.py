"""What the owner does with one file: have it read again, take it out or back; and the run that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from rag_core.errors import NotFound
from rag_core.types import Document, Viewer
from ui import file_table, hits
from ui.deps import library
from ui.job_status import describe
from ui.messages import say_later, show_waiting
from ui.runs import PLACE, ask, is_active, newest_job

_POLL_S: Final = 0.5
_INCLUDE: Final = "Include again"
_READ: Final = "Read again"
_WITHOUT_TEXT: Final = {"failed": "could not be read", "skipped": "was skipped"}
_ASKED: Final = "file_asked"  # what was asked for last, until its run has ended
_EXCLUDE: Final = (
    "Leaves it out from now on, whatever the folder's patterns say. The file itself stays as it is; "
    "moved to another path, it is a file like any other."
)


def show_actions(viewer: Viewer, file: Document) -> None:
    """The buttons for ``file``."""
    own = library()
    if file.state == "excluded":
        _button(viewer, file, _INCLUDE, ":material/undo:", _include, "Reads it again.")
        return
    if file.state == "missing":
        looks = "Finds it where it has moved to in its folder, or forgets it."
        _button(viewer, file, "Look for it", ":material/search:", own.jobs.request_file, looks)
    else:
        reads = "Reads this one file, changed or not."
        _button(viewer, file, _READ, ":material/refresh:", own.jobs.request_file, reads)
    _button(viewer, file, "Exclude", ":material/block:", own.files.exclude, _EXCLUDE)


def _button(
    viewer: Viewer, file: Document, name: str, icon: str, act: Callable[[Viewer, str, str], None], helped: str
) -> None:
    st.button(
        name, key=f"file_{name}", icon=icon, help=helped,
        on_click=_do, args=(act, name, viewer, file.store, file.path),
    )  # fmt: skip


def _include(viewer: Viewer, store: str, path: str) -> None:
    library().files.include(viewer, store, path)
    st.session_state.pop(file_table.CHOSEN, None)  # the list shows its new state


def _do(act: Callable[[Viewer, str, str], None], name: str, viewer: Viewer, store: str, path: str) -> None:
    def request() -> None:
        act(viewer, store, path)
        st.session_state[_ASKED] = (name, store, path)

    ask(viewer, store, request)
    file_table.forget()


def runs_now(viewer: Viewer, store: str) -> bool:
    """Whether the store is being indexed; always False for a guest.

    Call this before reading the store. Otherwise a run that ends in between leaves the old state on the page.
    """
    return viewer.is_owner and is_active(viewer, store)


def show_file_outcome(viewer: Viewer, store: str, *, active: bool) -> None:
    """Say what was done, and once its run has ended (not ``active``) what became of the file asked for."""
    name, of, path = st.session_state.get(_ASKED, ("", "", ""))
    if of == store and viewer.is_owner and not active:
        del st.session_state[_ASKED]
        say_later(PLACE, _became(viewer, name, store, path))
    show_waiting(PLACE)


def _became(viewer: Viewer, name: str, store: str, path: str) -> str:
    """What has become of a file, in a sentence; '' where its run did not come to its end, which says why."""
    job = newest_job(viewer, store)
    if job is None or job.state != "done":
        return ""
    try:
        state = library().files.get(viewer, store, path).state
    except NotFound:
        return f"{path!r} is not there any more: it was forgotten, or is listed where it has moved to."
    if state == "fresh":
        return f"{path!r} is included again." if name == _INCLUDE else f"{path!r} was read again."
    return f"{path!r} {_WITHOUT_TEXT.get(state, f'is {state} now')}."


def show_run(viewer: Viewer, store: str) -> None:
    """How far the run of a store is that ``runs_now`` found, and the page anew when it has ended."""
    st.fragment(_running, run_every=_POLL_S)(viewer, store)


def _running(viewer: Viewer, store: str) -> None:
    if not is_active(viewer, store):
        file_table.forget()
        st.rerun()
    job = newest_job(viewer, store)
    far = describe(job.progress) if job and job.state == "running" else "Starting …"
    st.html(hits.paragraphs(f"The store is being indexed. {far}", status=True))
