"""The lock of a store: one process at a time indexes, mends or moves it; the system frees it on ``kill -9``.

Who holds the lock writes what for into the lock file, so that who is refused can be told.
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
Unsaid = Literal[""]
"""In place of what the holder of a lock is at, which it could not write down: a run may not be counted on."""

_PATIENCE_S = 0.5  # longer than a look takes

_DOING: Mapping[Work | Unsaid, str] = {
    "": "is in use",
    "index": "is being indexed",
    "repair": "is being repaired",
    "rename": "is being renamed",
    "delete": "is being deleted",
    "make": "is being made",
    "switch": "is being switched to other vectors",
}
# What became of the refused work, and what to do: while a run holds the lock, and while anything else does.
_REFUSED: Mapping[Work, tuple[str, str]] = {
    "index": (
        "The request was left for that run, which does it, too.",
        "The request was left, and nobody takes it meanwhile: run it again when that has ended.",
    ),
    "repair": (
        "Nothing was repaired; cancel the run, or wait for its end.",
        "Nothing was repaired; try again when that has ended.",
    ),
    "rename": (
        "Nothing was renamed; cancel the run, or wait for its end.",
        "Nothing was renamed; try again when that has ended.",
    ),
    "delete": (
        "Nothing was deleted; cancel the run, or wait for its end.",
        "Nothing was deleted; try again when that has ended.",
    ),
    "switch": (
        "Nothing was switched; cancel the run, or wait for its end.",
        "Nothing was switched; try again when that has ended.",
    ),
    "make": (
        "Choose another name, or wait for the end of that run.",
        "Choose another name, or try again when that has ended.",
    ),
}


def _lock_path(store: Path) -> Path:
    return store.with_suffix(".lock")


@contextmanager
def hold(store: Path, work: Work = "index") -> Iterator[None]:
    """Be the one that works on the store file ``store``.

    Raises StoreBusy while a run is under way, which takes every request; InUpkeep while something else is.
    """
    lock = FileLock(_lock_path(store), thread_local=False)
    try:
        lock.acquire(timeout=_PATIENCE_S)
    except Timeout:
        raise _refusal(store, work) from None
    except OSError as error:
        raise not_written(store.stem, "locked", store.parent, error) from error
    try:
        if not isinstance(lock, SoftFileLock):  # which keeps its own words in the file
            _write(store, work)
        yield
    finally:
        if not os.path.exists(store):  # noqa: PTH110 - no error; it was removed, renamed or never made
            _forget(store)
        lock.release()


def _write(store: Path, work: Work) -> None:
    path = _lock_path(store)
    try:
        path.write_text(work, "ascii")
    except OSError:  # such as a full disk: nothing is better than half of it, or what the last one was at
        with suppress(OSError):
            os.truncate(path, 0)


def _refusal(store: Path, work: Work) -> StoreError:
    found = _written(store)
    run, other = _REFUSED[work]
    message = f"Store {store.stem!r} {_DOING[found]}{' already' if found == work == 'index' else ''}."
    return StoreBusy(message, run) if found == "index" else InUpkeep(message, other)


def _written(store: Path) -> Work | Unsaid:
    """What the holder of the lock is at. A lock without our words is of a kind that keeps its own."""
    try:
        word = _lock_path(store).read_text("ascii", "replace")
    except FileNotFoundError:  # and what it was for
        return ""
    except OSError:
        return "index"
    return next((work for work in _DOING if work == word), "index")


def _forget(store: Path) -> None:
    """Remove the lock file, which is still held: after its release it may be the next one's already.

    Who waits for it meanwhile sees that it is gone and takes a new one.
    """
    with suppress(PermissionError):  # where a file that is open cannot be removed
        _lock_path(store).unlink(missing_ok=True)


def holder(store: Path) -> Work | Unsaid | None:
    """What is done with the store file ``store`` just now, in this or any other process; None for nothing."""
    try:
        return _written(store) if _is_held(_lock_path(store)) else None
    except OSError:  # nobody ever held it, or this account may not look
        return None


def _is_held(path: Path) -> bool:
    """Whether somebody has the lock; it is shared for this look, so that two who look do not see each other.

    Raises OSError when there is no such file or it cannot be looked at.
    """
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
