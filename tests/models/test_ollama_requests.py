"""The requests of the Ollama embedder: what is sent, what is made of errors, and how long it waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rag_core.errors import EmbedderError, InvalidInput, Unreachable
from rag_core.models import Embedder, remote
from rag_core.models.remote import MOST_TEXTS, TRIES, PriorityLock
from tests.models.embedder_servers import Open
from tests.support.ollama_server import BUSY, EOF, Model, OllamaServer
from tests.support.standin import Refusal


@pytest.fixture
def awake(ollama: OllamaServer, open_ollama: Open) -> Embedder:
    """An embedder whose model is in memory; its server was asked for nothing since."""
    embedder = open_ollama()
    embedder.embed_query("awake")
    ollama.asked.clear()
    return embedder


# --- what is sent -----------------------------------------------------------------------


def test_options_are_the_same_for_loading_passages_and_queries(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    embedder = open_ollama()
    embedder.embed_documents(["one", "two"])
    embedder.embed_query("three")
    bodies = ollama.bodies("/api/embed")
    assert bodies[0]["input"] == "", "the first brings the model into memory"
    assert len(bodies) == 3
    assert {repr(body["options"]) for body in bodies} == {"{'num_ctx': 2048, 'num_batch': 2048}"}
    assert {body["truncate"] for body in bodies} == {False}, "the server must not cut in silence"
    assert {body["keep_alive"] for body in bodies} == {1800}, "a number, as a text would need its unit"
    assert ollama.loads == 1


def test_a_smaller_dimension_is_asked_for_and_part_of_the_name(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    embedder = open_ollama("ollama:embeddinggemma@256")
    vectors = embedder.embed_documents(["one", "two"])
    assert vectors.shape == (2, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert {body["dimensions"] for body in ollama.bodies("/api/embed")} == {256}
    assert embedder.identity.dimension == 256
    whole = open_ollama().embed_documents(["one"])[0][:256]
    assert float(vectors[0] @ whole / np.linalg.norm(whole)) > 0.9999


@pytest.mark.parametrize("name", ["embeddinggemma@769", "embeddinggemma@8", "bge-m3@256"])
def test_a_dimension_that_the_model_cannot_give_is_refused(
    ollama: OllamaServer, open_ollama: Open, name: str
) -> None:
    ollama.models["bge-m3:latest"] = Model(dimension=1024)
    with pytest.raises(InvalidInput, match="cannot give vectors of"):
        open_ollama(f"ollama:{name}")


def test_one_request_at_a_time_however_many_threads_and_models(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    ollama.models["bge-m3:latest"] = Model(dimension=64)
    ollama.seconds_a_text = 0.002
    embedders = [open_ollama(), open_ollama("ollama:bge-m3")]
    ollama.most_at_once = 0
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: embedders[at % 2].embed_documents(["a", "b"]), range(16)))
        list(pool.map(lambda at: embedders[at % 2].embed_query(f"{at}"), range(16)))
    assert ollama.most_at_once == 1


def test_a_query_goes_before_passages_that_wait_longer() -> None:
    turns, order = PriorityLock(), []

    def take(what: str) -> None:
        with turns.hold(question=what == "query"):
            order.append(what)

    with turns.hold(question=False):
        waiting = []
        for what in ("passages", "query"):
            waiting.append(threading.Thread(target=take, args=(what,)))
            waiting[-1].start()
            _until(lambda: len(turns._changed._waiters) == len(waiting))  # type: ignore[attr-defined]
    for thread in waiting:
        thread.join()
    assert order == ["query", "passages"]


def _until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.001)


def test_requests_are_bounded_in_tokens_and_texts(ollama: OllamaServer, open_ollama: Open) -> None:
    embedder = open_ollama()
    long = "word " * 1500
    embedder.embed_documents([long] * 40 + ["short"] * 200)
    requests = [body["input"] for body in ollama.bodies("/api/embed")[1:]]
    assert sum(map(len, requests)) == 240
    assert max(map(len, requests)) <= MOST_TEXTS
    assert max(sum(len(text) > 1000 for text in texts) for texts in requests) <= 10


# --- too long, NaN, crashes -------------------------------------------------------------


def test_a_text_that_is_too_long_is_shortened_here_and_the_others_are_whole(
    ollama: OllamaServer, open_ollama: Open
) -> None:
    embedder = open_ollama()
    dense = "漢字" * 3000  # a token each, of which 2048 fit
    embedder.embed_documents(["one", dense, "two"])
    got = {text.removeprefix("title: none | text: ") for text in ollama.texts}
    assert {"one", "two"} <= got
    [kept] = got - {"one", "two"}
    assert dense.startswith(kept)
    assert 1500 < len(kept) < 2048


@pytest.mark.parametrize("old", [False, True])
def test_a_text_without_numbers_fails_its_request_without_being_repeated(
    ollama: OllamaServer, awake: Embedder, old: bool
) -> None:
    ollama.old_errors = old
    for texts in (["good", f"it is {ollama.nan}"], [f"it is {ollama.nan}"]):
        with pytest.raises(EmbedderError, match="NaN") as caught:
            awake.embed_documents(texts)
        assert type(caught.value) is EmbedderError
    assert len(ollama.asked) == 2


@pytest.mark.parametrize("old", [False, True])
def test_a_crash_of_many_texts_is_left_to_halves_and_of_one_tried_again(
    ollama: OllamaServer, awake: Embedder, old: bool
) -> None:
    ollama.old_errors = old
    with pytest.raises(EmbedderError, match="crashes") as caught:
        awake.embed_documents(["good", f"it {ollama.crash}s"])
    assert type(caught.value) is EmbedderError
    assert len(ollama.asked) == 1
    with pytest.raises(EmbedderError, match="crashes"):
        awake.embed_documents([f"it {ollama.crash}s"])
    assert len(ollama.asked) == 3
    ollama.fail("/api/embed", Refusal(400, {"error": EOF}))
    assert awake.embed_documents(["good"]).shape == (1, 768)


@pytest.mark.parametrize("vectors", [[[1.0] * 768], [[1.0] * 768, [1.0] * 3], [[0.0] * 768] * 2])
def test_vectors_that_are_not_what_was_asked_for_are_refused(
    ollama: OllamaServer, awake: Embedder, vectors: list[list[float]]
) -> None:
    ollama.fail("/api/embed", Refusal(200, {"model": "m", "embeddings": vectors}))
    with pytest.raises(EmbedderError, match="refuses: "):
        awake.embed_documents(["one", "two"])


# --- patience ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_or_stumbles_is_asked_again(
    ollama: OllamaServer, awake: Embedder, status: int
) -> None:
    ollama.fail("/api/embed", *[Refusal(status, {"error": BUSY})] * (TRIES - 1))
    assert awake.embed_documents(["one"]).shape == (1, 768)
    assert len(ollama.asked) == TRIES


def test_a_server_that_stays_busy_is_given_up(ollama: OllamaServer, awake: Embedder) -> None:
    ollama.max_queue = 0
    with pytest.raises(Unreachable, match="too busy"):
        awake.embed_documents(["one", "two"])
    assert len(ollama.asked) == TRIES


def test_a_query_does_not_wait_for_a_model_that_loads_and_loading_goes_on(
    ollama: OllamaServer, open_ollama: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    ollama.seconds_to_load = 0.3
    monkeypatch.setattr(remote, "QUESTION_PATIENCE_S", 0.05)
    embedder = open_ollama()
    with pytest.raises(Unreachable, match="still loading"):
        embedder.embed_query("soon")
    monkeypatch.setattr(remote, "QUESTION_PATIENCE_S", 5)
    assert embedder.embed_query("now").shape == (768,)
    assert ollama.loads == 1
