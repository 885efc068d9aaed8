"""The rows of a store that are not as they should be.

Each finder looks at one promise without trusting the others, however damaged the file is, and holds
no more than a batch in memory. ``check`` counts what they find, ``repair`` mends it.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import sqlite3
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_core.errors import ExtractError, NotText
from rag_core.files import read_bytes
from rag_core.store import privacy, switch
from rag_core.store.chunks import embed_hash
from rag_core.store.documents import (
    BEST_TARGET,
    NameKind,
    link_key,
    name_key,
    path_names,
    tag_rows,
)
from rag_core.store.identities import TARGET
from rag_core.store.sources import shown_path
from rag_core.types import embedded_text

_VECTORS_A_READ = 4096
_LENGTH_ERROR = 0.01  # of a vector of length 1; half floats lose a thousandth


class Wrong(NamedTuple):
    """A row that is not as it should be: what ``repair`` finds it by, and what people know it by."""

    id: Any
    shown: str


Find = Callable[[sqlite3.Connection], Iterator[Wrong]]


# --- the file ---------------------------------------------------------------------------


def structure(db: sqlite3.Connection) -> Iterator[Wrong]:
    """What SQLite finds broken in its own file. Newer ones look at the words, too, which have a check of
    their own here."""
    for row in db.execute("PRAGMA integrity_check"):
        if row[0] != "ok" and "FTS5" not in row[0]:
            yield Wrong(None, row[0])


def references(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Rows that hang on nothing."""
    for table, row_id, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield Wrong((table, parent), f"{table} {row_id or ''} without its row in {parent}")


# --- what the store says about itself ---------------------------------------------------


def about(db: sqlite3.Connection) -> Iterator[Wrong]:
    """What the store says about itself and cannot be: its generation, its embedders, what it switches to."""
    meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
    if not re.fullmatch(r"[0-9]{1,18}", meta.get("generation", "")):
        yield Wrong("generation", "generation")
    sound = {str(identity_id) for identity_id, _ in sound_identities(db)}
    count = db.execute("SELECT count(*) FROM identities").fetchone()[0]
    active, coming = meta.get("identity_id"), meta.get("next_identity_id")
    if len(sound) < count or (active not in sound and (active or sound - {coming})):
        yield Wrong("identity", "the embedder that the vectors are from")
    if not switch.is_sound(db) or (coming and coming not in sound):
        yield Wrong("switch", "the embedder or vector index that it switches to")
    if not privacy.are_sound(db):
        yield Wrong("private rules", "the rules that keep notes private")


def sound_identities(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """(id, dimension) of the embedders that the store knows well enough to compare them with one."""
    rows = db.execute("SELECT id, dimension, canary FROM identities ORDER BY id")
    return [
        (identity_id, dimension)
        for identity_id, dimension, canary in rows
        if dimension > 0
        and len(canary) == 4 * dimension
        and _are_unit(np.frombuffer(canary, "<f4")[None]).all()
    ]


# What JSON a column must hold, lists of texts only. Every other text must be text.
_JSON: dict[tuple[str, str], type] = {
    ("sources", "include"): list,
    ("sources", "exclude"): list,
    ("documents", "metadata"): dict,
    ("documents", "warnings"): list,
    ("chunks", "heading_path"): list,
    ("jobs", "counts"): dict,
    ("jobs", "progress"): dict,
    ("requests", "payload"): dict,
}
_WITH_TEXT = ("sources", "documents", "links", "chunks", "queue", "requests", "jobs", "job_results")
_NO_TEXT = re.compile("[\ud800-\udfff]")


def values(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Rows with text that is no UTF-8, or with something else where JSON should be."""
    for table in _WITH_TEXT:
        for row in db.execute(f"SELECT * FROM {table}"):
            for column in mended_values(table, row):
                yield Wrong((table, row["id"]), f"{table} {row['id']}: {column}")
                break


def mended_values(table: str, row: sqlite3.Row) -> dict[str, str]:
    """The columns of ``row`` that cannot be read, with what can be put in their place."""
    mended = {}
    for column, value in zip(row.keys(), row, strict=True):
        if isinstance(value, str) and not value.isascii() and _NO_TEXT.search(value):
            mended[column] = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        kind = _JSON.get((table, column))
        if kind and not _is_json(mended.get(column, value), kind):
            mended[column] = json.dumps(kind())
    return mended


def _is_json(text: str, kind: type) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, list):
        return isinstance(value, kind)
    return kind is list and all(isinstance(item, str) for item in value)


# --- documents --------------------------------------------------------------------------


def _rows(sql: str) -> Find:
    """A finder that is one statement giving (id, example)."""

    def find(db: sqlite3.Connection) -> Iterator[Wrong]:
        return (Wrong(row[0], str(row[1])) for row in db.execute(sql, {"nothing": embed_hash("")}))

    return find


_HAS_TEXT = "EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id)"

# Documents that say they were read and have no text, or the other way round.
states = _rows(
    f"SELECT d.id, d.display FROM documents d WHERE state <> 'failed' AND (state = 'indexed') <> {_HAS_TEXT}"
)


def private(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Documents that are hidden from guests and fit no rule, or the other way round."""
    return (Wrong(each.id, each.display) for each in privacy.misjudged(db))


def places(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Documents whose path, folder or title differ from their file's or their passages'."""
    rows = db.execute(
        "SELECT d.id, d.path, d.display, d.folder, s.label, EXISTS (SELECT 1 FROM chunks c"
        " WHERE c.document_id = d.id AND (c.path, c.title) <> (d.display, d.title)) AS differs"
        " FROM documents d JOIN sources s ON s.id = d.source_id"
    )
    for row in rows:
        shown = shown_path(row["label"], row["path"])
        if row["differs"] or (row["display"], row["folder"]) != (shown, posixpath.dirname(shown)):
            yield Wrong(row["id"], shown)


# What a document's names come from.
NAMED = f"""SELECT d.id, d.display, d.title, d.file_type, {_HAS_TEXT} AS has_text, n.kind, n.key
    FROM documents d LEFT JOIN names n ON n.document_id = d.id AND n.kind <> {NameKind.ALIAS:d}"""


def names(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Documents with other names than their path and title give; without text they have none."""
    rows = db.execute(f"{NAMED} ORDER BY d.id")
    for document_id, group in groupby(rows, key=lambda row: row["id"]):
        found = list(group)
        named = {(row["kind"], row["key"]) for row in found if row["key"] is not None}
        if named != expected_names(found[0]):
            yield Wrong(document_id, found[0]["display"])


def expected_names(document: sqlite3.Row) -> set[tuple[int, str]]:
    """(kind, key) of the names that a document has by its place and its title."""
    if not document["has_text"]:
        return set()
    by_path = {name_key(name) for name in path_names(document["display"], document["file_type"])}
    named = {(NameKind.PATH.value, key) for key in by_path} | {
        (NameKind.TITLE.value, name_key(document["title"]))
    }
    return {(kind, key) for kind, key in named if key}


def tags(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Documents with a tag that is not filed under itself and its parents."""
    rows = db.execute(
        "SELECT d.id, d.display, t.folded, t.tag FROM tags t JOIN documents d ON d.id = t.document_id"
        " ORDER BY t.document_id"
    )
    for document_id, group in groupby(rows, key=lambda row: row["id"]):
        found = list(group)
        written = [row["tag"] for row in found if row["tag"] is not None]
        if {row["folded"]: row["tag"] for row in found} != tag_rows(written):
            yield Wrong(document_id, found[0]["display"])


def links(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Links with another target than the best match."""
    rows = db.execute(
        "SELECT links.id, links.target, links.key, links.target_id, h.folder, h.display,"
        f" ({BEST_TARGET}) AS best FROM links JOIN documents h ON h.id = links.document_id"
    )
    for row in rows:
        if row["key"] != link_key(row["folder"], row["target"]) or row["target_id"] != row["best"]:
            yield Wrong(row["id"], f"{row['display']}: {row['target']}")


# --- passages ---------------------------------------------------------------------------

# Documents whose passages are not numbered from 0 on, or not all different.
numbering = _rows(
    "SELECT c.document_id, d.display FROM chunks c JOIN documents d ON d.id = c.document_id GROUP BY 1"
    " HAVING min(chunk_index) <> 0 OR max(chunk_index) <> count(*) - 1"
    " OR count(DISTINCT chunk_index) <> count(*) OR count(DISTINCT text) <> count(*)"
)


def _passages(db: sqlite3.Connection) -> Iterator[tuple[sqlite3.Row, Wrong]]:
    rows = db.execute(
        'SELECT c.id, c.start, c."end", c.start_line, c.end_line, c.text, c.prefix, c.embed_hash, d.display,'
        " c.chunk_index FROM chunks c JOIN documents d ON d.id = c.document_id"
    )
    return ((row, Wrong(row["id"], f"{row['display']}, passage {row['chunk_index']}")) for row in rows)


def offsets(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Passages that take another stretch of their file than their text is long."""
    for row, about in _passages(db):
        has_lines = 1 <= row["start_line"] <= row["end_line"]
        if row["start"] < 0 or row["end"] - row["start"] != len(row["text"]) or not has_lines:
            yield about


def hashes(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Passages whose text, or the prefix before it, is not the one that was stored."""
    for row, about in _passages(db):
        if row["embed_hash"] != embed_hash(embedded_text(row["prefix"], row["text"])):
            yield about


# --- vectors ----------------------------------------------------------------------------

_HAS_VECTOR = f"EXISTS (SELECT 1 FROM embeddings e WHERE e.hash = {{0}} AND e.identity_id = {TARGET})"

# Passages that would never be found by meaning.
unembedded = _rows(
    "SELECT c.id, d.display || ', passage ' || c.chunk_index FROM chunks c JOIN documents d"
    " ON d.id = c.document_id WHERE embed_hash <> :nothing AND NOT EXISTS (SELECT 1 FROM queue q"
    f" WHERE q.hash = c.embed_hash) AND NOT {_HAS_VECTOR.format('c.embed_hash')}"
)

# Texts that would be embedded for nothing.
queue = _rows(
    "SELECT q.id, lower(hex(substr(q.hash, 1, 6))) FROM queue q WHERE q.hash = :nothing OR NOT EXISTS"
    f" (SELECT 1 FROM chunks WHERE embed_hash = q.hash) OR {_HAS_VECTOR.format('q.hash')}"
)

# Vectors without a passage: a killed run leaves some.
leftovers = _rows(
    "SELECT id, lower(hex(substr(hash, 1, 6))) FROM embeddings"
    " WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = hash)"
)


def vectors(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Vectors that are not of their embedder's dimension and of length 1. An empty one stands for a text
    that the embedder cannot read."""
    for identity_id, dimension in db.execute("SELECT id, dimension FROM identities").fetchall():
        rows = db.execute(
            "SELECT id, hash, vector FROM embeddings WHERE identity_id = ? AND vector <> x''", (identity_id,)
        )
        while batch := rows.fetchmany(_VECTORS_A_READ):
            yield from _odd_ones(batch, dimension)


def _odd_ones(batch: list[sqlite3.Row], dimension: int) -> Iterator[Wrong]:
    whole = [row for row in batch if len(row["vector"]) == 2 * dimension]
    sound = set()
    if whole:
        matrix = np.frombuffer(b"".join(row["vector"] for row in whole), "<f2").reshape(len(whole), -1)
        sound = {row["id"] for row, is_unit in zip(whole, _are_unit(matrix), strict=True) if is_unit}
    return (Wrong(row["id"], row["hash"][:6].hex()) for row in batch if row["id"] not in sound)


def _are_unit(matrix: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
    """Which rows have length 1; one with a value that is no number has no length."""
    with np.errstate(invalid="ignore", over="ignore"):
        rows = matrix.astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return np.asarray(np.abs(lengths - 1) <= _LENGTH_ERROR)


# --- work and files ---------------------------------------------------------------------

# Runs that say they are under way though a newer one began.
jobs = _rows(
    "SELECT id, 'run ' || id || ' of ' || start_time FROM jobs"
    " WHERE state = 'running' AND id < (SELECT max(id) FROM jobs)"
)


def files(db: sqlite3.Connection) -> Iterator[Wrong]:
    """Documents whose file is not the one that was read; those of an attached index have none here."""
    rows = db.execute(
        "SELECT d.id, d.path, d.display, d.size, d.file_hash, s.root FROM documents d"
        " JOIN sources s ON s.id = d.source_id WHERE d.state = 'indexed'"
    )
    for row in rows:
        if not os.path.isabs(row["root"]):  # noqa: PTH117  (bytes)
            continue
        try:
            data = read_bytes(Path(os.fsdecode(row["root"])), row["path"], max(row["size"], 0))
        except NotText:  # it is larger now, or no file at all
            yield Wrong(row["id"], f"{row['display']}: changed")
        except ExtractError:
            yield Wrong(row["id"], f"{row['display']}: gone, or not to be read")
        else:
            if hashlib.sha256(data).hexdigest() != row["file_hash"]:
                yield Wrong(row["id"], f"{row['display']}: changed")
