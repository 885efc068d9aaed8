"""Lists of documents as the interfaces show them, with the stat of their files."""

from __future__ import annotations

import json
import sqlite3
from collections import namedtuple
from collections.abc import Iterable, Mapping
from typing import Any

from rag_core.extract.filetypes import NAMED
from rag_core.types import NAME, Document, PrivateBy, Viewer

_STATE = f"""CASE WHEN d.state = 'indexed' AND (d.extractor = {NAMED} OR d.reason <> ''
    OR (d.pictures_left AND d.file_type = 'picture')) THEN 'waiting' ELSE d.state END AS state"""  # SQL

_STAT = ", ".join(
    f"coalesce(f.{name}, d.{name}) AS {name}" for name in ("size", "mtime_ns", "ctime_ns", "inode")
)
"""SQL for the stat of a document's file. For a part of a file, ``f`` is the row of the file."""

# Only the needed columns: the others are on separate pages, and creating an empty array takes long.
_DOCUMENT = f"""SELECT d.id, d.path, d.display, d.folder, d.file_type, d.title, d.date, d.date_from,
    d.private, {_STATE}, d.reason, d.size AS own_size, {_STAT},
    coalesce(f.file_hash, d.file_hash) AS file_hash, d.part, d.file_hash AS own_hash, d.indexed_at, s.root,
    (SELECT count(*) FROM documents p WHERE p.container = d.id AND (? OR NOT p.private)) AS parts,
    (SELECT count(*) FROM chunks WHERE document_id = d.id AND anchor_type <> '{NAME}') AS chunk_count,
    CASE WHEN EXISTS (SELECT 1 FROM tags WHERE document_id = d.id) THEN
        (SELECT json_group_array(tag) FROM tags WHERE document_id = d.id AND tag IS NOT NULL)
    ELSE '[]' END AS tag_list
    FROM documents d JOIN sources s ON s.id = d.source_id LEFT JOIN documents f ON f.id = d.container"""


def documents(
    db: sqlite3.Connection, store: str, viewer: Viewer, ids: Iterable[int] | None = None
) -> list[Document]:
    """Return the documents of ``ids`` that ``viewer`` may see, or all files if ``ids`` is None, in order of
    path. The owner gets every file. Guests get only files with text, which may be the last readable
    version."""
    return as_documents(document_rows(db, viewer, ids), store, viewer)


def document_rows(
    db: sqlite3.Connection, viewer: Viewer, ids: Iterable[int] | None = None
) -> list[sqlite3.Row]:
    """Return the rows that `as_documents` converts: those of ``ids`` that ``viewer`` may see, or of all files
    if ``ids`` is None. Each also has the ``root`` of its source and the stat of its file."""
    condition = "1" if viewer.is_owner else "NOT d.private AND chunk_count > 0"
    values: list[Any] = [viewer.is_owner]
    if ids is None:
        condition += " AND d.container IS NULL"
    else:
        condition += " AND d.id IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(ids)))
    return db.execute(f"{_DOCUMENT} WHERE {condition} ORDER BY d.display", values).fetchall()


def stat_rows(db: sqlite3.Connection) -> list[sqlite3.Row]:
    """Return the path and stat of every document, which `freshness` compares with the disk."""
    sql = f"""SELECT d.id, s.root, d.path, {_STAT}, {_STATE} FROM documents d
             JOIN sources s ON s.id = d.source_id LEFT JOIN documents f ON f.id = d.container"""
    return db.execute(sql).fetchall()


_Row = namedtuple(  # looking up twenty names in each of 20,000 SQLite rows takes longer than reading them
    "_Row",
    "id path display folder file_type title date date_from private state reason size file_size mtime_ns"
    " ctime_ns inode hash_of_file part file_hash indexed_at root part_count chunks tags",
)
_UNKNOWN_TO_GUESTS = {"reason": "", "size": 0, "file_hash": "", "indexed_at": "", "root": b""}
_PRIVATE_BY: tuple[tuple[PrivateBy, ...], ...] = ((), ("note",), ("rule",), ("note", "rule"))


def as_documents(
    rows: Iterable[sqlite3.Row], store: str, viewer: Viewer, states: Mapping[int, str] | None = None
) -> list[Document]:
    """Convert the rows of `document_rows` to documents. ``states`` (id → state) replace the states in the
    rows."""
    listed: list[Document] = []
    for row in map(_Row._make, rows):
        state = states.get(row.id, row.state) if states else row.state
        if not viewer.is_owner:
            row, state = row._replace(**_UNKNOWN_TO_GUESTS), "indexed"
        document = Document(
            store=store,
            id=row.id,
            path=row.display,
            folder=row.folder,
            file_type=row.file_type,
            title=row.title,
            tags=() if row.tags == "[]" else tuple(json.loads(row.tags)),
            date=row.date,
            private=bool(row.private & 3),
            state=state,
            reason=row.reason,
            chunks=row.chunks,
            size=row.size,
            file_hash=row.file_hash,
            indexed_at=row.indexed_at,
            root=row.root.decode("utf-8", "backslashreplace"),
            path_in_source=row.path.decode("utf-8", "backslashreplace"),
            private_by=_PRIVATE_BY[row.private & 3],
            date_from=row.date_from,
            part=row.part,
            part_count=row.part_count,
        )
        listed.append(document)
    return listed
