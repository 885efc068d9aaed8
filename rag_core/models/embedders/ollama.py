"""Embedding with Ollama, on this machine or another, through its own package.

The server puts no prompt in front of a text, embeds one text after the other, fails a whole request
for one bad text without naming it, and cuts a long text without a word unless it is forbidden to:
`Remote` sees to all that, here is only what is Ollama's own.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from rag_core.errors import EmbedderError, InvalidInput, ModelMissing, Unreachable
from rag_core.models.embedders.models import family_of, scheme
from rag_core.models.embedders.options import NO_PROMPTS, EmbedderName, EmbedderOptions
from rag_core.models.embedders.remote import Remote
from rag_core.models.embedders.server import Model, explained
from rag_core.models.servers.addresses import straight_to
from rag_core.models.servers.failure import Failure, asked, quoted
from rag_core.models.servers.ollama import KEEP_ALIVE_S, package, pull_line
from rag_core.types import EmbedderIdentity

CONTEXT = 2048
"""How many tokens a model is asked to read where it could read more. No passage needs more, and the
memory that a model takes grows with it."""

_CONNECT_S = 5.0
_QUESTION_S = 15.0
_LEAST_DIMENSION = 32
_CRASHED = ("eof", "do embedding request", "connection reset", "connection refused", "forcibly closed")


def open_ollama(name: EmbedderName, options: EmbedderOptions) -> Remote:
    """The embedder ``ollama:MODEL``, after asking the server for the model.

    Raises EmbedderError without the package, ModelMissing when the server lacks the model, Unreachable when
    it does not answer, InvalidInput for a dimension that the model cannot give.
    """
    server = Ollama(name, options)
    with explained(server, name.model):
        about = server.about()
    family = family_of(name.model)
    if name.dimension and not (
        name.dimension == about.dimension
        or ((family is None or family.shortens) and _LEAST_DIMENSION <= name.dimension < about.dimension)
    ):
        raise InvalidInput(
            f"The model {name.model!r} cannot give vectors of {name.dimension} numbers.",
            f"Use {about.dimension}, or leave the dimension away.",
        )
    prompts = options.prompts_of(name) or (family.prompts if family else NO_PROMPTS)
    reads = min(about.context, family.max_tokens if family else about.context)
    server.context = min(reads, options.context or CONTEXT)
    identity = EmbedderIdentity(
        "ollama",
        name.model.removesuffix(":latest"),
        about.digest,
        name.dimension or about.dimension,
        scheme(prompts),
    )
    model = Model(identity, server.context, prompts, latin=family is not None and family.latin)
    return Remote(server, model, options.retry_s)


@dataclass(frozen=True, slots=True)
class About:
    """What the server tells of a model."""

    digest: str
    dimension: int
    context: int


class Ollama:
    """A model on an Ollama server. ``context`` is how many tokens of a text it is to read."""

    def __init__(self, name: EmbedderName, options: EmbedderOptions) -> None:
        self.url = options.ollama_url
        self.called = f"Ollama at {self.url}"
        self.remedy = "Start it there, or set `ollama_url` to where it is."
        self.stays_loaded_s = KEEP_ALIVE_S / 2
        self.context = CONTEXT
        self._name = name
        self._package = package(EmbedderError)
        self._patient = self._client(options.timeout_s)
        self._brisk = self._client(min(_QUESTION_S, options.timeout_s))

    def _client(self, read_s: float) -> Any:
        client = self._package.Client(
            self.url,
            timeout=httpx.Timeout(read_s, connect=_CONNECT_S),
            **straight_to(self.url),
        )
        weakref.finalize(self, client.close)
        return client

    def about(self) -> About:
        """The digest, dimension and context length of the model."""
        with self._explained():
            shown = self._brisk.show(self._name.model)
            listed = self._brisk.list().models
        facts: Mapping[str, Any] = shown.modelinfo or {}
        dimension, context = sizes(facts)
        if not dimension or not context:
            raise EmbedderError(
                f"{self.called} does not say what the model {self._name.model!r} is.",
                "Update Ollama, or choose another model.",
            )
        names = (self._name.model, f"{self._name.model}:latest")
        digest = next((each.digest for each in listed if each.model in names), None)
        return About(digest or _digest(facts), dimension, context)

    def load(self) -> None:
        """Bring the model into memory: an empty input embeds nothing."""
        with self._explained():
            self._embed(self._patient, "")

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """The vectors of the texts as they are, in order."""
        with self._explained(texts):
            rows: Sequence[Sequence[float]] = self._embed(
                self._brisk if question else self._patient, list(texts)
            ).embeddings
        return rows

    def _embed(self, client: Any, given: str | list[str]) -> Any:
        """Always with the same options: others would load the model again. A text must fit into one
        batch, which is 2048 tokens if it is not set, whatever the context is."""
        return client.embed(
            self._name.model,
            given,
            truncate=False,
            options={"num_ctx": self.context, "num_batch": self.context},
            keep_alive=KEEP_ALIVE_S,
            dimensions=self._name.dimension,
        )

    @contextmanager
    def _explained(self, sent: Sequence[str] = ()) -> Iterator[None]:
        """Let what the package raises become a Failure, without the texts that were sent."""
        try:
            with asked():
                yield
        except self._package.ResponseError as error:
            raise self._failure(error.status_code, str(error.error), sent) from None
        except ConnectionError as error:  # what the package makes of httpx's own
            raise Failure("away", type(error).__name__) from None
        except (ValueError, TypeError, AttributeError):  # how the package takes other JSON, or none
            raise Failure("failed", "its answer is not one of Ollama's") from None

    def _failure(self, status: int, said: str, sent: Sequence[str]) -> Exception:
        """What an error of the server means. 400 is not always for good: it also stands for a crash."""
        words = said.lower()
        if status == 404 and "not found" in words and self._name.model.lower() in words:
            return self._missing()
        if status in (401, 403, 404) or 300 <= status < 400:
            return Unreachable(f"{self.called} refuses access (status {status}).", self.remedy)
        if status in (429, 503):
            return Failure("busy", quoted(said, sent=sent))
        if "nan or inf" in words or "value: nan" in words:
            return Failure("refused", "the model gives no numbers for the text (NaN)")
        if "context length" in words:
            return Failure("too long", quoted(said, sent=sent))
        if any(sign in words for sign in _CRASHED):
            return Failure("crashed", quoted(said, sent=sent))
        return Failure("failed" if status >= 500 else "refused", quoted(said, sent=sent))

    def _missing(self) -> ModelMissing:
        return ModelMissing(
            f"{self.called} does not have the model {self._name.model!r}.",
            pull_line(self._name.model, self.url),
        )


def sizes(facts: Mapping[str, Any]) -> tuple[int, int]:
    """How many numbers a vector has and how many tokens are read, as a model says of itself; 0 for what it
    does not say."""
    kind = facts.get("general.architecture", "")
    found = (facts.get(f"{kind}.{key}") for key in ("embedding_length", "context_length"))
    dimension, context = (value if isinstance(value, int) else 0 for value in found)
    return dimension, context


def _digest(facts: Mapping[str, Any]) -> str:
    """A digest of what a model says of itself, for one that the server does not list."""
    said = sorted((key, value) for key, value in facts.items() if isinstance(value, str | int | float))
    return hashlib.sha256(repr(said).encode()).hexdigest()
