"""Files: every file of a store with its state, and the page of one document (``?path=``)."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui.files import file_filters
from ui.files.document_page import DocumentAddress, show_document
from ui.files.file_list import show_files
from ui.frame import visit
from ui.frame.access import require_viewer
from ui.frame.deps import library
from ui.frame.messages import show_error
from ui.search.first_run import choose_first_folder


def page(viewer: Viewer) -> None:
    """Draw the list of files or one document, for one viewer."""
    file_filters.follow_address()
    stores = library().stores.names(viewer)
    if not stores:
        choose_first_folder(viewer)
        return
    asked = st.query_params
    store, path = asked.get("store") or visit.last_store(stores) or stores[0], asked.get("path", "")
    visit.remember_store(store)
    with visit.from_the_top("files", (store, path)):
        try:
            if path:
                show_document(
                    viewer,
                    DocumentAddress(
                        store,
                        path,
                        asked.get("passage", ""),
                        asked.get("heading", ""),
                        _number(asked.get("from", "")),
                        asked.get("search", ""),
                        bool(asked.get("source")),
                    ),
                )
            else:
                show_files(viewer, stores, store)
        except RagError as problem:
            show_error(problem)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


page(require_viewer())
