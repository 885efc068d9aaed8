"""Index: make or choose a store, point at a folder, see what would happen, run it and watch."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.types import StoreInfo, Viewer
from ui.access import require_owner
from ui.file_choice import choose_files
from ui.folders import choose_folder
from ui.indexing import show_dry_run, show_sources, show_start
from ui.job_status import show_job_status
from ui.messages import show_error
from ui.model_notice import show_model_notice
from ui.runs import show_start_error
from ui.store_choice import choose_store


def add_folder(viewer: Viewer, info: StoreInfo) -> None:
    """Steps 2 to 5; each appears when the one before it is done."""
    st.subheader("2. Folder", anchor=False)
    folder = choose_folder()
    if folder is None:
        return
    st.subheader("3. What to take", anchor=False)
    choice = choose_files(folder)
    if choice is None:
        return
    st.subheader("4. What would happen", anchor=False)
    show_dry_run(viewer, info, choice)
    st.subheader("5. Index", anchor=False)
    show_start(viewer, info, choice)


def main() -> None:
    """The page, top to bottom."""
    viewer = require_owner()
    st.title("Index", anchor=False)
    store = choose_store(viewer)
    if store is None:
        return
    info = store.info
    show_model_notice(info)
    show_job_status(viewer, info, active=store.active)
    show_start_error()
    try:
        add_folder(viewer, info)
    except RagError as error:  # said below the step; the folders of the store still follow
        show_error(error)
    show_sources(viewer, info, active=store.active)


try:
    main()
except RagError as problem:
    show_error(problem)
