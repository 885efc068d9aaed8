"""Stores: the list of stores, with forms to create and import them, and the page of one store
(``?store=``)."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from ui.files.file_filters import follow_address
from ui.frame import visit
from ui.frame.access import require_owner
from ui.frame.messages import show_error
from ui.stores.store_list import show_stores
from ui.stores.store_page import show_store


def main() -> None:
    """Draw the list of stores or one store."""
    viewer = require_owner()
    follow_address()
    asked = st.query_params.get("store", "")
    with visit.from_the_top("stores", asked):
        try:
            if asked:
                show_store(viewer, asked)
            else:
                show_stores(viewer)
        except RagError as problem:
            show_error(problem)


main()
