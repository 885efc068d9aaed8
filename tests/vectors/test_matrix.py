"""Vectors in memory: the nearest are found, whatever was added, and however many there are."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from rag_core.store import signs
from rag_core.types import Vectors
from rag_core.vectors import local
from rag_core.vectors.local import Matrix

MANY = 26_000


def clustered(count: int, dimension: int = 384) -> Vectors:
    """Unit vectors in groups, as texts about the same things are, rounded as a store keeps them."""
    chance = np.random.default_rng(1)
    centres = chance.standard_normal((100, dimension))
    rows = centres[chance.integers(0, 100, count)] + 1.5 * chance.standard_normal((count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float16).astype(np.float32)


def ids_of(rows: Vectors) -> local.Ids:
    return np.arange(len(rows), dtype=np.int64) * 3 + 1


def data_of(matrix: Matrix, rows: Vectors) -> bytes:
    return signs.of_rows(rows, matrix.mean).tobytes() if matrix.is_large else rows.astype("<f2").tobytes()


def matrix_of(rows: Vectors) -> Matrix:
    empty = Matrix.empty(rows.mean(axis=0), len(rows))
    return empty.extended(ids_of(rows), data_of(empty, rows))


def ids_by_brute_force(rows: Vectors, query: Vectors, wanted: int) -> set[int]:
    return set(ids_of(rows)[np.argsort(-(rows @ query))[:wanted]].tolist())


@pytest.mark.parametrize("wanted", [1, 10, 500, 1000])
@pytest.mark.parametrize("dimension", [3, 64, 384])
def test_all_of_few_vectors_are_compared(dimension: int, wanted: int) -> None:
    rows = clustered(1000, dimension)
    found = local.nearest_to(sqlite3.connect(":memory:"), matrix_of(rows), rows[7], wanted)
    assert found.keys() == ids_by_brute_force(rows, rows[7], wanted)
    assert [found[key] for key in ids_of(rows).tolist() if key in found] == pytest.approx(
        [value for key, value in zip(ids_of(rows).tolist(), rows @ rows[7], strict=True) if key in found],
        abs=1e-5,
    )


def close_together(rows: Vectors, shared: float) -> Vectors:
    """``rows`` with something that all share, as models such as E5 make vectors."""
    direction = np.random.default_rng(2).standard_normal(rows.shape[1])
    moved = rows + shared * direction / np.linalg.norm(direction)
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved.astype(np.float16).astype(np.float32)


@pytest.mark.parametrize(("dimension", "shared"), [(300, 0), (384, 0), (384, 1), (384, 3)])
def test_nearly_all_of_the_nearest_are_found_by_signs_among_many(dimension: int, shared: float) -> None:
    rows, queries = np.split(close_together(clustered(MANY + 30, dimension), shared), [MANY])
    many = matrix_of(rows)
    assert many.is_large
    hits = 0
    for query in queries:
        found = set(many.likely(query, 600, 4000).tolist())
        assert len(found) == 600
        hits += len(found & ids_by_brute_force(rows, query, 10))
    assert hits / (10 * len(queries)) >= 0.98


def test_asked_for_more_than_there_are_all_are_likely() -> None:
    rows = clustered(MANY)
    assert len(matrix_of(rows).likely(rows[0], 30_000, 240_000)) == MANY
    assert set(matrix_of(rows).likely(rows[0], 2000, 30_000).tolist()) > ids_by_brute_force(rows, rows[0], 50)


@pytest.mark.parametrize("large", [local.LARGE, 0])
def test_vectors_added_little_by_little_are_like_those_added_at_once(
    monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(local, "LARGE", large)
    rows = clustered(4000)
    ids, grown = ids_of(rows), Matrix.empty(rows.mean(axis=0), 1)
    for start in range(0, len(rows), 32):
        grown = grown.extended(ids[start : start + 32], data_of(grown, rows[start : start + 32]))
    whole = matrix_of(rows)
    assert grown.count == whole.count == 4000
    for column in ("ids", "signs", "rows"):
        one, other = getattr(grown, column), getattr(whole, column)
        assert np.array_equal(one[..., :4000] if column != "rows" else one[:4000], other)


def test_a_matrix_stays_as_it_was_when_it_is_extended() -> None:
    rows, db = clustered(1000), sqlite3.connect(":memory:")
    empty = Matrix.empty(np.zeros(384, np.float32), 1000)
    first = empty.extended(ids_of(rows)[:500], data_of(empty, rows[:500]))
    before = local.nearest_to(db, first, rows[0], 20)
    first.extended(ids_of(rows)[500:], data_of(empty, rows[500:]))
    assert local.nearest_to(db, first, rows[0], 20) == before
    assert max(before) <= ids_of(rows)[499]


def test_vectors_of_few_numbers_are_compared_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LARGE", 0)
    assert not Matrix.empty(np.zeros(64, np.float32), 5000).is_large


def test_signs_are_those_of_the_numbers() -> None:
    rows = np.random.default_rng(1).standard_normal((50, 300)).astype(np.float16)
    rows[3] = 0
    zero = np.zeros(300, np.float32)
    stored = [signs.signs_of(row.tobytes(), zero) for row in rows.astype("<f2")]
    assert stored == [row.tobytes() for row in signs.of_rows(rows.astype(np.float32), zero)]
    assert {len(each) for each in stored} == {40}
    assert [bit for each in stored for bit in np.unpackbits(np.frombuffer(each, np.uint8), count=300)] == (
        (rows > 0).astype(int).ravel().tolist()
    )
