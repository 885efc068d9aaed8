"""Vectors by the hash of their text, and the embedders that made them. No text is embedded twice with one
embedder."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.store import checksums, signs
from rag_core.store.file import ACTIVE, TARGET
from rag_core.text.embedded import embedded_text
from rag_core.types import DATA, EmbedderIdentity, Vectors

CANARY_TEXT = "The commonplace book keeps what its owner reads and thinks."
CANARY_COSINE = 0.999

_WITHHELD = -1  # replaces the number of attempts
_SHARED = """EXISTS (SELECT 1 FROM chunks c JOIN documents d ON d.id = c.document_id
    WHERE c.embed_hash = queue.hash AND NOT d.private)"""  # a text that not only private documents hold


@dataclass(frozen=True, slots=True)
class Pending:
    """A text in the queue. If ``is_data``, it is machine data and is not embedded."""

    hash: bytes
    text: str
    is_data: bool = False


def pending(db: sqlite3.Connection, limit: int, attempts: int, *, private: bool = True) -> list[Pending]:
    """Return the next ``limit`` texts to embed: prose, then code, then data, each newest first.

    Texts are left out that failed ``attempts`` times or that are withheld because they may not leave this
    machine. If ``private`` is false, texts that only private documents contain are left out, too.
    """
    sql = f"""SELECT q.hash, c.prefix, coalesce(c.kept_text, c.text), c.anchor_type FROM (
                 SELECT * FROM queue WHERE attempts >= 0 AND attempts < ? AND (? OR {_SHARED})
                 ORDER BY kind, modified_ns DESC, id DESC LIMIT ?) q
             JOIN chunks c ON c.id = (SELECT min(id) FROM chunks WHERE embed_hash = q.hash)
             ORDER BY q.kind, q.modified_ns DESC, q.id DESC"""
    texts: list[Pending] = []
    for key, prefix, text, kind in db.execute(sql, (attempts, private, limit)):
        embedded = embedded_text(prefix, text, kind)
        texts.append(Pending(key, embedded, kind == DATA))
    return texts


def pending_count(db: sqlite3.Connection) -> int:
    """Return the number of texts that are still to be embedded."""
    return int(db.execute("SELECT count(*) FROM queue WHERE attempts >= 0").fetchone()[0])


def count_embedded(db: sqlite3.Connection, identity_id: int) -> int:
    """Return the number of texts that the embedder ``identity_id`` has processed, with or without a
    vector."""
    sql = "SELECT count(*) FROM embeddings WHERE identity_id = ?"
    return int(db.execute(sql, (identity_id,)).fetchone()[0])


def withheld_count(db: sqlite3.Connection) -> int:
    """Return the number of private texts that are not sent to the embedder, because it is on another
    machine."""
    return int(db.execute(f"SELECT count(*) FROM queue WHERE attempts = {_WITHHELD}").fetchone()[0])


def put_vectors(db: sqlite3.Connection, identity_id: int, batch: Sequence[Pending], vectors: Vectors) -> None:
    """Store the vectors of ``batch``, shape (len(batch), dimension), and remove its texts from the queue. A
    dimension of 0 marks texts that the embedder cannot read, and machine data."""
    rows = vectors.astype("<f2")
    above = np.empty((len(rows), 0), np.uint8)
    if rows.size:
        above = signs.of_rows(rows, signs.mean_of(db, identity_id, rows.shape[1]))
    for item, row, bits in zip(batch, rows, above, strict=True):
        vector = row.tobytes()
        sql = "INSERT OR IGNORE INTO embeddings (identity_id, hash, vector, crc32) VALUES (?, ?, ?, ?)"
        added = db.execute(sql, (identity_id, item.hash, vector, checksums.vector_crc(item.hash, vector)))
        if added.rowcount and vector:
            values = (added.lastrowid, identity_id, bits.tobytes())
            db.execute("INSERT INTO signs VALUES (?, ?, ?)", values)
        db.execute("DELETE FROM queue WHERE hash = ?", (item.hash,))


def unreadable_count(db: sqlite3.Connection, identity: str = ACTIVE, condition: str = "1") -> int:
    """Return the number of passages that an embedder cannot read. ``identity`` is SQL for the row id of the
    embedder. ``condition`` is SQL on ``documents d`` that limits the documents."""
    sql = f"""SELECT count(*) FROM embeddings e CROSS JOIN chunks c ON c.embed_hash = e.hash
              JOIN documents d ON d.id = c.document_id
              WHERE e.identity_id = {identity} AND e.vector = x'' AND c.anchor_type <> '{DATA}'
              AND {condition}"""
    return int(db.execute(sql).fetchone()[0])


def put_failure(db: sqlite3.Connection, item: Pending, error: str) -> None:
    """Record that the embedder refused a text. The text stays in the queue for a later run."""
    db.execute("UPDATE queue SET attempts = attempts + 1, error = ? WHERE hash = ?", (error, item.hash))


def withhold_private(db: sqlite3.Connection, reason: str) -> int:
    """Withhold the queued texts that only private documents have, and record the ``reason``. All other texts
    are released. If the reason is '', all texts are released. Returns the number of withheld texts."""
    db.execute(f"UPDATE queue SET error = '', attempts = 0 WHERE attempts = {_WITHHELD}")
    if not reason:
        return 0
    sql = f"UPDATE queue SET error = ?, attempts = {_WITHHELD} WHERE NOT {_SHARED}"
    return db.execute(sql, (reason,)).rowcount


def unused(db: sqlite3.Connection) -> list[int]:
    """Return the ids of vectors that no chunk has or whose embedder is no longer used. This reads every
    vector."""
    sql = f"""SELECT id FROM embeddings WHERE identity_id NOT IN ({ACTIVE}, {TARGET})
              OR NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = hash)"""
    return [row[0] for row in db.execute(sql)]


def drop(db: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Remove the vectors with these ``ids``."""
    db.executemany("DELETE FROM embeddings WHERE id = ?", [(i,) for i in ids])


def vectors_of(
    db: sqlite3.Connection, identity_id: int, chunk_ids: Sequence[int]
) -> tuple[list[int], Vectors]:
    """Return the chunks among ``chunk_ids`` that have a vector, then their vectors, shape (chunks,
    dimension)."""
    sql = """SELECT json_group_array(c.id), CAST(group_concat(e.vector, '') AS BLOB)
             FROM json_each(?) wanted CROSS JOIN chunks c ON c.id = wanted.value
             CROSS JOIN embeddings e ON e.hash = c.embed_hash AND e.identity_id = ? AND e.vector <> x''"""
    ids, vectors = db.execute(sql, (json.dumps(list(chunk_ids)), identity_id)).fetchone()
    embedded_ids: list[int] = json.loads(ids)
    matrix = np.frombuffer(vectors or b"", "<f2").astype(np.float32)
    return embedded_ids, matrix.reshape(len(embedded_ids), -1 if embedded_ids else 0)


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of passages of a document in each state of embedding."""

    embedded: int = 0  #: Passages with a vector that searches use.
    waiting: int = 0  #: Passages not embedded yet.
    refused: int = 0  #: Waiting passages that the embedder refused at least once.
    unreadable: int = 0  #: Passages in a script that the embedder cannot read.
    data: int = 0  #: Passages of machine data.
    bare: int = 0  #: Passages without text to embed.
    error: str = ""  #: The embedder's reason for refusing passages.


def counts_of(db: sqlite3.Connection, document_id: int) -> Counts:
    """Count the passages of a document by their state of embedding."""
    sql = f"""SELECT count(length(e.vector) > 0 OR NULL), count(q.id), count(q.error <> '' OR NULL),
                 count((length(e.vector) = 0 AND c.anchor_type <> '{DATA}') OR NULL),
                 count(c.anchor_type = '{DATA}' OR NULL), count(c.embed_hash = ? OR NULL),
                 coalesce(max(q.error), '')
             FROM chunks c LEFT JOIN embeddings e ON e.hash = c.embed_hash AND e.identity_id = {ACTIVE}
             LEFT JOIN queue q ON q.hash = c.embed_hash AND e.id IS NULL
             WHERE c.document_id = ?"""
    return Counts(*db.execute(sql, (hashlib.sha256().digest(), document_id)).fetchone())


def add_identity(db: sqlite3.Connection, identity: EmbedderIdentity, canary: Vectors) -> int:
    """Add an embedder to the store if it is new. Returns its row id. ``canary`` is its vector of
    `CANARY_TEXT`. If that has changed, another model has the name now, and the old row gets the digest
    ``former N``."""
    columns = (identity.provider, identity.model, identity.digest, identity.dimension, identity.prompts)
    names = "provider, model, digest, dimension, prompts"
    sql = f"SELECT id, canary FROM identities WHERE ({names}) = (?, ?, ?, ?, ?)"
    known = db.execute(sql, columns).fetchone()
    if known is not None:
        if same_canary(np.frombuffer(known["canary"], np.float32), canary):
            return int(known["id"])
        db.execute("UPDATE identities SET digest = ? WHERE id = ?", (f"former {known['id']}", known["id"]))
    sql = f"INSERT INTO identities ({names}, canary) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"
    return int(db.execute(sql, (*columns, canary.astype(np.float32).tobytes())).fetchone()[0])


def set_identity(db: sqlite3.Connection, identity: EmbedderIdentity, canary: Vectors) -> int:
    """Make ``identity`` the embedder whose vectors are searched. ``canary`` is its vector of `CANARY_TEXT`.
    Returns its row id."""
    identity_id = add_identity(db, identity, canary)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('identity_id', ?)", (str(identity_id),))
    return identity_id


def same_canary(known: Vectors, now: Vectors) -> bool:
    """Whether two vectors of `CANARY_TEXT` are similar enough to come from one model. Servers differ in the
    last digits."""
    return known.shape == now.shape and float(np.dot(known, now)) >= CANARY_COSINE


def has_unused(db: sqlite3.Connection) -> bool:
    """Whether the store knows an embedder that is no longer used. Its vectors may still be stored."""
    sql = f"SELECT 1 FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET}) LIMIT 1"
    return db.execute(sql).fetchone() is not None


def drop_unused_identities(db: sqlite3.Connection) -> None:
    """Remove the embedders without vectors, except the one in use and the one that runs embed with."""
    sql = f"""DELETE FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET})
              AND NOT EXISTS (SELECT 1 FROM embeddings WHERE identity_id = identities.id)"""
    db.execute(sql)
