"""What remote vector indexes find among many vectors: all that comparing each of them finds, or nearly all.

Qdrant in this process compares all of them itself: how good its links are, only a real server tells."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from rag_core.store import Store
from rag_core.vectors import Match, RemoteIndex, VectorRecord
from rag_core.vectors.chroma import Chroma, ChromaOptions
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.qdrant import Qdrant, QdrantOptions
from rag_core.vectors.s3vectors import S3Options, S3Vectors
from tests.vector_bench import FILTERS, Bench, Note, assert_same, bench_store, vault, vectors
from tests.vector_fixtures import CREDENTIALS
from tests.vector_services import QDRANT_SWITCH, S3_SWITCH, Services

COUNT = 5000
DIMENSION = 64
QUERIES = vectors(20, DIMENSION, seed=99)  # random directions are harder to tell apart than texts

Open = Callable[[bool], RemoteIndex]


def named() -> str:
    return f"contract-{uuid.uuid4().hex[:12]}"


def qdrant(options: QdrantOptions) -> Open:
    address = Qdrant.address_of("notes", "", replace(options, collection=named()))
    return lambda exact: Qdrant(address, DIMENSION, "cosine", replace(options, exact=exact))


def chroma(options: ChromaOptions) -> Open:
    address = Chroma.address_of(named(), "", options)
    return lambda exact: Chroma(address, DIMENSION, "cosine", replace(options, exact=exact))


def s3vectors(options: S3Options) -> Open:
    address = S3Vectors.address_of(named(), "", options)
    return lambda _: S3Vectors(address, DIMENSION, "cosine", options)


KINDS: dict[str, Callable[[Services], Open]] = {
    "s3vectors": lambda services: s3vectors(services.s3),
    "qdrant_folder": lambda services: qdrant(QdrantOptions(path=services.folder / "qdrant")),
    "chroma_server": lambda services: chroma(services.chroma),
}
if QDRANT_SWITCH in os.environ:
    KINDS["qdrant_server"] = lambda services: qdrant(services.qdrant)
LINKED = [kind for kind in KINDS if kind not in ("s3vectors", "qdrant_folder")]


@pytest.fixture(scope="module")
def notes() -> list[Note]:
    return vault(COUNT, DIMENSION)


@pytest.fixture(scope="module")
def records(notes: list[Note]) -> list[VectorRecord]:
    return [note.record for note in notes]


@pytest.fixture(scope="module")
def store(notes: list[Note], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that holds the notes, too."""
    with bench_store(tmp_path_factory.mktemp("bars"), DIMENSION) as store:
        local = Bench(store, lambda bench: (LocalVectors(bench.store), None), DIMENSION)
        local.put(*notes)
        yield store


@pytest.fixture(scope="module")
def expected(store: Store) -> Callable[[str], list[Match]]:
    """What comparing every vector finds for a filter; looked up once for all indexes."""
    local = Bench(store, lambda bench: (LocalVectors(bench.store), None), DIMENSION)
    return cache(lambda name: local.exact(QUERIES[0], 10, FILTERS[name]))


@pytest.fixture(scope="module", params=KINDS)
def open_bench(
    request: pytest.FixtureRequest, services: Services, store: Store, records: list[VectorRecord]
) -> Iterator[Callable[[bool], Bench]]:
    """Opens the index under trial with the notes in it, exact or as it is by default."""
    request.getfixturevalue("no_waiting_for_the_disk")
    with pytest.MonkeyPatch.context() as patch:
        if S3_SWITCH not in os.environ:
            for name, value in CREDENTIALS.items():
                patch.setenv(name, value)
        yield from _opened(KINDS[request.param](services), store, records)


def _opened(open_index: Open, store: Store, records: list[VectorRecord]) -> Iterator[Callable[[bool], Bench]]:
    first = open_index(False)
    first.prepare("me")
    assert len(first.put(records).sent) == COUNT

    def open_bench(exact: bool) -> Bench:
        index = open_index(exact)
        index.prepare("me")
        return Bench(store, lambda _: (index, index), DIMENSION)

    yield open_bench
    first.drop("me")


@pytest.mark.parametrize("name", FILTERS)
def test_an_exact_search_finds_what_comparing_all_finds(
    open_bench: Callable[[bool], Bench], expected: Callable[[str], list[Match]], name: str
) -> None:
    assert_same(open_bench(True).search(QUERIES[0], 10, FILTERS[name]), expected(name))


def test_an_exact_search_without_filters_finds_what_comparing_all_finds(
    open_bench: Callable[[bool], Bench],
) -> None:
    notes = open_bench(True)
    for query in QUERIES[:3]:
        assert_same(notes.search(query, 100), notes.exact(query, 100))


@pytest.mark.parametrize("open_bench", LINKED, indirect=True)
def test_a_search_by_default_finds_99_of_100_of_the_nearest(open_bench: Callable[[bool], Bench]) -> None:
    notes = open_bench(False)
    found = 0
    for query in QUERIES:
        nearest = {match.key for match in notes.exact(query, 10)}
        found += len(nearest & {match.key for match in notes.index.search(query, 10)})
    assert found >= 0.99 * 10 * len(QUERIES)
