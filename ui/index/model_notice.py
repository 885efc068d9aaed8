"""The notice that the built-in model is missing, and its installation by a button."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.models import DEFAULT_EMBEDDER
from rag_core.models.minilm_install import install, is_installed
from rag_core.types import StoreInfo
from ui.frame import work
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import show_error
from ui.frame.work import BackgroundWork, WorkKey

_POLL_S: Final = 1.0
_SEEN: Final = "index_model_seen"
_MODEL: Final = "model"


class Installation(BackgroundWork[str, None]):
    """One download and installation of the built-in model."""

    def __init__(self, model_dir: Path) -> None:
        super().__init__("The installation of the model", "Starting …")
        self._model_dir = model_dir

    def _act(self) -> None:
        install(self._model_dir, report=self.report)


def show_model_notice(info: StoreInfo) -> None:
    """If the store's model is not on this machine, draw what to do."""
    if not is_model_missing(info):
        return
    model_dir = library().settings.model_dir
    polling = any(each.running for each in work.known(*_key(model_dir)).values())
    with st.container(border=True):
        st.fragment(_notice, run_every=_POLL_S if polling else None)(model_dir, polling=polling)


def is_model_missing(info: StoreInfo) -> bool:
    """Whether the store needs the built-in model and it is not on this machine."""
    if info.embedder != DEFAULT_EMBEDDER:
        return False
    if not st.session_state.get(_SEEN):  # the check reads the whole model, so not again once it was there
        st.session_state[_SEEN] = is_installed(library().settings.model_dir)
    return not st.session_state[_SEEN]


def _notice(model_dir: Path, *, polling: bool) -> None:
    begun = work.known(*_key(model_dir)).get(_key(model_dir))
    running = begun is not None and begun.running
    if polling and not running:
        st.rerun()
    st.markdown("**The model that finds passages by meaning is not installed.**")
    if begun is not None and running:
        st.markdown(f":material/downloading: {label(begun.now)}")
        return
    if begun is not None and begun.error is not None:
        show_error(begun.error)
    st.markdown(
        "The button downloads it, about 84 MB. You can index now; until the model is there, passages are"
        " found by their words."
    )
    if st.button("Install the model", key="index_install_model", icon=":material/download:"):
        work.start_work(_key(model_dir), Installation(model_dir))
        st.rerun()


def _key(model_dir: Path) -> WorkKey:
    return _MODEL, str(model_dir)
