"""Vectors in memory: the nearest are found, whatever was added, taken away, and however many there are."""

from __future__ import annotations

import numpy as np
import pytest

from rag_core.types import Vectors
from rag_core.vectors import local
from rag_core.vectors.local import Matrix

MANY = 25_000


def clustered(count: int, dimension: int = 384, seed: int = 1) -> Vectors:
    """Unit vectors in groups, as texts about the same things are, rounded as a store keeps them."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((100, dimension))
    rows = centres[chance.integers(0, 100, count)] + 1.5 * chance.standard_normal((count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float16).astype(np.float32)


def ids_of(rows: Vectors) -> local.Ids:
    return np.arange(len(rows), dtype=np.int64) * 3 + 1


def matrix_of(rows: Vectors) -> Matrix:
    return Matrix.empty(rows.shape[1], len(rows)).extended(ids_of(rows), rows)


def nearest_by_brute_force(rows: Vectors, query: Vectors, wanted: int) -> dict[int, float]:
    similarities = rows @ query
    best = np.argsort(-similarities)[:wanted]
    return dict(zip(ids_of(rows)[best].tolist(), similarities[best].tolist(), strict=True))


def assert_exact(found: dict[int, float], rows: Vectors, query: Vectors) -> None:
    expected = nearest_by_brute_force(rows, query, len(found))
    assert found.keys() == expected.keys()
    assert [found[key] for key in expected] == pytest.approx(list(expected.values()), abs=1e-5)


def assert_near(found: dict[int, float], rows: Vectors, query: Vectors) -> None:
    """As in 8 bits: about the same similarities, and those who are left out are hardly nearer."""
    similarities = dict(zip(ids_of(rows).tolist(), (rows @ query).tolist(), strict=True))
    assert [similarities[key] for key in found] == pytest.approx(list(found.values()), abs=0.003)
    least = min(nearest_by_brute_force(rows, query, len(found)).values())
    assert min(similarities[key] for key in found) == pytest.approx(least, abs=0.006)


@pytest.mark.parametrize("wanted", [1, 10, 500, 1000])
@pytest.mark.parametrize("dimension", [3, 64, 384])
def test_all_of_few_vectors_are_compared(dimension: int, wanted: int) -> None:
    rows = clustered(1000, dimension)
    found = matrix_of(rows).nearest(rows[7], wanted)
    assert len(found) == wanted
    assert_exact(found, rows, rows[7])


def test_nearly_all_of_the_nearest_are_found_among_many() -> None:
    rows, queries = np.split(clustered(MANY + 30), [MANY])
    many = matrix_of(rows)
    assert len(many.signs)
    hits = 0
    for query in queries:
        found = many.nearest(query, 100)
        assert len(found) == 100
        hits += len(found.keys() & nearest_by_brute_force(rows, query, 10).keys())
        similarities = dict(zip(ids_of(rows).tolist(), (rows @ query).tolist(), strict=True))
        assert all(similarities[key] == pytest.approx(value, abs=0.003) for key, value in found.items())
    assert hits / (10 * len(queries)) >= 0.98


def test_asked_for_most_of_many_it_compares_all() -> None:
    rows = clustered(MANY)
    assert_near(matrix_of(rows).nearest(rows[0], 2000), rows, rows[0])


@pytest.mark.parametrize("dimension", [300, 384])
def test_vectors_added_little_by_little_are_found_like_those_added_at_once(
    monkeypatch: pytest.MonkeyPatch, dimension: int
) -> None:
    monkeypatch.setattr(local, "LARGE", 2000 * dimension)  # half of them come before it, half behind
    rows = clustered(4000, dimension)
    ids, grown = ids_of(rows), Matrix.empty(dimension)
    for start in range(0, len(rows), 32):
        grown = grown.extended(ids[start : start + 32], rows[start : start + 32])
    assert grown.count == len(rows)
    assert len(grown.signs)
    for query in clustered(5, dimension, seed=2):
        assert grown.nearest(query, 20) == matrix_of(rows).nearest(query, 20)
        assert_near(grown.nearest(query, 200), rows, query)


def test_a_matrix_stays_as_it_was_when_it_is_extended() -> None:
    rows = clustered(1000)
    first = Matrix.empty(384, 1000).extended(ids_of(rows)[:500], rows[:500])
    before = first.nearest(rows[0], 20)
    first.extended(ids_of(rows)[500:], rows[500:])
    assert first.nearest(rows[0], 20) == before
    assert max(before) <= ids_of(rows)[499]


@pytest.mark.parametrize("large", [local.LARGE, 0])
def test_vectors_taken_away_are_not_found(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(local, "LARGE", large)
    rows = clustered(3000)
    fewer = matrix_of(rows).only(ids_of(rows)[1000:])
    assert fewer.count == 2000
    found = fewer.nearest(rows[0], 40)
    assert len(found) == 40
    assert min(found) >= ids_of(rows)[1000]
    assert matrix_of(rows).only(ids_of(rows)[:0]).nearest(rows[0], 10) == {}


def test_vectors_of_few_numbers_are_compared_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LARGE", 0)
    rows = clustered(5000, 64)
    assert_exact(matrix_of(rows).nearest(rows[0], 10), rows, rows[0])


def test_every_finite_half_is_widened_exactly() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)].reshape(-1, 2)
    assert np.array_equal(local._singles(halves), halves.astype(np.float32))
