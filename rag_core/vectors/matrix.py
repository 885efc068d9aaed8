"""Vectors in memory, and which of them are nearest to a query.

Few vectors are all compared. Of many, the signs of their numbers choose first: two unit vectors
are the nearer the more signs they share (random hyperplanes: Charikar, "Similarity estimation
techniques from rounding algorithms", STOC 2002). The signs of a number lie together for all
vectors, 64 numbers to a column, so that counting them is as quick as reading them. Those that
share most are then compared exactly, so every similarity is exact; only one of a hundred among
the nearest hundred is missed, and one of a thousand among the nearest ten (of MiniLM's vectors).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors

LARGE = 20_000 * 384
"""So many numbers are compared in 3 ms on one core; above, the signs choose."""

FEWEST_SIGNS = 256
"""Vectors of fewer numbers have too few signs to choose by."""

_REFINED = 40  # vectors compared exactly for each one that is wanted
_BLOCK = 16_384  # vectors whose columns fit into a core's cache
_GROWTH = 2

Ids = npt.NDArray[np.int64]
_Signs = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The first ``count`` of these rows, ids ascending; there may be room for more behind them.

    ``rows`` has shape (room, dimension), float32, or float16 when ``signs`` are kept, of shape
    (columns of 64, room). A matrix does not change; the one that it is extended to shares its memory.
    """

    ids: Ids
    rows: npt.NDArray[np.floating]
    signs: _Signs
    count: int

    @classmethod
    def empty(cls, dimension: int, room: int = 0) -> Matrix:
        """No vectors yet of so many numbers, with room for some."""
        many = room * dimension > LARGE and dimension >= FEWEST_SIGNS
        return cls(
            ids=np.empty(room, np.int64),
            rows=np.empty((room, dimension), np.float16 if many else np.float32),
            signs=np.empty((-(-dimension // 64) if many else 0, room), np.uint64),
            count=0,
        )

    def extended(self, ids: Ids, rows: npt.NDArray[np.floating]) -> Matrix:
        """These vectors behind the others. Only the newest matrix may be extended: it is done in place."""
        count = self.count + len(ids)
        known = self
        if count > len(self.ids):
            larger = Matrix.empty(self.rows.shape[1], max(count, _GROWTH * self.count))
            known = larger.extended(self.ids[: self.count], self.rows[: self.count])
        new = slice(known.count, count)
        known.ids[new] = ids
        known.rows[new] = rows
        if len(known.signs):
            known.signs[:, new] = _signs(rows).T
        return Matrix(known.ids, known.rows, known.signs, count)

    def only(self, alive: Ids) -> Matrix:
        """Those among the vectors whose ids are ``alive``, in memory of their own."""
        keep = np.isin(self.ids[: self.count], alive, assume_unique=True)
        fewer = Matrix.empty(self.rows.shape[1], int(keep.sum()))
        return fewer.extended(self.ids[: self.count][keep], self.rows[: self.count][keep])

    def nearest(self, query: Vectors, wanted: int) -> dict[int, float]:
        """The ids of the ``wanted`` vectors nearest to ``query``, in no order, with their similarities."""
        chosen: slice | npt.NDArray[np.intp] = slice(self.count)
        if len(self.signs) and (refined := wanted * _REFINED) < self.count:
            chosen = np.argpartition(self._distances(query), refined)[:refined]
        similarities = _compare(self.rows[chosen], query)
        top = _largest(similarities, wanted)
        return dict(zip(self.ids[chosen][top].tolist(), similarities[top].tolist(), strict=True))

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
    packed = np.packbits(rows > 0, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))).view(np.uint64)


def _compare(rows: npt.NDArray[np.floating], query: Vectors) -> Vectors:
    """The similarity of each row to ``query``."""
    # einsum, not @: BLAS would start threads for this and wait for them, ten times as long
    # when the machine is busy indexing.
    similarities = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK].astype(np.float32, copy=False)
        np.einsum("ij,j->i", block, query, out=similarities[start : start + len(block)])
    return similarities


def _largest(values: Vectors, count: int) -> npt.NDArray[np.intp]:
    """The positions of the ``count`` largest values."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - count)[len(values) - count :]
