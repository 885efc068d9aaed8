"""The advice to use the model for every language in a store, with a button for it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from rag_core.running import background
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import language_advice
from ui.frame import work
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import errors_wait, show_error
from ui.frame.work import BackgroundWork, WorkKey
from ui.index.runs import INDEX_PLACE

_POLL_S: Final = 1.0
_LANGUAGES: Final = "languages"


class Taking(BackgroundWork[str, None]):
    """One installation of the model, and the start of a store's switch to it."""

    def __init__(self, viewer: Viewer, store: str) -> None:
        super().__init__("The switch to the model for every language", "Starting …")
        self._library, self._viewer, self._store = library(), viewer, store

    def _act(self) -> None:
        self._library.languages.take(self._viewer, self._store, self.report)
        background.go_on(self._library, self._viewer, self._store)


def show_language_notice(viewer: Viewer, info: StoreInfo) -> None:
    """If much of a store's text is in languages that its model does not read, draw the advice to use another
    model, with a button."""
    begun = work.known(*_key(info.name)).get(_key(info.name))
    polling = begun is not None and begun.running
    if not (polling or (begun is not None and begun.error) or library().languages.advice(viewer, info.name)):
        return
    with st.container(border=True, key="index_languages"):
        st.fragment(_notice, run_every=_POLL_S if polling else None)(viewer, info.name, polling=polling)


def _notice(viewer: Viewer, store: str, *, polling: bool) -> None:
    begun = work.known(*_key(store)).get(_key(store))
    running = begun is not None and begun.running
    if polling and not running:
        st.rerun()
    if begun is not None and running:
        st.markdown(f":material/downloading: {label(begun.now)}")
        return
    if begun is not None and begun.error is not None:
        show_error(begun.error)
    if advice := library().languages.advice(viewer, store):
        st.markdown(label(language_advice(advice)))
    with st.container(horizontal=True):
        if st.button("Use it", key="index_take_languages", icon=":material/translate:"):
            work.start_work(_key(store), Taking(viewer, store))
            st.rerun()
        st.button(
            "Keep the model", key="index_keep_model", type="tertiary", on_click=_decline, args=(viewer, store)
        )


def _decline(viewer: Viewer, store: str) -> None:
    with errors_wait(INDEX_PLACE):
        library().languages.decline(viewer, store)
    for key, begun in work.known(*_key(store)).items():
        work.close(key, begun)


def _key(store: str) -> WorkKey:
    return _LANGUAGES, str(library().settings.store_dir), store
