"""Every vector index does the same: the contract that any of them is held to.

Against real services: see ``vector_services`` for the variables that name them.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag_core.providers import VECTOR_INDEXES
from rag_core.types import Filters, Metric
from rag_core.vectors import RemoteIndex, VectorIndex
from rag_core.vectors.backends import open_remote
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.service import Options
from tests.vectors.vector_bench import FILTERS, Bench, Note, assert_same, bench_store, vault, vectors
from tests.vectors.vector_services import S3_SWITCH, Services, some_thorough

OWNER_ID = "the-owner-of-these-tests"

OpenBench = Callable[[int], Bench]
Opener = Callable[[Bench], tuple[VectorIndex, RemoteIndex | None]]


# --- the indexes under trial ------------------------------------------------------------


@contextmanager
def local(_: Services) -> Iterator[Opener]:
    yield lambda bench: (LocalVectors(bench.store), None)


@contextmanager
def remote(make: Callable[[int], RemoteIndex]) -> Iterator[Opener]:
    """Opens what ``make`` gives for a dimension; it is dropped in the end."""
    opened: list[RemoteIndex] = []

    def open_index(bench: Bench) -> tuple[VectorIndex, RemoteIndex]:
        index = make(bench.dimension)
        index.prepare(OWNER_ID)
        opened.append(index)
        return index, index

    yield open_index
    for index in opened[:1]:
        index.drop(OWNER_ID)


@contextmanager
def built_in(kind: str, options: Options, metric: Metric = "cosine") -> Iterator[Opener]:
    index = VECTOR_INDEXES[kind].opener
    address = index.address_of(f"contract-{uuid.uuid4().hex[:12]}", "", options)
    with remote(lambda size: index(address, size, metric, options)) as opener:
        yield opener


@contextmanager
def qdrant(options: QdrantOptions) -> Iterator[Opener]:
    collection = f"contract-{uuid.uuid4().hex[:12]}"
    with built_in("qdrant", replace(options, collection=collection)) as opener:
        yield opener


@contextmanager
def shelf_of_a_package(services: Services) -> Iterator[Opener]:
    address = f"shelf://{services.folder}/{uuid.uuid4().hex}.db"
    with remote(lambda size: open_remote(address, size, "cosine", {})) as opener:
        yield opener


INDEXES: dict[str, Callable[[Services], AbstractContextManager[Opener]]] = {
    "local": local,
    "s3vectors_cosine": lambda services: built_in("s3vectors", services.s3),
    "s3vectors_euclidean": lambda services: built_in("s3vectors", services.s3, "euclidean"),
    "qdrant_folder": lambda services: qdrant(QdrantOptions(path=services.folder / "qdrant")),
    "qdrant_server": lambda services: qdrant(services.qdrant),
    "chroma_folder": lambda services: built_in("chroma", ChromaOptions(path=services.folder / "chroma")),
    "chroma_server": lambda services: built_in("chroma", services.chroma),
    "shelf_of_a_package": shelf_of_a_package,
}


@pytest.fixture(params=some_thorough(INDEXES))
def bench(
    request: pytest.FixtureRequest,
    services: Services,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    no_waiting_for_the_disk: None,
) -> Iterator[OpenBench]:
    """Opens the index under trial for vectors of some dimension, empty."""
    if not os.environ.get(S3_SWITCH):
        request.getfixturevalue("aws")
    if request.param == "shelf_of_a_package":
        request.getfixturevalue("example_package")
    with ExitStack() as stack:
        opener = stack.enter_context(INDEXES[request.param](services))

        def open_bench(dimension: int) -> Bench:
            store = stack.enter_context(bench_store(tmp_path, dimension))
            return Bench(store, opener, dimension)

        yield open_bench


# --- the contract -----------------------------------------------------------------------

QUERY = vectors(1, 16, seed=99)[0]


def test_empty_index_finds_nothing(bench: OpenBench) -> None:
    empty = bench(16)
    assert empty.index.search(QUERY, 10) == []
    assert empty.index.search(QUERY, 10, Filters(tags=("aws",))) == []


@pytest.mark.parametrize("k", [1, 10, 60, 500])
def test_nearest_are_those_of_comparing_all(bench: OpenBench, k: int) -> None:
    notes = bench(16)
    notes.put(*vault(60, 16))
    assert_same(notes.search(QUERY, k), notes.exact(QUERY, k))


def test_similarity_is_the_cosine_from_minus_one_to_one(bench: OpenBench) -> None:
    notes = bench(16)
    axis = np.eye(16, dtype=np.float32)
    same, across, opposite = (
        Note("same.md", axis[0]),
        Note("across.md", axis[1]),
        Note("opposite.md", -axis[0]),
    )
    notes.put(opposite, same, across)
    found = notes.index.search(axis[0], 3)
    assert [match.key for match in found] == [same.key, across.key, opposite.key]
    assert [match.similarity for match in found] == pytest.approx([1, 0, -1], abs=1e-6)


def test_what_is_put_again_is_replaced_whole(bench: OpenBench) -> None:
    notes = bench(16)
    notes.put(*vault(30, 16))
    old = Note("changing.md", QUERY, tags=("before",))
    notes.put(old)
    notes.put(replace(old, vector=-QUERY, tags=("after",)))
    assert notes.search(QUERY, 31)[-1].key == old.key
    assert notes.search(QUERY, 5, Filters(tags=("before",))) == []
    assert [match.key for match in notes.search(QUERY, 5, Filters(tags=("after",)))] == [old.key]


def test_what_is_deleted_is_not_found(bench: OpenBench) -> None:
    notes = bench(16)
    made = vault(40, 16)
    notes.put(*made)
    notes.delete(*made[::2])
    assert {match.key for match in notes.index.search(QUERY, 100)} == {note.key for note in made[1::2]}
    notes.put(made[0])
    assert_same(notes.search(QUERY, 100), notes.exact(QUERY, 100))


def test_deleting_what_is_not_there_does_nothing(bench: OpenBench) -> None:
    notes = bench(16)
    made = vault(5, 16)
    notes.put(*made[:4])
    notes.delete(made[4])
    assert len(notes.index.search(QUERY, 10)) == 4


def test_of_records_with_the_same_key_the_last_counts(bench: OpenBench) -> None:
    notes = bench(16)
    first = Note("twice.md", -QUERY)
    notes.put(*vault(10, 16), first, replace(first, vector=QUERY))
    [best, *_] = found = notes.index.search(QUERY, 100)
    assert best.key == first.key
    assert best.similarity == pytest.approx(1, abs=1e-3)
    assert len(found) == 11


def test_every_kind_of_filter_leaves_out_exactly_what_does_not_fit(bench: OpenBench) -> None:
    notes = bench(16)
    made = vault(240, 16)
    notes.put(*made)
    for name, filters in FILTERS.items():
        expected = notes.exact(QUERY, 10, filters)
        assert_same(notes.search(QUERY, 10, filters), expected)
        assert (len(expected) > 0) == (name not in ("nothing fits", "folder that is the start of another")), (
            name
        )


def test_a_note_with_more_tags_than_an_index_can_hold_is_still_found_by_them(bench: OpenBench) -> None:
    notes = bench(16)
    many = Note("many.md", -QUERY, tags=tuple(f"{'tag' * 10}-{n}" for n in range(200)))
    long = Note("/".join(["a long folder name" * 3] * 40) + "/long.md", -QUERY, tags=("long",))
    notes.put(*vault(20, 16), many, long)
    assert [match.key for match in notes.search(QUERY, 3, Filters(tags=(f"{'tag' * 10}-150",)))] == [many.key]
    assert [match.key for match in notes.search(QUERY, 3, Filters(tags=("long",)))] == [long.key]
    assert [m.key for m in notes.search(QUERY, 3, Filters(paths=("a long folder name" * 3,)))] == [long.key]


def test_more_alternatives_than_an_index_takes_are_no_error(bench: OpenBench) -> None:
    notes = bench(16)
    notes.put(*vault(60, 16))
    filters = Filters(tags=(*(f"tag {n}" for n in range(150)), "aws"), types=("markdown",))
    assert_same(notes.search(QUERY, 10, filters), notes.exact(QUERY, 10, filters))


def test_nearest_beyond_every_page_are_found_in_order(bench: OpenBench) -> None:
    notes = bench(16)
    notes.put(*vault(700, 16))
    for k in (99, 100, 101, 350, 700, 1500):
        found = notes.search(QUERY, k)
        assert len(found) == min(k, 700)
        assert_same(found, notes.exact(QUERY, k))


@pytest.mark.parametrize("length", [1e-3, 1.0, 250.0])
def test_the_length_of_vectors_changes_nothing(bench: OpenBench, length: float) -> None:
    notes = bench(16)
    notes.put(*(replace(note, vector=note.vector * np.float32(length)) for note in vault(40, 16)))
    found = notes.search(QUERY * np.float32(length), 10)
    assert_same(found, notes.exact(QUERY, 10))
    assert [match.similarity for match in found] == pytest.approx(
        [match.similarity for match in notes.exact(QUERY, 10)], abs=1e-3
    )


def test_4096_dimensions(bench: OpenBench) -> None:
    notes = bench(4096)
    notes.put(*vault(12, 4096))
    query = vectors(1, 4096, seed=5)[0]
    assert_same(notes.search(query, 5), notes.exact(query, 5))


def test_readers_in_parallel_agree(bench: OpenBench) -> None:
    notes = bench(16)
    notes.put(*vault(150, 16))
    queries = vectors(12, 16, seed=3)
    with ThreadPoolExecutor(6) as pool:
        for query, found in zip(
            queries, pool.map(lambda query: notes.index.search(query, 120), queries), strict=True
        ):
            assert_same(found, notes.exact(query, 120), tie=1e-3)


def test_an_index_opened_again_knows_everything(bench: OpenBench) -> None:
    notes = bench(16)
    made = vault(40, 16)
    notes.put(*made)
    notes.reopen()
    assert_same(notes.search(QUERY, 50), notes.exact(QUERY, 50))
    if notes.remote is not None:
        assert {*notes.remote.keys()} == {note.key for note in made}
