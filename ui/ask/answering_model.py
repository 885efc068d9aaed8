"""The model that answers questions: the available models, and choosing one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag_core.config import Settings, load
from rag_core.types import Viewer
from rag_core.wording import EXAMPLE_MODEL
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.links import SETTINGS_PAGE
from ui.frame.messages import errors_wait, show_waiting
from ui.settings.setting_rows import SETTINGS_PLACE, choice_row
from ui.stores.task_status import tasks_of as tasks_of

_LIFE_S = 20
_PICKED = "ask_model"
_WITHOUT = "An answer quotes sentences of your notes. To have a model write answers, get one:"
_GET_ONE = f"Install Ollama (ollama.com), then run `ollama pull {EXAMPLE_MODEL}`."


def show_setting(viewer: Viewer) -> None:
    """Draw the row on the Settings page where the owner chooses the model."""
    show_waiting(SETTINGS_PLACE)
    models = _there(viewer)
    effect = "Answers on the Ask page." if models or load().llm else _GET_ONE
    options = {"": "None: quote the notes", **{model: model for model in models}}
    choice_row(viewer, "llm", "Model that answers", effect, options)


def offer_models(viewer: Viewer) -> None:
    """Draw one line on the Ask page of an owner without a model: the available models, or how to get one."""
    models = _there(viewer)
    with st.container(horizontal=True, vertical_alignment="center", key="ask_offer"):
        if not models:
            st.html(hits.plain_sentences(f"{_WITHOUT} {_GET_ONE}"))
            st.page_link(SETTINGS_PAGE, label="Settings", icon=":material/settings:")
            return

        def use() -> None:
            with errors_wait(_PICKED):
                library().upkeep.change_setting(viewer, "llm", st.session_state[_PICKED])

        st.selectbox(
            "Model that answers",
            models,
            None,
            key=_PICKED,
            placeholder="Choose a model that answers",
            on_change=use,
            label_visibility="collapsed",
            width=360,
        )
    show_waiting(_PICKED)


def _there(viewer: Viewer) -> Sequence[str]:
    downloads = tuple((task.name, task.running) for task in tasks_of(("pull",)))
    return _look(load(), viewer, downloads)


@st.cache_data(max_entries=8, ttl=_LIFE_S, show_spinner=False)
def _look(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    downloads: tuple[tuple[str, bool], ...],  # noqa: ARG001 - part of the key: one that ended may answer
) -> list[str]:
    return library().models.answering(viewer)
