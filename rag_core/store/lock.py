"""The lock of a store: one process at a time indexes, repairs or moves it; the system frees it on ``kill
-9``. The holder writes what it does into the lock file, so that others can be told why they are refused."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, SoftFileLock, Timeout

from rag_core.errors import InUpkeep, StoreBusy, StoreError
from rag_core.store.errors import not_written, system_says

if sys.platform != "win32":
    import fcntl

Work = Literal["", "index", "repair", "rename", "delete", "make", "switch"]
"""What the holder of a lock does; '' when it could not write that down."""

_TIMEOUT_S = 0.5  # longer than a look takes
_LONGEST_WORD = 16  # bytes

_DOING: Mapping[Work, str] = {
    "index": "Store {store!r} is being indexed.",
    "repair": "Store {store!r} is being repaired.",
    "rename": "Store {store!r} is being renamed.",
    "delete": "Store {store!r} is being deleted.",
    "make": "Store {store!r} is being created.",
    "switch": "Store {store!r} is being switched to other vectors.",
    "": "Store {store!r} is in use.",
}
_REFUSED: Mapping[Work, str] = {
    "repair": "Nothing was repaired.",
    "rename": "Nothing was renamed.",
    "delete": "Nothing was deleted.",
    "make": "Nothing was made; you can choose another name.",
    "switch": "Nothing was switched.",
}


@contextmanager
def hold(store: Path, work: Work = "index") -> Iterator[None]:
    """Hold the lock of the store file ``store``. Raises StoreBusy if a run holds it, which then takes all
    requests; InUpkeep if anything else holds it."""
    lock = FileLock(store.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=_TIMEOUT_S)
    except Timeout:
        raise _refusal(store, work) from None
    except OSError as error:
        message = f"Store {store.stem!r} cannot be locked: {system_says(error)}."
        raise not_written(message, store.parent) from error
    try:
        if not isinstance(lock, SoftFileLock):  # it writes its own words into the file
            try:
                _write(store.with_suffix(".lock"), work)
            except OSError:  # such as a full disk: nothing is better than half of a word
                with suppress(OSError):
                    os.truncate(store.with_suffix(".lock"), 0)
        yield
    finally:
        if not os.path.exists(store):  # noqa: PTH110 - no error; it was removed, renamed or never made
            # While it is held: afterwards another process may hold it. One that waits sees that it is gone.
            with suppress(PermissionError):  # where a file that is open cannot be removed
                store.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


def _refusal(store: Path, work: Work) -> StoreError:
    """Return the error for ``work`` that cannot begin because the lock is held, with advice what to do."""
    doing = _read(store)
    message = _DOING[doing].format(store=store.stem)
    if doing == "index":
        if work == "index":
            return StoreBusy(message, "The request is kept for that run, which does it, too.")
        wait = "Cancel the run (`commonplace jobs --cancel`), or wait for its end."
        return StoreBusy(message, f"{_REFUSED[work]} {wait}")
    if work == "index":
        advice = "The request is kept, but nothing runs it now. Run the command again when that has ended."
        return InUpkeep(message, advice)
    return InUpkeep(message, f"{_REFUSED[work]} Try again when that has ended.")


def _write(path: Path, work: Work) -> None:
    """Write a word into a lock file, from its second byte on: Windows lets nobody read or write the first,
    which is what it locks. Raises OSError."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.lseek(handle, 1, os.SEEK_SET)
        os.write(handle, work.encode("ascii").ljust(_LONGEST_WORD))
    finally:
        os.close(handle)


def _read(store: Path) -> Work:
    """Return the work of the lock's holder, as written in the lock file; '' if it is not known."""
    try:
        handle = os.open(store.with_suffix(".lock"), os.O_RDONLY)
        try:
            os.lseek(handle, 1, os.SEEK_SET)
            word = os.read(handle, _LONGEST_WORD).decode("ascii", "replace").strip()
        finally:
            os.close(handle)
    except FileNotFoundError:  # it was released, and the lock file removed
        return ""
    except OSError:
        return "index"
    return next((work for work in _DOING if work == word), "index")


def holder(store: Path) -> Work | None:
    """Return the work of the process that holds the lock, or None if it is free. The check takes a shared
    lock (except on Windows), so that two checks do not block each other."""
    try:
        path = store.with_suffix(".lock").resolve(strict=True)
        if sys.platform == "win32":
            with FileLock(path, thread_local=False, timeout=0):
                return None
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # closing gives it back
    except (Timeout, BlockingIOError):
        return _read(store)
    except OSError:  # nobody ever held it, or this account may not look
        return None
    return None
