"""The page of one store: its content, its health, and exporting, renaming and deleting it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

import streamlit as st

from rag_core.errors import NotFound, RagError, StoreBusy, StoreDamaged, StoreError
from rag_core.index.portable import SUFFIX, Transfer
from rag_core.reports import VECTOR_INDEX, Health, Repair
from rag_core.running import background
from rag_core.types import StoreInfo, Viewer
from rag_core.wording import contents, some
from ui.files.file_actions import runs_now, show_run
from ui.frame import hits, tasks, visit
from ui.frame.deps import library
from ui.frame.links import FILES_PAGE, INDEX_PAGE, SEARCH_PAGE, SETTINGS_PAGE, SHARE, STORES_PAGE
from ui.frame.messages import errors_wait, say_later, show_error, show_waiting
from ui.frame.tasks import TaskKind
from ui.index import store_facts
from ui.index.folders import path_text, typed_folder, typed_name
from ui.search.results import offer_folder
from ui.stores.placement import show_placement
from ui.stores.private_notes import show_private_notes
from ui.stores.store_list import exports, open_store, show_stores
from ui.stores.task_status import forget_results, forget_store, is_at_work, library_name, show_tasks, tasks_of

_EXPORT: Final = "stores_export"
_HEALTH: Final[tuple[TaskKind, ...]] = ("verify", "repair", "heal")


def show_store(viewer: Viewer, name: str) -> None:
    """Draw the page of one store. If there is no store of this name, draw the list with an error."""
    try:
        running = runs_now(viewer, name)
        info = library().stores.info(viewer, name)
    except NotFound as error:
        show_stores(viewer, error)
        return
    except StoreError as error:
        _title(name)
        show_error(error)
        if isinstance(error, StoreDamaged):
            at_work = is_at_work(_HEALTH, name)
            _repair_button(viewer, name, at_work=at_work)
            show_tasks(_HEALTH, name, polling=at_work)
        _delete(viewer, name, "")
        return
    visit.remember_store(name)
    _title(name)
    if info.sources or info.file_count or info.attached:
        _links(info)
    else:
        offer_folder("Add a folder", f"store_add_folder_{name}", name)
    if running and not info.switching:
        show_run(viewer, name)
    guests = library().sharing.guests(viewer, name)
    shared = f"Shared with {some(guests, 'guest')}." if guests else ""
    st.html(hits.paragraphs(store_facts.counts_line(info), shared))
    with st.expander("Details", icon=":material/info:", key=f"store_details_{name}"):
        st.html(store_facts.sheet(info))
    show_placement(viewer, info, running=running)
    show_private_notes(viewer, info)
    _health(viewer, name)
    _export(viewer, name)
    _rename(viewer, name)
    _delete(viewer, name, contents(info.chunk_count, info.file_count))


def _title(name: str) -> None:
    st.page_link(STORES_PAGE, label="All stores", icon=":material/arrow_back:")
    st.title(hits.label(name), anchor=False)


def _links(info: StoreInfo) -> None:
    pages = (
        (SEARCH_PAGE, "Search", ":material/search:"),
        (FILES_PAGE, "Files", ":material/folder:"),
        (INDEX_PAGE, "Folders", ":material/sync:"),
    )
    with st.container(horizontal=True, key="store_ways"):
        for page, name, icon in pages if info.file_count else pages[2:]:
            st.page_link(page, label=name, icon=icon, query_params={"store": info.name})
        st.page_link(SETTINGS_PAGE, label="Share", icon=":material/group_add:", query_params={SHARE: "1"})


def _health(viewer: Viewer, name: str) -> None:
    own = library()

    def verify(report: tasks.TaskReport) -> Health:
        return own.upkeep.verify(
            viewer, name, files=files, report=lambda done, total: report(Transfer("checking", done, total))
        )

    def heal(_: tasks.TaskReport) -> Health:
        own.placement.heal(viewer, name)
        return own.upkeep.verify(viewer, name)

    at_work = is_at_work(_HEALTH, name)
    results = (task.result for task in tasks_of(("verify",), name))
    findings = (finding for result in results if isinstance(result, Health) for finding in result.findings)
    faults = {finding.check for finding in findings if finding.severity == "fault"}
    with st.expander("Health", icon=":material/health_and_safety:", key=f"store_health_{name}"):
        files = st.checkbox("Also compare the notes with their files", key=f"store_files_{name}")
        st.button(
            "Verify",
            key=f"store_verify_{name}",
            disabled=at_work,
            on_click=_begin,
            args=("verify", name, verify),
            help="Looks for damage in this store, and in its vector index on a server. It changes nothing.",
        )
    with st.container(horizontal=True):
        if VECTOR_INDEX in faults:
            st.button(
                "Heal the vector index",
                key=f"store_heal_{name}",
                icon=":material/healing:",
                type="primary",
                disabled=at_work,
                on_click=_begin,
                args=("heal", name, heal),
                help="Sends the missing vectors to the server, and removes vectors that do not belong there.",
            )
        if faults - {VECTOR_INDEX}:
            _repair_button(viewer, name, at_work=at_work)
    show_tasks(_HEALTH, name, polling=at_work)


def _repair_button(viewer: Viewer, name: str, *, at_work: bool) -> None:
    own = library()

    def repair(_: tasks.TaskReport) -> Repair:
        repaired = own.upkeep.repair(viewer, name)
        background.resume(own, viewer, name)  # requests made meanwhile
        return repaired

    st.button(
        "Repair",
        key=f"store_repair_{name}",
        icon=":material/build:",
        type="primary",
        disabled=at_work,
        on_click=_begin,
        args=("repair", name, repair),
        help="Reads the store's folders into a new file, which keeps your choices, such as excluded files,"
        " and the undamaged vectors.",
    )


def _begin(kind: TaskKind, name: str, act: Callable[[tasks.TaskReport], Health | Repair]) -> None:
    forget_results(_HEALTH, name)
    tasks.start_task(library_name(), kind, name, act)


def _export(viewer: Viewer, name: str) -> None:
    box, force = f"store_export_{name}", f"store_export_force_{name}"

    def start() -> None:
        own, usual, replace = library(), exports(), bool(st.session_state[force])
        with errors_wait(_EXPORT):
            target = typed_folder(st.session_state[box]) or usual
            if target == usual:
                with suppress(OSError):  # the export then says that there is no such folder
                    usual.mkdir(parents=True, exist_ok=True, mode=0o700)
            act = partial(own.stores.export, viewer, name, target, force=replace)
            tasks.start_task(library_name(), "export", name, lambda report: act(report=report))

    st.session_state.setdefault(box, path_text(exports()))
    at_work = is_at_work(("export",), name)
    with st.expander("Export", icon=":material/save:", key=f"store_exporting_{name}"):
        st.html(hits.paragraphs("One file with the whole store, private notes too."))
        st.text_input("Folder or file", key=box, autocomplete="off")
        st.checkbox(f"Replace a file of the same name ({name}{SUFFIX})", key=force)
        st.button(
            "Export",
            key=f"store_export_start_{name}",
            icon=":material/save:",
            disabled=at_work,
            on_click=start,
        )
    show_waiting(_EXPORT)
    show_tasks(("export",), name, polling=at_work)


def _rename(viewer: Viewer, name: str) -> None:
    with st.expander("Rename", icon=":material/edit:", key=f"store_renaming_{name}"):
        new = _asked("rename", name, "New name", name, "Rename")
    if new is None:
        return
    try:
        renamed = library().stores.rename(viewer, name, new)
    except RagError as error:
        _refused(name, error)
        return
    background.resume(library(), viewer, renamed.name)  # requests made meanwhile
    forget_store(name)
    open_store(renamed)


def _asked(what: str, store: str, label: str, value: str, button: str) -> str | None:
    """Draw a box with a button. Return the text in the box when the button is pressed, else None."""
    with (
        st.form(f"store_{what}_{store}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        typed = st.text_input(label, value, key=f"store_{what}_name_{store}", autocomplete="off")
        return typed_name(typed) if st.form_submit_button(button) else None


def _refused(name: str, error: RagError) -> None:
    show_error(error)
    if isinstance(error, StoreBusy):
        st.page_link(INDEX_PAGE, label="Go to the run", icon=":material/sync:", query_params={"store": name})


def _delete(viewer: Viewer, name: str, contents: str) -> None:
    lost = f"This deletes the index of {contents}; your files stay." if contents else ""
    guests = library().sharing.guests(viewer, name)
    taken = f"{some(guests, 'guest')} can no longer search it." if guests else ""
    with st.expander("Delete", icon=":material/delete:", key=f"store_deleting_{name}"):
        st.html(hits.paragraphs(" ".join(filter(None, (lost, "Your files stay.", taken)))))
        typed = _asked("delete", name, f"Type {hits.label(name)} to delete it", "", "Delete store")
    if typed is None:
        return
    try:
        if typed != name:
            raise RagError("That is not the store's name.", "Nothing was deleted.")
        library().stores.delete(viewer, name)
    except RagError as error:
        _refused(name, error)
        return
    forget_store(name)
    say_later("stores", f"Store {name!r} is deleted; its files are untouched.")
    del st.query_params["store"]
    st.rerun()
