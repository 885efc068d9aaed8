"""Embedding at ``/v1/embeddings``, which llama.cpp, LM Studio, vLLM and hosted services speak.

The protocol tells neither dimension nor length of a model, and promises neither the length of a vector
nor that it is the same model tomorrow: the first is asked for, and a canary is compared.
"""

from __future__ import annotations

import math
import re
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from rag_core.errors import InvalidInput, ModelMissing, Unreachable
from rag_core.models.embedders.models import family_of, scheme
from rag_core.models.embedders.options import NO_PROMPTS, EmbedderName, EmbedderOptions
from rag_core.models.embedders.remote import Remote
from rag_core.models.embedders.server import Model, explained
from rag_core.models.servers.addresses import straight_to, with_version
from rag_core.models.servers.failure import Failure, asked, quoted, said_by, wait_s
from rag_core.types import EmbedderIdentity

CONTEXT = 512
"""How many tokens a server is trusted to read, whatever its model could: llama.cpp takes no more unless it
is told to, and the protocol does not say."""

KEY_VARIABLE = "COMMONPLACE_EMBEDDING_API_KEY"

_CONNECT_S = 5.0
_QUESTION_S = 15.0
_PROBE = "How many numbers does a vector have?"
_TOO_LONG = re.compile(
    r"too (long|large)|context (length|size|window)|maximum (context|input)|max_?(model_?|seq_?)?len"
    r"|physical batch|token limit|exceeds? "
)


def open_openai(name: EmbedderName, options: EmbedderOptions) -> Remote:
    """The embedder ``openai:MODEL`` at the address that is configured, after one vector from it.

    Raises InvalidInput without an address, Unreachable when nobody answers there or the key is refused,
    ModelMissing when the server lacks the model, EmbedderError when it gives no vector.
    """
    if not options.openai_url:
        raise InvalidInput(
            f"The embedder {str(name)!r} needs the address of its server.",
            "Set `embedding_base_url`, such as http://127.0.0.1:1234/v1.",
        )
    server = OpenAI(name, options)
    with explained(server, name.model):
        found = len(server.embed([_PROBE], question=False)[0])
    if name.dimension and found < name.dimension:
        raise InvalidInput(
            f"The model {name.model!r} cannot give vectors of {name.dimension} numbers.",
            f"Use {found}, or leave the dimension away.",
        )
    family = family_of(name.model)
    prompts = options.prompts_of(name) or (family.prompts if family else NO_PROMPTS)
    context = options.context or min(family.max_tokens if family else CONTEXT, CONTEXT)
    identity = EmbedderIdentity("openai", name.model, "", name.dimension or found, scheme(prompts))
    model = Model(identity, context, prompts, latin=family is not None and family.latin)
    return Remote(server, model, options.retry_s)


class OpenAI:
    """A model on a server that speaks OpenAI's protocol."""

    def __init__(self, name: EmbedderName, options: EmbedderOptions) -> None:
        self.url = with_version(options.openai_url)
        self.called = f"The server at {self.url}"
        self.remedy = "Start it, or set `embedding_base_url` to where it is."
        self.stays_loaded_s = math.inf
        self._name = name
        self._key = options.openai_key
        self._patient = httpx.Timeout(options.timeout_s, connect=_CONNECT_S)
        self._brisk = httpx.Timeout(min(_QUESTION_S, options.timeout_s), connect=_CONNECT_S)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            **straight_to(self.url),
        )
        weakref.finalize(self, self._client.close)

    def load(self) -> None:
        """Nothing: a server of this kind is asked for vectors only."""

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """The vectors of the texts as they are, in order."""
        body: dict[str, Any] = {"model": self._name.model, "input": list(texts), "encoding_format": "float"}
        if self._name.dimension:
            body["dimensions"] = self._name.dimension
        with self._explained():
            timeout = self._brisk if question else self._patient
            answer = self._client.post(f"{self.url}/embeddings", json=body, timeout=timeout)
            if answer.status_code != 200:
                raise self._failure(answer, texts)
            return _rows(answer.json(), len(texts))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Let what httpx and JSON raise become a Failure, without the texts that were sent."""
        try:
            with asked():
                yield
        except (ValueError, LookupError, TypeError):
            raise Failure("failed", "its answer holds no vectors") from None

    def _failure(self, answer: httpx.Response, sent: Sequence[str]) -> Exception:
        """What an error of the server means."""
        status, said = answer.status_code, said_by(answer)
        reason = f"status {status}, {quoted(said, self._key, sent=sent)}"
        if status in (401, 403):
            return Unreachable(
                f"{self.called} refuses the key (status {status}).", f"Set {KEY_VARIABLE}, best in .env."
            )
        if status == 404:
            return ModelMissing(
                f"{self.called} does not have the model {self._name.model!r}.",
                "Check the model's name and `embedding_base_url`.",
            )
        if status < 400:
            return Unreachable(f"{self.called} sends us elsewhere (status {status}).", self.remedy)
        if status in (429, 503):
            return Failure("busy", reason, wait_s(answer))
        if status == 413 or _TOO_LONG.search(said.lower()):
            return Failure("too long", reason)
        return Failure("failed" if status >= 500 else "refused", reason)


def _rows(answer: Any, count: int) -> list[list[float]]:
    """The vectors in their places: servers may send them in any order, or without numbers."""
    data = answer["data"]
    rows: dict[int, list[float]] = {
        int(each.get("index", at)): each["embedding"] for at, each in enumerate(data)
    }
    if sorted(rows) != list(range(count)) or len(data) != count:
        raise Failure("failed", f"it gave {len(data)} vectors for {count} texts")
    return [rows[at] for at in range(count)]
