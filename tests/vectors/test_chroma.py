"""The vector index in Chroma: what it creates, sends, refuses and survives.

Most is tried with Chroma's own server, behind a relay that remembers and fails; see ``vector_services``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_core.errors import VectorError
from rag_core.types import Filters, Metric
from rag_core.vectors import VectorRecord
from rag_core.vectors.chroma import METADATA_KEYS, Chroma, ChromaOptions
from rag_core.vectors.payload import MAY_BE_UNFILTERED, metadata
from tests.support.standin import StandIn, serving
from tests.vectors.relay import Relay
from tests.vectors.vector_bench import vectors
from tests.vectors.vector_services import Services

pytestmark = pytest.mark.thorough

ME = "owner-1"
QUERY = vectors(1, 16, seed=5)[0]


@pytest.fixture
def server(services: Services) -> Iterator[Relay]:
    with serving(Relay(target=services.chroma.url)) as relay:
        yield relay


def options(server: StandIn, **changes: Any) -> ChromaOptions:
    return replace(ChromaOptions(url=server.url, backoff=0.01), **changes)


@pytest.fixture
def address(server: Relay) -> str:
    """A collection that no other test has."""
    return Chroma.address_of(f"contract-{uuid.uuid4().hex[:12]}", "", options(server))


def unprepared(options: ChromaOptions, address: str = "", metric: Metric = "cosine") -> Chroma:
    return Chroma(address or Chroma.address_of("notes", "", options), 16, metric, options)


@pytest.fixture
def index(server: Relay, address: str) -> Iterator[Chroma]:
    index = unprepared(options(server), address)
    index.prepare(ME)
    yield index
    server.faults.clear()
    index.drop(ME)


def record(key: str = "k", **changes: Any) -> VectorRecord:
    return replace(VectorRecord(key, vectors(1, 16)[0], "A text", {"path": "a.md"}), **changes)


def sent(server: Relay, what: str) -> list[Any]:
    """The bodies of requests to a path that ends with ``what``."""
    return [asked.body for asked in server.asked if asked.path.endswith(what)]


# --- create or adopt --------------------------------------------------------------------


def test_a_collection_is_created_with_its_shape_and_no_embedder(server: Relay, index: Chroma) -> None:
    [made] = [body for body in sent(server, "/collections") if body]
    assert made["name"] == index._collection
    assert made["configuration"]["hnsw"] == {
        "space": "cosine",
        "ef_search": 400,
        "ef_construction": 200,
        "max_neighbors": 32,
    }
    assert made["configuration"]["embedding_function"] == {"type": "legacy"}  # its word for none
    assert index.owner() == ME


def test_a_collection_that_another_program_made_is_not_taken_for_ours(
    services: Services, server: Relay, address: str
) -> None:
    import chromadb
    from chromadb.config import Settings

    _, host, port = services.chroma.url.replace("/", "").split(":")
    theirs = chromadb.HttpClient(host, int(port), settings=Settings(anonymized_telemetry=False))
    made = theirs.create_collection(
        address.rpartition("/")[2], embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    made.add(ids=["1"], embeddings=np.ones((1, 16), np.float32))
    index = unprepared(options(server), address)
    with pytest.raises(VectorError, match="belongs to somebody else"):
        index.prepare(ME)
    index.prepare(ME, take_over=True)
    assert index.owner() == ME
    index.drop(ME)
    theirs._server._session.close()  # type: ignore[attr-defined]


# --- what is sent -----------------------------------------------------------------------


def test_every_key_that_metadata_may_have_or_leave_out_is_known() -> None:
    dated, undated = (
        metadata(
            "a/b.md",
            file_type="markdown",
            folded_tags=("a",),
            date=date,
            private=True,
            anchor_type="page",
            anchor_ref="1",
        )
        for date in ("2026-01-01", "some day")
    )
    assert dated.keys() | undated.keys() == {*METADATA_KEYS}
    assert undated["unfiltered"] == (*MAY_BE_UNFILTERED,)


# --- searching --------------------------------------------------------------------------


def test_filters_are_sent_as_the_server_takes_them(server: Relay, index: Chroma) -> None:
    index.search(QUERY, 5, Filters(types=("md", "py"), tags=("a", "b"), after="2026-01-02"))
    index.search(QUERY, 5)
    first, second = sent(server, "/query")
    assert first["where"] == {
        "$and": [
            {"$or": [{"date": {"$gte": 20260102}}, {"unfiltered": {"$contains": "date"}}]},
            {"file_type": {"$in": ["markdown", "python"]}},
            {"$or": [{"tags": {"$contains": "a"}}, {"tags": {"$contains": "b"}}]},
        ]
    }
    assert second["where"] is None


# --- what it does not do ----------------------------------------------------------------

QUIETLY = """
import socket, sys
from pathlib import Path

def no_network(*_: object) -> None:
    raise AssertionError("it went to the network")

socket.socket.connect = socket.getaddrinfo = no_network

from rag_core.vectors.chroma import Chroma, ChromaOptions
from tests.vectors.vector_bench import vault

index = Chroma("chroma:///notes", 16, "cosine", ChromaOptions(path=Path(sys.argv[1])))
index.prepare("me")
notes = vault(10, 16)
index.put(note.record for note in notes)
assert len(index.search(notes[0].vector, 5)) == 5
assert len([*index.records()]) == 10
from chromadb.telemetry.product import ProductTelemetryClient
system = index.service.opened().engine._system
assert system.settings.anonymized_telemetry is False
"""


def test_it_reaches_for_nothing_but_its_folder(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    env = {**os.environ, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(Path(__file__).parents[2])}
    env["ANONYMIZED_TELEMETRY"] = "true"
    run = [sys.executable, "-W", "error::ResourceWarning", "-c", QUIETLY, str(tmp_path / "chroma")]
    done = subprocess.run(run, env=env, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    assert [*(tmp_path / "home").iterdir()] == []
