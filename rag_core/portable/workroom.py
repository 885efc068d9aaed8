"""Where an export or import keeps what is not finished: a folder of its own beside the stores.

Its name is no store's name, so nothing in it is ever listed, and a whole file can be linked from it into
place. It is locked while its process lives; the next export or import removes what a dead one left.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from rag_core.errors import StoreError
from rag_core.wording import size

_PREFIX = ".portable-"
_LOCK = "lock"
_ELSEWHERE = "elsewhere"
_SPARE = 64 * 1024 * 1024


@contextmanager
def workroom(store_dir: Path) -> Iterator[Path]:
    """A folder for unfinished files, gone at the end however that comes.

    Raises OSError when there cannot be one.
    """
    store_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(store_dir / f"{_PREFIX}{_LOCK}"):  # a new folder is not locked yet for a moment
        _clean(store_dir)
        room = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=store_dir))
        lock = FileLock(room / _LOCK, thread_local=False)
        lock.acquire(timeout=0)
    try:
        yield room
    finally:
        _remove(room)
        lock.release()


def unfinished_name(room: Path, target: Path) -> Path:
    """The name beside ``target`` that its unfinished file may have; it is removed with ``room``."""
    part = target.with_name(f".{target.name}{room.name}")
    (room / _ELSEWHERE).write_bytes(os.fsencode(part))
    return part


def require_space(folder: Path, needed: int, what: str) -> None:
    """Raise StoreError unless ``folder`` has room for ``needed`` bytes and some to spare."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StoreError(
            f"{what} takes {size(needed)}, and the disk of {str(folder)!r} has {size(free)} left.",
            "Free some space, then try again.",
        )


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _clean(store_dir: Path) -> None:
    for room in store_dir.glob(f"{_PREFIX}*"):
        if not room.is_dir() or room.is_symlink():
            continue
        lock = FileLock(room / _LOCK)
        with suppress(Timeout), lock.acquire(timeout=0):  # one that is held is at work
            _remove(room)


def _remove(room: Path) -> None:
    elsewhere = room / _ELSEWHERE
    if elsewhere.is_file():
        part = Path(os.fsdecode(elsewhere.read_bytes()))
        if part.name.endswith(room.name):
            with suppress(OSError):  # its disk may not be there any more
                part.unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)  # what stays is the next one's to remove
