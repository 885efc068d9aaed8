"""Writing the chunks of a document: rows are made before the transaction, and written by the hundred. FTS5
writes out what it has gathered at every statement: one row at a time takes three times as long."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rag_core.extract import frontmatter
from rag_core.store.file import TARGET
from rag_core.text.words import extra_terms
from rag_core.types import Extracted, Passage

_PLACE = (
    *("chunk_index", "start", '"end"', "start_line", "end_line", "heading_path"),
    *("anchor_type", "anchor_ref", "split_part", "prefix"),
)
_INDEXED = ("title", "headings", "path", "tags", "text", "title_terms", "terms")
_COLUMNS = ("embed_hash", *_PLACE, *_INDEXED)
_FIRST_INDEXED = _COLUMNS.index("title")
_ROWS_A_STATEMENT = 200

_INSERT = f"INSERT INTO chunks (key, document_id, {', '.join(_COLUMNS)}) VALUES {{rows}}"
_MOVE = f"UPDATE chunks SET {', '.join(f'{column} = ?' for column in _PLACE)} WHERE id = ?"
_NEW_VALUES = ", ".join(f"{column} = v.column{n}" for n, column in enumerate(_COLUMNS, 2))
_UPDATE = f"UPDATE chunks SET {_NEW_VALUES} FROM (VALUES {{rows}}) AS v WHERE id = v.column1"

_DELETE = "DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))"

_Row = tuple[Any, ...]  # the values of _COLUMNS


@dataclass(frozen=True, slots=True)
class Rows:
    """The chunks of a document as they will be stored: ``values`` of _COLUMNS. ``skipped``: how many repeat
    another one. ``keys``: those of new chunks, if not made anew."""

    values: list[_Row]
    skipped: int
    keys: tuple[str, ...] = ()


def embed_hash(text: str) -> bytes:
    """The address of an embedding: sha256 of the embedded text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def rows(display: str, doc: Extracted, passages: Sequence[Passage]) -> Rows:
    """All that can be made of a document shown as ``display`` before its transaction begins."""
    tags = " ".join((*doc.tags, *doc.aliases, frontmatter.words(doc.metadata))).strip()
    terms = extra_terms(f"{doc.title} {tags} {display}")
    values: dict[str, _Row] = {}  # by text: the first of equal ones stays
    for passage in passages:
        if passage.text in values:
            continue
        headings = passage.headings or " > ".join(passage.heading_path)
        values[passage.text] = (
            *(embed_hash(passage.embedded), len(values), passage.start, passage.end),
            *(passage.start_line, passage.end_line, json.dumps(passage.heading_path, ensure_ascii=False)),
            *(passage.anchor_type, passage.anchor_ref, passage.split_part, passage.prefix),
            *(doc.title, headings, display, tags, passage.text, terms),
            extra_terms(f"{headings} {passage.anchor_ref} {passage.text}"),
        )
    return Rows(list(values.values()), len(passages) - len(values))


def put(db: sqlite3.Connection, document_id: int, new: Rows) -> int:
    """Give a document these chunks and no others; returns how many are new. Equal texts keep row and key."""
    old: dict[bytes, list[tuple[int, _Row]]] = {}
    sql = f"SELECT id, {', '.join(_COLUMNS)} FROM chunks WHERE document_id = ?"
    for chunk_id, *columns in db.execute(sql, (document_id,)):
        old.setdefault(columns[0], []).append((chunk_id, tuple(columns)))
    added: list[_Row] = []
    moved: list[_Row] = []
    changed: list[_Row] = []
    for key, row in zip(new.keys or [""] * len(new.values), new.values, strict=True):
        known = old.get(row[0])
        if not known:
            added.append((key or str(uuid.uuid4()), document_id, *row))
            continue
        chunk_id, before = known.pop()
        if row[_FIRST_INDEXED:] != before[_FIRST_INDEXED:]:
            changed.append((chunk_id, *row))
        elif row != before:
            moved.append((*row[1:_FIRST_INDEXED], chunk_id))
    db.executemany(_MOVE, moved)
    for sql, values in ((_INSERT, added), (_UPDATE, changed)):
        for start in range(0, len(values), _ROWS_A_STATEMENT):
            part = values[start : start + _ROWS_A_STATEMENT]
            marks = ", ".join([f"({', '.join('?' * len(part[0]))})"] * len(part))
            db.execute(sql.format(rows=marks), [*chain.from_iterable(part)])
    if gone := list(chain.from_iterable(old.values())):
        db.execute(_DELETE, (json.dumps([chunk_id for chunk_id, _ in gone]),))
        drop_from_queue(db, [row[0] for _, row in gone])
    enqueue(db, document_id)
    return len(added)


def take_out(db: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Remove chunks and the vectors that were theirs alone; returns the documents, renumbered."""
    sql = "SELECT id, document_id, embed_hash FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    gone = db.execute(sql, (json.dumps(list(ids)),)).fetchall()
    documents = sorted({row["document_id"] for row in gone})
    hashes = [row["embed_hash"] for row in gone]
    db.execute(_DELETE, (json.dumps([row["id"] for row in gone]),))
    sql = """UPDATE chunks SET chunk_index = n.place FROM (
                 SELECT id, row_number() OVER (PARTITION BY document_id ORDER BY chunk_index) - 1 AS place
                 FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))
             ) AS n WHERE chunks.id = n.id AND chunks.chunk_index <> n.place"""
    db.execute(sql, (json.dumps(documents),))
    drop_from_queue(db, hashes)
    sql = "DELETE FROM embeddings WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?)"
    db.executemany(sql, [(h, h) for h in hashes])
    return documents


def enqueue(db: sqlite3.Connection, document_id: int | None = None) -> None:
    """Queue the texts of a document, or of all, that have no vector yet."""
    one = "" if document_id is None else "document_id = :document AND"
    nothing = embed_hash("")  # a note with nothing but its file name is found by words alone
    sql = f"""INSERT OR IGNORE INTO queue (hash)
              SELECT DISTINCT embed_hash FROM chunks WHERE {one} embed_hash <> :nothing
              AND NOT EXISTS (SELECT 1 FROM embeddings WHERE hash = embed_hash AND identity_id = {TARGET})"""
    db.execute(sql, {"document": document_id, "nothing": nothing})


def drop_from_queue(db: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Take texts off the queue that no chunk has any more."""
    sql = "DELETE FROM queue WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?)"
    db.executemany(sql, [(h, h) for h in hashes])
