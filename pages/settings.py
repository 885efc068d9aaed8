"""Settings: what stores can use, looked at live; Ollama's models; trying an embedder; what is configured."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from ui.access import require_owner
from ui.configuration import show_configuration
from ui.connections import show_connections
from ui.embedder_trial import offer_trial
from ui.messages import show_error
from ui.ollama_models import show_ollama


def main() -> None:
    """The page, top to bottom; what has to be asked for is filled in last."""
    viewer = require_owner()
    st.set_page_config(layout="centered")
    st.title("Settings", anchor=False)
    connections, models, trial, configured = (st.container() for _ in range(4))
    with configured:
        show_configuration()
    with connections:
        found = show_connections(viewer)
    with models:
        show_ollama(viewer, found)
    with trial:
        offer_trial(viewer, found)


try:
    main()
except RagError as problem:
    show_error(problem)
