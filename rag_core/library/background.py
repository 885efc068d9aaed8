"""Background runs inside a long-lived process: one thread a store, started and stopped here.

Module state on purpose: whatever forgets its caches (a page, a framework) must not forget a
running thread. The store's lock guards against other processes.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from rag_core.errors import InUpkeep, NotFound, RagError, StoreBusy
from rag_core.index.index import low_priority
from rag_core.library import Library
from rag_core.types import Viewer

_LOOK_EVERY_S = 0.5  # whether a store that is in upkeep is free again

SEND_EVERY_S = 30.0
"""How often a long-lived process looks whether a backlog can be sent."""
_MOST_S = 900.0  # between two tries, where what can be reached refuses what is sent

_log = logging.getLogger(__name__)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Run:
    """A thread that indexes a store, until ``stop`` is set."""

    thread: threading.Thread
    stop: threading.Event


_runs: dict[tuple[str, str], _Run] = {}
_tries: dict[tuple[str, str], tuple[float, float]] = {}
"""The stores whose backlog was tried to be sent: when it may be again, and how long after the last time."""


def start(library: Library, viewer: Viewer, store: str, *, force: bool = False) -> None:
    """Bring ``store`` up to date with its sources in the background."""
    library.jobs.request(viewer, store, force=force)
    go_on(library, viewer, store)


def go_on(library: Library, viewer: Viewer, store: str) -> None:
    """Do in the background what is requested of ``store``.

    A run that is under way, here or in another process, takes the requests too; the end of a repair
    is waited for.
    """
    key = _key(library, store)
    with _lock:
        if key not in _runs:
            stop = threading.Event()
            thread = threading.Thread(target=_work, args=(library, viewer, store, stop), daemon=True)
            _runs[key] = _Run(thread, stop)
            thread.start()


def resume_all(library: Library, viewer: Viewer) -> None:
    """Go on with what was asked of every store when this process was not there to do it.

    A run that ended together with its process, in no orderly way, waits for the owner: it may have
    been what ended it.
    """
    for store in library.stores.names(viewer):
        resume(library, viewer, store)


def send_backlogs(library: Library, viewer: Viewer) -> None:
    """Have the stores whose remote vector index could not be reached send what it lacks, if it answers
    now. Where that was in vain, later each time: every try is a run in the store's history."""
    for store in library.stores.names(viewer):
        key = _key(library, store)
        try:
            if working(library, store):
                continue
            if not library.placement.can_send(viewer, store):
                _tries.pop(key, None)
                continue
            due, waited = _tries.get(key, (0.0, SEND_EVERY_S / 2))
            if time.monotonic() >= due:
                waited = min(2 * waited, _MOST_S)
                _tries[key] = time.monotonic() + waited, waited
                library.jobs.request(viewer, store, [])
                go_on(library, viewer, store)
        except RagError as error:
            _log.warning("what store %r has to send is not sent: %s", store, error)


def resume(library: Library, viewer: Viewer, store: str) -> None:
    """Go on with what was asked of one store and is not done, as ``resume_all`` does."""
    try:
        if library.jobs.requested(viewer, store) and not _was_killed(library, viewer, store):
            go_on(library, viewer, store)
    except RagError as error:  # a store that cannot be read is the page's to report
        _log.warning("what was asked of store %r is not resumed: %s", store, error)


def _was_killed(library: Library, viewer: Viewer, store: str) -> bool:
    newest = next(iter(library.jobs.all(viewer, store, 1)), None)
    return newest is not None and newest.state == "interrupted" and newest.end_time is None


def working(library: Library, store: str) -> bool:
    """Whether this process is at work on ``store``, or about to be: the run may not have begun yet."""
    with _lock:
        return _key(library, store) in _runs


def _key(library: Library, store: str) -> tuple[str, str]:
    return str(library.settings.store_dir), store


def _work(library: Library, viewer: Viewer, store: str, stop: threading.Event) -> None:
    low_priority()
    try:
        while not stop.is_set() and _has_more(library, viewer, store):
            _run(library, viewer, store, stop)
    except StoreBusy:
        _log.info("store %r is indexed by another process, which takes the request", store)
    except NotFound:
        _log.info("store %r was renamed or deleted before it could be indexed", store)
    except Exception:  # the run has written "failed" and why into its job, where Index and status show it
        _log.exception("the run of store %r ended with an error", store)
    finally:
        with _lock:
            run = _runs.get(_key(library, store))
            if run is not None and run.thread is threading.current_thread():
                del _runs[_key(library, store)]


def _run(library: Library, viewer: Viewer, store: str, stop: threading.Event) -> None:
    try:
        library.jobs.run(viewer, store, stop=stop.is_set)
    except InUpkeep:  # whose end nobody but this thread waits for
        stop.wait(_LOOK_EVERY_S)


def _has_more(library: Library, viewer: Viewer, store: str) -> bool:
    """Whether there is work left; if not, this thread is off the list before anyone can add some."""
    with _lock:
        more = library.jobs.requested(viewer, store)
        if not more:
            _runs.pop(_key(library, store), None)
        return more


def stop_all(timeout: float = 10.0) -> list[str]:
    """Interrupt every run of this process and wait ``timeout`` seconds for each. Returns their stores.

    What was committed stays, and so do the requests: ``resume_all`` goes on with them.
    """
    with _lock:
        runs = dict(_runs)
    for run in runs.values():
        run.stop.set()
    for run in runs.values():
        run.thread.join(timeout)
    return [store for _, store in runs]
