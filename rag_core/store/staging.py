"""A folder next to the stores for unfinished files, while a store is created, exported or imported. The
folder is locked while its process lives. The next process removes the folders that killed processes left."""

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
def staging_folder(store_dir: Path) -> Iterator[Path]:
    """Context manager: yield a new folder for unfinished files, and remove it at the end. Raises OSError if
    the folder cannot be created."""
    store_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    for left in store_dir.glob(f"{_PREFIX}*.lock"):
        with suppress(OSError), FileLock(left, timeout=0):  # a folder whose lock is held is in use
            _remove(left.with_suffix(""))
    room = store_dir / f"{_PREFIX}{uuid.uuid4().hex}"
    lock = FileLock(room.with_name(f"{room.name}.lock"), thread_local=False)
    lock.acquire()  # before the folder exists
    try:
        room.mkdir(mode=0o700)
        yield room
    finally:
        _remove(room)
        lock.release()


def unfinished_name(room: Path, target: Path) -> Path:
    """Return a path next to ``target`` for its unfinished file. The file is removed together with ``room``, a
    folder from `staging_folder`."""
    part = target.with_name(f".{target.name}{room.name}")
    (room / _ELSEWHERE).write_bytes(os.fsencode(part))
    return part


def require_space(room: Path, needed: int, what: str) -> None:
    """Raise StoreError unless the disk of ``room`` has ``needed`` bytes free, plus a reserve. ``what`` is the
    subject of the message."""
    if (free := shutil.disk_usage(room).free) < needed + _SPARE:
        problem = f"{what} takes {size(needed)}, and the disk of {str(room.parent)!r} has {size(free)} left."
        raise StoreError(problem, "Free some space, then try again.")


def _remove(room: Path) -> None:
    """Remove a staging folder, then its lock. The caller must hold the lock."""
    elsewhere = room / _ELSEWHERE
    if elsewhere.is_file():
        part = Path(os.fsdecode(elsewhere.read_bytes()))
        if part.name.endswith(room.name):
            with suppress(OSError):  # its disk may be disconnected
                part.unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)  # the next process removes the rest
    if not room.exists():
        with suppress(PermissionError):  # some systems cannot remove an open file
            room.with_name(f"{room.name}.lock").unlink(missing_ok=True)
