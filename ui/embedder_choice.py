"""The embedders that can be chosen: how each is called, and trying one on the Settings page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import streamlit as st

from rag_core.errors import InvalidInput, RagError
from rag_core.models import DEFAULT_EMBEDDER
from rag_core.reports import Connection
from rag_core.types import Viewer
from ui import hits
from ui.deps import library, store_infos
from ui.links import SETTINGS_PAGE
from ui.messages import show_error

_FOUND: Final = "embedders_found"
_IN_WORDS: Final[Mapping[str, str]] = {
    DEFAULT_EMBEDDER: "Built-in model",
    "hashing": "Spelling only, for trying out",
}


def at_hand(viewer: Viewer, *first: str) -> dict[str, str]:
    """The name of each available embedder → where its text goes, those named ``first`` before the others."""
    used = sorted({info.embedder for info in store_infos(viewer)})
    seen: list[str] = st.session_state.get(_FOUND, [])
    names = dict.fromkeys((*first, library().settings.embedder, *_IN_WORDS, *used, *seen))
    return {name: goes for name in names if (goes := _goes(viewer, name))}


def _goes(viewer: Viewer, name: str) -> str:
    try:
        return library().models.destination_of(viewer, name)
    except InvalidInput:
        return ""


def in_words(name: str, goes: str) -> str:
    """An embedder as a line of a box."""
    return _IN_WORDS.get(name) or f"{name} ({goes})"


def look_for_others(viewer: Viewer, key: str) -> None:
    """A button that asks servers and packages which embedders they have; it takes a few seconds at most."""
    if st.button("Look for others", key=f"{key}_look", icon=":material/sensors:", type="tertiary"):
        with st.spinner("Looking …"):
            found = library().models.connections(viewer)
        before = at_hand(viewer)
        st.session_state[_FOUND] = [name for each in found for name in each.embedders]
        if at_hand(viewer) != before:
            st.rerun()
        st.html(hits.paragraphs("No other embedder is available.", status=True))
        st.page_link(SETTINGS_PAGE, label="Advanced, Connections says why", icon=":material/settings:")


def offer_trial(viewer: Viewer, found: Sequence[Connection]) -> None:
    """A form to try an available embedder, and its result."""
    st.header("Try an embedder", anchor=False)
    offered = at_hand(
        viewer, library().settings.embedder, *(name for each in found for name in each.embedders)
    )
    with st.form("settings_trial", border=False):
        embedder = st.selectbox(
            "Embedder", offered, key="settings_trial_embedder",
            format_func=lambda name: in_words(name, offered[name]),
        )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="bottom"):
            sentence = st.text_input(
                "Sentence", key="settings_trial_sentence", placeholder="How do I renew a passport?",
                autocomplete="off",
            )  # fmt: skip
            asked = st.form_submit_button("Embed", icon=":material/science:", key="settings_trial_start")
    if not asked:
        return
    try:
        with st.spinner("Embedding …"):
            trial = library().models.try_embedder(viewer, embedder, sentence)
    except RagError as error:
        show_error(error)
        return
    numbers = ", ".join(f"{number:.4f}" for number in trial.beginning)
    st.html(
        hits.sentences(
            f"{trial.dimension:,} numbers: {numbers}, …",
            f"It took {trial.took_ms:,.0f} ms, and {trial.open_ms:,.0f} ms to have the embedder.",
            f"Made by {trial.identity}; the sentence {trial.text}.",
            status=True,
        )
    )
