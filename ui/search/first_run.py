"""The first minutes: choosing a folder, and waiting until its words can be searched."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag_core.types import Viewer
from rag_core.wording import progress
from ui.frame import components, hits
from ui.frame.deps import library, store_infos
from ui.index.runs import is_active, newest_job
from ui.index.store_choice import new_store
from ui.search.results import nothing_indexed

_POLL_S = 0.5


def is_shown(viewer: Viewer) -> bool:
    """If the viewer has nothing to search yet, draw how to begin and return True: the page then shows nothing
    else."""
    stores = library().stores.names(viewer)
    if stores and (not viewer.is_owner or any(info.file_count for info in store_infos(viewer))):
        return False
    if stores:
        wait_for_words(viewer, stores)
    else:
        choose_first_folder(viewer)
    return True


def choose_first_folder(viewer: Viewer) -> None:
    """Draw the page of a viewer without stores. The owner gets a choice of folders, and one button."""
    if not viewer.is_owner:
        st.title("Nothing to search yet", anchor=False)
        st.html(hits.paragraphs("No store is shared with you yet. Ask the owner of this library."))
        return
    st.title("Which folder do you want to search?", anchor=False)
    new_store(viewer, has_others=False)
    components.draw("focus", "focus", ".st-key-index_folder input")


def wait_for_words(viewer: Viewer, stores: Sequence[str]) -> None:
    """Draw the progress of the first run. The page is drawn again once something can be found."""
    reading = [name for name in stores if is_active(viewer, name)]
    if not reading:
        nothing_indexed(viewer)
        return
    st.fragment(_progress, run_every=_POLL_S)(viewer, reading)


def _progress(viewer: Viewer, stores: Sequence[str]) -> None:
    files = sum(info.file_count for info in store_infos(viewer))
    if files or not any(is_active(viewer, name) for name in stores):
        st.rerun()
    for name in stores:
        job = newest_job(viewer, name)
        now = job.progress if job else None
        part = min(now.done / now.total, 1.0) if now and now.total else 0.0
        st.progress(part, text=progress(now) if now else "Starting …")
    st.html(hits.paragraphs("You can search in a moment: words first, then meaning."))
