"""Ollama as a connection: how it stands, which models it has, and fetching one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rag_core.errors import Cancelled, EmbedderError, ModelMissing
from rag_core.reports import Pulling
from rag_core.types import OWNER
from tests.support.connected import Make, connection
from tests.support.ollama_server import Model, OllamaServer
from tests.support.standin import Refusal, serving
from ui.frame.messages import sentence

# --- Ollama -----------------------------------------------------------------------------


def test_ollama_tells_its_version_and_the_models_that_can_embed(make: Make, ollama: OllamaServer) -> None:
    ollama.models["llama3.2:3b"] = Model("llama", 3072, 131_072, capabilities=("completion",))
    library = make(ollama_url=ollama.url)
    found = connection(library, "ollama")
    assert found.state == "ready"
    assert found.sentence == (
        f"Ollama 0.33.0 at {ollama.url} can embed with embeddinggemma (768 numbers, 2,048 tokens)."
    )
    assert (found.embedders, found.goes) == (("ollama:embeddinggemma",), "stays on this machine")
    library.models.try_embedder(OWNER, "ollama", "Good morning.")
    assert "loaded" in connection(library, "ollama").sentence


def test_ollama_that_lacks_the_model_of_a_store_is_not_set_up(make: Make, ollama: OllamaServer) -> None:
    library = make(ollama_url=ollama.url)
    library.create_store(OWNER, "s", "ollama")
    assert connection(library, "ollama").used_by == ("s",)
    ollama.models = {"bge-m3:latest": Model("bert", 1024, 8192)}
    found = connection(library, "ollama")
    assert (found.state, found.used_by) == ("not set up", ("s",))
    assert "lacks 'embeddinggemma', which a store needs" in found.sentence
    assert str(found.next_step) == "Run `commonplace connections pull embeddinggemma`."
    assert sentence(found.next_step) == "Download 'embeddinggemma' below."


@pytest.mark.parametrize(
    "answer", [Refusal(404, "no such page"), Refusal(200, ["a list"]), Refusal(200, "<b>")]
)
def test_something_else_that_answers_is_not_taken_for_ollama(
    make: Make, ollama: OllamaServer, answer: Refusal
) -> None:
    ollama.fail("/api/version", answer)
    found = connection(make(ollama_url=ollama.url), "ollama")
    assert found.state == "unreachable"
    assert "is not Ollama" in found.sentence


# --- fetching a model -------------------------------------------------------------------

LAYERS = ("sha256:aaa", "sha256:bbb")


@dataclass
class Fetching(OllamaServer):
    """Ollama that fetches a model in steps; it waits at half of the first part until ``go`` is set."""

    go: threading.Event = field(default_factory=threading.Event)
    error: str = ""
    endless: bool = False
    hung_up: threading.Event = field(default_factory=threading.Event)

    def _pull(self, body: dict[str, Any]) -> Any:
        return self._steps(body["model"])

    def _steps(self, name: str) -> Iterator[dict[str, Any]]:
        yield {"status": "pulling manifest"}
        if self.error:
            yield {"error": self.error}
            return
        first = {"status": "pulling aaa", "digest": LAYERS[0], "total": 2_000_000}
        yield {**first, "completed": 1_000_000}
        self.go.wait(20)
        try:
            for completed in range(1_000_000, 2_000_000, 1000):
                if not self.endless:
                    break
                yield {**first, "completed": completed}
                time.sleep(0.005)
        finally:
            self.hung_up.set()
        yield {**first, "completed": 2_000_000}
        yield {"status": "pulling bbb", "digest": LAYERS[1], "total": 1_000_000}
        yield {"status": "pulling bbb", "digest": LAYERS[1], "total": 1_000_000, "completed": 1_000_000}
        yield {"status": "verifying sha256 digest"}
        self.models[name if ":" in name else f"{name}:latest"] = Model("bert", 1024, 8192)
        yield {"status": "success"}


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fetching]:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(Fetching(models={})) as running:
        yield running
        running.go.set()


def test_a_model_is_fetched_with_its_bytes_counted_and_can_be_used(make: Make, fetching: Fetching) -> None:
    heard: list[Pulling] = []

    def report(now: Pulling) -> None:
        heard.append(now)
        if now.done:
            fetching.go.set()

    library = make(ollama_url=fetching.url)
    model = library.models.pull(OWNER, "ollama:bge-m3", report)
    assert (model.name, model.embeds, model.dimension) == ("bge-m3:latest", True, 1024)
    assert any((now.done, now.total) == (1_000_000, 2_000_000) for now in heard)
    assert any(now.said.startswith("1.0 MB of 2.0 MB") for now in heard)
    assert library.create_store(OWNER, "s", "ollama:bge-m3").dimension == 1024


def test_a_download_that_is_cancelled_ends_at_once_and_at_the_server(make: Make, fetching: Fetching) -> None:
    fetching.endless = True

    def report(now: Pulling) -> None:
        if now.done:
            raise Cancelled

    with pytest.raises(Cancelled):
        make(ollama_url=fetching.url).models.pull(OWNER, "x", report)
    fetching.go.set()
    assert fetching.hung_up.wait(10), "Ollama stops when nobody listens"
    assert fetching.models == {}


def test_a_model_that_ollama_does_not_know_is_named(make: Make, fetching: Fetching) -> None:
    fetching.error = "pull model manifest: file does not exist"
    with pytest.raises(ModelMissing, match="does not have the model 'nosuch'"):
        make(ollama_url=fetching.url).models.pull(OWNER, "nosuch")
    fetching.error = "write /x: no space left on device"
    with pytest.raises(EmbedderError, match="failed: 'write /x: no space left on device'"):
        make(ollama_url=fetching.url).models.pull(OWNER, "x")
