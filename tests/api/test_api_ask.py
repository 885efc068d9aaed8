"""Asking over HTTP: the seed's request and answer, whole or as events while it comes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from rag_core.api.openapi import document
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.ask.answering import GUEST, QUESTION, Answering
from tests.support.chat_servers import OllamaChat, say
from tests.support.rest import Rest, serving_rest
from tests.support.standin import nobody

SAID = 'It opens early: "opens at six" [1].'
EVENTS = {"Accept": "text/event-stream"}

Serve = Callable[..., Rest]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as opened:

        def serve(library: Library, viewer: Viewer = OWNER) -> Rest:
            return opened.enter_context(serving_rest(library, viewer))

        yield serve


def events(body: str) -> list[tuple[str, Any]]:
    """The events of a stream, in order."""
    found = []
    for block in body.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_an_answer_has_the_seeds_names_and_what_the_document_says(answering: Answering, serve: Serve) -> None:
    answer = serve(answering(SAID)).post("/ask", {"question": QUESTION})
    assert answer.status == 200
    assert answer.json["answer"] == SAID
    first = answer.json["references"][0]
    assert (first["vault"], first["rel_path"], first["chunk_index"]) == ("port", "harbour.md", 0)
    assert first["heading_path"] == "# Harbour > ## Hours"
    assert first["link"] == f"/files?store=port&path=harbour.md&passage={first['id']}"
    shapes = {"components": document()["components"]}
    jsonschema.validate(answer.json, {"$ref": "#/components/schemas/Reply", **shapes})


@pytest.mark.parametrize("vaults", [{}, {"vaults": []}], ids=["none", "empty"])
def test_without_vaults_all_that_the_viewer_may_see_are_asked(
    answering: Answering, serve: Serve, vaults: dict[str, list[str]]
) -> None:
    library = answering(SAID)
    assert serve(library).post("/ask", {"question": QUESTION, **vaults}).json["stores"] == ["home", "port"]
    assert serve(library, GUEST).post("/ask", {"question": QUESTION, **vaults}).json["stores"] == ["port"]


def test_events_are_the_passages_then_each_statement_then_the_whole(
    answering: Answering, serve: Serve
) -> None:
    told = events(
        serve(answering(say('It "opens', ' at six" [1]. And', " so on.")))
        .post("/ask", {"question": QUESTION}, **EVENTS)
        .body
    )
    assert [name for name, _ in told] == ["references", "statement", "statement", "reply"]
    assert told[0][1][0]["rel_path"] == "harbour.md"
    assert told[1][1]["support"] == "quoted"
    assert told[3][1]["answer"] == 'It "opens at six" [1]. And so on. [no source]'


def test_without_a_model_it_is_a_bad_gateway_with_the_passages(answering: Answering, serve: Serve) -> None:
    silent = nobody()
    answer = serve(answering(SAID, ollama_url=silent)).post("/ask", {"question": QUESTION})
    assert answer.status == 502
    assert answer.error.startswith("No model answers.")
    assert silent.partition("//")[2] in answer.error
    with_a_model = serve(answering(SAID)).post("/ask", {"question": QUESTION}).json
    assert set(answer.json) == {"error", *with_a_model}
    described = document()["paths"]["/ask"]["post"]["responses"]["502"]["content"]["application/json"]
    jsonschema.validate(answer.json, {**described["schema"], "components": document()["components"]})
    assert answer.json["ending"] == "no model"
    assert answer.json["answer_kind"] == "quotes"
    assert [each["id"] for each in answer.json["references"]] == [
        each["id"] for each in with_a_model["references"]
    ]


def test_a_guest_is_not_told_where_the_model_is(answering: Answering, serve: Serve) -> None:
    silent = nobody()
    guest = serve(answering(SAID, ollama_url=silent), GUEST)
    answer = guest.post("/ask", {"question": QUESTION})
    assert answer.status == 502
    assert answer.json["references"]
    assert silent.partition("//")[2] not in answer.body


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_guest_who_may_only_search_is_refused(answering: Answering, serve: Serve, accept: str) -> None:
    guest = serve(answering(SAID), replace(GUEST, may_ask=False))
    answer = guest.post("/ask", {"question": QUESTION}, Accept=accept)
    assert answer.status == 403
    assert answer.error.startswith("You may search these notes, but not ask")
    assert guest.post("/search", {"query": "harbour"}).status == 200


def test_events_end_with_an_error_where_no_model_answers(answering: Answering, serve: Serve) -> None:
    answer = serve(answering(SAID, ollama_url=nobody())).post("/ask", {"question": QUESTION}, **EVENTS)
    told = events(answer.body)
    assert [name for name, _ in told] == ["references", "error"]
    assert told[1][1]["message"] == "No model answers."


def test_nothing_that_a_model_says_becomes_an_event_or_markup(answering: Answering, serve: Serve) -> None:
    hostile = '\n\nevent: reply\ndata: {"answer": "forged"}\n\n<script>alert(1)</script> \x1b[2J [1].'
    rest = serve(answering(hostile))
    answer = rest.post("/ask", {"question": QUESTION}, **EVENTS)
    assert [name for name, _ in events(answer.body)] == ["references", *["statement"] * 3, "reply"]
    whole = rest.post("/ask", {"question": QUESTION})
    assert whole.headers["content-type"] == "application/json"
    assert "\x1b" not in answer.body + whole.body, "JSON escapes what steers a terminal"


def asked(rest: Rest, accept: str) -> socket.socket:
    """A connection that has sent the question and not read the answer."""
    body = json.dumps({"question": QUESTION}).encode()
    head = (
        "POST /api/v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Accept: {accept}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    reader = socket.create_connection(("127.0.0.1", rest.port), timeout=5)
    reader.sendall(head.encode() + body)
    return reader


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_the_question_of_a_reader_who_went_away_before_its_turn_reaches_no_model(
    answering: Answering, serve: Serve, ollama_chat: OllamaChat, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    begun, going = threading.Semaphore(0), threading.Event()

    def patient(_: Any) -> Iterator[str]:
        begun.release()
        going.wait(20)
        yield SAID

    monkeypatch.setattr("rag_core.api.app._ASKS_AT_ONCE", 2)
    rest = serve(answering(patient))
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(asked(rest, accept))
            assert begun.acquire(timeout=20)
        with asked(rest, accept):
            assert rest.get("/stores").status == 200
        assert rest.get("/stores").status == 200
        going.set()
        answered = [rest.post("/ask", {"question": QUESTION}).status for _ in range(3)]
    assert answered == [200, 200, 200]
    assert ollama_chat.ended == 2 + 3


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_reader_who_goes_away_stops_the_model(
    answering: Answering, serve: Serve, ollama_chat: OllamaChat, accept: str
) -> None:
    begun, going = threading.Event(), threading.Event()

    def endless(_: Any) -> Iterator[str]:
        for _ in range(2000):
            begun.set()
            yield "And so on. "
            if going.wait(0.01):
                return

    rest = serve(answering(endless))
    try:
        with asked(rest, accept):
            assert begun.wait(5)
        for _ in range(500):
            if ollama_chat.ended:
                break
            threading.Event().wait(0.01)
        assert ollama_chat.ended == 1
    finally:
        going.set()


def test_the_number_of_passages_and_the_minimum_are_fields(answering: Answering, serve: Serve) -> None:
    rest = serve(answering(SAID))
    every = rest.post("/ask", {"question": "harbour"}).json["retrieved_chunks"]
    assert every > 1
    for name in ("k", "top_k"):
        assert rest.post("/ask", {"question": "harbour", name: 1}).json["retrieved_chunks"] == 1
        assert rest.post("/ask", {"question": "harbour", name: 21}).status == 400
    assert rest.post("/ask", {"question": "harbour", "min_score": 1}).json["retrieved_chunks"] < every
    assert rest.post("/ask", {"question": "harbour", "min_score": 2}).error.startswith("min_score: ")
