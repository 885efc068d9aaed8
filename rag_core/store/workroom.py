"""Where what is not finished is kept while a store is made, exported or imported: a folder of its own beside
the stores.

Its name is no store's name, so nothing in it is ever listed, and a whole file can be linked from it into
place. It is locked while its process lives; the next one removes what a dead one left.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock

from rag_core.errors import StoreError
from rag_core.wording import size

_PREFIX = ".unfinished-"
_ELSEWHERE = "elsewhere"
_SPARE = 64 * 1024 * 1024


@contextmanager
def workroom(store_dir: Path) -> Iterator[Path]:
    """A folder for unfinished files, gone at the end however that comes.

    Raises OSError when there cannot be one.
    """
    store_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    _clean(store_dir)
    room = store_dir / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = FileLock(_lock_path(room), thread_local=False)
    lock.acquire()  # before there is anything to remove
    try:
        room.mkdir(mode=0o700)
        yield room
    finally:
        _remove(room)
        lock.release()


def unfinished_name(room: Path, target: Path) -> Path:
    """The name beside ``target`` that its unfinished file may have; it is removed with ``room``."""
    part = target.with_name(f".{target.name}{room.name}")
    (room / _ELSEWHERE).write_bytes(os.fsencode(part))
    return part


def require_space(room: Path, needed: int, what: str) -> None:
    """Raise StoreError unless the disk of ``room`` has space for ``needed`` bytes and some to spare."""
    free = shutil.disk_usage(room).free
    if free < needed + _SPARE:
        raise StoreError(
            f"{what} takes {size(needed)}, and the disk of {str(room.parent)!r} has {size(free)} left.",
            "Free some space, then try again.",
        )


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock_path(room: Path) -> Path:
    return room.with_name(f"{room.name}.lock")


def _clean(store_dir: Path) -> None:
    for path in store_dir.glob(f"{_PREFIX}*.lock"):
        with suppress(OSError), FileLock(path, timeout=0):  # one that is held is at work
            _remove(path.with_suffix(""))


def _remove(room: Path) -> None:
    """Remove a room, and its lock as the last, which the caller holds."""
    elsewhere = room / _ELSEWHERE
    if elsewhere.is_file():
        part = Path(os.fsdecode(elsewhere.read_bytes()))
        if part.name.endswith(room.name):
            with suppress(OSError):  # its disk may not be there any more
                part.unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)  # what stays is the next one's to remove
    if not room.exists():
        with suppress(PermissionError):  # where a file that is open cannot be removed
            _lock_path(room).unlink(missing_ok=True)
