"""``commonplace connections``: what it prints and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.configured import configure
from tests.support.ollama_server import Model, OllamaServer
from tests.support.standin import Refusal, nobody

pytestmark = pytest.mark.usefixtures("no_servers")


@pytest.fixture
def here(home: Path, ollama: OllamaServer) -> OllamaServer:
    """The stand-in for Ollama, configured."""
    configure(home, f"ollama_url: {ollama.url}\n")
    return ollama


def test_what_no_store_uses_may_be_missing(run: Run) -> None:
    done = run("connections")
    assert done.status == 0
    assert (
        "note  Built-in model for English: not set up. The built-in model for English is not installed."
        in done.out
    )
    assert "NO    Ollama: unreachable." in done.out
    assert "      Text stays on this machine." in done.out
    assert "      Next: Start it (`ollama serve`)" in done.out


def test_what_a_store_uses_must_be_ready(run: Run, home: Path, here: OllamaServer) -> None:
    run("store", "create", "s", "--embedder", "ollama")
    ready = run("connections", "--json")
    assert (ready.status, ready.json["ready"]) == (0, True)
    configure(home, f"ollama_url: {nobody()}\n")
    away = run("connections")
    assert away.status == 1
    assert "used by s." in away.out


def test_the_models_of_ollama_are_listed(run: Run, here: OllamaServer) -> None:
    here.models["llama:3b"] = Model("llama", 3072, 131_072, capabilities=("completion",))
    rows = run("connections", "models").out.splitlines()
    assert [row.split()[0] for row in rows] == ["model", "embeddinggemma:latest", "llama:3b"]
    assert "768 numbers" in rows[1]
    as_json = run("connections", "models", "--json").json["models"]
    assert [each["dimension"] for each in as_json] == [768, None]
    here.models.clear()
    assert "connections pull embeddinggemma" in run("connections", "models").out
    here.models["\x1b[2Jx:latest"] = Model()
    assert "\x1b" not in run("connections").out + run("connections", "models").out
    assert "\x1b" not in run("connections", "--json").out


def test_a_model_is_fetched_or_the_error_is_two_sentences(run: Run, here: OllamaServer) -> None:
    done = run("connections", "pull", "bge-m3")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("Ollama has 'bge-m3' now. Use it as: --embedder ")
    assert "bge-m3:latest" in here.models
    assert run("connections", "pull", "bge-m3", "--json").json["name"] == "bge-m3:latest"
    here.fail("/api/pull", Refusal(500, {"error": "pull model manifest: file does not exist"}))
    done = run("connections", "pull", "nosuch")
    assert done.status == 1
    said = f"Ollama at {here.url} does not have the model 'nosuch'.\nLook it up at ollama.com/library.\n"
    assert done.err == f"Error: {said}"


def test_a_download_that_is_interrupted_says_how_to_go_on(
    run: Run, here: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rag_core.cli.screen.ProgressLine.say", interrupted)
    done = run("connections", "pull", "bge-m3")
    assert done.status == 130
    assert "run the same command to continue" in done.err


def test_a_sentence_is_tried(run: Run, here: OllamaServer) -> None:
    done = run("connections", "try", "The heron waits.", "--embedder", "ollama:embeddinggemma@256")
    assert done.status == 0
    assert "vector     256 numbers: " in done.out
    assert "text       stays on this machine" in done.out
    tried = run("connections", "try", "The heron waits.", "--embedder", "hashing", "--json").json
    assert (tried["dimension"], len(tried["beginning"])) == (256, 4)
