"""Whether the files on disk are still what was indexed. It looks at each file's stat and reads none."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable

from rag_core.store.documents import stored_inode
from rag_core.types import FileState

_READ: dict[str, FileState] = {"indexed": "fresh", "failed": "failed", "skipped": "skipped"}


def file_states(rows: Iterable[sqlite3.Row]) -> dict[int, FileState]:
    """Document id → what the last reading gave, or what the file is now. ``rows`` as in ``file_state``.

    A disk may take its time: nobody should keep a snapshot of the store open for it.
    """
    return {row["id"]: file_state(row) for row in rows}


def file_state(row: sqlite3.Row) -> FileState:
    """The state of one document, from a row of ``documents`` with the ``root`` of its source."""
    if not os.path.isabs(row["root"]):  # noqa: PTH117  (bytes)  an index that is attached, and no folder
        return _READ[row["state"]]
    try:
        status = os.stat(os.path.join(row["root"], row["path"]))  # noqa: PTH116, PTH118  (bytes)
    except (OSError, ValueError):
        return "missing"
    then = (row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"])
    now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, stored_inode(status.st_ino))
    if now != then:
        return "changed"
    return _READ[row["state"]]
