"""The vector index inside the store's own file: every vector compared, nothing approximate.

The matrix of the store's embeddings is kept in memory (4 × dimension bytes a text) and
follows the file: when the store's generation moved, only the vectors that are new are read.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_core.store import Store
from rag_core.store.embeddings import active_identity
from rag_core.store.file import generation
from rag_core.types import Vectors
from rag_core.vectors import Match

_EMBEDDINGS_A_READ = 4096


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The embeddings of one identity at one generation: ids ascending, vectors of shape (n, d)."""

    generation: int
    identity_id: int
    ids: npt.NDArray[np.int64]
    vectors: Vectors


class LocalVectors:
    """Exact search by cosine similarity over the embeddings of a store. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._snapshot: _Snapshot | None = None

    def search(self, query: Vectors, k: int) -> list[Match]:
        """See VectorIndex.search."""
        with self._store.read() as db:
            snapshot = self._follow(db)
            if snapshot is None or not len(snapshot.ids):
                return []
            # einsum, not @: BLAS would start threads for this and wait for them, ten times as long
            # when the machine is busy indexing.
            similarities = np.einsum("ij,j->i", snapshot.vectors, query)
            count = k
            while True:  # a vector may have several chunks, or none until the run that dropped them ends
                count = min(count, len(similarities))
                top = np.argpartition(-similarities, count - 1)[:count]
                found = self._chunks(db, snapshot, similarities, top)
                if len(found) >= k or count == len(similarities):
                    return found[:k]
                count *= 4

    def _follow(self, db: sqlite3.Connection) -> _Snapshot | None:
        active = active_identity(db)
        if active is None:
            return None
        now = generation(db)
        with self._lock:
            known = self._snapshot
            if known is None or known.identity_id != active[0]:
                empty = np.zeros((0, active[1].dimension), np.float32)
                known = _Snapshot(-1, active[0], np.zeros(0, np.int64), empty)
            if known.generation < now:
                known = _refresh(db, known, now)
                self._snapshot = known
            return known

    def _chunks(
        self, db: sqlite3.Connection, snapshot: _Snapshot, similarities: Vectors, top: npt.NDArray[np.intp]
    ) -> list[Match]:
        """The chunks that share the embeddings at the positions ``top``, best first."""
        by_id = {int(snapshot.ids[position]): float(similarities[position]) for position in top}
        rows = db.execute(
            """SELECT c.key, e.id FROM json_each(?) wanted CROSS JOIN embeddings e ON e.id = wanted.value
               CROSS JOIN chunks c ON c.embed_hash = e.hash""",
            (json.dumps(list(by_id)),),
        )
        return sorted((Match(row[0], by_id[row[1]]) for row in rows), key=lambda m: (-m.similarity, m.key))


def _refresh(db: sqlite3.Connection, known: _Snapshot, now: int) -> _Snapshot:
    mine = "FROM embeddings WHERE identity_id = ? AND vector <> x''"
    rows = db.execute(f"SELECT id {mine} ORDER BY id", (known.identity_id,))
    alive = np.fromiter((row[0] for row in rows), np.int64)
    keep = np.isin(known.ids, alive, assume_unique=True)
    last = int(known.ids[-1]) if len(known.ids) else 0
    rows = db.execute(f"SELECT vector {mine} AND id > ? ORDER BY id", (known.identity_id, last))
    parts = [known.vectors if keep.all() else known.vectors[keep]]
    while batch := rows.fetchmany(_EMBEDDINGS_A_READ):
        halves = np.frombuffer(b"".join(row[0] for row in batch), "<f2")
        parts.append(halves.reshape(len(batch), -1).astype(np.float32))
    vectors = np.concatenate(parts) if len(parts) > 1 else parts[0]
    return _Snapshot(now, known.identity_id, alive, vectors)
