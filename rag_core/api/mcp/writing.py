"""The tools that change the index. Only the owner may use them, and only if the settings allow it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rag_core.api import answers
from rag_core.api.mcp.reading import store_of
from rag_core.api.requests import field
from rag_core.errors import ExtractError, InvalidInput
from rag_core.library import Library
from rag_core.running import background
from rag_core.types import Job, Source, Viewer
from rag_core.wording import plural, take_back

WAIT_S: Final = 45.0  # seconds that a call waits for its run; assistants give up after a minute
_LOOK_S: Final = 0.05
_RESULTS: Final = 20  # failures come first; the counts include all
_BY_AN_ASSISTANT: Final = "An assistant excluded it."
_GOES_ON: Final = "It continues in the background; `status` says how far it is."


def index_file(library: Library, viewer: Viewer, given: Any, stop: threading.Event) -> dict[str, Any]:
    """Index one file, and return the result of its run."""
    store = store_of(library, viewer, given)
    before = _last(library, viewer, store)
    with field("file_path"):
        added = library.sources.add_below(viewer, store, given["file_path"], library.settings.mcp_roots)
        path = library.jobs.request_path(viewer, store, given["file_path"])
    done = _worked_off(library, viewer, store, before, stop)
    for result in done["job"].results if done["job"] else ():
        # another request's file may fail in the same run; an absolute path is a folder
        if result.status == "failure" and (
            result.source_file == path or Path(result.source_file).is_absolute()
        ):
            raise ExtractError(
                f"{path!r} could not be read. {result.message}", "Fix the file; index it again."
            )
    return {"source_file": path, **_said_of(added, store), **done}


def index_directory(library: Library, viewer: Viewer, given: Any, stop: threading.Event) -> dict[str, Any]:
    """Add a folder to a store if no folder of the store includes it, and index its changes. Return the answer
    of the tool."""
    store = store_of(library, viewer, given)
    before = _last(library, viewer, store)
    path, recursive, roots = given["dir_path"], given.get("recursive", True), library.settings.mcp_roots
    with field("dir_path"):
        added = library.sources.add_below(viewer, store, path, roots, recursive=recursive)
        if added:
            library.jobs.request(viewer, store, [added.id])
        else:
            library.jobs.request_below(viewer, store, path, recursive=recursive)
    return {**_said_of(added, store), **_worked_off(library, viewer, store, before, stop)}


def _said_of(added: Source | None, store: str) -> dict[str, Any]:
    """Return a message for the user if a folder was added."""
    if added is None:
        return {}
    sentence = f"The folder {added.root!r} is in store {store!r} from now on, with {' '.join(added.include)}."
    return {"message": f"{sentence} To remove it: `commonplace source remove {added.id} --store {store}`."}


def delete_chunks(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> dict[str, Any]:
    """Remove passages."""
    if not given["ids"]:
        raise InvalidInput("ids: The list is empty.", "Give the ids of search results.")
    store = store_of(library, viewer, given)
    with field("ids"):
        count = library.documents.remove_passages(viewer, store, given["ids"])
    if library.jobs.requested(viewer, store):  # a remote vector index is still to be told
        background.go_on(library, viewer, store)
    back = "Each comes back as soon as its file changes or is read again; the files stay as they are."
    message = f"{plural(count, 'passage')} removed from store {store!r}. {back}"
    return {"store": store, "chunks_deleted": count, "message": message}


def delete_file(library: Library, viewer: Viewer, given: Any, stop: threading.Event) -> dict[str, Any]:
    """Exclude a document, and return the answer of the tool."""
    store = store_of(library, viewer, given)
    before = _last(library, viewer, store)
    with field("source_file"):
        path = library.files.path_of(viewer, store, given["source_file"])
        library.files.exclude(viewer, store, path, _BY_AN_ASSISTANT)
    back = f"The file stays as it is. To take it back: the Files page, or `{take_back(path, store)}`."
    message = f"{path!r} is excluded from store {store!r}. {back}"
    done = _worked_off(library, viewer, store, before, stop)
    return {"source_file": path, "message": message, **done}


def clear_index(library: Library, viewer: Viewer, given: Any, stop: threading.Event) -> dict[str, Any]:
    """Remove every document of a store from the index, and return the answer of the tool."""
    store = store_of(library, viewer, given)
    before = _last(library, viewer, store)
    with field("confirm"):
        count = library.stores.clear(viewer, store, confirm=given["confirm"])
    message = (
        f"All {count:,} documents of store {store!r} are removed and its folders paused; the files stay."
        f" To index them again: the Index page, or `commonplace source resume NUMBER --store {store}`."
    )
    return {"documents": count, "message": message, **_worked_off(library, viewer, store, before, stop)}


def _last(library: Library, viewer: Viewer, store: str) -> Job | None:
    """Return the newest run."""
    return next(iter(library.jobs.all(viewer, store, 1)), None)


def _worked_off(
    library: Library, viewer: Viewer, store: str, before: Job | None, stop: threading.Event
) -> dict[str, Any]:
    """Carry out the requested run and return its result. After `WAIT_S`, say that it continues."""
    background.go_on(library, viewer, store)
    until = time.monotonic() + WAIT_S
    while not stop.wait(_LOOK_S) and time.monotonic() < until:
        if not (background.working(library, store) or library.jobs.requested(viewer, store)):
            break
    newest, waits = _last(library, viewer, store), library.jobs.requested(viewer, store)
    if waits or newest is None or newest.state == "running" or (before and newest.id == before.id):
        return {"store": store, "finished": False, "job": None, "next_step": _GOES_ON}
    results = tuple(library.jobs.results(viewer, store, newest.id, _RESULTS))
    job = answers.Job.of(replace(newest, results=results))
    return {"store": store, "finished": True, "job": job, "next_step": ""}
