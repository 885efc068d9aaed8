"""A folder that a vector engine uses inside this process. A lock keeps other processes out, because engines
fail late, or not at all, if two share a folder. The system frees the lock on ``kill -9``."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from rag_core.errors import VectorError, VectorsUnreachable

_WAIT_S = 0.5  # longer than this process needs to end an unused engine
_T = TypeVar("_T")

_starting = threading.Lock()
_running: weakref.WeakValueDictionary[Path, Running[Any]] = weakref.WeakValueDictionary()


class Running(Generic[_T]):
    """An engine that stays open as long as this object is referenced. Hold ``lock`` while you use the
    engine."""

    def __init__(self, engine: _T, lock: AbstractContextManager[object]) -> None:
        self.engine = engine
        self.lock = lock


def running(folder: Path, name: str, start: Callable[[Path], _T], stop: Callable[[_T], None]) -> Running[_T]:
    """Return the engine ``name`` of ``folder``. It is started unless this process already runs it.

    Raises VectorsUnreachable while another process uses the folder, VectorError if the folder cannot be used,
    and the errors of ``start``.
    """
    folder = folder.resolve()
    with _starting:
        known = _running.get(folder)
        if known is None:
            lock = _locked(folder, name)
            with ExitStack() as undo:
                undo.callback(lock.release)
                engine = start(folder)
                known = _running[folder] = Running(engine, threading.RLock())
                ended = undo.pop_all()
                ended.callback(stop, engine)
                weakref.finalize(known, ended.close)
        return known


def _locked(folder: Path, name: str) -> FileLock:
    lock = FileLock(folder / "commonplace.lock", thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # it contains texts
        lock.acquire(timeout=_WAIT_S)
    except Timeout:
        raise VectorsUnreachable(
            f"The folder {str(folder)!r} of {name} is in use by another process.",
            f"Close the app or the other program, or run a server that both can use (`{name.lower()}_url`).",
        ) from None
    except OSError as error:
        message = f"The folder {str(folder)!r} of {name} cannot be used: {error.strerror}."
        advice = f"Check that it can be written, or set another one (`{name.lower()}_folder`)."
        raise VectorError(message, advice) from error
    return lock
