"""The vector index inside the store's own file: its embeddings in memory, following the file.

Few vectors are all compared, exactly. Of many, the signs of their numbers choose first: the nearer two
vectors, the more signs they share (random hyperplanes: Charikar, "Similarity estimation techniques from
rounding algorithms", STOC 2002). The signs of a number lie together for all vectors, 64 numbers to a column,
which is quick to count. Those that share most are compared in 8 bits, to about 0.001; the caller compares the
best of them with the vectors in the file. Of MiniLM's vectors one of a hundred among the nearest hundred is
missed, and one of a thousand among the nearest ten.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag_core.errors import VectorError
from rag_core.store import Store
from rag_core.store.connection import rows_at_once
from rag_core.store.file import active_identity, generation
from rag_core.types import Filters, Vectors
from rag_core.vectors import EVERYTHING, Match

LARGE = 20_000 * 384  # so many numbers are compared in 3 ms on one core; above, the signs choose
FEWEST_SIGNS = 256  # vectors of fewer numbers have too few signs to choose by
_REFINED = 40  # vectors compared exactly for each one that is wanted
_BLOCK = 16_384  # vectors whose columns fit into a core's cache
_GROWTH = 2

_EMBEDDINGS_A_READ = 1024  # their numbers fit into a core's cache
_CHUNKS = """SELECT c.key, e.id FROM json_each(?) wanted CROSS JOIN embeddings e ON e.id = wanted.value
             CROSS JOIN chunks c ON c.embed_hash = e.hash"""

Ids = npt.NDArray[np.int64]
_Signs = npt.NDArray[np.uint64]


class _Snapshot(NamedTuple):
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
        found: list[Match] = []
        with self._store.read() as db:
            matrix = self._follow(db)
            if matrix.count and query.shape != matrix.rows.shape[1:]:
                said = f"The vectors of store {self._store.name!r} are another embedder's by now."
                raise VectorError(said, "Search again.")
            count = k
            while matrix.count:  # a vector has several chunks, or none until the run that dropped them ends
                near = matrix.nearest(query, count)
                rows = rows_at_once(db, ["key", "id"], _CHUNKS, (json.dumps(list(near)),))
                if len(rows) >= k or count >= matrix.count:
                    found = [Match(key, near[id_]) for key, id_ in sorted(rows)]  # equally near ones by keys
                    break
                count *= 4
        return sorted(found, key=itemgetter(1), reverse=True)[:k]

    @property
    def is_exact(self) -> bool:
        """Whether the similarities of the last search were those of the vectors in the file."""
        return self._snapshot is None or not len(self._snapshot.matrix.signs)

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
    count = db.execute(f"SELECT count(*) {mine}", (identity_id,)).fetchone()[0]
    fresh = Matrix.empty(matrix.rows.shape[1], count)
    if len(fresh.signs) < len(matrix.signs) or not matrix.count:  # few again: they are exact
        matrix = fresh
    last = int(matrix.ids[matrix.count - 1]) if matrix.count else 0
    with ThreadPoolExecutor(1) as pool:  # SQLite reads the next ones meanwhile
        growing: Future[Matrix] | None = None
        while True:
            ids, vectors = db.execute(  # in one step, as in `rows`
                f"""SELECT json_group_array(id), CAST(group_concat(vector, '') AS BLOB)
                    FROM (SELECT id, vector {mine} AND id > ? ORDER BY id LIMIT {_EMBEDDINGS_A_READ})""",
                (identity_id, last),
            ).fetchone()
            matrix = growing.result() if growing else matrix
            found = np.array(json.loads(ids), np.int64)
            if not len(found):
                break
            rows = np.frombuffer(vectors, "<f2").reshape(len(found), -1)
            growing = pool.submit(matrix.extended, found, rows)
            last = int(found[-1])
    if matrix.count == count:
        return matrix
    alive = rows_at_once(db, ["id"], f"SELECT id {mine}", (identity_id,))
    return matrix.only(np.array([embedding_id for (embedding_id,) in alive], np.int64))


@dataclass(frozen=True, slots=True)
class Matrix:
    """The first ``count`` of these rows, ids ascending; there may be room for more behind them. ``rows`` has
    shape (room, dimension), float32. Where ``signs`` are kept, of shape (columns of 64, room), it is int8, to
    be multiplied by ``scales``, of shape (room,). A matrix does not change; the one that it is extended to
    shares its memory."""

    ids: Ids
    rows: npt.NDArray[np.float32] | npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    signs: _Signs
    count: int

    @classmethod
    def empty(cls, dimension: int, room: int = 0) -> Matrix:
        """No vectors yet of so many numbers, with room for some."""
        many = room * dimension > LARGE and dimension >= FEWEST_SIGNS
        return cls(
            ids=np.empty(room, np.int64),
            rows=np.empty((room, dimension), np.int8) if many else np.empty((room, dimension), np.float32),
            scales=np.empty(room if many else 0, np.float32),
            signs=np.empty((-(-dimension // 64) if many else 0, room), np.uint64),
            count=0,
        )

    def extended(self, ids: Ids, rows: npt.NDArray[np.floating]) -> Matrix:
        """These vectors behind the others. Only the newest matrix may be extended: it is done in place."""
        count = self.count + len(ids)
        known = self
        if count > len(self.ids):
            known = Matrix.empty(self.rows.shape[1], max(count, _GROWTH * self.count))
            known = known._with(self, slice(0, self.count))
        new = slice(known.count, count)
        known.ids[new] = ids
        if len(known.signs):
            known.signs[:, new] = _signs(rows).T
            known.rows[new], known.scales[new] = _quantised(rows)
        else:
            known.rows[new] = rows
        return Matrix(known.ids, known.rows, known.scales, known.signs, count)

    def _with(self, other: Matrix, chosen: slice | npt.NDArray[np.bool_]) -> Matrix:
        """The ``chosen`` vectors of another matrix in this empty one."""
        ids = other.ids[: other.count][chosen]
        if len(other.signs) != len(self.signs):  # many now, or no more
            rows = other.rows[: other.count][chosen].astype(np.float32)
            if len(other.scales):
                rows *= other.scales[: other.count][chosen, np.newaxis]
            return self.extended(ids, rows)
        self.ids[: len(ids)] = ids
        self.rows[: len(ids)] = other.rows[: other.count][chosen]
        if len(self.signs):
            self.scales[: len(ids)] = other.scales[: other.count][chosen]
            self.signs[:, : len(ids)] = other.signs[:, : other.count][:, chosen]
        return Matrix(self.ids, self.rows, self.scales, self.signs, len(ids))

    def only(self, alive: Ids) -> Matrix:
        """Those among the vectors whose ids are ``alive``, in memory of their own."""
        keep = np.isin(self.ids[: self.count], alive, assume_unique=True)
        return Matrix.empty(self.rows.shape[1], int(keep.sum()))._with(self, keep)

    def nearest(self, query: Vectors, wanted: int) -> dict[int, float]:
        """The ids of the ``wanted`` vectors nearest to ``query``, in no order, with their similarities."""
        ids, rows, scales = self.ids[: self.count], self.rows[: self.count], self.scales[: self.count]
        if len(self.signs) and (refined := wanted * _REFINED) < self.count:
            distances = self._distances(query)
            chosen = np.flatnonzero(distances <= np.partition(distances, refined)[refined])
            ids, rows, scales = ids[chosen], rows[chosen], scales[chosen]
        # einsum, not @: BLAS would start threads and wait for them, ten times as long on a busy machine.
        similarities = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK].astype(np.float32, copy=False)
            np.einsum("ij,j->i", block, query, out=similarities[start : start + len(block)])
        if len(scales):
            similarities *= scales
        if wanted < len(rows):
            top = np.argpartition(similarities, len(rows) - wanted)[len(rows) - wanted :]
            ids, similarities = ids[top], similarities[top]
        return dict(zip(ids.tolist(), similarities.tolist(), strict=True))

    def _distances(self, query: Vectors) -> npt.NDArray[np.uint16]:
        """How many signs each vector does not share with ``query``."""
        [signs] = _signs(query[np.newaxis])
        distances = np.zeros(self.count, np.uint16)
        for start in range(0, self.count, _BLOCK):
            block = distances[start : start + _BLOCK]
            for column, sign in zip(self.signs[:, start : start + len(block)], signs, strict=True):
                block += np.bitwise_count(column ^ sign)
        return distances


def _signs(rows: npt.NDArray[np.floating]) -> _Signs:
    """The signs of each row, shape (rows, columns of 64)."""
    numbers = rows.view(np.int16) if rows.dtype == np.float16 else rows  # as positive, and quicker to compare
    packed = np.packbits(numbers > 0, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))).view(np.uint64)


def _quantised(rows: npt.NDArray[np.floating]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Rows in 8 bits, and what to multiply each with."""
    numbers = _singles(rows) if rows.dtype == np.float16 else rows.astype(np.float32)
    scales = np.maximum(np.abs(numbers).max(axis=1), 1e-9) / 127
    numbers /= scales[:, np.newaxis]
    return np.rint(numbers, out=numbers).astype(np.int8), scales


def _singles(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Finite float16 numbers as float32, four times as fast as numpy converts them."""
    bits = rows.view(np.int16).astype(np.int32)
    bits <<= 13  # exponent and fraction to their places; the sign is also in the three bits behind it
    bits &= -0x70002000  # it stays in the first
    numbers = bits.view(np.float32)
    numbers *= np.float32(2.0**112)  # the exponents of the two kinds are counted from 15 and 127
    return numbers
