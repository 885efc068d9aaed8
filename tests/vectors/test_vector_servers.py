"""Qdrant and Chroma that are busy, away, closed to us, damaged or another program."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.providers import VECTOR_INDEXES
from rag_core.vectors import VectorRecord
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.remote import Remote
from tests.support.standin import Asked, Refusal, StandIn, nobody, serving
from tests.vectors.relay import Relay
from tests.vectors.vector_bench import vectors
from tests.vectors.vector_services import Services

pytestmark = [pytest.mark.usefixtures("no_waiting_for_the_disk"), pytest.mark.thorough]

ME = "owner-1"
KEY = "sesame-opens"
QUERY = vectors(1, 16, seed=5)[0]
OPTIONS: dict[str, Any] = {
    "qdrant": QdrantOptions(backoff=0.01, api_key=KEY),
    "chroma": ChromaOptions(backoff=0.01),
}


def record() -> VectorRecord:
    return VectorRecord(str(uuid.uuid4()), vectors(1, 16)[0], "A text", {"path": "a.md"})


class Program(NamedTuple):
    """A kind of server: a stand-in, and the ends of the paths that searches and writes go to."""

    kind: str
    server: StandIn
    query: str
    write: str
    store: str

    def open(self, **changes: Any) -> Remote[Any]:
        return index_at(self.kind, self.store, url=self.server.url, **changes)


def index_at(kind: str, store: str = "notes", **changes: Any) -> Remote[Any]:
    options = replace(OPTIONS[kind], **changes)
    opener = VECTOR_INDEXES[kind].opener
    return opener(opener.address_of(store, "", options), 16, "cosine", options)


@pytest.fixture(params=["qdrant", "chroma"])
def program(request: pytest.FixtureRequest, services: Services) -> Iterator[Program]:
    unique = f"contract-{uuid.uuid4().hex[:12]}"
    if request.param == "qdrant":
        yield Program("qdrant", request.getfixturevalue("qdrant"), "/points/query", "/points", unique)
        return
    with serving(Relay(target=services.chroma.url)) as relay:
        made = Program("chroma", relay, "/query", "/upsert", unique)
        yield made
        relay.faults.clear()
        made.open().drop(ME)


@pytest.fixture
def prepared(program: Program) -> Remote[Any]:
    made = program.open()
    made.prepare(ME)
    return made


def test_a_busy_server_is_asked_again_until_it_has_time(program: Program, prepared: Remote[Any]) -> None:
    busy = [Refusal(429, {}), Refusal(503, "<html>"), Refusal(502, {}, Retry_After="0"), Refusal(0, "")]
    program.server.fail(program.query, *busy[:2])
    assert prepared.search(QUERY, 5) == []
    program.server.fail(program.write, *busy)
    assert len(prepared.put([record()]).sent) == 1


def test_a_server_asks_to_wait_and_is_given_the_time(
    program: Program, prepared: Remote[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    seconds = [Refusal(429, {}, Retry_After="3"), Refusal(429, {}, Retry_After="9999")]
    program.server.fail(program.query, *seconds)
    prepared.search(QUERY, 5)
    assert waits == [3, 20]
    program.server.fail(program.query, Refusal(429, {}, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"))
    assert prepared.search(QUERY, 5) == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_access_says_what_to_do(
    program: Program, prepared: Remote[Any], status: int
) -> None:
    program.server.fail("", Refusal(status, {"error": "AuthError", "message": f"The key {KEY} is wrong"}))
    program.server.asked.clear()
    with pytest.raises(VectorError, match=f"refuses access \\(status {status}\\)") as caught:
        program.open().prepare(ME)
    assert not isinstance(caught.value, VectorsUnreachable)
    assert caught.value.suggestion == VECTOR_INDEXES[program.kind].opener.service_type.access
    assert len(program.server.asked) == 1
    assert KEY not in str(caught.value)


def test_a_server_that_sends_us_elsewhere_is_not_followed(program: Program, prepared: Remote[Any]) -> None:
    with serving(StandIn()) as elsewhere:
        program.server.fail("", Refusal(307, "", Location=f"{elsewhere.url}/collections"))
        with pytest.raises(VectorError, match="redirects to another address"):
            program.open().prepare(ME)
    assert elsewhere.asked == []


def test_a_proxy_learns_nothing_of_what_stays_on_this_machine(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, nobody())
    index = program.open()
    index.prepare(ME)
    assert index.owner() == ME


class Other(StandIn):
    """A server that answers everything in one way."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        super().__init__()
        self._answer = answer

    def answer(self, asked: Asked) -> Any:
        return self._answer()


@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.parametrize("answer", ["<html>Welcome</html>", {}, {"result": None}, {"id": None}, [1], b"null"])
def test_a_server_of_another_program_is_named_as_such(kind: str, answer: Any) -> None:
    with serving(Other(lambda: answer)) as other:
        with pytest.raises(VectorError, match=r"is not (Qdrant|Chroma)") as caught:
            index_at(kind, url=other.url).prepare(ME)
        assert not isinstance(caught.value, VectorsUnreachable)


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_server_that_is_not_there_is_unreachable(kind: str) -> None:
    with pytest.raises(VectorsUnreachable, match="cannot be used: ConnectError") as caught:
        index_at(kind, url=nobody(), attempts=2).prepare(ME)
    assert "are sent with the next run" in caught.value.suggestion
