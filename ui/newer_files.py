"""Where a search finds nothing good: that it may be too new, and where to look further."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag_core.types import Answer, Viewer
from rag_core.wording import since_last_run
from ui import hits
from ui.deps import library, store_infos
from ui.last_store import last
from ui.links import FILES_PAGE, INDEX_PAGE
from ui.missing_file import WHY


def show_newer_files(viewer: Viewer, answer: Answer) -> None:
    """From when on files are not known yet, with the ways to Index and to the question why. Only the owner is
    told."""
    if not (viewer.is_owner and answer.stores):
        return
    begun, likely = library().jobs.last_begun(viewer, answer.stores), _likely(viewer, answer.stores)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="newer_files"):
        st.html(hits.paragraphs(since_last_run(begun)), width="content")
        st.page_link(INDEX_PAGE, label="Index", icon=":material/sync:", query_params={"store": likely})
        st.page_link(
            FILES_PAGE, label="Why is a file not found?", icon=":material/help:",
            query_params={"store": likely, WHY: answer.query.raw or "1"},
        )  # fmt: skip


def _likely(viewer: Viewer, stores: Sequence[str]) -> str:
    """The store that is probably meant: the one this session was at, else the largest of those searched."""
    sizes = {info.name: info.file_count for info in store_infos(viewer)}
    return last(stores) or max(stores, key=lambda name: sizes.get(name, 0))
