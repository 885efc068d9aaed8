"""Servers with OpenAI's protocol (llama.cpp, LM Studio, vLLM, hosted services): embedding, chat, a live
check. The protocol tells neither the dimension nor the context length of a model."""

from __future__ import annotations

import json
import math
import re
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_core.errors import InvalidInput
from rag_core.models.chat import Call, ChatMessage, LLMOptions
from rag_core.models.check import Found, Need, printable, written
from rag_core.models.embedder import PROBE, EmbedderName, EmbedderOptions, dimension_error
from rag_core.models.families import family_of
from rag_core.models.remote import RemoteEmbedder
from rag_core.models.server import (
    QUESTION_S,
    Failure,
    Server,
    http_client,
    http_failures,
    probe,
    quoted,
    retry_after_s,
)
from rag_core.wording import some

if TYPE_CHECKING:
    import httpx

_CONTEXT = 512  # tokens; llama.cpp accepts no more unless configured
_NEWER_LIMIT = "max_completion_tokens"
_TOO_LONG = re.compile(
    r"too (long|large)|context (length|size|window)|maximum (context|input)|max_?(model_?|seq_?)?len"
    r"|physical batch|token limit|exceeds? "
)


def server_at(url: str, setting: str, model: str = "") -> Server:
    """Return the server at ``url``, which is the value of ``setting``: embedding_base_url or
    chat_base_url."""
    answers = setting == "chat_base_url"
    start, fetch = f"Start it, or set `{setting}` to where it is.", f"Check the model's name and `{setting}`."
    allow = f"Set COMMONPLACE_{'CHAT' if answers else 'EMBEDDING'}_API_KEY, best in .env."
    base = url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1"
    return Server("The server", base, start, allow, model, fetch, answers)


def failure_of(answer: httpx.Response, key: str, sent: Sequence[str]) -> Failure:
    """Turn an error response into a Failure. It quotes neither the ``key`` nor the texts that were
    ``sent``."""
    status, message = answer.status_code, _said_by(answer)
    if status == 404:
        return Failure("no model")
    failure = Failure.of(status, message, key, sent=sent, wait_s=retry_after_s(answer.headers))
    if failure.kind not in ("failed", "refused"):
        return failure
    too_long = status == 413 or _TOO_LONG.search(message.lower())
    return Failure("too long" if too_long else failure.kind, f"status {status}, {failure.reason}")


def _said_by(answer: httpx.Response) -> str:
    """Return the message of an error response. Each server wraps it differently."""
    try:
        value = answer.json()
    except ValueError:
        return answer.text
    for name in ("error", "message", "detail"):
        if isinstance(value, dict) and name in value:
            value = value[name]
    return str(value)


def open_openai(name: EmbedderName, options: EmbedderOptions) -> RemoteEmbedder:
    """Open the embedder ``openai:MODEL``, embedding one text to learn its dimension. Raises InvalidInput
    without an address, Unreachable if nothing answers or the key is refused, ModelMissing if the server lacks
    the model, or another EmbedderError."""
    if not options.openai_url:
        message = f"The embedder {str(name)!r} needs the address of its server."
        raise InvalidInput(message, "Set `embedding_base_url`, such as http://127.0.0.1:1234/v1.")
    backend = _Embedding(name, options)
    with backend.server.explained():
        dimension = len(backend.embed([PROBE], question=False)[0])
    if name.dimension and dimension < name.dimension:
        raise dimension_error(name.model, name.dimension, dimension)
    family = family_of(name.model)
    context = options.context or min(family.max_tokens or _CONTEXT, _CONTEXT)
    return RemoteEmbedder(backend, name, options, family, dimension=dimension, context=context)


class _Embedding:
    """A model that embeds; see `remote.EmbeddingServer`."""

    stays_loaded_s = math.inf

    def __init__(self, name: EmbedderName, options: EmbedderOptions) -> None:
        self.server = server_at(options.openai_url, "embedding_base_url", name.model)
        self._name = name
        self._key = options.openai_key
        self._timeout_s = options.timeout_s
        self._client = http_client(self.server.url, self._key, options.timeout_s)
        weakref.finalize(self, self._client.close)

    def load(self) -> None:
        """Do nothing: the protocol cannot load a model."""

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """See `EmbeddingServer.embed`. Servers may give the vectors in any order, or without their
        numbers."""
        body: dict[str, Any] = {"model": self._name.model, "input": list(texts), "encoding_format": "float"}
        if self._name.dimension:
            body["dimensions"] = self._name.dimension
        with http_failures("its answer holds no vectors"):
            timeout_s = min(QUESTION_S, self._timeout_s) if question else self._timeout_s
            answer = self._client.post(f"{self.server.url}/embeddings", json=body, timeout=timeout_s)
            if answer.status_code != 200:
                raise failure_of(answer, self._key, texts)
            data = answer.json()["data"]
            rows = {int(row.get("index", number)): row["embedding"] for number, row in enumerate(data)}
            if len(data) != len(texts):
                raise Failure("failed", f"it gave {len(data)} vectors for {len(texts)} texts")
            return [rows[number] for number in range(len(texts))]


class OpenAIChat:
    """A model with OpenAI's protocol that answers questions; an `LLM`. Raises InvalidInput if the setting
    `chat_base_url` is missing."""

    def __init__(self, model: str, options: LLMOptions) -> None:
        if not options.openai_url:
            message = f"The model {f'openai:{model}'!r} needs the address of its server."
            raise InvalidInput(message, "Set `chat_base_url`, such as http://127.0.0.1:8080/v1.")
        self.server = server_at(options.openai_url, "chat_base_url", model)
        self._options = options

    def chat(self, messages: Sequence[ChatMessage], call: Call) -> Iterator[str]:
        """Return the answer in non-empty pieces, and store in ``call`` how the request ended. What the server
        marks as thoughts is left out. Raises Failure if the server fails."""
        options = self._options
        conversation = [asdict(message) for message in messages]
        body: dict[str, Any] = {"model": self.server.model, "messages": conversation, "stream": True}
        body |= {"temperature": options.temperature, "max_tokens": options.max_tokens}
        client = http_client(self.server.url, options.openai_key, options.timeout_s, call.hook)
        sent = [message.content for message in messages]
        with client, http_failures("its answer is not one of a chat"):
            while True:
                with client.stream("POST", f"{self.server.url}/chat/completions", json=body) as answer:
                    if answer.status_code == 200:
                        yield from self._pieces(answer, call, sent)
                        return
                    answer.read()
                if answer.status_code != 400 or _NEWER_LIMIT in body or _NEWER_LIMIT not in _said_by(answer):
                    raise failure_of(answer, options.openai_key, sent)
                body[_NEWER_LIMIT] = body.pop("max_tokens")
                del body["temperature"]  # the models that want the one refuse the other

    def _pieces(self, answer: httpx.Response, call: Call, sent: Sequence[str]) -> Iterator[str]:
        """Return the pieces of an answer. Raises Failure for an error in the middle of the answer."""
        for line in answer.iter_lines():
            name, _, value = line.partition(":")
            if name != "data":  # comments, names of events and blank lines
                continue
            if value.strip() == "[DONE]":
                call.end(call.outcome or "done")
                return
            event = json.loads(value)
            if error := event.get("error"):
                message = str(error.get("message", error) if isinstance(error, dict) else error)
                raise Failure("failed", quoted(message, self._options.openai_key, sent=sent))
            for choice in event["choices"][:1]:  # the last event may have none
                if piece := (choice.get("delta") or {}).get("content"):
                    yield str(piece)
                if choice.get("finish_reason"):
                    call.end("too long" if choice["finish_reason"] == "length" else "done")


def list_model_names(server: Server, key: str) -> list[str] | None:
    """Return the models that the server lists; None if the server has no such list. Raises Unanswered if the
    server does not answer, refuses access or fails."""
    status, answer = probe(server, "/models", key)
    data = answer.get("data") if isinstance(answer, dict) else None
    if status != 200 or not isinstance(data, list):
        return None
    names = (str(entry.get("id", ""))[:200] for entry in data if isinstance(entry, dict))
    return [name for name in names if name and printable(name)]


def answering_openai(options: LLMOptions) -> list[str]:
    """Return the names of all models of the server, because the protocol does not say which of them can
    answer; [] without a server. Raises Unanswered if the server does not answer, refuses access or fails."""
    if not options.openai_url:
        return []
    server = server_at(options.openai_url, "chat_base_url")
    return [f"openai:{name}" for name in list_model_names(server, options.openai_key) or []]


def check_openai(need: Need) -> Found:
    """Live check: the server and its models. A model missing in the server's list is only mentioned, as some
    servers accept any name."""
    settings, url, key = need.settings, need.options.openai_url, need.options.openai_key
    if not url:
        step = written("embedding_base_url", "http://127.0.0.1:1234/v1", settings.config_file)
        return Found("not set up", "No address of an embedding server is set.", step)
    setting = "embedding_base_url" if settings.embedding_base_url else "chat_base_url"
    server = server_at(url, setting)
    models = list_model_names(server, key)
    here = f"{server.called} (`{setting}`) answers without a key."
    if key:
        here = f"{server.called} (`{setting}`) answers with a key."
    if models is None:
        return Found("ready", f"{here} It does not list its models.")
    if not models:
        return Found("not set up", f"{here} It has no model.", "On this server, load a model that can embed.")
    missing = [name for name in dict.fromkeys(need.models) if name not in models]
    lacks = f" It does not list {', '.join(map(repr, missing))}, which a store asks for." if missing else ""
    names = tuple(f"openai:{name}" for name in models)
    return Found("ready", f"{here} It lists {some(models, 'model')}.{lacks}", embedders=names)
