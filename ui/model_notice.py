"""The notice that the built-in model is missing, and its installation by a button.

The installation lives in this module, not in a session: closing the tab does not stop it, and
a second press, in whatever tab, finds the one under way.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.embedders import DEFAULT_EMBEDDER
from rag_core.embedders.minilm_install import install, is_installed
from rag_core.errors import RagError
from rag_core.types import StoreInfo
from ui.deps import library
from ui.hits import label
from ui.messages import show_error

_POLL_S: Final = 1.0
_SEEN: Final = "index_model_seen"
_LOG = logging.getLogger(__name__)


class Installation:
    """One installation of the model in a thread of its own; ``step`` and ``error`` say how far it is."""

    def __init__(self, model_dir: Path) -> None:
        self.step = "Starting …"
        self.error: RagError | None = None
        self._model_dir = model_dir
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    def _work(self) -> None:
        try:
            install(self._model_dir, report=self._report)
        except RagError as error:
            self.error = error
        except Exception:
            _LOG.exception("installing the model ended with an error")
            self.error = RagError("The model could not be installed.", "The log of the app says why.")

    def _report(self, line: str) -> None:
        self.step = line


_installations: dict[Path, Installation] = {}
_lock = threading.Lock()


def _start(model_dir: Path) -> None:
    with _lock:
        known = _installations.get(model_dir)
        if known is None or not known.running:
            _installations[model_dir] = Installation(model_dir)


def show_model_notice(info: StoreInfo) -> None:
    """Say what to do when the store's model is not on this machine; nothing when it is."""
    if not is_model_missing(info):
        return
    model_dir = library().settings.model_dir
    under_way = _installations.get(model_dir)
    polling = under_way is not None and under_way.running
    with st.container(border=True):
        st.fragment(_notice, run_every=_POLL_S if polling else None)(model_dir, polling=polling)


def is_model_missing(info: StoreInfo) -> bool:
    """Whether the store needs the built-in model and this machine has none."""
    if info.embedder != DEFAULT_EMBEDDER:
        return False
    if not st.session_state.get(_SEEN):  # the check reads the whole model, so not again once it was there
        st.session_state[_SEEN] = is_installed(library().settings.model_dir)
    return not st.session_state[_SEEN]


def _notice(model_dir: Path, *, polling: bool) -> None:
    under_way = _installations.get(model_dir)
    running = under_way is not None and under_way.running
    if polling and not running:
        st.rerun()
    st.markdown("**The model that finds passages by meaning is not installed.**")
    if under_way is not None and running:
        st.markdown(f":material/downloading: {label(under_way.step)}")
        return
    if under_way is not None and under_way.error is not None:
        show_error(under_way.error)
    st.markdown(
        "The button downloads it, about 84 MB. You can index now; until the model is there, passages are"
        " found by their words."
    )
    if st.button("Install the model", key="index_install_model", icon=":material/download:"):
        _start(model_dir)
        st.rerun()
