"""Index: a store, its folders and their state, and adding a folder with a preview."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from ui.frame.access import require_owner
from ui.frame.messages import show_error, show_waiting
from ui.index.folders import choose_folder
from ui.index.indexing import choose_files, preview_folder, show_start
from ui.index.job_status import show_job_status
from ui.index.language_notice import show_language_notice
from ui.index.model_notice import show_model_notice
from ui.index.problems import show_problems
from ui.index.runs import INDEX_PLACE, scroll_to_the_run
from ui.index.sources import show_sources
from ui.index.store_choice import choose_store


def main() -> None:
    """Draw the page, top to bottom. Each step of adding a folder appears when the step before it is
    finished."""
    viewer = require_owner()
    st.title("Index", anchor=False)
    store = choose_store(viewer)
    if store is None:
        return
    info = store.info
    show_model_notice(info.embedder)
    scroll_to_the_run()
    show_job_status(viewer, info, active=store.active, read=store.has_read)
    show_language_notice(viewer, info)
    show_waiting(INDEX_PLACE)
    st.header("Add a folder" if info.sources else "Folder", anchor=False)
    try:
        folder = choose_folder(viewer)
        if folder is not None:
            start = st.container()
            choice = choose_files(viewer, folder)
            if choice is not None:
                with start:
                    show_start(viewer, choice, lambda: info.name)
                preview_folder(viewer, info, choice)
    except RagError as error:  # said below the step; what is known of the store still follows
        show_error(error)
    show_sources(viewer, info, active=store.active, read=store.has_read)
    show_problems(viewer, info)


try:
    main()
except RagError as problem:
    show_error(problem)
