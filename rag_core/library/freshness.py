"""Whether files have changed since they were indexed: by their size and time, or by the content of one
file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rag_core.errors import ExtractError, NotText, OnlyInCloud
from rag_core.files import file_stat, read_bytes, with_sep
from rag_core.system import for_calls, stub_of
from rag_core.types import FileState

_GONE: Final = (FileNotFoundError, NotADirectoryError, ValueError)
_READ: dict[str, FileState] = {
    "indexed": "fresh",
    "waiting": "waiting",
    "failed": "failed",
    "skipped": "skipped",
}


def file_states(rows: Iterable[sqlite3.Row]) -> dict[int, FileState]:
    """Return the `file_state` of each row, by document id. Disks can be slow, so do not call this while a
    read transaction of the store is open."""
    return {row["id"]: file_state(row) for row in rows}


def file_state(row: sqlite3.Row) -> FileState:
    """Return a document's state on disk: as last read, changed, missing or unknown. ``row`` is a row of
    ``documents``, with the ``root`` of its source."""
    if not os.path.isabs(row["root"]):  # noqa: PTH117  (bytes): an attached index, which is no folder
        return _READ[row["state"]]
    try:
        status = os.stat(for_calls(with_sep(row["root"]) + row["path"]))  # noqa: PTH116  (bytes)
    except _GONE:
        if os.path.lexists(stub_of(with_sep(row["root"]) + row["path"])):  # it is in iCloud
            return _READ[row["state"]]
        return "missing" if _holds_files(row["root"]) else "unknown"
    except OSError:  # such as no permission: the file may be unchanged
        return "unknown"
    if not stat.S_ISREG(status.st_mode):  # such as a folder that has its name
        return "missing"
    then, stat_now = (row["size"], row["mtime_ns"], row["inode"]), file_stat(b"", status)
    is_same = (stat_now.size, stat_now.mtime_ns, stat_now.inode) == then
    return _READ[row["state"]] if is_same else "changed"


def _holds_files(root: bytes) -> bool:
    """Whether a folder exists and is not empty; otherwise its disk may not be mounted."""
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def file_state_by_hash(row: sqlite3.Row) -> FileState:
    """Return a document's state on disk as `file_state` does, but compare the content with ``file_hash`` of
    the row. A file with only a new time has not changed."""
    state = file_state(row)
    if state != "changed" or not row["file_hash"]:
        return state
    try:
        data = read_bytes(Path(os.fsdecode(row["root"])), row["path"], row["size"])
    except (NotText, OnlyInCloud):  # it is larger than it was, or was changed on another computer
        return "changed"
    except ExtractError:
        return "unknown"
    return _READ[row["state"]] if hashlib.sha256(data).hexdigest() == row["file_hash"] else "changed"
