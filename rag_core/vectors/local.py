"""The vector index inside the store's own file: its embeddings in memory, following the file.

When the store's generation moved, only the vectors that are new are read.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass

import numpy as np

from rag_core.errors import VectorError
from rag_core.store import Store
from rag_core.store.file import generation
from rag_core.store.identities import active_identity
from rag_core.store.rows import rows_at_once
from rag_core.types import Filters, Vectors
from rag_core.vectors import EVERYTHING, Match, best_first, unit
from rag_core.vectors.matrix import Matrix

_EMBEDDINGS_A_READ = 4096


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The embeddings of one identity at one generation."""

    generation: int
    identity_id: int
    matrix: Matrix


class LocalVectors:
    """Search by cosine similarity over the embeddings of a store. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._snapshot: _Snapshot | None = None

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:  # noqa: ARG002
        """See VectorIndex.search. Filters leave nothing out here: the caller's check costs no network."""
        query = unit(query)
        with self._store.read() as db:
            matrix = self._follow(db)
            if matrix.count and query.shape != matrix.rows.shape[1:]:
                raise VectorError(
                    f"The vectors of store {self._store.name!r} are another embedder's by now.",
                    "Search again.",
                )
            count = k
            while True:  # a vector may have several chunks, or none until the run that dropped them ends
                found = _chunks(db, matrix.nearest(query, count)) if matrix.count else []
                if len(found) >= k or count >= matrix.count:
                    return found[:k]
                count *= 4

    def _follow(self, db: sqlite3.Connection) -> Matrix:
        active = active_identity(db)
        if active is None:
            return Matrix.empty(0)
        now = generation(db)
        with self._lock:
            known = self._snapshot
            if known is None or known.identity_id != active[0]:
                known = _Snapshot(-1, active[0], Matrix.empty(active[1].dimension))
            if known.generation < now:
                known = _Snapshot(now, active[0], _refreshed(db, active[0], known.matrix))
                self._snapshot = known
            return known.matrix


def _refreshed(db: sqlite3.Connection, identity_id: int, matrix: Matrix) -> Matrix:
    """The matrix with the vectors that came since, and without those that are gone."""
    mine = "FROM embeddings WHERE identity_id = ? AND vector <> x''"
    last = int(matrix.ids[matrix.count - 1]) if matrix.count else 0
    count = db.execute(f"SELECT count(*) {mine}", (identity_id,)).fetchone()[0]
    if not matrix.count:
        matrix = Matrix.empty(matrix.rows.shape[1], count)
    while True:
        ids, vectors = db.execute(  # in one step, as in `rows`
            f"""SELECT json_group_array(id), CAST(group_concat(vector, '') AS BLOB)
                FROM (SELECT id, vector {mine} AND id > ? ORDER BY id LIMIT {_EMBEDDINGS_A_READ})""",
            (identity_id, last),
        ).fetchone()
        found = np.array(json.loads(ids), np.int64)
        if not len(found):
            break
        matrix = matrix.extended(found, np.frombuffer(vectors, "<f2").reshape(len(found), -1))
        last = int(found[-1])
    if matrix.count == count:
        return matrix
    alive = rows_at_once(db, ["id"], f"SELECT id {mine}", (identity_id,))
    return matrix.only(np.array([embedding_id for (embedding_id,) in alive], np.int64))


def _chunks(db: sqlite3.Connection, similarities: dict[int, float]) -> list[Match]:
    """The chunks that share these embeddings, best first."""
    sql = """SELECT c.key, e.id FROM json_each(?) wanted CROSS JOIN embeddings e ON e.id = wanted.value
             CROSS JOIN chunks c ON c.embed_hash = e.hash"""
    rows = rows_at_once(db, ["key", "id"], sql, (json.dumps(list(similarities)),))
    found = (Match(key, similarities[embedding_id]) for key, embedding_id in rows)
    return best_first(found)
