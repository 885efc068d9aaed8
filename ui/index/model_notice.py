"""The notice that a built-in model is missing, with a button that installs it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.models.built_in import BUILT_IN, BuiltIn
from rag_core.models.built_in_install import install, is_installed
from ui.frame import work
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import show_error
from ui.frame.work import BackgroundWork, WorkKey

_POLL_S: Final = 1.0
_SEEN: Final = "index_model_seen"
_MODEL: Final = "model"


class Installation(BackgroundWork[str, None]):
    """One download and installation of a built-in model."""

    def __init__(self, model: BuiltIn, model_dir: Path) -> None:
        super().__init__("The installation of the model", "Starting …")
        self._model, self._model_dir = model, model_dir

    def _act(self) -> None:
        install(self._model, self._model_dir, report=self.report)


def show_model_notice(embedder: str) -> None:
    """If ``embedder`` is a built-in model that is not on this machine, draw a notice with a button that
    installs it."""
    if not is_model_missing(embedder):
        return
    model, model_dir = BUILT_IN[embedder], library().settings.model_dir
    polling = any(begun.running for begun in work.known(*_key(model, model_dir)).values())
    with st.container(border=True):
        st.fragment(_notice, run_every=_POLL_S if polling else None)(model, model_dir, polling=polling)


def is_model_missing(embedder: str) -> bool:
    """Whether an embedder is a built-in model that is not on this machine."""
    if embedder not in BUILT_IN:
        return False
    seen: set[str] = st.session_state.setdefault(_SEEN, set())
    if embedder not in seen and is_installed(BUILT_IN[embedder], library().settings.model_dir):
        seen.add(embedder)  # the check reads the whole model, so it is not repeated once the model was found
    return embedder not in seen


def _notice(model: BuiltIn, model_dir: Path, *, polling: bool) -> None:
    key = _key(model, model_dir)
    begun = work.known(*key).get(key)
    running = begun is not None and begun.running
    if polling and not running:
        st.rerun()
    st.markdown(f"**The {model.label}, which finds passages by meaning, is not installed.**")
    if begun is not None and running:
        st.markdown(f":material/downloading: {label(begun.now)}")
        return
    if begun is not None and begun.error is not None:
        show_error(begun.error)
    st.markdown(
        f"The button downloads it, about {model.megabytes} MB. You can index now; until the model is there,"
        " passages are found by their words."
    )
    if st.button("Install the model", key="index_install_model", icon=":material/download:"):
        work.start_work(key, Installation(model, model_dir))
        st.rerun()


def _key(model: BuiltIn, model_dir: Path) -> WorkKey:
    return _MODEL, model.name, str(model_dir)
