"""The frame of every page: its viewer, the links to other pages, title and icon.

This script, not app.py, is Streamlit's main script. If a folder named ``pages`` were next to the main script,
Streamlit would run the pages of a fresh server directly, without this file.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import streamlit as st

from rag_core.errors import RagError
from rag_core.types import Viewer
from ui.frame import visit
from ui.frame.access import require_viewer
from ui.frame.deps import library
from ui.frame.front import ICON
from ui.frame.serve import follow_theme

PAGES_ROOT = Path(__file__).resolve().parents[2]

# A local image: with an emoji or a symbol the browser would ask a font service for the icon.
st.set_page_config(page_title="Commonplace", page_icon=str(ICON))
viewer = require_viewer()
follow_theme()


def link_parameters(title: str, *, is_open: bool) -> dict[str, str] | None:
    """Return the query parameters for the link of a page in the menu, or None if the page needs none.

    The links of Stores and Files return to their lists. That of Files names the current store, so that a
    reload shows the same one. ``is_open`` says whether the page is the one shown now.
    """
    if title == "Stores" and is_open:
        return {"store": ""}
    if title != "Files":
        return None
    with suppress(RagError):  # the page shows the error
        names = library().stores.names(viewer)
        asked = st.query_params.get("store") if is_open else None
        if store := asked if asked in names else visit.last_store(names):
            return {"store": store}
    return {"store": ""} if is_open else None


def pages(viewer: Viewer) -> list[st.Page]:
    """Return the pages that a viewer may open."""
    search, *others = (
        st.Page(PAGES_ROOT / "pages" / "search.py", title="Search", icon=":material/search:", default=True),
        st.Page(PAGES_ROOT / "pages" / "files.py", title="Files", icon=":material/folder:", url_path="files"),
        st.Page(PAGES_ROOT / "pages" / "index.py", title="Index", icon=":material/sync:", url_path="index"),
        st.Page(
            PAGES_ROOT / "pages" / "stores.py", title="Stores", icon=":material/database:", url_path="stores"
        ),
        st.Page(
            PAGES_ROOT / "pages" / "settings.py",
            title="Settings",
            icon=":material/settings:",
            url_path="settings",
        ),
    )
    ask = st.Page(PAGES_ROOT / "pages" / "ask.py", title="Ask", icon=":material/forum:", url_path="ask")
    return [search, *([ask] if viewer.may_ask else []), *(others if viewer.is_owner else others[:1])]


offered = pages(viewer)
page = st.navigation(offered, position="hidden")
st.set_page_config(page_title=f"{page.title} · Commonplace")
visit.begin_visit(page.title)
if page.title == "Files":
    visit.remember_document(viewer)
# Streamlit's own row of pages is not used: a press on the open page does nothing there, even if it shows a
# document. In a narrow window the pages are in a drawer that covers the page and stays open.
with st.container(horizontal=True, gap=None, key="pages"):
    for each in offered:
        st.page_link(
            each,
            label=f"**{each.title}**" if each == page else each.title,
            query_params=link_parameters(each.title, is_open=each == page),
        )
page.run()
