"""Whether the files on disk are still what was indexed. It looks at each file's stat and reads none."""

from __future__ import annotations

import os
import sqlite3

from rag_core.store.documents import stored_inode
from rag_core.types import FileState


def file_states(db: sqlite3.Connection) -> dict[int, FileState]:
    """Document id → state of every document: what its last reading gave, or what its file is now."""
    rows = db.execute(
        """SELECT d.id, s.root, d.path, d.size, d.mtime_ns, d.ctime_ns, d.inode, d.state
           FROM documents d JOIN sources s ON s.id = d.source_id"""
    )
    return {row["id"]: _state(row) for row in rows}


def _state(row: sqlite3.Row) -> FileState:
    try:
        status = os.stat(os.path.join(row["root"], row["path"]))  # noqa: PTH116, PTH118  (bytes)
    except (OSError, ValueError):
        return "missing"
    then = (row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"])
    now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, stored_inode(status.st_ino))
    if now != then:
        return "changed"
    states: dict[str, FileState] = {"indexed": "fresh", "failed": "failed", "skipped": "skipped"}
    return states[row["state"]]
