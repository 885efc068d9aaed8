"""Long tasks on a page: their progress, and their result until a person has seen or closed it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from rag_core.index.portable import Exported
from rag_core.reports import Health, OllamaModel, Repair
from rag_core.types import StoreInfo
from rag_core.wording import contents, plural, size
from ui.frame import hits, tasks, visit
from ui.frame.deps import library
from ui.frame.links import STORES_PAGE
from ui.frame.messages import show_done, show_error
from ui.frame.tasks import Result, Task, TaskKind
from ui.index import store_facts
from ui.index.folders import path_text

_POLL_S: Final = 0.5
_MOST_DOWNLOADED: Final = 200_000_000  # bytes; a download is kept in memory


def library_name() -> str:
    """Return the folder of this library's stores, by which `ui.frame.tasks` tells libraries apart."""
    return str(library().settings.store_dir)


def tasks_of(kinds: Sequence[TaskKind], name: str | None = None) -> list[Task]:
    """Return the tasks of these kinds. With ``name``, return only those of this store or file."""
    known = tasks.known_tasks(library_name())
    return [task for task in known if task.kind in kinds and name in (None, task.name)]


def forget_results(kinds: Sequence[TaskKind], name: str | None = None) -> None:
    """Remove the results of the ended tasks of these kinds, because they are out of date. With ``name``,
    remove only those of this store or file."""
    for task in tasks_of(kinds, name):
        tasks.close_task(library_name(), task)


def forget_store(name: str) -> None:
    """Remove all results about the store ``name``, which was deleted or renamed."""
    for task in tasks.known_tasks(library_name()):
        of = task.result.name if isinstance(task.result, StoreInfo) else task.name
        if of == name and task.kind != "pull":
            tasks.close_task(library_name(), task)


def is_at_work(kinds: Sequence[TaskKind], name: str | None = None) -> bool:
    """Whether a task of these kinds is running. With ``name``, only tasks of this store or file count."""
    return any(task.running for task in tasks_of(kinds, name))


def show_tasks(kinds: Sequence[TaskKind], name: str | None = None, *, polling: bool) -> None:
    """Draw each task of these kinds; with ``name``, only those of this store or file. The list updates itself
    while a task is running.

    ``polling`` is the result of `is_at_work` before the page was drawn. If it is True and no task is running
    any more, the whole page is drawn again.
    """
    if polling or tasks_of(kinds, name):
        st.fragment(_show, run_every=_POLL_S if polling else None)(kinds, name, polling=polling)


def _show(kinds: Sequence[TaskKind], name: str | None, *, polling: bool) -> None:
    if polling and not is_at_work(kinds, name):
        st.rerun()  # draw the whole page: a button works again, or there is one more store
    for number, task in enumerate(tasks_of(kinds, name)):
        asked_here = task.asked_in == visit.current()
        if task.running:
            _show_running(task, f"{task.kind}_{number}")
        # The result of a finished store is shown to all until the person who asked has seen it; then it is
        # shown only on that person's page.
        elif asked_here or not task.was_told or not isinstance(task.result, StoreInfo):
            task.was_told |= asked_here
            _show_ended(task, f"{task.kind}_{number}")


def _show_running(task: Task, key: str) -> None:
    with st.container(border=True, gap="small", key=f"task_{key}"):
        st.progress(task.part, text=f"{hits.label(task.headline)} · {task.said}")
        if task.stopping:
            st.html(hits.paragraphs("Stopping …", status=True))
        elif task.kind != "repair":  # a repair has short steps, each of which leaves an intact store
            st.button("Cancel", key=f"task_cancel_{key}", on_click=task.cancel)


def _show_ended(task: Task, key: str) -> None:
    if task.error is not None:
        show_error(task.error)
    elif task.result is None:
        left = "The downloaded part is kept." if task.kind == "pull" else "Nothing was changed."
        st.html(hits.paragraphs(f"{task.headline} was cancelled. {left}", status=True))
    match task.result:
        case Exported() as done:
            exported = contents(done.chunk_count, done.file_count)
            show_done(f"Exported {exported} to {path_text(done.path)} ({size(done.size_bytes)}).")
        case StoreInfo() as info:
            show_done(f"Store {info.name!r} is ready: {contents(info.chunk_count, info.file_count)}.")
            st.html(hits.paragraphs(*info.notices))
        case Health() as health:
            st.html(store_facts.health_html(health))
        case Repair() as repair:
            show_done(" ".join(repair.done) or "There was nothing to repair.")
            if repair.to_embed:
                st.html(hits.paragraphs(f"The next run embeds {plural(repair.to_embed, 'text')} again."))
        case OllamaModel() as model:
            uses = [name for name, can in (("embed", model.embeds), ("answer", model.chats)) if can]
            show_done(
                f"{model.called} is installed. It can {' and '.join(uses) or 'neither embed nor answer'}."
            )
    with st.container(horizontal=True, vertical_alignment="center"):
        _offer_next(task.result, key)
        st.button(
            "Close",
            key=f"task_close_{key}",
            type="tertiary",
            on_click=tasks.close_task,
            args=(library_name(), task),
        )


def _offer_next(result: Result | None, key: str) -> None:
    if isinstance(result, StoreInfo):
        goal = {"store": result.name}
        st.page_link(STORES_PAGE, label="Open the store", icon=":material/database:", query_params=goal)
    if isinstance(result, Exported) and result.size_bytes <= _MOST_DOWNLOADED and result.path.is_file():
        st.download_button(
            "Download",
            result.path.read_bytes,
            result.path.name,
            "application/octet-stream",
            key=f"task_download_{key}",
            on_click="ignore",
            icon=":material/download:",
        )
