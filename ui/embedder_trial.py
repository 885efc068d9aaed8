"""Trying an embedder on the Settings page: one sentence, embedded now, and where it went."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag_core.errors import RagError
from rag_core.reports import Connection, Trial
from rag_core.types import Viewer
from ui import hits
from ui.deps import library
from ui.embedder_choice import at_hand, in_words
from ui.messages import show_error


def offer_trial(viewer: Viewer, found: Sequence[Connection]) -> None:
    """A form with the embedders that are at hand, and what came of the sentence."""
    st.header("Try an embedder", anchor=False)
    st.html(
        hits.paragraphs(
            "Embeds one sentence, as the question of a search. It stays on this machine unless the embedder's"
            " line says where it goes."
        )
    )
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
    if asked:
        _try(viewer, embedder, sentence)


def _try(viewer: Viewer, embedder: str, sentence: str) -> None:
    try:
        with st.spinner("Embedding …"):
            trial = library().models.try_embedder(viewer, embedder, sentence)
    except RagError as error:
        show_error(error)
        return
    st.html(hits.sentences(*_said(trial), status=True))


def _said(trial: Trial) -> tuple[str, ...]:
    numbers = ", ".join(f"{number:.4f}" for number in trial.beginning)
    return (
        f"{trial.dimension:,} numbers: {numbers}, …",
        f"It took {trial.took_ms:,.0f} ms, and {trial.open_ms:,.0f} ms to have the embedder.",
        f"Made by {trial.identity}; the sentence {trial.went}.",
    )
