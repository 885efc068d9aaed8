"""What indexes that search by links find among many vectors: nearly all that comparing each of them finds.
Filters are tried in test_vector_contract and test_remote_search.

Qdrant in this process compares all of them itself: how good its links are, only a real server tells."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from rag_core.store import Store
from rag_core.vectors import RemoteIndex, VectorRecord
from rag_core.vectors.chroma import Chroma, ChromaOptions
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.qdrant import Qdrant, QdrantOptions
from tests.vectors.vector_bench import Bench, Note, bench_store, vault, vectors
from tests.vectors.vector_services import QDRANT_SWITCH, Services

pytestmark = pytest.mark.thorough

COUNT = 5000
DIMENSION = 64
QUERIES = vectors(20, DIMENSION, seed=99)  # random directions are harder to tell apart than texts


def qdrant(options: QdrantOptions) -> RemoteIndex:
    named = replace(options, collection=f"contract-{uuid.uuid4().hex[:12]}")
    return Qdrant(Qdrant.address_of("notes", "", named), DIMENSION, "cosine", named)


def chroma(options: ChromaOptions) -> RemoteIndex:
    address = Chroma.address_of(f"contract-{uuid.uuid4().hex[:12]}", "", options)
    return Chroma(address, DIMENSION, "cosine", options)


LINKED: dict[str, Callable[[Services], RemoteIndex]] = {
    "chroma_server": lambda services: chroma(services.chroma)
}
if QDRANT_SWITCH in os.environ:
    LINKED["qdrant_server"] = lambda services: qdrant(services.qdrant)


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


@pytest.fixture(scope="module", params=LINKED)
def bench(
    request: pytest.FixtureRequest, services: Services, store: Store, records: list[VectorRecord]
) -> Iterator[Bench]:
    """The index under trial with the notes in it."""
    request.getfixturevalue("no_waiting_for_the_disk")
    index = LINKED[request.param](services)
    index.prepare("me")
    assert len(index.put(records).sent) == COUNT
    yield Bench(store, lambda _: (index, index), DIMENSION)
    index.drop("me")


def test_a_search_by_links_finds_99_of_100_of_the_nearest(bench: Bench) -> None:
    found = 0
    for query in QUERIES:
        nearest = {match.key for match in bench.exact(query, 10)}
        found += len(nearest & {match.key for match in bench.index.search(query, 10)})
    assert found >= 0.99 * 10 * len(QUERIES)
