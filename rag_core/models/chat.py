"""Models that answer questions: their names and options, running requests, and streaming an answer. A model
gets no tools, and nothing in its output is executed."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rag_core.config.keys import OLLAMA_URL
from rag_core.config.options import setting
from rag_core.errors import InvalidInput
from rag_core.models.server import Failure, Server
from rag_core.providers import CHAT_MODELS, one_of, spellings

if TYPE_CHECKING:
    import httpx

_TRIES = 3
_LOOK_S = 0.05
_THINKS, _THOUGHT = "<think>", "</think>"

FinishReason = Literal["", "done", "too long", "stopped", "out of time"]
"""How a request ended: '' before its end and if the server closed the connection, *done*, or *too long* (in
tokens). With *stopped* and *out of time*, this program ended it."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """The owner's settings for models that answer."""

    ollama_url: str = setting("ollama_server", OLLAMA_URL)
    openai_url: str = setting("chat_base_url", "")
    openai_key: str = setting("chat_api_key", "", secret=True)
    temperature: float = setting("llm_temperature", 0.2)
    max_tokens: int = setting("llm_max_tokens", 1024)  #: Maximum number of tokens of an answer.
    context: int = setting("llm_context", 8192)  #: Maximum number of tokens read and written together.
    timeout_s: float = setting("llm_timeout_s", 300.0)  #: Maximum number of seconds for a whole answer.
    retry_s: float = 0.5  #: Seconds before the first retry on a busy server, doubled for each further retry.


class LLM(Protocol):
    """A model on a server that answers questions."""

    server: Server

    def chat(self, messages: Sequence[ChatMessage], call: Call) -> Iterator[str]:
        """Return the answer in non-empty pieces, and store in ``call`` how the request ended. Raises Failure
        if the server fails or cannot be reached."""


def parse_llm(name: str) -> tuple[str, str]:
    """Split a model's name into provider and model. Raises InvalidInput for an unknown provider or a name
    without a model."""
    provider, _, model = name.partition(":")
    if provider not in CHAT_MODELS or not model.strip():
        message = f"There is no model called {name[:80]!r}."
        raise InvalidInput(message, f"Use {one_of(spellings(CHAT_MODELS))}.")
    return provider, model


def server_of(name: str, options: LLMOptions) -> str:
    """Return the address of the server that receives text for the model ``name``. Raises InvalidInput for an
    unknown provider or a name without a model."""
    return str(getattr(options, CHAT_MODELS[parse_llm(name)[0]].server))


class Call:
    """A request in progress, which another thread can cut.

    Cutting shuts down the socket of the request. Nothing else ends a read from a silent model, and the server
    notices it and stops, too.
    """

    def __init__(self) -> None:
        self.outcome: FinishReason = ""
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    @property
    def cut_off(self) -> bool:
        """Whether this side ended the request, and not the server."""
        return self.outcome in ("stopped", "out of time")

    def end(self, outcome: FinishReason) -> None:
        """Store how the request ended, unless it was cut before."""
        with self._lock:
            self.outcome = self.outcome if self.cut_off else outcome

    def cut(self, outcome: Literal["stopped", "out of time"]) -> None:
        """End the request now, even while it waits for the server."""
        with self._lock:
            self.outcome = outcome
            self._shut()

    def _shut(self) -> None:
        for connected in self._sockets:
            with suppress(OSError):  # closed already, or replaced by one with TLS
                connected.shutdown(socket.SHUT_RDWR)

    def hook(self, request: httpx.Request) -> None:
        """Remember the socket of the request. Pass this method to httpx in ``event_hooks["request"]``."""

        def trace(event: str, info: dict[str, Any]) -> None:
            if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
                with self._lock:
                    self._sockets.append(info["return_value"].get_extra_info("socket"))
                    if self.cut_off:
                        self._shut()

        request.extensions["trace"] = trace

    @contextmanager
    def limited(self, seconds: float, stop: threading.Event) -> Iterator[None]:
        """Context manager: close the connection of the request made in the block when ``stop`` is set or
        ``seconds`` have passed. The block then sees the connection fail; `outcome` says why."""
        over, end = threading.Event(), time.monotonic() + seconds

        def watch() -> None:
            while not over.wait(_LOOK_S):
                if stop.is_set() or time.monotonic() > end:
                    self.cut("stopped" if stop.is_set() else "out of time")
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def stream_answer(
    llm: LLM, messages: Sequence[ChatMessage], options: LLMOptions, stop: threading.Event, call: Call
) -> Generator[str]:
    """Return the model's answer piece by piece, until it ends, ``stop`` is set or the time is up. ``call``
    stores which of these happened. A busy server is asked again. Raises LLMError if the server fails."""
    with call.limited(options.timeout_s, stop):
        for attempt in range(_TRIES):
            try:
                for piece in _spoken(llm.chat(messages, call)):
                    if call.cut_off:
                        return
                    yield piece
                if not call.outcome:
                    raise Failure("crashed", "it hung up")
                return
            except Failure as failure:
                if call.cut_off:
                    return
                if failure.kind != "busy" or attempt == _TRIES - 1:
                    raise llm.server.error(failure) from None
                stop.wait(failure.backoff_s(attempt, options.retry_s))


def _spoken(pieces: Iterator[str]) -> Iterator[str]:
    """Return the pieces without the model's leading thoughts between ``<think>`` and ``</think>``."""
    held = ""
    for piece in pieces:
        held += piece
        begun = held.lstrip()
        if not _THINKS.startswith(begun[: len(_THINKS)]):
            break
        if begun.startswith(_THINKS) and _THOUGHT in begun:
            held = held.partition(_THOUGHT)[2]
            break
    else:
        held = "" if held.lstrip().startswith(_THINKS) else held
    if held:
        yield held
    yield from pieces
