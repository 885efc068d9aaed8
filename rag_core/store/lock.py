"""The lock of a store: one process at a time indexes, repairs or moves a store. The system frees the lock on
``kill -9``.

The holder writes its work into the lock file, so that other processes can say why they are refused.
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
from rag_core.store.errors import not_written, system_says

if sys.platform != "win32":
    import fcntl

Work = Literal["", "index", "repair", "rename", "delete", "make", "switch"]
"""The work of a lock's holder; '' if the holder could not write its work down."""

_TIMEOUT_S = 0.5  # longer than `holder` keeps its shared lock
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
    "make": "Nothing was created; you can choose another name.",
    "switch": "Nothing was switched.",
}


@contextmanager
def hold(store: Path, work: Work = "index") -> Iterator[None]:
    """Context manager: hold the lock of the store file ``store`` for ``work``.

    Raises:
        StoreBusy: A run holds the lock. It will carry out all requests.
        InUpkeep: Other work holds the lock.
        StoreError: The lock file cannot be written.

    """
    lock = FileLock(store.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=_TIMEOUT_S)
    except Timeout:
        raise _refusal(store, work) from None
    except OSError as error:
        message = f"Store {store.stem!r} cannot be locked: {system_says(error)}."
        raise not_written(message, store.parent) from error
    try:
        if not isinstance(lock, SoftFileLock):  # a SoftFileLock writes its own text into the file
            try:
                _write(store.with_suffix(".lock"), work)
            except OSError:  # the disk may be full: better no word than half a word
                with suppress(OSError):
                    os.truncate(store.with_suffix(".lock"), 0)
        yield
    finally:
        if not os.path.exists(store):  # noqa: PTH110 - no error; it was removed, renamed or never created
            # Removed while locked: afterwards another process may hold the lock. A waiting one notices.
            with suppress(PermissionError):  # some systems cannot remove an open file
                store.with_suffix(".lock").unlink(missing_ok=True)
        lock.release()


def _refusal(store: Path, work: Work) -> StoreError:
    """Return the error, with advice, for ``work`` that cannot begin because the lock is held."""
    doing = _read(store)
    message = _DOING[doing].format(store=store.stem)
    if doing == "index":
        if work == "index":
            return StoreBusy(message, "That run will also carry out this request.")
        wait = "Cancel the run (`commonplace jobs --cancel`), or wait for its end."
        return StoreBusy(message, f"{_REFUSED[work]} {wait}")
    if work == "index":
        advice = "The request is kept, but not carried out now. Run the command again when that has ended."
        return InUpkeep(message, advice)
    return InUpkeep(message, f"{_REFUSED[work]} Try again when that has ended.")


def _write(path: Path, work: Work) -> None:
    """Write a word into a lock file, from its second byte on. Windows locks the first byte, which no process
    can then read or write. Raises OSError."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.lseek(handle, 1, os.SEEK_SET)
        os.write(handle, work.encode("ascii").ljust(_LONGEST_WORD))
    finally:
        os.close(handle)


def _read(store: Path) -> Work:
    """Return the work of the lock's holder as written in the lock file, or '' if it is not known."""
    try:
        handle = os.open(store.with_suffix(".lock"), os.O_RDONLY)
        try:
            os.lseek(handle, 1, os.SEEK_SET)
            word = os.read(handle, _LONGEST_WORD).decode("ascii", "replace").strip()
        finally:
            os.close(handle)
    except FileNotFoundError:  # the lock was released and the file removed
        return ""
    except OSError:
        return "index"
    return next((work for work in _DOING if work == word), "index")


def holder(store: Path) -> Work | None:
    """Return the work of the process that holds the lock, or None if the lock is free. The check takes a
    shared lock (except on Windows), so that two checks do not block each other."""
    try:
        path = store.with_suffix(".lock").resolve(strict=True)
        if sys.platform == "win32":
            with FileLock(path, thread_local=False, timeout=0):
                return None
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # closing the file releases the lock
    except (Timeout, BlockingIOError):
        return _read(store)
    except OSError:  # the lock was never held, or this account may not read it
        return None
    return None
