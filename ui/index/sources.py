"""The folders of a store on the Index page: the state of each, and the actions for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from rag_core.config import Settings, load
from rag_core.errors import RagError
from rag_core.files import display
from rag_core.reports import SourceInfo
from rag_core.types import Source, StoreInfo, Viewer
from rag_core.wording import left_out, plural, taken
from ui.frame.deps import library
from ui.frame.hits import label
from ui.frame.messages import errors_wait, show_error
from ui.index.indexing import choose_files, fill_chooser, offer_dry_run, patterns_in_boxes, show_plan
from ui.index.runs import INDEX_PLACE, request_run, start_run

_READ: Final = "being read"
_EMBEDDED: Final = "found by words; meaning follows"
_WAIT: Final = "Possible once indexing has ended, or is paused."
_OPEN: Final = "index_source_open"  # (store, source id, open form)


def show_sources(viewer: Viewer, info: StoreInfo, *, active: bool, read: bool) -> None:
    """Draw the folders of the store with their actions. ``active`` says whether the store is being indexed,
    and ``read`` whether this run has read all files and works on their passages."""
    if not info.sources:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Folders", anchor=False)
        st.button(
            "Update now",
            key="index_again",
            icon=":material/sync:",
            disabled=active,
            on_click=start_run,
            args=(viewer, info.name),
            help="Reads what changed in all folders.",
        )
        with st.popover("More", icon=":material/more_horiz:", disabled=active, key="index_more_runs"):
            st.button(
                "Read everything again",
                key="index_force",
                type="tertiary",
                icon=":material/restart_alt:",
                on_click=start_run,
                args=(viewer, info.name),
                kwargs={"force": True},
                help="Reads every file again. Unchanged passages keep their vectors.",
            )
    asked = library().jobs.requests(viewer, info.name) if active else ()
    named = {root for request in asked for root in request.folders or ()}
    every = any(request.folders is None for request in asked)
    for folder in _sources(load(), viewer, info.name, info.generation):
        with st.container(border=True, gap="xsmall"):
            is_asked_for = folder.source.root in named or (every and not folder.source.paused)
            busy = (_EMBEDDED if read else _READ) if is_asked_for else ""
            _show(viewer, info, folder, busy=busy, active=active)


# Counting reads every document. A disk that appears or vanishes does not change the generation, so the ttl is
# needed.
@st.cache_data(max_entries=16, ttl=5, show_spinner=False)
def _sources(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    store: str,
    generation: int,  # noqa: ARG001
) -> list[SourceInfo]:
    return library().sources.all(viewer, store)


def _show(viewer: Viewer, info: StoreInfo, folder: SourceInfo, *, busy: str, active: bool) -> None:
    source = folder.source
    path = display(os.fsencode(source.root))
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        name = display(os.fsencode(os.path.basename(source.root))) or path  # noqa: PTH119 (may be no path)
        st.markdown(f":material/folder: **{label(name)}**", width="content")
        if source.removed:
            st.badge("Being removed", icon=":material/delete:", color="orange")
        if folder.missing and not source.removed:
            st.badge("Not on the disk", icon=":material/folder_off:", color="red")
        if not source.removed:
            st.space("stretch")
            _keep_up_to_date(viewer, info.name, source)
    st.caption(f"{label(path)} · {label(taken(source))}  \n{_counts(folder, busy)}")
    match st.session_state.get(_OPEN):
        case (info.name, source.id, "edit"):
            _edit(viewer, info, source)
        case (info.name, source.id, "remove"):
            _confirm_removal(viewer, info, source)
        case _ if source.removed:
            st.caption("The next run removes its documents from the index.")

            def keep() -> None:
                kept = library().sources.add(viewer, info.name, source.root, source.include, source.exclude)
                library().jobs.request(viewer, info.name, [kept.id])

            st.button(
                "Keep it after all",
                key=f"source_keep_{info.name}_{source.id}",
                type="tertiary",
                icon=":material/undo:",
                on_click=request_run,
                args=(viewer, info.name, keep),
            )
        case _:
            _actions(viewer, info.name, source, active=active)


def _counts(folder: SourceInfo, busy: str) -> str:
    """Return the number of files in each state. While files are read, the numbers are those from the
    beginning."""
    parts = [plural(folder.indexed, "file"), *left_out(folder.failed, folder.skipped)]
    if not (folder.indexed or folder.failed or folder.skipped):
        parts = ["not counted yet" if busy == _READ else "no file read yet"]
    if busy:
        parts.insert(0, busy)
    if folder.missing and not folder.source.removed:
        parts.append("mount its disk, or remove the folder; until then its files are found as they were")
    return " · ".join(parts)


def _keep_up_to_date(viewer: Viewer, store: str, source: Source) -> None:
    key = f"source_kept_{store}_{source.id}"

    def pause() -> None:
        with errors_wait(INDEX_PLACE):
            library().sources.pause(viewer, store, source.id, paused=not st.session_state[key])

    st.session_state[key] = not source.paused
    st.toggle(
        "Kept up to date",
        key=key,
        on_change=pause,
        help="If off, changes are not read; what was read can still be found.",
    )


def _actions(viewer: Viewer, store: str, source: Source, *, active: bool) -> None:
    key = f"{store}_{source.id}"

    def edit() -> None:
        fill_chooser(f"source_{key}", source.include, source.exclude)
        st.session_state[_OPEN] = (store, source.id, "edit")

    removing = {_OPEN: (store, source.id, "remove")}
    actions: list[tuple[str, str, Callable[[], None], bool]] = [
        ("Edit", ":material/edit:", edit, False),
        ("Remove", ":material/delete:", partial(st.session_state.update, removing), active),
    ]
    if source.paused:  # other folders are updated together
        once = partial(start_run, viewer, store, [source.id])
        actions.insert(0, ("Update once", ":material/sync:", once, active))
    with st.container(horizontal=True, gap="small"):
        for name, icon, act, waits in actions:
            st.button(
                name,
                key=f"source_{name.split()[0].lower()}_{key}",
                icon=icon,
                type="tertiary",
                on_click=act,
                disabled=waits,
                help=_WAIT if waits else None,
            )


def _edit(viewer: Viewer, info: StoreInfo, source: Source) -> None:
    chooser, choice = f"source_{info.name}_{source.id}", None
    try:
        choice = choose_files(viewer, Path(source.root), chooser)
        if choice is not None:
            draft = replace(source, include=choice.include, exclude=choice.exclude)
            offer_dry_run(viewer, info, draft, chooser)
    except RagError as error:
        show_error(error)
        choice = None

    def change() -> None:
        library().sources.change(viewer, info.name, source.id, *patterns_in_boxes(chooser))
        library().jobs.request(viewer, info.name, [source.id])

    _decide(viewer, info.name, "Save and index" if choice else "", f"{chooser}_save", change, "Cancel")


def _decide(
    viewer: Viewer, store: str, name: str, key: str, act: Callable[[], object], otherwise: str
) -> None:
    """Draw two buttons for the open form of a folder. The button called ``name`` calls ``act``; it is left
    out if ``name`` is empty. The button called ``otherwise`` closes the form."""

    def do() -> None:
        request_run(viewer, store, act)
        st.session_state.pop(_OPEN, None)

    with st.container(horizontal=True):
        if name:
            st.button(name, key=key, type="primary", on_click=do)
        st.button(otherwise, key=f"{key}_not", on_click=st.session_state.pop, args=(_OPEN, None))


def _confirm_removal(viewer: Viewer, info: StoreInfo, source: Source) -> None:
    plan = library().sources.plan(viewer, info.name, replace(source, removed=True))
    chooser = f"source_{info.name}_{source.id}"
    forgotten = plural(plan.expected()["deleted"], "file")
    st.markdown(f"This removes **{forgotten}** from the index; they stay on disk as they are.")
    with st.expander("Which files", type="compact"):
        show_plan(plan, f"{chooser}_removal")
    remove = partial(library().sources.remove, viewer, info.name, source.id)
    _decide(viewer, info.name, "Remove the folder", f"{chooser}_remove", remove, "Cancel")
