"""The runner lock: one process at a time indexes a store; the system frees it on ``kill -9``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from rag_core.errors import StoreBusy, StoreError

_PROBE_S = 0.5  # longer than held() holds the lock itself
_probing = threading.Lock()  # two that look at once would take each other for the runner


def _lock_path(store: Path) -> Path:
    return store.with_suffix(".lock")


@contextmanager
def hold(
    store: Path,
    otherwise: str = "The request was left for that run, which does it, too.",
) -> Iterator[None]:
    """Be the runner of the store file ``store``; raises StoreBusy when there is one already.

    ``otherwise`` is the error's second sentence.
    """
    lock = FileLock(_lock_path(store), thread_local=False)
    try:
        lock.acquire(timeout=_PROBE_S)
    except Timeout:
        raise StoreBusy(f"Store {store.stem!r} is being indexed already.", otherwise) from None
    except OSError as error:
        raise StoreError(
            f"Store {store.stem!r} cannot be locked: {error.strerror}.",
            f"Check that {str(store.parent)!r} can be written.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def forget(store: Path) -> None:
    """Remove the lock file, which the caller holds: after its release it may be the next one's already.

    Who waits for it meanwhile sees that it is gone and takes a new one.
    """
    with suppress(PermissionError):  # where a file that is open cannot be removed
        _lock_path(store).unlink(missing_ok=True)


def held(store: Path) -> bool:
    """Whether a runner is at work on the store file ``store``, in this or any other process."""
    lock = FileLock(_lock_path(store), thread_local=False)
    with _probing:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        except PermissionError:  # what this account cannot write, it does not index
            return False
        lock.release()
        return False
