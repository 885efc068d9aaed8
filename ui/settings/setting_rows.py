"""Settings that the owner changes on a page: a control for each, its effect, and the origin of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import streamlit as st

from rag_core.config import load
from rag_core.types import Viewer
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import errors_wait

SETTINGS_PLACE: Final = "settings"
"""The argument for `ui.frame.messages.show_waiting`, which shows the error of a change."""


def switch_row(viewer: Viewer, name: str, title: str, effect: str) -> None:
    """Draw a row with a switch for the setting ``name``. The row shows ``title`` and, as a sentence,
    ``effect``. If a variable or .env sets the value, the row says so and the switch cannot be pressed."""
    with _row(viewer, name, title, effect) as (key, is_fixed):
        st.toggle(
            title,
            key=key,
            disabled=is_fixed,
            label_visibility="collapsed",
            on_change=_save,
            args=(viewer, name, key),
        )


def choice_row(
    viewer: Viewer, name: str, title: str, effect: str, options: Mapping[str, str], *, typed: bool = False
) -> None:
    """Draw a row like `switch_row`, but with a select box. ``options`` are value → words, with '' for no
    value. The present value is always offered. ``typed`` says whether other values can be typed."""
    value = getattr(load(), name) or ""
    offered = dict(options) if value in options else {value: str(value), **options}
    with _row(viewer, name, title, effect) as (key, is_fixed):
        st.selectbox(
            title,
            list(offered),
            key=key,
            disabled=is_fixed,
            label_visibility="collapsed",
            format_func=lambda each: offered.get(each, str(each)),
            on_change=_save,
            args=(viewer, name, key),
            accept_new_options=typed,
        )


@contextmanager
def _row(viewer: Viewer, name: str, title: str, effect: str) -> Iterator[tuple[str, bool]]:
    """Draw a row, and give its block two things: the key for the control, and whether a variable or .env
    fixes the value."""
    settings, key = load(), f"setting_{name}"
    origin = settings.origin(name)
    is_fixed = origin.layer in ("environment", ".env")
    value = getattr(settings, name)
    st.session_state[key] = "" if value is None else value
    with st.container(horizontal=True, vertical_alignment="center", key=f"settings_row_{name}"):
        with st.container(gap="xxsmall"):
            st.markdown(f"**{title}**")
            where = "the environment" if origin.layer == "environment" else ".env"
            decided = f" {origin.name} in {where} decides it." if is_fixed else ""
            written = f" Set in config.yaml, line {origin.line}." if origin.layer == "config.yaml" else ""
            st.html(hits.plain_sentences(effect + decided + written))
        with st.container(width=280, horizontal=True, vertical_alignment="center"):
            yield key, is_fixed
            if origin.layer == "config.yaml":
                st.button(
                    "Reset",
                    key=f"{key}_reset",
                    type="tertiary",
                    on_click=_change,
                    args=(viewer, name, None),
                    help="Back to the default",
                )


def _save(viewer: Viewer, name: str, key: str) -> None:
    value = st.session_state[key]
    _change(viewer, name, None if value == "" else value)


def _change(viewer: Viewer, name: str, value: str | bool | None) -> None:
    with errors_wait(SETTINGS_PLACE):
        library().upkeep.change_setting(viewer, name, value)
