"""The folders of a store on the Index page: how each stands, and what can be done with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import streamlit as st

from rag_core.config import Settings, load
from rag_core.errors import RagError
from rag_core.files import display
from rag_core.reports import SourceInfo
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import left_out, plural, taken
from ui import hits
from ui.deps import library
from ui.hits import label
from ui.indexing import DryRun, choose_files, fill_chooser, offer_dry_run, patterns_in_boxes, show_dry_run
from ui.messages import errors_wait, show_error
from ui.runs import PLACE, ask, start_run

_RUNNING: Final = (
    "The store is being indexed; above stands how far, and it can be cancelled there. "
    "A folder can be indexed, paused, resumed or removed when the run has ended."
)
_READ: Final = "being read"
_EMBEDDED: Final = "read, and found by words; its passages are being embedded"
_INDEX: Final = "Reads what has changed in this folder only."
_WAIT: Final = "When the run has ended."
_WHICH: Final = (
    "*Index* reads what has changed in one folder, *Index again* in all that are not paused. *Read everything"
    " again* reads every file anew; passages that did not change are not embedded again."
)
_OPEN: Final = "index_source_open"  # (store, source id, what is being done with it)


def show_sources(viewer: Viewer, info: StoreInfo, *, active: bool, read: bool) -> None:
    """The folders of the store with what can be done, and the buttons that read all of them again. ``read``:
    the run that is ``active`` is through with the files."""
    if not info.sources:
        return
    st.header("Folders in this store", anchor=False)
    asked = library().jobs.requests(viewer, info.name) if active else ()
    named = {root for each in asked for root in each.folders or ()}
    every = any(each.folders is None for each in asked)
    for found in _sources(load(), viewer, info.name, info.generation):
        with st.container(border=True, gap="xsmall"):
            is_asked_for = found.source.root in named or (every and not found.source.paused)
            busy = (_EMBEDDED if read else _READ) if is_asked_for else ""
            _show(viewer, info, found, busy=busy, active=active)
            if found.source.root in named:  # where it was asked for: the top may be out of sight
                st.html(hits.paragraphs(_RUNNING, status=True))
    with st.container(horizontal=True):
        st.button(
            "Index again", key="index_again", icon=":material/sync:", disabled=active,
            on_click=start_run, args=(viewer, info.name),
        )  # fmt: skip
        st.button(
            "Read everything again", key="index_force", disabled=active,
            on_click=start_run, args=(viewer, info.name), kwargs={"force": True},
        )  # fmt: skip
    st.caption(_WHICH)
    if active and not named:
        st.html(hits.paragraphs(_RUNNING, status=True))


# Counting looks at every document. A disk that comes or goes moves no generation: hence the ttl.
@st.cache_data(max_entries=16, ttl=5, show_spinner=False)
def _sources(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    store: str,
    generation: int,  # noqa: ARG001
) -> list[SourceInfo]:
    return library().sources.all(viewer, store)


def _show(viewer: Viewer, info: StoreInfo, found: SourceInfo, *, busy: str, active: bool) -> None:
    source = found.source
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.markdown(f"**{label(display(os.fsencode(source.root)))}**", width="content")
        if source.removed:
            st.badge("Being removed", icon=":material/delete:", color="orange")
        elif source.paused:
            st.badge("Paused", icon=":material/pause:", color="gray")
        if found.missing and not source.removed:
            st.badge("Not on the disk", icon=":material/folder_off:", color="red")
    st.caption(label(taken(source)) + "  \n" + _counts(found, busy))
    match st.session_state.get(_OPEN):
        case (info.name, source.id, "edit"):
            _edit(viewer, info, source)
        case (info.name, source.id, "remove"):
            _confirm_removal(viewer, info, source)
        case _ if source.removed:
            st.caption("The next run forgets its documents.")
            st.button(
                "Keep it after all", key=f"source_keep_{info.name}_{source.id}", type="tertiary",
                icon=":material/undo:", on_click=_keep, args=(viewer, info.name, source),
            )  # fmt: skip
        case _:
            _actions(viewer, info, found, active=active)


def _counts(found: SourceInfo, busy: str) -> str:
    """How many files there are in which state. While they are read they are those of the beginning."""
    parts = [plural(found.indexed, "file"), *left_out(found.failed, found.skipped)]
    if not (found.indexed or found.failed or found.skipped):
        parts = ["not counted yet" if busy == _READ else "no file read yet"]
    if busy:
        parts.insert(0, busy)
    if found.missing and not found.source.removed:
        parts.append("mount its disk, or remove the folder; until then its files are found as they were")
    return " · ".join(parts)


# --- what can be done -------------------------------------------------------------------


def _actions(viewer: Viewer, info: StoreInfo, found: SourceInfo, *, active: bool) -> None:
    source = found.source
    key = f"{info.name}_{source.id}"
    with st.container(horizontal=True, gap="small"):
        _button(
            "Index", f"source_index_{key}", ":material/sync:", start_run, viewer, info.name, [source.id],
            hint=_WAIT if active else _INDEX, disabled=active,
        )  # fmt: skip
        _button(
            "Edit", f"source_edit_{key}", ":material/edit:", _open, info.name, source, "edit",
            hint="Changes which files are taken.",
        )  # fmt: skip
        if source.paused:
            name, icon, hint = "Resume", ":material/play_arrow:", "*Index again* reads this folder, too."
        else:
            name, icon = "Pause", ":material/pause:"
            hint = "*Index again* leaves this folder out; what was read of it can still be found."
        pause = f"source_pause_{key}"
        if active:
            hint = f"{name} it when the run has ended: this run would go on all the same."
        _button(
            name, pause, icon, _pause, viewer, info.name, source.id, not source.paused,
            hint=hint, disabled=active,
        )  # fmt: skip
        _button(
            "Remove", f"source_remove_{key}", ":material/delete:", _open, info.name, source, "remove",
            hint=_WAIT if active else "", disabled=active,
        )  # fmt: skip


def _button(
    name: str, key: str, icon: str, act: Callable[..., None], *args: object, hint: str = "",
    disabled: bool = False,
) -> None:  # fmt: skip
    st.button(
        name, key=key, icon=icon, type="tertiary", on_click=act, args=args, help=hint or None,
        disabled=disabled,
    )  # fmt: skip


def _open(store: str, source: Source, what: Literal["edit", "remove"]) -> None:
    if what == "edit":
        fill_chooser(_chooser(store, source), source.include, source.exclude)
    st.session_state[_OPEN] = (store, source.id, what)


def _close() -> None:
    st.session_state.pop(_OPEN, None)


def _pause(viewer: Viewer, store: str, source_id: int, paused: bool) -> None:
    with errors_wait(PLACE):
        library().sources.pause(viewer, store, source_id, paused=paused)


# --- patterns ---------------------------------------------------------------------------


def _chooser(store: str, source: Source) -> str:
    return f"source_{store}_{source.id}"


def _edit(viewer: Viewer, info: StoreInfo, source: Source) -> None:
    chooser = _chooser(info.name, source)
    try:
        choice = choose_files(viewer, Path(source.root), chooser)
        if choice is not None:
            draft = replace(source, include=choice.include, exclude=choice.exclude)
            offer_dry_run(viewer, info, draft, chooser)
    except RagError as error:
        show_error(error)
        choice = None
    with st.container(horizontal=True):
        if choice is not None:
            st.button(
                "Save and index", key=f"{chooser}_save", type="primary",
                on_click=_save, args=(viewer, info.name, source),
            )  # fmt: skip
        st.button("Leave as it is", key=f"{chooser}_close", on_click=_close)


def _save(viewer: Viewer, store: str, source: Source) -> None:
    include, exclude = patterns_in_boxes(_chooser(store, source))

    def change() -> None:
        library().sources.change(viewer, store, source.id, include, exclude)
        library().jobs.request(viewer, store, [source.id])

    ask(viewer, store, change)
    _close()


# --- removing ---------------------------------------------------------------------------


def _confirm_removal(viewer: Viewer, info: StoreInfo, source: Source) -> None:
    dry_run = DryRun.of(info, library().sources.plan(viewer, info.name, replace(source, removed=True)))
    chooser = _chooser(info.name, source)
    forgotten = plural(dry_run.counts["deleted"], "file")
    st.markdown(f"Removing the folder forgets **{forgotten}**, which stay on the disk as they are.")
    if dry_run.rows:
        with st.expander("Which files"):
            show_dry_run(dry_run, f"{chooser}_removal")
    with st.container(horizontal=True):
        st.button(
            "Remove the folder", key=f"{chooser}_remove", type="primary",
            on_click=_remove, args=(viewer, info.name, source.id),
        )  # fmt: skip
        st.button("Keep it", key=f"{chooser}_close", on_click=_close)


def _remove(viewer: Viewer, store: str, source_id: int) -> None:
    ask(viewer, store, lambda: library().sources.remove(viewer, store, source_id))
    _close()


def _keep(viewer: Viewer, store: str, source: Source) -> None:
    def keep() -> None:
        kept = library().sources.add(viewer, store, source.root, source.include, source.exclude)
        library().jobs.request(viewer, store, [kept.id])

    ask(viewer, store, keep)
