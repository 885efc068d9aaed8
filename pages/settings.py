"""Settings: the owner's choices, sharing, and under Advanced everything else. Parts that ask a server are
drawn at the same time as the rest of the page, or only once they are opened."""

from __future__ import annotations

import streamlit as st

from rag_core.config import load
from rag_core.errors import RagError
from rag_core.providers import PICTURE_READERS
from rag_core.types import Viewer
from ui.ask import answering_model
from ui.frame import hits
from ui.frame.access import require_owner
from ui.frame.deps import library
from ui.frame.messages import show_error, show_waiting
from ui.index.embedder_choice import at_hand, in_words, look_for_others, offer_embedders
from ui.index.model_notice import show_model_notice
from ui.settings.configuration import show_configuration
from ui.settings.connections import show_connections
from ui.settings.ollama_models import show_ollama
from ui.settings.setting_rows import SETTINGS_PLACE, choice_row, switch_row
from ui.settings.sharing import show_sharing
from ui.settings.tokens import show_tokens
from ui.stores.private_notes import show_rules_of_stores

_ENGINES = {row.name: row.label for row in PICTURE_READERS.values() if not row.after.word}
_OCR = {"auto": "Automatic", **_ENGINES, "off": "Off"}
_RERANKER = (
    "A model that puts the best results in a better order. Install one with"
    " `commonplace model install hf:ORG/NAME`. Or type `onnx:FOLDER` for one in a folder of this computer,"
    " or `MODEL@URL` for one on a server."
)
_THEMES = {"system": "Same as the browser", "light": "Light", "dark": "Dark"}


def main() -> None:
    """Draw the page, top to bottom."""
    viewer = require_owner()
    st.title("Settings", anchor=False)
    show_waiting(SETTINGS_PLACE)
    with st.container(key="settings_llm"):
        st.fragment(answering_model.show_setting, parallel=True)(viewer)
    show_general(viewer)
    st.header("Private notes", anchor=False)
    st.html(hits.paragraphs("Guests never find them."))
    show_rules_of_stores(viewer)
    st.fragment(show_sharing, parallel=True)(viewer)
    show_tokens(viewer)
    advanced = st.expander("Advanced", icon=":material/tune:", key="settings_advanced", on_change="rerun")
    if advanced.open:
        with advanced:
            show_advanced(viewer)


def show_general(viewer: Viewer) -> None:
    """Draw the settings that need no server."""
    embedders = at_hand(viewer, load().embedder)
    choice_row(
        viewer,
        "embedder",
        "Model for new stores",
        "Finds notes by meaning. Existing stores keep theirs.",
        {name: in_words(name, goes) for name, goes in embedders.items()},
    )
    show_model_notice(load().embedder)
    look_for_others(viewer, "settings")
    switch_row(viewer, "watch", "Keep folders up to date", "Reads a file as soon as it changes.")
    choice_row(viewer, "ocr", "Read text in pictures", "Makes scans and screenshots searchable.", _OCR)
    choice_row(viewer, "theme", "Theme", "Applies to every visitor.", _THEMES)


def show_advanced(viewer: Viewer) -> None:
    """Draw the settings that few owners need."""
    rerankers = {"": "None", **{name: name for name in library().models.rerankers(viewer)}}
    choice_row(viewer, "reranker", "Reranker", _RERANKER, rerankers, typed=True)
    connections = show_connections(viewer)
    offer_embedders(connections)
    show_ollama(viewer, connections)
    show_configuration()


try:
    main()
except RagError as problem:
    show_error(problem)
