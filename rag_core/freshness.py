"""Whether the files on disk are still what was indexed. It looks at each file's stat and reads none."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence

from rag_core.store.documents import stored_inode
from rag_core.types import FileState


def file_states(db: sqlite3.Connection, ids: Sequence[int] | None = None) -> dict[int, FileState]:
    """Document id → what the last reading gave, or what the file is now; of ``ids``, or of every document."""
    chosen = "1" if ids is None else "d.id IN (SELECT value FROM json_each(?))"
    rows = db.execute(
        f"""SELECT d.id, s.root, d.path, d.size, d.mtime_ns, d.ctime_ns, d.inode, d.state
            FROM documents d JOIN sources s ON s.id = d.source_id WHERE {chosen}""",
        () if ids is None else (json.dumps(list(ids)),),
    )
    return {row["id"]: file_state(row) for row in rows}


def file_state(row: sqlite3.Row) -> FileState:
    """The state of one document, from a row of ``documents`` with the ``root`` of its source."""
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
