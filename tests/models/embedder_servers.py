"""The stand-ins for the servers of embedders, as fixtures: each runs for one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from rag_core.models import Embedder, EmbedderOptions, open_embedder
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import serving

Open = Callable[..., Embedder]


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    """The stand-in for Ollama; no other one is named by the environment."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(OllamaServer()) as running:
        yield running


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    """The stand-in for OpenAI's API."""
    with serving(OpenAIServer()) as running:
        yield running


@pytest.fixture
def open_ollama(ollama: OllamaServer) -> Open:
    """Open an embedder at the stand-in for Ollama that does not wait between tries."""

    def opened(name: str = "ollama", **options: object) -> Embedder:
        given = EmbedderOptions(ollama_url=ollama.url, retry_s=0, **options)  # type: ignore[arg-type]
        return open_embedder(name, given)

    return opened
