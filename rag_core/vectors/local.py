"""The vector index inside the store's own file. It follows the changes of the file.

Few vectors are kept in memory and all compared. Of many vectors, only the signs of their numbers (sign bits)
are in memory. The nearer two vectors are, the more sign bits they share (random hyperplanes: Charikar,
"Similarity estimation techniques from rounding algorithms", STOC 2002).

The sign bits of a number are stored together for all vectors, 64 numbers to a column, which makes counting
fast. For the vectors that share most sign bits, the numbers of the query are added up where their signs are
positive.

The vectors with the largest sums are read from the file and compared exactly.

The mean of the store's vectors is subtracted from all numbers, including those of the query (see
`store.signs`). Otherwise half of the nearest vectors would be missed with a model like E5, whose vectors are
all close together.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag_core.errors import VectorError
from rag_core.store import Store, signs
from rag_core.store.connection import kept, rows_at_once
from rag_core.store.file import Known, active_identity, generation
from rag_core.types import Filters, Vectors
from rag_core.vectors import NO_FILTERS, Match

LARGE = 20_000 * 384  # numbers compared in 3 ms on one core; with more numbers, sign bits choose candidates
FEWEST_SIGNS = 256  # minimum dimension; shorter vectors have too few signs to choose by
WIDTHS = (40, 6), (60, 12), (80, 24), (100, 40)
"""For each requested vector: the number of candidates whose numbers are added up, and the number of these
that are read from the file. A store uses the first pair that finds enough of its nearest vectors."""
_FINDS_ENOUGH = 0.995
_BLOCK = 16_384  # vectors whose columns fit into a core's cache
_GROWTH = 2
_ZERO = np.zeros(1, np.float32)
# numbers of neighbours, of vectors tried and of results, as in searches, for measuring recall
_NEAREST, _TRIED, _WANTED = 10, 50, 100
_GONE = 0.1  # share of vectors that are gone from the file before all are loaded again

_VECTORS_A_READ = 4096
_MINE = "FROM embeddings WHERE identity_id = ? AND vector <> x''"
_CHUNKS = """SELECT c.key, e.id FROM json_each(?) wanted CROSS JOIN embeddings e ON e.id = wanted.value
             CROSS JOIN chunks c ON c.embed_hash = e.hash"""

Ids = npt.NDArray[np.int64]
_Signs = npt.NDArray[np.uint64]


class _Snapshot(NamedTuple):
    generation: int
    identity_id: int
    matrix: Matrix


class LocalVectors:
    """Search by cosine similarity over the embeddings of a store. Threads may share it."""

    is_exact = True

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._snapshot: _Snapshot | None = None

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:  # noqa: ARG002
        """Return the ``k`` chunks nearest to ``query``, best first; [] if the store has no vectors. Raises
        VectorError if the store's vectors are from another embedder now.

        ``filters`` are ignored, because the caller checks them, which is fast without a network.
        """
        found: list[Match] = []
        with self._store.read() as db:
            if (active := kept(db, active_identity)) is None:
                return []
            if query.shape != (active.identity.dimension,):
                message = f"The vectors of store {self._store.name!r} are from another embedder now."
                raise VectorError(message, "Search again.")
            matrix = self._follow(db, active)
            count = k
            while matrix.count:  # a vector has several chunks, or none until the run that removed them ends
                near = nearest_to(db, matrix, query, count, active.width)
                rows = rows_at_once(db, ["key", "id"], _CHUNKS, (json.dumps(list(near)),))
                if len(rows) >= k or count >= matrix.count:
                    # equally near chunks are sorted by key
                    found = [Match(key, near[id_]) for key, id_ in sorted(rows)]
                    break
                count *= 4
        return sorted(found, key=lambda match: match.similarity, reverse=True)[:k]

    def _follow(self, db: sqlite3.Connection, active: Known) -> Matrix:
        now = kept(db, generation)
        with self._lock:
            known = self._snapshot
            if known is None or known.identity_id != active.id or (known.matrix.mean != active.mean).any():
                known = _Snapshot(-1, active.id, Matrix.empty(active.mean))
            if known.generation < now:
                known = _Snapshot(now, active.id, _refreshed(db, active, known.matrix))
                self._snapshot = known
            return known.matrix


def _refreshed(db: sqlite3.Connection, active: Known, matrix: Matrix) -> Matrix:
    """Return the matrix with newly stored vectors added. It is rebuilt if many of its vectors are deleted."""
    count = db.execute(f"SELECT count(*) {_MINE}", (active.id,)).fetchone()[0]
    fresh = Matrix.empty(active.mean, count)
    known = matrix if fresh.is_large == matrix.is_large else fresh
    known = _extended(db, active.id, known)
    return known if known.count <= count * (1 + _GONE) else _extended(db, active.id, fresh)


def _extended(db: sqlite3.Connection, identity_id: int, matrix: Matrix) -> Matrix:
    """Return the matrix with newly stored vectors added."""
    columns, rows = ("bits", "FROM signs WHERE identity_id = ?") if matrix.is_large else ("vector", _MINE)
    sql = f"""SELECT json_group_array(id), CAST(group_concat({columns}, '') AS BLOB) FROM (
                  SELECT id, {columns} {rows} AND id > ? ORDER BY id LIMIT {_VECTORS_A_READ})"""
    while True:
        last = int(matrix.ids[matrix.count - 1]) if matrix.count else 0
        found, data = db.execute(sql, (identity_id, last)).fetchone()  # in one step, as in `rows_at_once`
        ids = np.array(json.loads(found), np.int64)
        if not len(ids):
            return matrix
        matrix = matrix.extended(ids, data)


def nearest_to(
    db: sqlite3.Connection, matrix: Matrix, query: Vectors, wanted: int, width: int = 0
) -> dict[int, float]:
    """Return the ``wanted`` vectors nearest to ``query``, in any order: id → similarity. Among many vectors,
    candidates are chosen with entry ``width`` of `WIDTHS`."""
    ids, rows = matrix.ids[: matrix.count], matrix.rows[: matrix.count]
    if matrix.is_large:
        sql = """SELECT json_group_array(e.id), CAST(group_concat(e.vector, '') AS BLOB)
                 FROM json_each(?) wanted CROSS JOIN embeddings e ON e.id = wanted.value"""
        added, read = WIDTHS[min(width, len(WIDTHS) - 1)]
        likely = json.dumps(matrix.likely(query, wanted * read, wanted * added).tolist())
        found, data = db.execute(sql, (likely,)).fetchone()
        ids = np.array(json.loads(found), np.int64)
        rows = np.frombuffer(data or b"", "<f2").astype(np.float32).reshape(-1, len(query))
    similarities = _products(rows, query)
    if wanted < len(rows):
        top = np.argpartition(similarities, len(rows) - wanted)[len(rows) - wanted :]
        ids, similarities = ids[top], similarities[top]
    return dict(zip(ids.tolist(), similarities.tolist(), strict=True))


def measured_recall(db: sqlite3.Connection, known: Known) -> signs.Recall | None:
    """Measure which share of the ten nearest vectors `nearest_to` finds, for a sample of vectors. The
    smallest width that finds enough is used, or else the largest. Returns None if all vectors are compared,
    so that none is missed."""
    count = db.execute(f"SELECT count(*) {_MINE}", (known.id,)).fetchone()[0]
    matrix = Matrix.empty(known.mean, count)
    if not matrix.is_large:
        return None
    matrix = _extended(db, known.id, matrix)
    tried = matrix.ids[: matrix.count : -(-matrix.count // _TRIED)]
    exact = _exact(db, known, tried)
    for width in range(len(WIDTHS)):
        found = 0
        for number, query in zip(tried.tolist(), exact.queries, strict=True):
            near = nearest_to(db, matrix, query, _WANTED, width)
            found += len(near.keys() & exact.nearest[number])
        share = found / sum(map(len, exact.nearest.values()))
        if share >= _FINDS_ENOUGH:
            break
    return signs.Recall(share, count, width)


class _Exact(NamedTuple):
    queries: Vectors  # shape (queries, dimension)
    nearest: dict[int, set[int]]  # by the id of the query, without itself


def _exact(db: sqlite3.Connection, known: Known, tried: Ids) -> _Exact:
    """Return the nearest of the vectors ``tried``, found by comparing each with all."""
    queries = _vectors_of(db, known, tried)
    best: list[list[tuple[float, int]]] = [[] for _ in queries]
    for ids, rows in signs.parts(db, known.id):
        for place, similarities in enumerate(np.einsum("ij,kj->ki", rows, queries).tolist()):
            best[place] = nlargest(_NEAREST + 1, [*best[place], *zip(similarities, ids, strict=True)])
    nearest = [{number for _, number in ranked} for ranked in best]
    return _Exact(queries, {own: near - {own} for own, near in zip(tried.tolist(), nearest, strict=True)})


def _vectors_of(db: sqlite3.Connection, known: Known, ids: Ids) -> Vectors:
    """Return the vectors with these ids, shape (ids, dimension)."""
    one = f"SELECT vector {_MINE} AND id = ?"
    vectors = [db.execute(one, (known.id, number)).fetchone()[0] for number in ids.tolist()]
    return np.frombuffer(b"".join(vectors), "<f2").astype(np.float32).reshape(len(ids), -1)


# Not @: BLAS would start threads and wait for them, which takes ten times as long on a busy machine.
_products: Callable[[npt.NDArray[np.float32], Vectors], npt.NDArray[np.float32]]
_products = partial(np.einsum, "ij,j->i")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Vectors in memory. A matrix is immutable. `extended` returns a new one that shares its memory."""

    mean: Vectors  #: Subtracted before signs are taken, shape (dimension,).
    ids: Ids  #: Ids of the vectors, ascending; shape (room,), which is how many fit into the memory.
    rows: npt.NDArray[np.float32]  #: The vectors, shape (room, dimension); empty in a large matrix.
    signs: _Signs  #: Sign bits, shape (columns of 64 bits, room); empty unless the matrix is large.
    is_large: bool  #: Whether only the sign bits of the vectors are in memory.
    count: int = 0  #: Number of vectors; there may be room for more.

    @classmethod
    def empty(cls, mean: Vectors, room: int = 0) -> Matrix:
        """Create an empty matrix for vectors with this mean, with memory for ``room`` vectors."""
        dimension = len(mean)
        is_large = room * dimension > LARGE and dimension >= FEWEST_SIGNS
        rows = np.empty((0 if is_large else room, dimension), np.float32)
        signs = np.empty((-(-dimension // 64) if is_large else 0, room), np.uint64)
        return cls(mean, np.empty(room, np.int64), rows, signs, is_large)

    def extended(self, ids: Ids, data: bytes) -> Matrix:
        """Return a matrix with these vectors added. ``data`` are their 16-bit numbers, or their sign bits in
        a large matrix. Call this only on the newest matrix, because both share memory."""
        count = self.count + len(ids)
        known = self if count <= len(self.ids) else self._with_room(max(count, _GROWTH * self.count))
        new = slice(self.count, count)
        known.ids[new] = ids
        if self.is_large:
            known.signs[:, new] = np.frombuffer(data, np.uint64).reshape(len(ids), -1).T
        else:
            known.rows[new] = np.frombuffer(data, "<f2").reshape(len(ids), -1)
        return replace(known, count=count)

    def _with_room(self, room: int) -> Matrix:
        ids = np.empty(room, np.int64)
        rows = np.empty((0 if self.is_large else room, len(self.mean)), np.float32)
        signs = np.empty((len(self.signs), room), np.uint64)
        ids[: self.count], signs[:, : self.count] = self.ids[: self.count], self.signs[:, : self.count]
        rows[: self.count] = self.rows[: self.count]
        return replace(self, ids=ids, rows=rows, signs=signs)

    def likely(self, query: Vectors, wanted: int, near: int) -> Ids:
        """Return the ids of the ``wanted`` vectors that are probably nearest. They are chosen from the
        ``near`` vectors that share most sign bits with ``query``."""
        ids, columns = self.ids[: self.count], self.signs[:, : self.count]
        from_mean = query - self.mean  # the part that all vectors share does not tell which are nearest
        if near < self.count:
            distances = self._distances(from_mean)
            chosen = np.flatnonzero(distances <= np.partition(distances, near)[near])
            ids, columns = ids[chosen], columns[:, chosen]
        if wanted >= len(ids):
            return ids
        sums = np.empty(len(ids), np.float32)
        for start in range(0, len(ids), _BLOCK):
            block = np.ascontiguousarray(columns[:, start : start + _BLOCK].T).view(np.uint8)
            above = np.unpackbits(block, axis=1, count=len(query)).astype(np.float32)
            sums[start : start + len(block)] = _products(above, from_mean)
        return ids[np.argpartition(sums, len(sums) - wanted)[len(sums) - wanted :]]

    def _distances(self, from_mean: Vectors) -> npt.NDArray[np.uint16]:
        """Return for each vector the number of sign bits that differ from the query's. ``from_mean`` is the
        query minus the mean."""
        [asked] = signs.of_rows(from_mean[np.newaxis], _ZERO).view(np.uint64)
        distances = np.zeros(self.count, np.uint16)
        for start in range(0, self.count, _BLOCK):
            block = distances[start : start + _BLOCK]
            for column, sign in zip(self.signs[:, start : start + len(block)], asked, strict=True):
                block += np.bitwise_count(column ^ sign)
        return distances
