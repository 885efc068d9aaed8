"""The viewer of a page, as verified by the gate (`rag_core.access`); pages ask here on every run."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import streamlit as st

from rag_core.access import REFUSAL, viewer_of
from rag_core.errors import RagError
from rag_core.types import Viewer
from ui.frame import deps

_LOG = logging.getLogger(__name__)


def _headers() -> Mapping[str, str]:
    """The one seam to the request; AppTest has none, so its tests replace this function."""
    return st.context.headers


def viewer() -> Viewer | None:
    """The viewer of the page, with what the library grants them now; None without access."""
    try:
        return viewer_of(_headers(), deps.library)
    except RagError:
        _LOG.exception("The list of people with access cannot be read.")
        return None


def require_viewer() -> Viewer:
    """The viewer, or the end of the page with a refusal."""
    who = viewer()
    if who is None:
        st.error(REFUSAL)
        st.stop()
    return who


def require_owner() -> Viewer:
    """The owner, or the end of the page with a refusal. Owner pages call this first."""
    who = require_viewer()
    if not who.is_owner:
        st.error(REFUSAL)
        st.stop()
    return who
