"""What an embedder's similarities mean in a store. Each model has a scale of its own: for one, unrelated
texts have a cosine of 0.1, for another 0.75. Two levels are measured on the store's own vectors, and
similarities are read on the scale of the built-in model, for which ranking and scores were fitted."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np

from rag_core.store.embeddings import count, vectors_of
from rag_core.store.file import Store, active_identity, target_identity

SAMPLE = 400
"""The most passages that are measured, two of each document."""

GROWTH = 4
"""An embedder is measured again when a store has grown by this factor."""

# The built-in model's levels: medians over seven stores of notes, documentation, manual pages and code, where
# they go from 0.12 to 0.25 and from 0.71 to 0.77.
UNRELATED, NEIGHBOURS = 0.17, 0.75

_AS_THEY_ARE = {"minilm", "hashing"}  # the scale itself, and what only compares spellings
_LEAST = 20  # documents, and pairs of neighbours: fewer say little
_LEAST_GAP = 0.02  # between the levels


@dataclass(frozen=True, slots=True)
class Calibration:
    """The median cosine of passages of different documents (``unrelated``) and of passages that follow each
    other in one (``neighbours``), and how many ``passages`` they were measured on, of ``vectors`` then."""

    unrelated: float
    neighbours: float
    passages: int
    vectors: int

    def apply(self, similarity: float) -> float:
        """The similarity on the built-in model's scale: linear between the levels and below, and above up to
        1, which stays 1. The order stays what it was."""
        if similarity <= self.neighbours:
            steps = (similarity - self.unrelated) / (self.neighbours - self.unrelated)
            return UNRELATED + steps * (NEIGHBOURS - UNRELATED)
        return 1 - (1 - similarity) / (1 - self.neighbours) * (1 - NEIGHBOURS)

    def applied(self, similarities: Mapping[int, float]) -> dict[int, float]:
        """Each similarity on the built-in model's scale."""
        return {chunk: self.apply(similarity) for chunk, similarity in similarities.items()}


def calibration_of(db: sqlite3.Connection, identity_id: int) -> Calibration | None:
    """The calibration of an embedder; None for the built-in model and where it was not measured."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_key(identity_id),)).fetchone()
    return Calibration(**json.loads(row[0])) if row else None


def of_active(db: sqlite3.Connection) -> Calibration | None:
    """The calibration of the embedder whose vectors are searched."""
    active = active_identity(db)
    return calibration_of(db, active.id) if active else None


def renew(store: Store) -> None:
    """Measure the embedder that texts are embedded for: for the first time, or as the store has grown so
    much. Nothing is kept where it cannot be told."""
    with store.read() as db:
        known = target_identity(db)
        if known is None or known.identity.provider in _AS_THEY_ARE:
            return
        before = calibration_of(db, known.id)
        if before is not None and count(db, known.id) < GROWTH * before.vectors:
            return
        measured = measure(db, known.id)
    if measured is not None:
        with store.write() as db:
            sql = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
            db.execute(sql, (_key(known.id), json.dumps(asdict(measured))))


def measure(db: sqlite3.Connection, identity_id: int) -> Calibration | None:
    """The levels of an embedder in this store; None where there are too few documents, or where it does not
    tell neighbours from others. The same store gives the same sample."""
    firsts: list[int] = []
    pairs: list[tuple[int, int]] = []
    for first, second in _sampled(db, identity_id):
        firsts.append(first)
        if second:
            pairs.append((first, second))
    if len(firsts) < _LEAST:
        return None
    found, rows = vectors_of(db, identity_id, [*firsts, *(second for _, second in pairs)])
    place = {chunk: at for at, chunk in enumerate(found)}
    start = rows[[place[first] for first in firsts]]
    unrelated = float(np.median((start @ start.T)[np.triu_indices(len(firsts), 1)]))
    if len(pairs) < _LEAST:  # documents of one passage: the level is taken as between the other one and 1
        neighbours = 1 - (1 - unrelated) * (1 - NEIGHBOURS) / (1 - UNRELATED)
    else:
        left, right = (rows[[place[pair[side]] for pair in pairs]] for side in (0, 1))
        neighbours = float(np.median((left * right).sum(1)))
    if neighbours - unrelated < _LEAST_GAP or 1 - neighbours < _LEAST_GAP:
        return None
    return Calibration(unrelated, neighbours, len(found), count(db, identity_id))


def drop_unused(db: sqlite3.Connection) -> None:
    """Remove what was measured of embedders that the store no longer knows."""
    sql = "DELETE FROM meta WHERE key GLOB 'calibration *' AND CAST(substr(key, 13) AS INTEGER) NOT IN"
    db.execute(f"{sql} (SELECT id FROM identities)")


def _sampled(db: sqlite3.Connection, identity_id: int) -> Iterator[tuple[int, int]]:
    """The first passage with a vector of documents spread over the store, and the one behind it or 0."""
    sql = "SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM documents"
    lowest, highest = db.execute(sql).fetchone()
    step = max(1, math.ceil((highest - lowest + 1) * 2 / SAMPLE))
    sql = """SELECT c.id, c.chunk_index FROM chunks c CROSS JOIN embeddings e
             ON e.hash = c.embed_hash AND e.identity_id = ? AND e.vector <> x''
             WHERE c.document_id = (SELECT min(id) FROM documents WHERE id >= ? AND id < ?)
             ORDER BY c.chunk_index LIMIT 2"""
    for start in range(lowest, highest + 1, step):
        rows = db.execute(sql, (identity_id, start, start + step)).fetchall()
        if rows:
            follows = len(rows) > 1 and rows[1]["chunk_index"] == rows[0]["chunk_index"] + 1
            yield rows[0]["id"], rows[1]["id"] if follows else 0


def _key(identity_id: int) -> str:
    return f"calibration {identity_id}"
