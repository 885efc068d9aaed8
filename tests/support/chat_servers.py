"""Models that answer as a script says, on the stand-ins for Ollama and for OpenAI's protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.ollama_server import Model, OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import Asked, Refusal, serving

Messages = list[dict[str, str]]
Script = Callable[[Messages], Iterable[Any]]
"""What a model says to these messages, piece by piece; what is no text is sent as it stands."""


def say(*pieces: Any) -> Script:
    """A model that always says this."""
    return lambda _: pieces


_SILENT = say()


def user_message(messages: Messages) -> str:
    """The passages and the question."""
    return messages[-1]["content"]


@dataclass
class OllamaChat(OllamaServer):
    """Ollama with a model that chats; ``reason`` is why it ends."""

    script: Script = _SILENT
    reason: str = "stop"
    ended: int = 0
    """How many streams are over, whoever ended them."""

    def __post_init__(self) -> None:
        self.models["talker:latest"] = Model("llama", 4096, 131072, capabilities=("completion",))

    def answer(self, asked: Asked) -> Any:
        if (asked.method, asked.path) != ("POST", "/api/chat"):
            return super().answer(asked)
        name = self._named(asked.body)
        if "completion" not in self.models[name].capabilities:
            raise Refusal(400, {"error": f'"{name}" does not support chat'})
        assert asked.body["stream"] is True
        assert not asked.body.get("tools")  # the package sends an empty list
        return self._lines(name, asked.body["messages"])

    def _lines(self, name: str, messages: Messages) -> Iterator[Any]:
        try:
            for piece in self.script(messages):
                if isinstance(piece, str):
                    piece = {"message": {"role": "assistant", "content": piece}}
                yield {"model": name, "created_at": "2026-01-02T03:04:05Z", "done": False, **piece}
            message = {"role": "assistant", "content": ""}
            yield {"model": name, "message": message, "done": True, "done_reason": self.reason}
        finally:
            self.ended += 1


class _Events:
    """A stream of server-sent events."""

    content_type = "text/event-stream"

    def __init__(self, events: Iterator[bytes]) -> None:
        self._events = events

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._events)


@dataclass
class OpenAIChat(OpenAIServer):
    """A server of OpenAI's protocol with a model that chats."""

    script: Script = _SILENT
    reason: str = "stop"
    ended: int = 0
    newer: bool = False
    """Whether it wants ``max_completion_tokens`` and no temperature."""
    models: dict[str, int] = field(default_factory=lambda: {"talker": 8})

    def answer(self, asked: Asked) -> Any:
        if asked.path != "/v1/chat/completions":
            return super().answer(asked)
        if self.key and asked.headers.get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, {"error": {"message": f"Incorrect API key: {asked.headers}"}})
        body = asked.body
        if body["model"] not in self.models:
            raise Refusal(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        if self.newer and "max_tokens" in body:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            raise Refusal(400, {"error": {"message": said}})
        assert not body.get("tools")
        return _Events(self._events(body["messages"]))

    def _events(self, messages: Messages) -> Iterator[bytes]:
        try:
            yield b": a comment, as proxies send them\n\n"
            yield _event({"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": None}]})
            for piece in self.script(messages):
                if isinstance(piece, str):
                    piece = {"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
                yield _event(piece)
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": self.reason}]})
            yield _event({"choices": [], "usage": {"total_tokens": 3}})
            yield b"data: [DONE]\n\n"
        finally:
            self.ended += 1


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@pytest.fixture
def ollama_chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaChat]:
    """The stand-in for Ollama with a model called talker; no other one is named by the environment."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(OllamaChat()) as running:
        yield running


@pytest.fixture
def openai_chat() -> Iterator[OpenAIChat]:
    """The stand-in for OpenAI's API with a model called talker."""
    with serving(OpenAIChat()) as running:
        yield running
