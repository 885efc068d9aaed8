"""Chat at ``/v1/chat/completions``, which llama.cpp, LM Studio, vLLM and hosted services speak."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from rag_core.errors import LLMError
from rag_core.models.chat.call import Call
from rag_core.models.chat.options import LLMOptions, Message
from rag_core.models.servers.addresses import straight_to, with_version
from rag_core.models.servers.failure import Failure, asked, quoted, said_by, wait_s

KEY_VARIABLE = "COMMONPLACE_CHAT_API_KEY"

_CONNECT_S = 5.0
_NEWER_LIMIT = "max_completion_tokens"


class OpenAIChat:
    """A model on a server that speaks OpenAI's protocol."""

    def __init__(self, model: str, options: LLMOptions) -> None:
        self.url = with_version(options.openai_url)
        self.model = model
        self.called = f"The server at {self.url}"
        self.remedy = "Start it, or set `chat_base_url` to where it is."
        self._options = options

    def chat(self, messages: Sequence[Message], call: Call) -> Iterator[str]:
        """What the model says, piece by piece; what it only thinks is left out."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "temperature": self._options.temperature,
            "max_tokens": self._options.max_tokens,
            "stream": True,
        }
        sent = [message.content for message in messages]
        with self._client(call) as client, self._explained():
            try:
                yield from self._pieces(client, body, call, sent)
            except _OtherLimit:
                body[_NEWER_LIMIT] = body.pop("max_tokens")
                del body["temperature"]  # the models that want the one refuse the other
                yield from self._pieces(client, body, call, sent)

    def _client(self, call: Call) -> httpx.Client:
        key = self._options.openai_key
        return httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(self._options.timeout_s, connect=_CONNECT_S),
            **straight_to(self.url),
            event_hooks={"request": [call.hook]},
        )

    def _pieces(
        self, client: httpx.Client, body: dict[str, Any], call: Call, sent: Sequence[str]
    ) -> Iterator[str]:
        with client.stream("POST", f"{self.url}/chat/completions", json=body) as answer:
            if answer.status_code != 200:
                answer.read()
                raise self._failure(answer, body, sent)
            for event in _events(answer, call):
                if "error" in event:
                    raise Failure(
                        "failed", quoted(_message(event["error"]), self._options.openai_key, sent=sent)
                    )
                for choice in event["choices"][:1]:  # the last event may have none
                    said = choice.get("delta") or choice.get("message") or {}
                    if said.get("content"):
                        yield str(said["content"])
                    if choice.get("finish_reason"):
                        call.end("too long" if choice["finish_reason"] == "length" else "done")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let what httpx and JSON raise become a Failure, without the notes that were sent."""
        try:
            with asked():
                yield
        except (ValueError, LookupError, TypeError, AttributeError):
            raise Failure("failed", "its answer is not one of a chat") from None

    def _failure(self, answer: httpx.Response, body: dict[str, Any], sent: Sequence[str]) -> Exception:
        """What an error of the server means."""
        status, said = answer.status_code, said_by(answer)
        if status == 400 and _NEWER_LIMIT in said and "max_tokens" in body:
            return _OtherLimit()
        if status in (401, 403):
            return LLMError(
                f"{self.called} refuses the key (status {status}).", f"Set {KEY_VARIABLE}, best in .env."
            )
        if status == 404:
            return LLMError(
                f"{self.called} does not have the model {self.model!r}.", "Check `llm` and `chat_base_url`."
            )
        if status < 400:
            return LLMError(f"{self.called} sends us elsewhere (status {status}).", self.remedy)
        reason = f"status {status}, {quoted(said, self._options.openai_key, sent=sent)}"
        if status in (429, 503):
            return Failure("busy", reason, wait_s(answer))
        return Failure("failed" if status >= 500 else "refused", reason)


class _OtherLimit(Exception):
    """The model wants its limit under another name."""


def _events(answer: httpx.Response, call: Call) -> Iterator[dict[str, Any]]:
    """The events of a stream; the one answer of a server that does not stream."""
    if "json" in answer.headers.get("content-type", ""):
        answer.read()
        yield answer.json()
        return
    for line in answer.iter_lines():
        name, _, value = line.partition(":")
        if name != "data":  # comments, names of events and blank lines
            continue
        if value.strip() == "[DONE]":
            call.end(call.outcome or "done")
            return
        yield json.loads(value)


def _message(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)
