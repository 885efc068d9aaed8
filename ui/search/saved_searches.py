"""Saved searches on the Search page: their names under the empty box, and their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import streamlit as st

from rag_core.errors import RagError
from rag_core.reports import SavedSearch
from rag_core.types import Viewer
from rag_core.wording import asked_by, new_hits
from ui.frame.deps import library
from ui.frame.messages import errors_wait
from ui.frame.search_state import (
    NOTHING_ASKED,
    TOP_FOLDER,
    Params,
    SearchState,
    from_params,
    to_params,
    usual,
)
from ui.search import filters, search_box
from ui.search.search_box import Way

SAVED_PLACE = "saved_searches"
_LAST = "saved_search"
"""The session key of the parameters of the last saved search."""

_SINGLE = {"types": "type", "tags": "tag", "paths": "path"}
_TYPED = {"files": "file", "titles": "title", "headings": "heading", "pages": "page", "places": "place"} | {
    "symbols": "symbol",
    "dates": "date",
}


def ways(viewer: Viewer) -> list[Way]:
    """Return a link to each saved search, with its number of new documents; nothing for a guest."""
    searches = library().saved.searches(viewer) if viewer.is_owner else []
    return [_way(saved, usual()) for saved in searches]


def _way(saved: SavedSearch, default: SearchState) -> Way:
    params = to_params(as_request(saved, default), default)
    return Way(saved.name, new_hits(saved), params=params, hint=asked_by(saved), saved=saved.name)


def as_request(saved: SavedSearch, default: SearchState) -> SearchState:
    """Return a saved search as a request of the page. Filters that the page cannot show as chips are written
    into its text. ``default`` has the values that the saved search leaves open."""
    filters = saved.filters
    chips: dict[str, str] = {}
    words = [saved.text]
    for field, name in (_SINGLE | _TYPED).items():
        values: Sequence[str] = getattr(filters, field)
        if field in _SINGLE and len(values) == 1:
            chips[name] = values[0] or TOP_FOLDER
        else:
            words += [f'{name}:"{value}"' for value in values]
    return replace(
        NOTHING_ASKED,
        q=" ".join(filter(None, words)),
        store=saved.stores,
        sort=saved.sort,
        has=filters.properties,
        after=date.fromisoformat(filters.after) if filters.after else None,
        before=date.fromisoformat(filters.before) if filters.before else None,
        min=default.min if saved.min_score is None else saved.min_score,
        mode=saved.mode or default.mode,
        k=default.k,
        type=chips.get("type"),
        tag=chips.get("tag"),
        path=chips.get("path"),
    )


def take_action(viewer: Viewer, params: Params) -> None:
    """Callback: save, open, rename or remove a saved search, as the box requests. An error is stored for
    `error`."""
    kind, name, new_name = search_box.act()
    saved = library().saved
    with errors_wait(SAVED_PLACE):
        match kind:
            case "save":
                names = library().stores.names(viewer)
                offered = filters.choices(viewer, names, params.get("store", ()))
                request = from_params(params, offered, usual())
                saved.save(
                    viewer,
                    name,
                    request.q,
                    request.store,
                    filters=request.filters,
                    sort=request.sort,
                    min_score=request.min,
                    mode=request.mode,
                )
                st.session_state[_LAST] = params
            case "open":
                saved.open(viewer, name, top_k=1)
            case "rename":
                saved.rename(viewer, name, new_name)
            case "remove":
                saved.delete(viewer, name)


def is_last(params: Params) -> bool:
    """Whether these are the parameters of the last search saved on this page."""
    last: Params | None = st.session_state.get(_LAST)
    return last == params


def error() -> RagError | None:
    """Return the error of the last `take_action`; None if there was none. It is returned only once."""
    problem: RagError | None = st.session_state.pop(f"{SAVED_PLACE}_error", None)
    return problem
