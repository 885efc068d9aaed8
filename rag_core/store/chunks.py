"""Writing the chunks of a document: rows made before the transaction, few statements inside it.

FTS5 writes out what it has gathered at every statement that reaches it by a trigger, so rows go
in by the hundred: one at a time takes three times as long. Positions change without touching it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag_core.extract import frontmatter
from rag_core.store.identities import TARGET
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

_Row = tuple[Any, ...]  # the values of _COLUMNS


@dataclass(frozen=True, slots=True)
class Rows:
    """The chunks of a document as they will be stored; a passage that it repeats is there once. Each of
    ``keys`` is for a chunk that proves to be new."""

    keys: tuple[str, ...]
    values: tuple[_Row, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class Change:
    """What a write did to the chunks of a document."""

    added: int = 0
    skipped: int = 0


def embed_hash(text: str) -> bytes:
    """The address of an embedding: sha256 of the embedded text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def title_terms(title: str, tags: str, display: str) -> str:
    """The extra terms of what is the same for every chunk of a document."""
    return extra_terms(f"{title} {tags} {display}")


def rows(display: str, doc: Extracted, passages: Sequence[Passage]) -> Rows:
    """All that can be made of a document shown as ``display`` before its transaction begins."""
    tags = " ".join((*doc.tags, *doc.aliases, frontmatter.words(doc.metadata))).strip()
    terms = title_terms(doc.title, tags, display)
    distinct = {passage.text: passage for passage in reversed(passages)}  # the first of equal ones stays
    kept = [passage for passage in passages if distinct[passage.text] is passage]
    return Rows(
        tuple(str(uuid.uuid4()) for _ in kept),
        tuple(_row(n, passage, doc.title, display, tags, terms) for n, passage in enumerate(kept)),
        len(passages) - len(kept),
    )


def _row(index: int, passage: Passage, title: str, display: str, tags: str, terms: str) -> _Row:
    headings = passage.headings or " > ".join(passage.heading_path)
    return (
        embed_hash(passage.embedded),
        index,
        passage.start,
        passage.end,
        passage.start_line,
        passage.end_line,
        json.dumps(passage.heading_path, ensure_ascii=False),
        passage.anchor_type,
        passage.anchor_ref,
        passage.split_part,
        passage.prefix,
        title,
        headings,
        display,
        tags,
        passage.text,
        terms,
        extra_terms(f"{headings} {passage.anchor_ref} {passage.text}"),
    )


def put(db: sqlite3.Connection, document_id: int, new: Rows) -> Change:
    """Let a document have these chunks. One whose embedded text stays keeps its row and its key."""
    old = _stored(db, document_id)
    added: list[_Row] = []
    moved: list[_Row] = []
    changed: list[_Row] = []
    for key, row in zip(new.keys, new.values, strict=True):
        known = old.get(row[0])
        if not known:
            added.append((key, document_id, *row))
            continue
        chunk_id, before = known.pop()
        if row[_FIRST_INDEXED:] != before[_FIRST_INDEXED:]:
            changed.append((chunk_id, *row))
        elif row != before:
            moved.append((*row[1:_FIRST_INDEXED], chunk_id))
    gone = [(chunk_id, row) for left in old.values() for chunk_id, row in left]
    _insert(db, added)
    _move(db, moved)
    _update(db, changed)
    _delete(db, [chunk_id for chunk_id, _ in gone])
    enqueue(db, document_id)
    drop_from_queue(db, [row[0] for _, row in gone])
    return Change(len(added), new.skipped)


def _stored(db: sqlite3.Connection, document_id: int) -> dict[bytes, list[tuple[int, _Row]]]:
    """The chunks that a document has, by the hash of what is embedded."""
    found: dict[bytes, list[tuple[int, _Row]]] = {}
    sql = f"SELECT id, {', '.join(_COLUMNS)} FROM chunks WHERE document_id = ?"
    for chunk_id, *row in db.execute(sql, (document_id,)):
        found.setdefault(row[0], []).append((chunk_id, tuple(row)))
    return found


def _insert(db: sqlite3.Connection, values: Sequence[_Row]) -> None:
    for some, flat in _in_parts(values):
        db.execute(f"INSERT INTO chunks (key, document_id, {', '.join(_COLUMNS)}) VALUES {some}", flat)


def _move(db: sqlite3.Connection, values: Sequence[_Row]) -> None:
    columns = ", ".join(f"{column} = ?" for column in _PLACE)
    db.executemany(f"UPDATE chunks SET {columns} WHERE id = ?", values)


def _update(db: sqlite3.Connection, values: Sequence[_Row]) -> None:
    columns = ", ".join(f"{column} = v.column{n}" for n, column in enumerate(_COLUMNS, 2))
    for some, flat in _in_parts(values):
        db.execute(f"UPDATE chunks SET {columns} FROM (VALUES {some}) AS v WHERE id = v.column1", flat)


def _in_parts(values: Sequence[_Row]) -> Iterator[tuple[str, list[Any]]]:
    """(the marks of a VALUES clause, what is bound to them) for so many rows as one statement takes."""
    for start in range(0, len(values), _ROWS_A_STATEMENT):
        part = values[start : start + _ROWS_A_STATEMENT]
        marks = f"({', '.join('?' * len(part[0]))})"
        yield ", ".join([marks] * len(part)), [value for row in part for value in row]


def _delete(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    db.execute("DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))


def take_out(db: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Remove chunks, and the vectors that were theirs alone; the others of their documents close ranks.

    Returns the ids of these documents.
    """
    wanted = json.dumps(list(ids))
    gone = db.execute(
        "SELECT id, document_id, embed_hash FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (wanted,),
    ).fetchall()
    documents = sorted({row["document_id"] for row in gone})
    hashes = [row["embed_hash"] for row in gone]
    _delete(db, [row["id"] for row in gone])
    db.execute(
        """UPDATE chunks SET chunk_index = n.place FROM (
               SELECT id, row_number() OVER (PARTITION BY document_id ORDER BY chunk_index) - 1 AS place
               FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))
           ) AS n WHERE chunks.id = n.id AND chunks.chunk_index <> n.place""",
        (json.dumps(documents),),
    )
    drop_from_queue(db, hashes)
    db.executemany(
        "DELETE FROM embeddings WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?)",
        [(h, h) for h in hashes],
    )
    return documents


def enqueue(db: sqlite3.Connection, document_id: int | None = None) -> None:
    """Queue the texts of a document, or of all, that runs have still to embed."""
    one = "" if document_id is None else "document_id = :document AND"
    db.execute(
        f"""INSERT OR IGNORE INTO queue (hash)
            SELECT DISTINCT embed_hash FROM chunks WHERE {one} embed_hash <> :nothing
            AND NOT EXISTS (SELECT 1 FROM embeddings WHERE hash = embed_hash AND identity_id = {TARGET})""",
        {
            "document": document_id,
            "nothing": embed_hash(""),  # a note with nothing but its file name is found by words alone
        },
    )


def drop_from_queue(db: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Let those texts wait no longer that no chunk has any more."""
    db.executemany(
        "DELETE FROM queue WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?)",
        [(h, h) for h in hashes],
    )
