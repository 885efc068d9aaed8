"""The owner's actions for one file: reading it again, excluding and including it; and the run that
follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from rag_core.errors import NotFound
from rag_core.types import Document, Viewer
from rag_core.wording import progress
from ui.files import file_table
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import say_later, show_waiting
from ui.index.runs import INDEX_PLACE, is_active, newest_job, request_run

_Act = Callable[[Viewer, str, str], None]
_Action = tuple[str, str, _Act, str]  # name, icon, what it does, help
_POLL_S: Final = 0.5
_INCLUDE: Final = "Include again"
_NOW: Final = {
    "": "{path!r} is gone: it was deleted or moved.",
    "fresh": "{path!r} was read again.",
    "failed": "{path!r} could not be read.",
    "skipped": "{path!r} was skipped.",
    "waiting": "{path!r} was read, but some of its pictures still wait to be read.",
}
_ASKED: Final = "file_asked"  # the last action of this page, until its run has ended
_EXCLUDE: Final = (
    "Leaves this path out of the index, whatever the folder's patterns say. The file itself does not change."
)


def show_actions(viewer: Viewer, file: Document) -> None:
    """Draw the buttons for ``file``."""
    files, read = library().files, library().jobs.request_file
    looks = "Finds the file's new place in the folder, or removes the file from the index."
    actions: list[_Action] = [("Exclude", ":material/block:", files.exclude, _EXCLUDE)]
    if file.state == "excluded":
        actions = [(_INCLUDE, ":material/undo:", files.include, "Reads the file again.")]
    elif file.state == "missing":
        actions.insert(0, ("Look for it", ":material/search:", read, looks))
    else:
        actions.insert(0, ("Read again", ":material/refresh:", read, "Reads this file, even if unchanged."))
    for name, icon, act, helped in actions:
        st.button(
            name,
            key=f"file_{name}",
            icon=icon,
            help=helped,
            on_click=_do,
            args=(act, name, viewer, file.store, file.path),
        )


def _do(act: _Act, name: str, viewer: Viewer, store: str, path: str) -> None:
    def request() -> None:
        act(viewer, store, path)
        if name == _INCLUDE:
            st.session_state.pop(file_table.CHOSEN, None)  # the list shows its new state
        st.session_state[_ASKED] = (name, store, path)

    request_run(viewer, store, request)
    file_table.look_again()


def runs_now(viewer: Viewer, store: str) -> bool:
    """Whether the store is being indexed; always False for a guest. Call this before reading the store: a run
    that ends in between would leave an outdated state on the page."""
    return viewer.is_owner and is_active(viewer, store)


def is_asked_for(store: str, path: str) -> bool:
    """Whether the last action on this page was for this file."""
    return bool(st.session_state.get(_ASKED, ("", "", ""))[1:] == (store, path))


def show_file_outcome(viewer: Viewer, store: str, *, active: bool) -> None:
    """When the run has ended (``active`` is False), draw, once, the result of the last action for a file of
    this store."""
    name, of, path = st.session_state.get(_ASKED, ("", "", ""))
    if of == store and viewer.is_owner and not active:
        del st.session_state[_ASKED]
        job = newest_job(viewer, store)
        if job is not None and job.state == "done":  # otherwise the run says why
            try:
                state = library().files.get(viewer, store, path).state
            except NotFound:
                state = ""
            again = (name, state) == (_INCLUDE, "fresh")
            outcome = "{path!r} is included again." if again else _NOW.get(state, "{path!r} is {state} now.")
            say_later(INDEX_PLACE, outcome.format(path=path, state=state))
    show_waiting(INDEX_PLACE)


def show_run(viewer: Viewer, store: str) -> None:
    """Draw the progress of a store's run. The page is drawn again when the run ends."""
    st.fragment(_running, run_every=_POLL_S)(viewer, store)


def _running(viewer: Viewer, store: str) -> None:
    if not is_active(viewer, store):
        file_table.look_again()
        st.rerun()
    job = newest_job(viewer, store)
    far = progress(job.progress) if job and job.state == "running" else "Starting …"
    st.html(hits.paragraphs(f"The store is being indexed. {far}", status=True))
