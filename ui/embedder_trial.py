"""Trying an embedder on the Settings page: one sentence, embedded now, and where it went."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag_core.errors import RagError
from rag_core.reports import Connection, Trial
from rag_core.types import Viewer
from ui import hits
from ui.deps import library, store_infos
from ui.messages import show_error


def offer_trial(viewer: Viewer, found: Sequence[Connection]) -> None:
    """A form with the embedders that are at hand, and what came of the sentence."""
    st.header("Try an embedder", anchor=False)
    st.html(
        hits.paragraphs(
            "Embeds one sentence, as the question of a search. It goes where the embedder's line says."
        )
    )
    names = _names(viewer, found)
    with st.form("settings_trial", border=False):
        embedder = st.selectbox(
            "Embedder", names, key="settings_trial_embedder",
            format_func=lambda name: f"{name} ({library().goes(viewer, name)})",
        )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="bottom"):
            sentence = st.text_input(
                "Sentence", key="settings_trial_sentence", placeholder="How do I renew a passport?",
                autocomplete="off",
            )  # fmt: skip
            asked = st.form_submit_button("Embed", icon=":material/science:", key="settings_trial_start")
    if asked:
        _try(viewer, embedder, sentence)


def _names(viewer: Viewer, found: Sequence[Connection]) -> list[str]:
    """The embedders that can be chosen: that of new stores, those of stores, and those found."""
    used = sorted({info.embedder for info in store_infos(viewer)})
    offered = (name for each in found for name in each.embedders)
    return list(dict.fromkeys((library().settings.embedder, *used, *offered)))


def _try(viewer: Viewer, embedder: str, sentence: str) -> None:
    try:
        with st.spinner("Embedding …"):
            trial = library().try_embedder(viewer, embedder, sentence)
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
