"""Finds documents with pictures or scanned pages whose text is not read yet."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence, Set
from dataclasses import dataclass

from rag_core.files import FileStat
from rag_core.store import sources
from rag_core.store.checksums import seal
from rag_core.store.documents import FileRecord
from rag_core.store.file import now
from rag_core.store.warnings import with_unread_part
from rag_core.types import Source

_MANY = 8  # documents with more pictures than this come last
_PAGES = "coalesce(json_extract(d.metadata, '$.pages'), 0)"  # SQL
_DUE = """FROM documents d JOIN sources s ON s.id = d.source_id
    WHERE d.pictures_left AND NOT s.paused AND NOT s.removed
    AND d.id NOT IN (SELECT value FROM json_each(?))"""


@dataclass(frozen=True, slots=True)
class Unread:
    """A document with pictures that are not read yet."""

    id: int
    source: Source
    file: FileRecord  #: Its file as it was when the document was read.
    left: int  #: Number of pictures that are not read yet.
    pages: int  #: Number of pages of the document; 0 if it has none.


def next_unread(db: sqlite3.Connection, but: Set[int]) -> Unread | None:
    """Return the document whose pictures should be read next, or None if all are read. Documents with few
    pictures come first, then the newest. ``but`` are ids of documents to skip."""
    sql = f"SELECT d.* {_DUE} ORDER BY min(d.pictures_left, {_MANY}), d.mtime_ns DESC LIMIT 1"
    row = db.execute(sql, (json.dumps(sorted(but)),)).fetchone()
    if row is None:
        return None
    stat = FileStat(row["path"], row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"])
    of_part = row["part"], row["number"], row["container"]
    file = FileRecord(row["source_id"], row["display"], stat, row["scanned_ns"], row["file_hash"], *of_part)
    pages = int(json.loads(row["metadata"]).get("pages", 0))
    return Unread(row["id"], sources.by_id(db, row["source_id"]), file, row["pictures_left"], pages)


def left(db: sqlite3.Connection, but: Set[int]) -> tuple[int, int]:
    """Return the number of unread pictures, then the number of unread pages in documents with several pages.
    ``but`` are ids of documents to skip."""
    sql = f"""SELECT coalesce(sum(iif({_PAGES} > 1, 0, d.pictures_left)), 0),
                 coalesce(sum(iif({_PAGES} > 1, d.pictures_left, 0)), 0) {_DUE}"""
    pictures, pages = db.execute(sql, (json.dumps(sorted(but)),)).fetchone()
    return int(pictures), int(pages)


def text_in_note(db: sqlite3.Connection, source_id: int, note: bytes, picture: str) -> str:
    """Return the text of an embedded picture as stored with its note, or '' if there is none. ``note`` is the
    note's path in its source, ``picture`` the picture's shown path."""
    sql = """SELECT c.text, c.start, c."end" FROM chunks c JOIN documents d ON d.id = c.document_id
             WHERE d.source_id = ? AND d.path = ? AND c.anchor_type = 'picture' AND c.anchor_ref = ?
             ORDER BY c.chunk_index"""
    text, end = "", 0
    for row in db.execute(sql, (source_id, note, picture)):
        repeated = max(end - row["start"], 0) if text else 0  # passages overlap
        text += row["text"][repeated:] if repeated else f"\n{row['text']}"
        end = row["end"]
    return text.strip()


def left_in(db: sqlite3.Connection, document_id: int, file_hash: str) -> int | None:
    """Return the number of unread pictures in a document. Returns None if the document is gone or its file no
    longer has ``file_hash``."""
    sql = "SELECT pictures_left FROM documents WHERE id = ? AND file_hash = ?"
    row = db.execute(sql, (document_id, file_hash)).fetchone()
    return None if row is None else int(row[0])


def note_why_left(db: sqlite3.Connection, why: str, former: Sequence[str]) -> None:
    """Record ``why`` the remaining pictures cannot be read as a warning on their documents; '' if they can.
    It replaces the earlier reasons ``former``. For documents without text it also becomes the reason of their
    state."""
    sql = """SELECT d.id, d.reason, d.warnings FROM documents d WHERE d.pictures_left AND (
                 d.reason IN (SELECT value FROM json_each(:former)) OR (d.reason = '' AND :why <> ''
                 AND NOT EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id AND text <> '')))"""
    given = {"former": json.dumps(former), "why": why}
    for number, reason, written in db.execute(sql, given).fetchall():
        warnings = [old for old in json.loads(written) if old not in (*former, why)] + [why] * bool(why)
        if (reason, written) != (why, now := json.dumps(warnings, ensure_ascii=False)):
            db.execute("UPDATE documents SET reason = ?, warnings = ? WHERE id = ?", (why, now, number))
            seal(db, number)


def give_up(db: sqlite3.Connection, document_id: int, reason: str) -> None:
    """Record the reason why the pictures of a document cannot be read. They no longer count as unread."""
    row = db.execute("SELECT warnings FROM documents WHERE id = ?", (document_id,)).fetchone()
    said = f"The text in its pictures could not be read. {reason}"
    warnings = with_unread_part(json.loads(row["warnings"]), said)
    sql = "UPDATE documents SET pictures_left = 0, reason = '', warnings = ?, indexed_at = ? WHERE id = ?"
    db.execute(sql, (json.dumps(warnings, ensure_ascii=False), now(), document_id))
    seal(db, document_id)
