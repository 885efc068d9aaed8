"""What only the Ollama embedder must do, against a stand-in that is as strict as the real server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import ollama
import pytest

from rag_core.embedders import Embedder, EmbedderOptions, open_embedder, remote
from rag_core.embedders.options import Prompts
from rag_core.embedders.remote import MOST_TEXTS, TRIES
from rag_core.embedders.turns import Turns, turns_at
from rag_core.errors import EmbedderError, InvalidInput, ModelMissing, Unreachable
from tests.ollama_server import BUSY, EOF, Model, OllamaServer
from tests.standin import Refusal, nobody, serving

Open = Callable[..., Embedder]


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with serving(OllamaServer()) as running:
        yield running


@pytest.fixture
def opened(server: OllamaServer) -> Open:
    """Open an embedder at the stand-in that does not wait between tries."""

    def opened(name: str = "ollama", **options: object) -> Embedder:
        given = EmbedderOptions(ollama_url=server.url, retry_s=0, **options)  # type: ignore[arg-type]
        return open_embedder(name, given)

    return opened


# --- the model --------------------------------------------------------------------------


def test_dimension_digest_and_length_are_what_the_server_says(server: OllamaServer, opened: Open) -> None:
    server.models["my-model:v2"] = Model("bert", dimension=512, context=1024)
    embedder = opened("ollama:my-model:v2")
    assert embedder.identity.dimension == 512
    assert embedder.identity.digest == server.models["my-model:v2"].digest
    assert 1000 < embedder.max_tokens < 1024
    assert embedder.server == server.url


def test_a_model_that_can_read_more_is_asked_for_no_more_than_passages_need(
    server: OllamaServer, opened: Open
) -> None:
    server.models["bge-m3:latest"] = Model("bert", dimension=1024, context=8192)
    assert 2000 < opened("ollama:bge-m3").max_tokens < 2048
    assert 4000 < opened("ollama:bge-m3", context=4096).max_tokens < 4096
    server.models["all-minilm:latest"] = Model("bert", dimension=384, context=512)
    assert opened("ollama:all-minilm").max_tokens < 256, "it learnt no longer texts, whatever its file says"


def test_another_version_of_a_model_is_another_identity(server: OllamaServer, opened: Open) -> None:
    before = opened().identity
    assert before == opened("ollama:embeddinggemma:latest").identity
    server.models["embeddinggemma:latest"].version = "2"
    assert opened().identity != before


def test_a_missing_model_names_the_command_that_gets_it(opened: Open) -> None:
    with pytest.raises(ModelMissing, match="does not have the model 'bge-m3'") as caught:
        opened("ollama:bge-m3")
    assert "`ollama pull bge-m3`" in caught.value.suggestion


def test_a_server_that_is_not_there_is_said_to_be_so(server: OllamaServer) -> None:
    url = nobody()
    with pytest.raises(Unreachable, match=f"Ollama at {url} does not answer") as caught:
        open_embedder("ollama", EmbedderOptions(ollama_url=url))
    assert "`ollama_url`" in caught.value.suggestion


@pytest.mark.parametrize("answer", [["a list"], "<html>", {"models": 3}])
def test_something_that_is_not_ollama_is_said_to_be_so(
    server: OllamaServer, opened: Open, answer: object
) -> None:
    server.fail("/api/show", Refusal(200, answer))
    server.fail("/api/tags", Refusal(200, answer))
    with pytest.raises(EmbedderError, match="Ollama"):
        opened()


def test_text_never_follows_a_redirect(server: OllamaServer, opened: Open) -> None:
    embedder = opened()
    with serving(OllamaServer()) as elsewhere:
        server.fail("/api/embed", *[Refusal(307, "", Location=f"{elsewhere.url}/api/embed")] * 9)
        with pytest.raises(Unreachable, match="refuses access"):
            embedder.embed_query("my secret")
        assert elsewhere.asked == []


# --- prompts ----------------------------------------------------------------------------

PROMPTS = {
    "embeddinggemma": ("task: search result | query: ", "title: none | text: "),
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "nomic-embed-text-v2-moe": ("search_query: ", "search_document: "),
    "mxbai-embed-large": ("Represent this sentence for searching relevant passages: ", ""),
    "bge-m3": ("", ""),
    "bge-large": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed:33m": ("Represent this sentence for searching relevant passages: ", ""),
    "snowflake-arctic-embed2": ("query: ", ""),
    "all-minilm": ("", ""),
    "paraphrase-multilingual": ("", ""),
    "granite-embedding:278m": ("", ""),
    "hf.co/someone/multilingual-e5-large-GGUF:Q8_0": ("query: ", "passage: "),
    "hf.co/ggml-org/embeddinggemma-300M-GGUF": ("task: search result | query: ", "title: none | text: "),
    "hf.co/someone/bge-large-zh-v1.5": ("", ""),
    "unheard-of": ("", ""),
}


@pytest.mark.parametrize("model", PROMPTS)
def test_a_model_gets_the_prompts_that_it_learnt(server: OllamaServer, opened: Open, model: str) -> None:
    server.models[model if ":" in model else f"{model}:latest"] = Model(dimension=64)
    query, document = PROMPTS[model]
    embedder = opened(f"ollama:{model}")
    embedder.embed_query("why?")
    embedder.embed_documents(["Because."])
    assert server.texts == [f"{query}why?", f"{document}Because."]


def test_qwen_gets_its_task_and_no_space_before_the_query(server: OllamaServer, opened: Open) -> None:
    server.models["qwen3-embedding:0.6b"] = Model(dimension=64)
    opened("ollama:qwen3-embedding:0.6b").embed_query("why?")
    assert server.texts[0].startswith("Instruct: ")
    assert server.texts[0].endswith("\nQuery:why?")


def test_configured_prompts_stand_in_place_of_the_models_own(server: OllamaServer, opened: Open) -> None:
    mine = (("ollama", Prompts("q: ", "d: ")), ("ollama:other", Prompts("x", "y")))
    embedder = opened("ollama:embeddinggemma@256", prompts=mine)
    embedder.embed_query("why?")
    embedder.embed_documents(["Because."])
    assert server.texts == ["q: why?", "d: Because."]


def test_what_is_put_before_passages_is_part_of_the_identity_and_before_queries_is_not(opened: Open) -> None:
    def identity(query: str, document: str) -> object:
        return opened(prompts=(("ollama", Prompts(query, document)),)).identity

    assert identity("a", "x") == identity("b", "x") != identity("a", "y")
    assert opened().identity != identity("", "")


def test_a_model_of_latin_script_says_what_it_cannot_read(server: OllamaServer, opened: Open) -> None:
    server.models |= {f"{name}:latest": Model(dimension=64) for name in ("nomic-embed-text", "bge-m3")}
    assert not opened("ollama:nomic-embed-text").reads("機械学習は面白い")
    assert opened("ollama:nomic-embed-text").reads("plain words")
    assert opened("ollama:bge-m3").reads("機械学習は面白い")
    assert opened().reads("機械学習は面白い")


# --- what is sent -----------------------------------------------------------------------


def test_options_are_the_same_for_loading_passages_and_queries(server: OllamaServer, opened: Open) -> None:
    embedder = opened()
    embedder.embed_documents(["one", "two"])
    embedder.embed_query("three")
    bodies = server.bodies("/api/embed")
    assert bodies[0]["input"] == "", "the first brings the model into memory"
    assert len(bodies) == 3
    assert {repr(body["options"]) for body in bodies} == {"{'num_ctx': 2048, 'num_batch': 2048}"}
    assert {body["truncate"] for body in bodies} == {False}, "the server must not cut in silence"
    assert {body["keep_alive"] for body in bodies} == {1800}, "a number, as a text would need its unit"
    assert server.loads == 1


def test_a_smaller_dimension_is_asked_for_and_part_of_the_name(server: OllamaServer, opened: Open) -> None:
    embedder = opened("ollama:embeddinggemma@256")
    vectors = embedder.embed_documents(["one", "two"])
    assert vectors.shape == (2, 256)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert {body["dimensions"] for body in server.bodies("/api/embed")} == {256}
    assert embedder.identity.dimension == 256
    whole = opened().embed_documents(["one"])[0][:256]
    assert float(vectors[0] @ whole / np.linalg.norm(whole)) > 0.9999


def test_a_server_too_old_for_dimensions_gives_vectors_that_are_cut_here(
    server: OllamaServer, opened: Open
) -> None:
    embedder = opened("ollama:embeddinggemma@128")
    embedder.embed_query("awake")
    server.fail("/api/embed", Refusal(200, {"model": "m", "embeddings": [[3.0] + [4.0] * 767]}))
    vector = embedder.embed_query("x")
    assert vector.shape == (128,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", ["embeddinggemma@769", "embeddinggemma@8", "bge-m3@256"])
def test_a_dimension_that_the_model_cannot_give_is_refused(
    server: OllamaServer, opened: Open, name: str
) -> None:
    server.models["bge-m3:latest"] = Model(dimension=1024)
    with pytest.raises(InvalidInput, match="cannot give vectors of"):
        opened(f"ollama:{name}")


def test_one_request_at_a_time_however_many_threads_and_models(server: OllamaServer, opened: Open) -> None:
    server.models["bge-m3:latest"] = Model(dimension=64)
    server.seconds_a_text = 0.002
    embedders = [opened(), opened("ollama:bge-m3")]
    server.most_at_once = 0
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: embedders[at % 2].embed_documents(["a", "b"]), range(16)))
        list(pool.map(lambda at: embedders[at % 2].embed_query(f"{at}"), range(16)))
    assert server.most_at_once == 1


def test_a_query_goes_before_passages_that_wait_longer() -> None:
    turns, order = Turns(), []

    def take(what: str) -> None:
        with turns.take(question=what == "query"):
            order.append(what)

    with turns.take(question=False):
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


def test_a_query_waits_for_one_request_of_a_long_work_and_not_for_all(
    server: OllamaServer, opened: Open
) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    server.seconds_a_text = 0.005
    documents = threading.Thread(target=embedder.embed_documents, args=([f"d{n}" for n in range(130)],))
    documents.start()
    _until(lambda: len(server.texts) > 10)
    embedder.embed_query("now")
    documents.join()
    at = next(at for at, text in enumerate(server.texts) if text.endswith("query: now"))
    assert at <= 1 + MOST_TEXTS


def test_a_query_does_not_wait_for_ever_for_its_turn(
    server: OllamaServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    monkeypatch.setattr(remote, "QUESTION_PATIENCE_S", 0.01)
    with turns_at(server.url).take(question=False), pytest.raises(Unreachable, match="at work on documents"):
        embedder.embed_query("now")
    assert embedder.embed_query("now").shape == (768,)


def test_requests_are_bounded_in_tokens_and_texts(server: OllamaServer, opened: Open) -> None:
    embedder = opened()
    long = "word " * 1500
    embedder.embed_documents([long] * 40 + ["short"] * 200)
    requests = [body["input"] for body in server.bodies("/api/embed")[1:]]
    assert sum(map(len, requests)) == 240
    assert max(map(len, requests)) <= MOST_TEXTS
    assert max(sum(len(text) > 1000 for text in texts) for texts in requests) <= 10


def test_a_slow_server_gets_smaller_requests(
    server: OllamaServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_REQUEST_S", 0.001)
    opened().embed_documents(["word " * 200] * 60)
    sizes = [len(body["input"]) for body in server.bodies("/api/embed")[1:]]
    assert sizes[0] > 10
    assert max(sizes[1:]) < 6


# --- too long, NaN, crashes -------------------------------------------------------------


def test_a_text_that_is_too_long_is_shortened_here_and_the_others_are_whole(
    server: OllamaServer, opened: Open
) -> None:
    embedder = opened()
    dense = "漢字" * 3000  # a token each, of which 2048 fit
    embedder.embed_documents(["one", dense, "two"])
    got = {text.removeprefix("title: none | text: ") for text in server.texts}
    assert {"one", "two"} <= got
    [kept] = got - {"one", "two"}
    assert dense.startswith(kept)
    assert 1500 < len(kept) < 2048


@pytest.mark.parametrize("old", [False, True])
def test_a_text_without_numbers_fails_its_request_without_being_repeated(
    server: OllamaServer, opened: Open, old: bool
) -> None:
    server.old_errors = old
    embedder = opened()
    embedder.embed_query("awake")
    server.asked.clear()
    for texts in (["good", f"it is {server.nan}"], [f"it is {server.nan}"]):
        with pytest.raises(EmbedderError, match="NaN") as caught:
            embedder.embed_documents(texts)
        assert type(caught.value) is EmbedderError
    assert len(server.asked) == 2


@pytest.mark.parametrize("old", [False, True])
def test_a_crash_of_many_texts_is_left_to_halves_and_of_one_tried_again(
    server: OllamaServer, opened: Open, old: bool
) -> None:
    server.old_errors = old
    embedder = opened()
    embedder.embed_query("awake")
    server.asked.clear()
    with pytest.raises(EmbedderError, match="crashes") as caught:
        embedder.embed_documents(["good", f"it {server.crash}s"])
    assert type(caught.value) is EmbedderError
    assert len(server.asked) == 1
    with pytest.raises(EmbedderError, match="crashes"):
        embedder.embed_documents([f"it {server.crash}s"])
    assert len(server.asked) == 3
    server.fail("/api/embed", Refusal(400, {"error": EOF}))
    assert embedder.embed_documents(["good"]).shape == (1, 768)


def test_a_build_that_crashes_on_long_texts_gets_a_shorter_one(server: OllamaServer, opened: Open) -> None:
    server.crashes_beyond = 600
    embedder = opened()
    assert embedder.embed_documents(["four " * 1000]).shape == (1, 768)
    assert len(server.texts[-1]) < 2100


def test_a_connection_that_breaks_may_be_one_text(server: OllamaServer, opened: Open) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    server.fail("/api/embed", Refusal(0, ""))
    with pytest.raises(EmbedderError, match="crashes"):
        embedder.embed_documents(["one", "two"])
    server.fail("/api/embed", Refusal(0, ""))
    assert embedder.embed_documents(["one"]).shape == (1, 768)


@pytest.mark.parametrize("vectors", [[[1.0] * 768], [[1.0] * 768, [1.0] * 3], [[0.0] * 768] * 2])
def test_vectors_that_are_not_what_was_asked_for_are_refused(
    server: OllamaServer, opened: Open, vectors: list[list[float]]
) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    server.fail("/api/embed", Refusal(200, {"model": "m", "embeddings": vectors}))
    with pytest.raises(EmbedderError, match="refuses: "):
        embedder.embed_documents(["one", "two"])


# --- patience ---------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_is_busy_or_stumbles_is_asked_again(
    server: OllamaServer, opened: Open, status: int
) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    server.asked.clear()
    server.fail("/api/embed", *[Refusal(status, {"error": BUSY})] * (TRIES - 1))
    assert embedder.embed_documents(["one"]).shape == (1, 768)
    assert len(server.asked) == TRIES


def test_a_server_that_stays_busy_is_given_up(server: OllamaServer, opened: Open) -> None:
    embedder = opened()
    embedder.embed_query("awake")
    server.asked.clear()
    server.max_queue = 0
    with pytest.raises(Unreachable, match="too busy"):
        embedder.embed_documents(["one", "two"])
    assert len(server.asked) == TRIES


def test_waiting_grows_from_try_to_try(
    server: OllamaServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    embedder = open_embedder("ollama", EmbedderOptions(ollama_url=server.url, retry_s=0.5))
    embedder.embed_query("awake")
    monkeypatch.setattr(remote, "_sleep", waits.append)
    server.fail("/api/embed", *[Refusal(503, {"error": BUSY})] * (TRIES - 1))
    embedder.embed_documents(["one"])
    assert waits == [0.5, 1.0, 2.0]


def test_a_query_does_not_wait_for_a_model_that_loads_and_loading_goes_on(
    server: OllamaServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.seconds_to_load = 0.3
    monkeypatch.setattr(remote, "QUESTION_PATIENCE_S", 0.05)
    embedder = opened()
    with pytest.raises(Unreachable, match="still loading"):
        embedder.embed_query("soon")
    monkeypatch.setattr(remote, "QUESTION_PATIENCE_S", 5)
    assert embedder.embed_query("now").shape == (768,)
    assert server.loads == 1


def test_passages_wait_for_a_model_that_loads(server: OllamaServer, opened: Open) -> None:
    server.seconds_to_load = 0.2
    assert opened().embed_documents(["one"]).shape == (1, 768)
    assert server.loads == 1


def test_an_answer_that_does_not_come_in_time_may_be_one_text(server: OllamaServer, opened: Open) -> None:
    embedder = opened(timeout_s=0.1)
    embedder.embed_query("awake")
    server.seconds_a_text = 0.2
    with pytest.raises(EmbedderError, match="did not answer in time") as caught:
        embedder.embed_documents(["one", "two"])
    assert "`embedding_timeout_s`" in caught.value.suggestion
    assert type(caught.value) is EmbedderError


# --- addresses and packages ---------------------------------------------------------------


def test_a_proxy_is_for_other_machines_only(server: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in is also the proxy: it is sent what is meant for a host that does not exist."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nobody())
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert open_embedder("ollama", EmbedderOptions(ollama_url=server.url)).identity.dimension == 768
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, server.url)
    far = open_embedder("ollama", EmbedderOptions(ollama_url="http://home.invalid:11434"))
    assert far.embed_query("hello").shape == (768,)
    assert server.asked[-1].headers["host"] == "home.invalid:11434"
    with pytest.raises(ModelMissing) as caught:
        open_embedder("ollama:x", EmbedderOptions(ollama_url="http://home.invalid:11434"))
    assert caught.value.suggestion == "Run `ollama pull x` on home.invalid."


def test_a_host_that_the_package_cannot_read_is_named(server: OllamaServer) -> None:
    code = (
        "from rag_core.embedders import open_embedder, EmbedderOptions\n"
        "from rag_core.errors import EmbedderError\n"
        "try: open_embedder('ollama', EmbedderOptions())\n"
        "except EmbedderError as error: print(error)\n"
    )
    environment = {**os.environ, "OLLAMA_HOST": "::1", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert "OLLAMA_HOST, which is '::1'" in done.stdout


def test_opening_other_embedders_does_not_need_the_package() -> None:
    code = "import sys, rag_core.library; print('ollama' in sys.modules, 'httpx' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


# --- the stand-in itself ------------------------------------------------------------------


def test_the_stand_in_refuses_what_the_real_server_refuses(server: OllamaServer) -> None:
    client = ollama.Client(server.url, trust_env=False)
    weakref.finalize(client, client.close)
    with pytest.raises(ollama.ResponseError, match="missing unit in duration"):
        client.embed("embeddinggemma", "x", keep_alive="-1")
    with pytest.raises(ollama.ResponseError, match="not found"):
        client.embed("other", "x")
    with pytest.raises(ollama.ResponseError, match="exceeds the context length"):
        client.embed("embeddinggemma", "x " * 3000, truncate=False)
    cut = client.embed("embeddinggemma", "x " * 3000)
    assert cut.prompt_eval_count == 2048
    assert client.embed("embeddinggemma", "").embeddings == []
    assert len(client.embed("embeddinggemma", ["", "x"]).embeddings) == 2
    steps = [step.status for step in client.pull("bge-m3", stream=True)]
    assert steps[0] == "pulling manifest"
    assert steps[-1] == "success"
    assert "bge-m3:latest" in server.models
    assert [model.model for model in client.ps().models] == ["embeddinggemma:latest"]
