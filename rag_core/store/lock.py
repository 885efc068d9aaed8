"""The lock of a store: one process at a time indexes, mends or moves it; the system frees it on ``kill -9``.

The holder writes what it does into the lock file, so that others can be told why they are refused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, SoftFileLock, Timeout

from rag_core.errors import InUpkeep, StoreBusy, StoreError
from rag_core.store.errors import not_written

if sys.platform != "win32":
    import fcntl

Work = Literal["index", "repair", "rename", "delete", "make", "switch"]
Unknown = Literal[""]
"""What the holder of a lock does, when it could not write that down."""

_TIMEOUT_S = 0.5  # longer than a look takes

_DOING: Mapping[Work | Unknown, str] = {
    "": "is in use",
    "index": "is being indexed",
    "repair": "is being repaired",
    "rename": "is being renamed",
    "delete": "is being deleted",
    "make": "is being made",
    "switch": "is being switched to other vectors",
}
_REFUSED: Mapping[Work, str] = {
    "repair": "Nothing was repaired",
    "rename": "Nothing was renamed",
    "delete": "Nothing was deleted",
    "switch": "Nothing was switched",
}


@contextmanager
def hold(store: Path, work: Work = "index") -> Iterator[None]:
    """Hold the lock of the store file ``store``. Raises StoreBusy while a run holds it, which takes every
    request; InUpkeep while anything else does."""
    lock = FileLock(store.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=_TIMEOUT_S)
    except Timeout:
        raise _refusal(store, work) from None
    except OSError as error:
        raise not_written(store.stem, "locked", store.parent, error) from error
    try:
        if not isinstance(lock, SoftFileLock):  # it writes its own words into the file
            _write(store.with_suffix(".lock"), work)
        yield
    finally:
        if not os.path.exists(store):  # noqa: PTH110 - no error; it was removed, renamed or never made
            # While it is held: afterwards another process may hold it. One that waits sees that it is gone.
            with suppress(PermissionError):  # where a file that is open cannot be removed
                store.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


def _write(path: Path, work: Work) -> None:
    try:
        path.write_text(work, "ascii")
    except OSError:  # such as a full disk: nothing is better than half of a word, or the last holder's
        with suppress(OSError):
            os.truncate(path, 0)


def _refusal(store: Path, work: Work) -> StoreError:
    """The error for ``work`` that the holder of the lock does not let begin, with what to do."""
    doing = _read(store)
    by_run = doing == "index"
    if work == "index":
        advice = "The request was left for that run, which does it, too."
        if not by_run:
            advice = "The request was left, and nobody takes it meanwhile: run it again when that has ended."
    elif work == "make":
        wait = "wait for the end of that run" if by_run else "try again when that has ended"
        advice = f"Choose another name, or {wait}."
    else:
        wait = "cancel the run, or wait for its end" if by_run else "try again when that has ended"
        advice = f"{_REFUSED[work]}; {wait}."
    message = f"Store {store.stem!r} {_DOING[doing]}{' already' if by_run and work == 'index' else ''}."
    return StoreBusy(message, advice) if by_run else InUpkeep(message, advice)


def _read(store: Path) -> Work | Unknown:
    """What the holder of the lock does. A lock without our words is of a kind that writes its own."""
    try:
        word = store.with_suffix(".lock").read_text("ascii", "replace")
    except FileNotFoundError:  # it was released, and the lock file removed
        return ""
    except OSError:
        return "index"
    return next((work for work in _DOING if work == word), "index")


def holder(store: Path) -> Work | Unknown | None:
    """What the holder of the lock does, in this or any other process; None when nobody holds it."""
    try:
        return _read(store) if _is_held(store.with_suffix(".lock")) else None
    except OSError:  # nobody ever held it, or this account may not look
        return None


def _is_held(path: Path) -> bool:
    """Whether the lock is held. This look shares it, so that two looks do not see each other. Raises
    OSError."""
    if sys.platform == "win32":  # has no locks to share: what looks at the same moment is seen
        lock = FileLock(path.resolve(strict=True), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        return False
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)  # which gives the lock back
    return False
