"""The changes to send to a remote vector index: one row for each chunk whose copy there is out of date.

Triggers write the rows in the transaction that changes the chunk, so no change is missed. A row names only
the chunk. The action is decided from the store when the row is sent:

    a chunk with a vector that may leave the machine    → put
    a chunk that is gone, private or without a vector   → deleted
    a chunk that waits for the embedder                 → nothing yet; the row stays

If a chunk changes again, it gets a row with a new id, so a sent row is removed by its id.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rag_core.store.file import TARGET, meta, target_identity
from rag_core.types import Vectors

_MAX_FRONT_MATTER = 16_000  # bytes sent with the first chunk; more would leave no room for its text

Action = Literal["put", "delete"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the outbox with the action for the copy of its chunk."""

    id: int  #: The id of the row.
    key: str  #: The key of the chunk.
    action: Action
    #: The chunk with facts about its document; None unless the action is *put*.
    chunk: sqlite3.Row | None = None
    vector: Vectors | None = None  #: The vector, shape (dimension,); None unless the action is *put*.
    #: The document's tags and their parent tags, folded; empty unless the action is *put*.
    folded_tags: tuple[str, ...] = ()


class Backlog(NamedTuple):
    """Number of copies still to be sent or removed, and number of copies that the index refused."""

    queued: int
    refused: int


def address(db: sqlite3.Connection) -> str:
    """Return the address of the remote vector index that searches use, or ``""`` if there is none."""
    return meta(db).get("remote", "")


def target(db: sqlite3.Connection) -> str:
    """Return the address of the remote index that runs send vectors to, or ``""`` if there is none. During a
    switch this is the new index."""
    known = meta(db)
    return known.get("next_remote" if "next_backend" in known else "remote", "")


def queue_all(db: sqlite3.Connection, among: str = "1") -> None:
    """Queue all chunks, or only those that meet the SQL condition ``among``. The next run sends their copies
    to the remote index again, or deletes them there, even those that it refused before.

    Rows of deleted chunks stay queued. Without a remote index, the queue is emptied instead.
    """
    if target(db):
        db.execute(f"INSERT OR REPLACE INTO outbox (key) SELECT key FROM chunks WHERE {among} ORDER BY id")
    else:
        db.execute("DELETE FROM outbox")


def disconnect(db: sqlite3.Connection) -> None:
    """Stop using a remote index. The index itself is not changed."""
    db.execute("DELETE FROM meta WHERE key IN ('remote', 'recheck')")
    db.execute("DELETE FROM outbox")


def recheck(db: sqlite3.Connection, *, wanted: bool) -> None:
    """Set whether the next run first compares the remote index with the store before it sends changes."""
    db.execute("DELETE FROM meta WHERE key = 'recheck'")
    if wanted:
        db.execute("INSERT INTO meta VALUES ('recheck', '')")


def wants_recheck(db: sqlite3.Connection) -> bool:
    """Whether the next run first compares the remote index with the store before it sends changes."""
    return "recheck" in meta(db)


def queue(db: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Queue the chunks ``keys``, so that the next run sends or deletes their copies again."""
    db.executemany("INSERT OR REPLACE INTO outbox (key) VALUES (?)", [(key,) for key in keys])


def backlog(db: sqlite3.Connection) -> Backlog:
    """Count the copies that are still to be sent or removed, and those that the index refused."""
    row = db.execute("SELECT count(*) FILTER (WHERE error = ''), count(*) FROM outbox").fetchone()
    return Backlog(row[0], row[1] - row[0])


def retry(db: sqlite3.Connection) -> None:
    """Queue again the copies that the index refused."""
    db.execute("UPDATE outbox SET error = '' WHERE error <> ''")


def settle_rows(db: sqlite3.Connection, done: Iterable[int], refused: Mapping[int, str]) -> None:
    """Remove the rows ``done`` from the outbox. For the rows ``refused``, store the reason (row id →
    reason)."""
    db.executemany("DELETE FROM outbox WHERE id = ?", [(row_id,) for row_id in done])
    reasons = [(error, row_id) for row_id, error in refused.items()]
    db.executemany("UPDATE outbox SET error = ? WHERE id = ?", reasons)


_VECTOR = f"LEFT JOIN embeddings e ON e.hash = c.embed_hash AND e.identity_id = {TARGET}"


def gone(db: sqlite3.Connection, *, private: bool) -> list[str]:
    """Return the queued keys of chunks that every index must remove: deleted chunks, and private chunks
    unless ``private`` says that these may leave the machine."""
    sql = """SELECT o.key FROM outbox o LEFT JOIN chunks c ON c.key = o.key
             LEFT JOIN documents d ON d.id = c.document_id WHERE c.id IS NULL OR (d.private AND NOT ?)"""
    return [row[0] for row in db.execute(sql, (private,))]


def newest_row(db: sqlite3.Connection) -> int:
    """Return the id of the newest row, or 0 if there is none. Later changes get higher ids."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM outbox").fetchone()[0])


def entries(db: sqlite3.Connection, after: int, last: int, limit: int, *, private: bool) -> list[Entry]:
    """Return the next ``limit`` rows with ids above ``after`` and up to ``last``, oldest first. Rows that
    wait for the embedder or were refused are left out. ``private`` tells whether private notes may leave the
    machine."""
    sql = f"""SELECT o.id AS outbox_id, o.key AS outbox_key, c.*, e.vector,
                     d.display, d.file_type, d.title AS document_title, d.title_from, d.date, d.date_from,
                     d.private, d.file_hash, d.size, d.part, d.number, d.encoding, d.metadata,
                     (SELECT json_group_array(json_array(folded, tag)) FROM tags t WHERE t.document_id = d.id)
                         AS tag_list
              FROM outbox o LEFT JOIN chunks c ON c.key = o.key LEFT JOIN documents d ON d.id = c.document_id
              {_VECTOR} LEFT JOIN queue q ON q.hash = c.embed_hash
              WHERE o.id > ? AND o.id <= ? AND o.error = ''
                  AND (q.id IS NULL OR e.vector IS NOT NULL OR (d.private AND NOT ?))
              ORDER BY o.id LIMIT ?"""
    rows = db.execute(sql, (after, last, private, limit)).fetchall()
    queued_copies: list[Entry] = []
    for row in rows:
        entry = Entry(row["outbox_id"], row["outbox_key"], "delete")
        if row["vector"] and (private or not row["private"]):
            vector = np.frombuffer(row["vector"], "<f2").astype(np.float32)
            tags = tuple(folded for folded, _ in json.loads(row["tag_list"]))
            entry = replace(entry, action="put", chunk=row, vector=vector, folded_tags=tags)
        queued_copies.append(entry)
    return queued_copies


def expected(db: sqlite3.Connection, *, private: bool) -> set[str]:
    """Return the keys of all chunks that a remote index should have when all changes are sent. ``private``
    tells whether private notes may leave the machine."""
    sql = f"""SELECT c.key FROM chunks c JOIN documents d ON d.id = c.document_id {_VECTOR}
              WHERE e.vector <> x'' AND (NOT d.private OR ?)"""
    return {row[0] for row in db.execute(sql, (private,))}


def is_sendable(db: sqlite3.Connection, *, private: bool) -> bool:
    """Whether a run would send anything. Chunks without a vector are not sent. ``private`` tells whether
    private notes may leave the machine."""
    return wants_recheck(db) or bool(entries(db, 0, newest_row(db), 1, private=private))


def queued(db: sqlite3.Connection) -> set[str]:
    """Return the keys of all queued copies, including refused ones."""
    return {row[0] for row in db.execute("SELECT key FROM outbox")}


_OF_CHUNK = (
    "chunk_index", "start", "end", "start_line", "end_line",
    "anchor_type", "anchor_ref", "split_part", "prefix", "headings", "kept",
)  # fmt: skip
_OF_DOCUMENT = (
    "part",
    "number",
    "file_type",
    "title_from",
    "date",
    "date_from",
    "file_hash",
    "size",
    "encoding",
)


def maker(db: sqlite3.Connection, name: str) -> dict[str, Any]:
    """Return the facts that another machine needs to read the index of the store ``name``: name, embedder,
    metric and sizes."""
    about, known = meta(db), target_identity(db)
    return {
        "name": name,
        "embedder": about.get("next_embedder", about["embedder"]),
        "identity": asdict(known.identity) if known else {},
        "metric": about["metric"],
        "max_tokens": int(about["max_tokens"]),
        "sizes": json.loads(about["chunk_sizes"]),
    }


def doc(row: sqlite3.Row, maker: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything except the text that another machine needs to restore a chunk and its document. For
    the first chunk this includes the front matter and ``maker``, the facts that the function `maker`
    returns."""
    about: dict[str, Any] = {
        "version": 1,
        "path": row["display"],
        "title": row["document_title"],
        "private": bool(row["private"]),
        "tags": [tag for _, tag in json.loads(row["tag_list"]) if tag is not None],
        "words": row["tags"],
        "heading_path": json.loads(row["heading_path"]),
        **{name: row[name] for name in (*_OF_DOCUMENT, *_OF_CHUNK)},
    }
    if row["chunk_index"] == 0:
        about["store"] = maker
        if len(row["metadata"].encode()) <= _MAX_FRONT_MATTER:
            about["front_matter"] = json.loads(row["metadata"])
    return about
