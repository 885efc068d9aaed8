"""Settings: what stores can use, looked at live; models of Ollama; an embedder on trial; sharing; tokens;
settings."""

from __future__ import annotations

import streamlit as st

from rag_core.errors import RagError
from ui.access import require_owner
from ui.configuration import show_configuration
from ui.connections import show_connections
from ui.embedder_choice import offer_trial
from ui.messages import show_error
from ui.ollama_models import show_ollama
from ui.sharing import show_sharing
from ui.tokens import show_tokens


def main() -> None:
    """The page, top to bottom; what has to be asked for is filled in last."""
    viewer = require_owner()
    st.set_page_config(layout="centered")
    st.title("Settings", anchor=False)
    connections, models, trial, sharing, tokens, configured = (st.container() for _ in range(6))
    with configured:
        show_configuration()
    with tokens:
        show_tokens(viewer)
    with sharing:
        ask_tailscale = show_sharing(viewer)
    with connections:
        found = show_connections(viewer)
    with models:
        show_ollama(viewer, found)
    with trial:
        offer_trial(viewer, found)
    ask_tailscale()


try:
    main()
except RagError as problem:
    show_error(problem)
