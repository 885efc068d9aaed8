"""Writes the chunks of a document. Rows are prepared before the transaction and written by the hundred: FTS5
flushes its buffer at every statement, so writing single rows takes three times as long."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from rag_core.extract import frontmatter
from rag_core.extract.filetypes import DATA_TYPES, WRITTEN_TYPES
from rag_core.store.file import TARGET
from rag_core.text import furniture, prose
from rag_core.text.embedded import embedded_text
from rag_core.text.words import extra_terms
from rag_core.types import NAME, Extracted, Passage

_PLACE = (
    *("chunk_index", "start", '"end"', "start_line", "end_line", "heading_path"),
    *("anchor_type", "anchor_ref", "split_part", "prefix"),
)
_INDEXED = (
    "title",
    "headings",
    "path",
    "tags",
    "text",
    "title_terms",
    "terms",
    "kept",
    "kept_text",
    "furniture",
)
_COLUMNS = ("embed_hash", *_PLACE, *_INDEXED)
_EMBED_HASH, _FIRST_INDEXED, _PREFIX, _TEXT = map(_COLUMNS.index, ("embed_hash", "title", "prefix", "text"))
_ROWS_A_STATEMENT = 200

_INSERT = f"INSERT INTO chunks (key, document_id, {', '.join(_COLUMNS)}) VALUES {{rows}}"
_MOVE = f"UPDATE chunks SET {', '.join(f'{column} = ?' for column in _PLACE)} WHERE id = ?"
_NEW_VALUES = ", ".join(f"{column} = v.column{n}" for n, column in enumerate(_COLUMNS, 2))
_UPDATE = f"UPDATE chunks SET {_NEW_VALUES} FROM (VALUES {{rows}}) AS v WHERE id = v.column1"

_DELETE = "DELETE FROM chunks WHERE id IN (SELECT value FROM json_each(?))"

_FIRST_ROWS = 2000
_DATA, _WRITTEN = (", ".join(f"'{name}'" for name in sorted(names)) for names in (DATA_TYPES, WRITTEN_TYPES))
_KIND = f"""CASE WHEN d.file_type IN ({_DATA}) OR d.display LIKE '%.log'
    THEN 2 + (chunk_index >= {_FIRST_ROWS})
    ELSE d.file_type NOT IN ({_WRITTEN}) END"""  # SQL

_Row = tuple[Any, ...]  # the values of _COLUMNS


@dataclass(frozen=True, slots=True)
class Rows:
    """The chunks of a document, ready to be stored."""

    values: list[_Row]  #: The values of `_COLUMNS` for each chunk.
    skipped: int  #: Number of chunks left out because they repeat another chunk.
    #: Hashes by which lines that many documents repeat (furniture) are found; None for a type without these.
    shapes: frozenset[int] | None = None
    keys: tuple[str, ...] = ()  #: Keys of the chunks if they already have keys; () creates new keys.


def embed_hash(text: str) -> bytes:
    """Return the key under which the vector of a text is stored: the sha256 of the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def chunk_rows(
    display: str, doc: Extracted, passages: Sequence[Passage], repeated: Set[int] | None = None
) -> Rows:
    """Prepare the rows of a document for its transaction. ``display`` is the document's shown path.

    ``repeated`` are the hashes of lines that many documents repeat (furniture). They are left out of the
    searched text. None means that ``Passage.kept`` is set already.
    """
    tags = " ".join((*doc.tags, *doc.aliases, frontmatter.words(doc.metadata))).strip()
    terms = extra_terms(f"{doc.title} {tags} {display}")
    once: dict[str, Passage] = {}  # by text: only the first of equal passages is kept
    for passage in passages:
        once.setdefault(passage.text, passage)
    distinct, shapes = list(once.values()), None
    if repeated is not None:
        distinct, shapes = furnished(doc.file_type, distinct, repeated)
    values: list[_Row] = []
    for passage in distinct:
        headings = passage.headings or " > ".join(passage.heading_path)
        digest, words, *derived_columns = derived(passage, headings)
        values.append(
            (
                *(digest, len(values), passage.start, passage.end),
                *(passage.start_line, passage.end_line, json.dumps(passage.heading_path, ensure_ascii=False)),
                *(passage.anchor_type, passage.anchor_ref, passage.split_part, passage.prefix),
                *(doc.title, headings, display, tags, passage.text, terms, words, *derived_columns),
            )
        )
    return Rows(values, len(passages) - len(values), shapes)


def furnished(
    file_type: str, passages: Sequence[Passage], repeated: Set[int]
) -> tuple[list[Passage], frozenset[int] | None]:
    """Find the furniture in passages: comments, and lines that many documents repeat (given as hashes).
    Returns the passages, with ``kept`` set where furniture is left out, then the hashes of the document's
    lines (None for a type without furniture)."""
    places = [(passage.start, passage.text) for passage in passages]
    if (layout := furniture.layout(file_type, places)) is None:
        return list(passages), None
    hidden = layout.furniture(repeated) if repeated or layout.comments else []
    if not hidden and not any(passage.kept for passage in passages):
        return list(passages), layout.shapes
    kept = furniture.kept_spans(hidden, places)
    return [replace(chunk, kept=part) for chunk, part in zip(passages, kept, strict=True)], layout.shapes


def derived(passage: Passage, headings: str) -> tuple[bytes, str, str | None, str | None, str]:
    """Return the five computed columns of a passage, ``embed_hash, terms, kept, kept_text, furniture``: the
    key of its vector, further words to search by, the spans and text without furniture, and the furniture.

    The third and fourth are None for a passage without furniture.
    """
    read = passage.text if passage.kept is None else furniture.kept_text(passage.text, passage.kept)
    says_nothing = (passage.text and not read) or prose.is_unreadable(read)
    digest = embed_hash("" if says_nothing else embedded_text(passage.prefix, read, passage.anchor_type))
    terms = extra_terms(f"{headings} {passage.anchor_ref} {read}")
    if passage.kept is None:
        return digest, terms, None, None, ""
    spans = furniture.hidden(passage.text, passage.kept)
    put_aside = "\n".join(passage.text[start:end] for start, end in spans)
    aside = f"{put_aside} {extra_terms(put_aside)}"
    return digest, terms, passage.kept, read, aside


_NAMED = "SELECT key FROM chunks WHERE document_id = ? AND anchor_type = ?"


def put_chunks(db: sqlite3.Connection, document_id: int, new: Rows) -> int:
    """Replace the chunks of a document. Returns the number of new chunks. A chunk whose text did not change
    keeps its row and key."""
    named = db.execute(_NAMED, (document_id, NAME)).fetchall()
    old = _stored(db, document_id)
    dropped: list[bytes] = []
    added: list[_Row] = []
    moved: list[_Row] = []
    changed: list[_Row] = []
    for key, row in zip(new.keys or [""] * len(new.values), new.values, strict=True):
        known = old.pop((row[_PREFIX], row[_TEXT]), None)
        if known is None:
            added.append((key or str(uuid.uuid4()), document_id, *row))
            continue
        chunk_id, before = known
        dropped.append(before[_EMBED_HASH])
        if row[_FIRST_INDEXED:] != before[_FIRST_INDEXED:] or row[_EMBED_HASH] != before[_EMBED_HASH]:
            changed.append((chunk_id, *row))
        elif row != before:
            moved.append((*row[1:_FIRST_INDEXED], chunk_id))
    db.executemany(_MOVE, moved)
    _write(db, _INSERT, added)
    _write(db, _UPDATE, changed)
    if old:
        db.execute(_DELETE, (json.dumps([chunk_id for chunk_id, _ in old.values()]),))
        dropped += [row[_EMBED_HASH] for _, row in old.values()]
    if dropped:
        drop_from_queue(db, dropped)
    enqueue(db, document_id)
    named += db.execute(_NAMED, (document_id, NAME)).fetchall()
    db.executemany("DELETE FROM outbox WHERE key = ?", named)  # names alone are never sent
    return len(added)


def _stored(db: sqlite3.Connection, document_id: int) -> dict[tuple[str, str], tuple[int, _Row]]:
    """Return the stored chunks of a document: (prefix, text) → (id, columns)."""
    stored: dict[tuple[str, str], tuple[int, _Row]] = {}
    sql = f"SELECT id, {', '.join(_COLUMNS)} FROM chunks WHERE document_id = ?"
    for chunk_id, *columns in db.execute(sql, (document_id,)):
        stored[columns[_PREFIX], columns[_TEXT]] = chunk_id, tuple(columns)
    return stored


def _write(db: sqlite3.Connection, sql: str, rows: Sequence[_Row]) -> None:
    """Run ``sql`` for all rows, with many rows in each statement."""
    for start in range(0, len(rows), _ROWS_A_STATEMENT):
        part = rows[start : start + _ROWS_A_STATEMENT]
        marks = ", ".join([f"({', '.join('?' * len(part[0]))})"] * len(part))
        db.execute(sql.format(rows=marks), [*chain.from_iterable(part)])


def derive(
    db: sqlite3.Connection, document_id: int, file_type: str, repeated: Set[int]
) -> frozenset[int] | None:
    """Find the furniture (lines that many documents repeat, given by their hashes ``repeated``) in a stored
    document again, and update its passages. Returns the hashes of the document's lines, or None for a type
    without furniture."""
    sql = """SELECT id, text, start, "end", anchor_type, anchor_ref, prefix, headings, kept, embed_hash
             FROM chunks WHERE document_id = ? ORDER BY chunk_index"""
    stored = db.execute(sql, (document_id,)).fetchall()
    before: list[Passage] = []
    for row in stored:
        place = (row["text"], row["start"], row["end"], 1, 1, (), row["anchor_type"], row["anchor_ref"])
        before.append(Passage(*place, prefix=row["prefix"], headings=row["headings"], kept=row["kept"]))
    passages, shapes = furnished(file_type, before, repeated)
    changed = [
        (*derived(passage, passage.headings), row["id"])
        for passage, row in zip(passages, stored, strict=True)
        if passage.kept != row["kept"]
    ]
    if changed:
        sql = (
            "UPDATE chunks SET embed_hash = ?, terms = ?, kept = ?, kept_text = ?, furniture = ? WHERE id = ?"
        )
        db.executemany(sql, changed)
        drop_from_queue(db, [row["embed_hash"] for row in stored])
        enqueue(db, document_id)
    return shapes


def take_out(db: sqlite3.Connection, ids: Iterable[int]) -> list[int]:
    """Remove chunks, and vectors that no other chunk uses. The remaining chunks are renumbered. Returns the
    ids of the changed documents."""
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
    """Queue the texts of one document, or of all documents, that have no vector yet. ``queue.kind`` sets the
    order of embedding: 0 prose, 1 code, 2 data, 3 rows of a data file after its first 2,000 passages."""
    one = "" if document_id is None else "document_id = :document AND"
    nothing = embed_hash("")  # a note without text is found only by the words of its file name
    sql = f"""INSERT INTO queue (hash, kind, modified_ns)
              SELECT c.embed_hash, min({_KIND}), max(d.mtime_ns)
              FROM chunks c CROSS JOIN documents d ON d.id = c.document_id
              WHERE {one} embed_hash <> :nothing
              AND NOT EXISTS (SELECT 1 FROM embeddings WHERE hash = embed_hash AND identity_id = {TARGET})
              GROUP BY embed_hash ORDER BY min(chunk_index) DESC
              ON CONFLICT (hash) DO UPDATE SET kind = min(kind, excluded.kind),
                  modified_ns = max(modified_ns, excluded.modified_ns)"""
    db.execute(sql, {"document": document_id, "nothing": nothing})


def drop_from_queue(db: sqlite3.Connection, hashes: Iterable[bytes]) -> None:
    """Remove those of the queued texts ``hashes`` that no chunk has any more."""
    sql = "DELETE FROM queue WHERE hash = ? AND NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?)"
    db.executemany(sql, [(h, h) for h in hashes])
