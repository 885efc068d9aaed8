"""The models of Ollama on the Settings page: installed models, and downloading another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from rag_core.errors import EmbedderError, Unreachable
from rag_core.reports import Connection, OllamaModel
from rag_core.types import Viewer
from rag_core.wording import EXAMPLE_MODEL
from ui.frame import hits, tasks
from ui.frame.deps import library
from ui.frame.messages import show_error
from ui.stores.task_status import is_at_work, library_name, show_tasks

_BOX: Final = "settings_pull_model"
_KNOWN: Final = (
    "Made for searching: embeddinggemma, nomic-embed-text, bge-m3, snowflake-arctic-embed2. For answering"
    f" questions: {EXAMPLE_MODEL}, or a larger one. Ollama fetches what you name from its library; none of"
    " your text goes there."
)
_COLUMNS: Final[dict[str, Any]] = {
    "Model": st.column_config.TextColumn(width=300),
    "Embeds": st.column_config.CheckboxColumn(width=65),
    "Answers": st.column_config.CheckboxColumn(width=70),
    "Size": st.column_config.NumberColumn(width=90, format="%.1f MB"),
}


def show_ollama(viewer: Viewer, connections: Sequence[Connection]) -> None:
    """Draw the models of Ollama as a table, and a form to download another. If Ollama does not answer, draw a
    line that says so."""
    st.header("Models of Ollama", anchor=False)
    models = _models(viewer, connections)
    if models is None:
        st.html(hits.paragraphs("Ollama does not answer; once it does, its models are listed here."))
        return
    if models:
        _table(models)
    else:
        st.html(hits.paragraphs("Ollama has no model yet."))
    at_work = is_at_work(("pull",))

    def start() -> None:
        own, model = library(), st.session_state[_BOX].strip()
        if model:
            tasks.start_task(
                library_name(), "pull", model, lambda report: own.models.pull(viewer, model, report)
            )

    with (
        st.form("settings_pull", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input("Model", key=_BOX, placeholder="embeddinggemma", autocomplete="off")
        st.form_submit_button(
            "Download",
            icon=":material/download:",
            disabled=at_work,
            key="settings_pull_start",
            on_click=start,
        )
    st.html(hits.paragraphs(_KNOWN))
    show_tasks(("pull",), polling=at_work)


def _models(viewer: Viewer, connections: Sequence[Connection]) -> list[OllamaModel] | None:
    """Return the models on the Ollama server; None if it does not answer."""
    ollama = next(connection for connection in connections if connection.key == "ollama")
    if ollama.state in ("unreachable", "refused"):
        return None
    try:
        return library().models.list_ollama(viewer)
    except Unreachable:
        return None
    except EmbedderError as error:
        show_error(error)
        return None


def _table(models: Sequence[OllamaModel]) -> None:
    rows = [(model.name, model.embeds, model.chats, model.size_bytes / 1_000_000) for model in models]
    with st.container(key="settings_models"):
        st.dataframe(
            pd.DataFrame(rows, columns=list(_COLUMNS)),
            hide_index=True,
            placeholder="",
            column_config=_COLUMNS,
            alt="The models that Ollama has, those that can embed first.",
        )
