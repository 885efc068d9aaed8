"""Chat with Ollama, on this machine or another, through its own package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import httpx

from rag_core.errors import LLMError
from rag_core.models.chat.call import Call
from rag_core.models.chat.options import LLMOptions, Message
from rag_core.models.servers.addresses import straight_to
from rag_core.models.servers.failure import Failure, asked, quoted
from rag_core.models.servers.ollama import KEEP_ALIVE_S, package, pull_line

_CONNECT_S = 5.0


class OllamaChat:
    """A model on an Ollama server."""

    def __init__(self, model: str, options: LLMOptions) -> None:
        self.url = options.ollama_url
        self.model = model
        self.called = f"Ollama at {self.url}"
        self.remedy = "Start it there, or set `ollama_url` to where it is."
        self._options = options
        self._package = package(LLMError)

    def chat(self, messages: Sequence[Message], call: Call) -> Iterator[str]:
        """What the model says, piece by piece. Always with the same options: others would load it again.

        What it only thinks, and any tool that it would call, is left out.
        """
        client = self._client(call)
        sent = [message.content for message in messages]
        try:
            with closing(client), asked():
                for part in self._parts(client, messages):
                    if part.message.content:
                        yield part.message.content
                    if part.done:
                        call.end("too long" if part.done_reason == "length" else "done")
        except self._package.ResponseError as error:
            raise self._failure(error.status_code, str(error.error), sent) from None
        except ConnectionError as error:
            raise Failure("away", type(error).__name__) from None
        except (ValueError, TypeError, AttributeError):  # how the package takes other JSON, or none
            raise Failure("failed", "its answer is not one of Ollama's") from None

    def _client(self, call: Call) -> Any:
        return self._package.Client(
            self.url,
            timeout=httpx.Timeout(self._options.timeout_s, connect=_CONNECT_S),
            **straight_to(self.url),
            event_hooks={"request": [call.hook]},
        )

    def _parts(self, client: Any, messages: Sequence[Message]) -> Iterator[Any]:
        parts: Iterator[Any] = client.chat(
            self.model,
            [{"role": message.role, "content": message.content} for message in messages],
            stream=True,
            options={
                "temperature": self._options.temperature,
                "num_predict": self._options.max_tokens,
                "num_ctx": self._options.context,  # else the beginning would be cut without a word
            },
            keep_alive=KEEP_ALIVE_S,
        )
        return parts

    def _failure(self, status: int, said: str, sent: Sequence[str]) -> Exception:
        """What an error of the server means; in the middle of an answer it has the status -1."""
        if status == 404 and "not found" in said.lower():
            return LLMError(
                f"{self.called} does not have the model {self.model!r}.", pull_line(self.model, self.url)
            )
        if status in (401, 403, 404) or 300 <= status < 400:
            return LLMError(f"{self.called} refuses access (status {status}).", self.remedy)
        if "does not support chat" in said:
            return LLMError(
                f"The model {self.model!r} of {self.called} cannot chat.", "Choose another as `llm`."
            )
        if status in (429, 503):
            return Failure("busy", quoted(said, sent=sent))
        return Failure("failed" if status >= 500 or status < 0 else "refused", quoted(said, sent=sent))
