"""Background jobs of a long-lived process, at most one thread per store. They are kept in the module, because
a page that reloads must not lose them."""

from __future__ import annotations

import logging
import threading
import time

from rag_core.errors import InUpkeep, NotFound, RagError, StoreBusy
from rag_core.index.priority import low_priority
from rag_core.library import Library
from rag_core.types import Viewer

_LOOK_EVERY_S = 0.5  # seconds between looks while a repair has the store

SEND_EVERY_S = 30.0
"""Seconds between two checks whether a backlog can be sent."""
_PAUSE_S = 600.0  # seconds before trying again to send to a service that refuses

_log = logging.getLogger(__name__)
_lock = threading.Lock()

_Key = tuple[str, str]  # folder of the stores, name of the store
_threads: dict[_Key, tuple[threading.Thread, threading.Event]] = {}  # the event stops the thread
_ocr: dict[_Key, tuple[str, bool]] = {}  # result of `_ocr_of` when the thread began
_tried: dict[_Key, float] = {}  # time of the last try to send a backlog


def start(library: Library, viewer: Viewer, store: str, *, force: bool = False) -> None:
    """Request an update of ``store`` from its sources, and run the request in the background. With ``force``,
    unchanged files are read, too."""
    library.jobs.request(viewer, store, force=force)
    go_on(library, viewer, store)


def go_on(library: Library, viewer: Viewer, store: str) -> None:
    """Run the open requests of ``store`` in the background. A running job also carries them out. During a
    repair they wait."""
    with _lock:
        if _key(library, store) not in _threads:
            stop = threading.Event()
            thread = threading.Thread(target=_work, args=(library, viewer, store, stop), daemon=True)
            _threads[_key(library, store)] = thread, stop
            _ocr[_key(library, store)] = _ocr_of(library)
            thread.start()


def resume_all(library: Library, viewer: Viewer) -> None:
    """Call `resume` for every store, at the start of a process."""
    for store in library.stores.names(viewer):
        resume(library, viewer, store)


def resume(library: Library, viewer: Viewer, store: str) -> None:
    """Continue the unfinished requests of a store, unless its last job was killed. In that case a request may
    have been the cause, so the owner has to start it."""
    try:
        newest = next(iter(library.jobs.all(viewer, store, 1)), None)
        was_killed = newest is not None and newest.state == "interrupted" and newest.end_time is None
        if library.jobs.requested(viewer, store) and not was_killed:
            go_on(library, viewer, store)
    except RagError as error:  # a page reports a store that cannot be read
        _log.warning("store %r is not resumed: %s", store, error)


def send_backlogs(library: Library, viewer: Viewer) -> None:
    """Send the waiting vectors and changes to remote vector indexes that could not be reached before."""
    for store in library.stores.names(viewer):
        key = _key(library, store)
        try:
            if working(library, store):
                continue
            if not library.placement.can_send(viewer, store):
                _tried.pop(key, None)
            elif time.monotonic() >= _tried.get(key, -_PAUSE_S) + _PAUSE_S:
                _tried[key] = time.monotonic()
                library.jobs.request(viewer, store, [])
                go_on(library, viewer, store)
        except RagError as error:
            _log.warning("the backlog of store %r is not sent: %s", store, error)


def working(library: Library, store: str) -> bool:
    """Whether this process has a thread for ``store``, even if its job has not begun yet."""
    with _lock:
        return _key(library, store) in _threads


def _ocr_of(library: Library) -> tuple[str, bool]:
    """Return the setting for OCR, and whether OCR also describes pictures."""
    return library.settings.ocr, library.settings.ocr_describe


def hand_over(library: Library, viewer: Viewer) -> None:
    """Restart running jobs of this process whose OCR settings differ from those of ``library``. Each job is
    interrupted, and ``library`` then runs its requests with the new settings."""
    folder, ocr = str(library.settings.store_dir), _ocr_of(library)
    with _lock:
        running = {
            store: job
            for (place, store), job in _threads.items()
            if place == folder and _ocr[place, store] != ocr
        }

    def take_over(store: str, thread: threading.Thread) -> None:
        thread.join()
        go_on(library, viewer, store)

    for store, (thread, stop) in running.items():
        stop.set()
        threading.Thread(target=take_over, args=(store, thread), daemon=True).start()


def stop_all(timeout: float = 10.0) -> list[str]:
    """Interrupt every job of this process and wait up to ``timeout`` seconds for each. Return the names of
    their stores. The requests stay open."""
    with _lock:
        threads = dict(_threads)
    for _, stop in threads.values():
        stop.set()
    for thread, _ in threads.values():
        thread.join(timeout)
    return [store for _, store in threads]


def _key(library: Library, store: str) -> _Key:
    return str(library.settings.store_dir), store


def _work(library: Library, viewer: Viewer, store: str, stop: threading.Event) -> None:
    low_priority()
    key = _key(library, store)
    try:
        while not stop.is_set():
            with _lock:  # a request after this look starts another thread
                if not library.jobs.requested(viewer, store):
                    del _threads[key]
                    return
            try:
                library.jobs.run(viewer, store, stop=stop.is_set)
            except InUpkeep:
                stop.wait(_LOOK_EVERY_S)
    except StoreBusy:
        _log.info("another process indexes store %r and takes the request", store)
    except NotFound:
        _log.info("store %r was renamed or deleted before it could be indexed", store)
    except Exception:  # the job itself says "failed" and why
        _log.exception("the job of store %r ended with an error", store)
    finally:
        with _lock:
            if _threads.get(key, (None,))[0] is threading.current_thread():
                del _threads[key]
