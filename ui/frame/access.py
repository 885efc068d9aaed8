"""The viewer of a page, as verified by the gate (`rag_core.access`). Pages call this module on every run."""

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
    """Return the headers of the page's request. AppTest has none, so its tests replace this function."""
    return st.context.headers


def viewer() -> Viewer | None:
    """Return the viewer of the page, with the rights that the library grants now. Return None for a person
    without access, or if the list of people cannot be read."""
    try:
        return viewer_of(_headers(), deps.library)
    except RagError:
        _LOG.exception("The list of people with access cannot be read.")
        return None


def require_viewer() -> Viewer:
    """Return the viewer. Without access, draw a refusal and stop the run of the page."""
    who = viewer()
    if who is None:
        st.error(REFUSAL)
        st.stop()
    return who


def require_owner() -> Viewer:
    """Return the owner. For everyone else, draw a refusal and stop the run of the page. Pages for owners call
    this first."""
    who = require_viewer()
    if not who.is_owner:
        st.error(REFUSAL)
        st.stop()
    return who
