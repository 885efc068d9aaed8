"""Background runs inside a long-lived process: one thread a store, started and stopped here.

Module state on purpose: whatever forgets its caches (a page, a framework) must not forget a
running thread. The store's lock guards against other processes.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from rag_core.errors import StoreBusy
from rag_core.index import low_priority
from rag_core.library import Library
from rag_core.types import Viewer

_log = logging.getLogger(__name__)
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Run:
    """A thread that indexes ``store`` of ``library`` for ``viewer``."""

    library: Library
    viewer: Viewer
    store: str
    thread: threading.Thread


_runs: dict[tuple[str, str], _Run] = {}


def start(library: Library, viewer: Viewer, store: str, *, force: bool = False) -> None:
    """Bring ``store`` up to date with its sources in the background."""
    library.request_index(viewer, store, force=force)
    go_on(library, viewer, store)


def go_on(library: Library, viewer: Viewer, store: str) -> None:
    """Do in the background what is requested of ``store``.

    A run that is under way, here or in another process, takes the requests too.
    """
    key = _key(library, store)
    with _lock:
        if key not in _runs:
            thread = threading.Thread(target=_work, args=(library, viewer, store), daemon=True)
            _runs[key] = _Run(library, viewer, store, thread)
            thread.start()


def working(library: Library, store: str) -> bool:
    """Whether this process is at work on ``store``, or about to be: the run may not have begun yet."""
    with _lock:
        return _key(library, store) in _runs


def _key(library: Library, store: str) -> tuple[str, str]:
    return str(library.settings.store_dir), store


def _work(library: Library, viewer: Viewer, store: str) -> None:
    low_priority()
    try:
        while _has_more(library, viewer, store):
            library.run(viewer, store)
    except StoreBusy:
        _log.info("store %r is indexed by another process, which takes the request", store)
    except Exception:  # the run has written "failed" and why into its job, where Index and status show it
        _log.exception("the run of store %r ended with an error", store)
    finally:
        with _lock:
            run = _runs.get(_key(library, store))
            if run is not None and run.thread is threading.current_thread():
                del _runs[_key(library, store)]


def _has_more(library: Library, viewer: Viewer, store: str) -> bool:
    """Whether there is work left; if not, this thread is off the list before anyone can add some."""
    with _lock:
        more = library.requested(viewer, store)
        if not more:
            _runs.pop(_key(library, store), None)
        return more


def stop_all(timeout: float = 10.0) -> None:
    """Cancel every run of this process and wait ``timeout`` seconds for each; what was committed stays."""
    with _lock:
        runs = list(_runs.values())
    for run in runs:
        run.library.cancel(run.viewer, run.store)
    for run in runs:
        run.thread.join(timeout)
