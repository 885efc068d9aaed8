"""The one library of this process and its cached answers.

Every cache key contains the viewer and the generations of the stores. So an answer is computed again as soon
as a store changes, and never returned to another viewer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from rag_core.config import Settings, load
from rag_core.library import Library
from rag_core.running import background
from rag_core.types import OWNER, Answer, Facets, Mode, StoreInfo, Viewer
from ui.frame.search_state import NOTHING_ASKED, SearchState

_NO_BUDGET = 10**9  # tokens; a budget would leave gaps between pages
_HASHED: dict[str | type[Any], Callable[[Any], Any]] = {Settings: hash}
"""Settings are compared by value. Without this hash, Streamlit would examine every field each time."""
_PATIENCE = 0.15  # seconds to wait for a model before a search uses words only


def library() -> Library:
    """Return the library for the current settings. It is opened once in a process."""
    return _library(load())


def _close(library: Library) -> None:
    """Close a library with earlier settings, unless a job of it is running."""
    if not any(background.working(library, name) for name in library.stores.names(OWNER)):
        library.close()


@st.cache_resource(hash_funcs=_HASHED, max_entries=4, show_spinner=False, on_release=_close)
def _library(settings: Settings) -> Library:
    opened = Library.open(settings)
    background.hand_over(opened, OWNER)  # jobs that run with earlier settings
    return opened


def cached_search(viewer: Viewer, request: SearchState, mode: Mode) -> Answer:
    """Return ``Library.search``, cached until a store changes. Whether the files of the owner's hits have
    changed or are gone is looked up at every call.

    An answer with notices is not cached, because their cause (such as a missing model) may vanish without a
    change in a store.
    """
    key = (
        load(),
        viewer,
        replace(request, view=NOTHING_ASKED.view),
        mode,
        library().stores.generations(viewer),
    )
    answer = _search(*key)
    if answer.notices:
        _search.clear(*key)
    return library().searching.with_file_states(viewer, answer)


@st.cache_data(hash_funcs=_HASHED, max_entries=256, show_spinner=False)
def _search(
    settings: Settings,
    viewer: Viewer,
    request: SearchState,
    mode: Mode,
    generations: tuple[tuple[str, int], ...],  # noqa: ARG001 - part of the key
) -> Answer:
    return _library(settings).searching.search(
        viewer,
        request.q,
        request.store,
        mode=mode,
        top_k=request.top_k,
        offset=request.offset,
        min_score=request.min,
        filters=request.filters,
        max_tokens=_NO_BUDGET,
        group="document",
        facets=True,
        sort=request.sort,
    )


def facets(viewer: Viewer, stores: Sequence[str]) -> Facets:
    """Return ``Library.documents.facets`` of the stores: kind of facet → value → number of documents. Cached
    until a store changes."""
    names = tuple(stores)
    return _facets(load(), viewer, names, library().stores.generations(viewer, names))


@st.cache_data(hash_funcs=_HASHED, max_entries=32, show_spinner=False)
def _facets(
    settings: Settings,
    viewer: Viewer,
    stores: tuple[str, ...],
    generations: tuple[tuple[str, int], ...],  # noqa: ARG001 - part of the key
) -> Facets:
    return _library(settings).documents.facets(viewer, stores)


def store_infos(viewer: Viewer) -> list[StoreInfo]:
    """Return ``Library.stores.info`` of every store that the viewer may see. Cached until a store changes."""
    return _store_infos(load(), viewer, library().stores.generations(viewer))


@st.cache_data(hash_funcs=_HASHED, max_entries=32, show_spinner=False)
def _store_infos(
    settings: Settings, viewer: Viewer, generations: tuple[tuple[str, int], ...]
) -> list[StoreInfo]:
    infos, _ = _library(settings).stores.infos(viewer, [name for name, _ in generations])
    return list(infos)


def meaning_is_loading(viewer: Viewer) -> bool:
    """Whether a model that searches of the viewer's stores need is still being loaded.

    The first call starts to load each model in a thread.
    """
    embedders = sorted({info.embedder for info in store_infos(viewer)})
    threads = [_warming(load(), name) for name in embedders]
    for thread in threads:
        thread.join(_PATIENCE)
    return any(thread.is_alive() for thread in threads)


@st.cache_resource(hash_funcs=_HASHED, max_entries=16, show_spinner=False)
def _warming(settings: Settings, embedder: str) -> threading.Thread:
    thread = threading.Thread(target=_library(settings).searching.warm, args=(embedder,), daemon=True)
    thread.start()
    return thread
