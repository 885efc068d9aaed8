"""Embedders: their protocol, their names, and the options for opening them."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from rag_core.config.keys import OLLAMA_URL
from rag_core.config.options import setting
from rag_core.errors import EmbedderError, InvalidInput
from rag_core.models.families import NO_PROMPTS, Prompts, family_of, is_latin
from rag_core.providers import EMBEDDERS, Provider, added_embedders, spellings
from rag_core.types import EmbedderIdentity, Vectors

DEFAULT_EMBEDDER = "minilm"
PROBE = "How many numbers does a vector have?"

_SHAPE = re.compile(r"(?P<provider>[a-z][a-z0-9-]*)(?::(?P<model>[^\x00-\x1f\x7f]{1,300}))?")
_WITH_DIMENSION = re.compile(r"(?P<model>.+)@(?P<dimension>[1-9][0-9]{0,4})")


class Embedder(Protocol):
    """Turns texts into vectors of length 1. A text gets the same vector alone and in any batch. Threads may
    share an embedder."""

    @property
    def identity(self) -> EmbedderIdentity:
        """The model, digest, dimension and prompts that determine the vectors."""

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens of a text that are read; the rest is ignored."""

    @property
    def server(self) -> str:
        """The address of the server that receives the texts; '' if they stay in this process."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in ``text``, including special ones. Without a tokenizer this is an
        estimate that is rather too high."""

    def reads(self, text: str) -> bool:
        """Whether the model was trained on the script of most of ``text``. Vectors of text in other scripts
        are noise."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each passage, in order, shape (len(texts), dimension). Raises ModelMissing or
        Unreachable if no text can be embedded now, and another EmbedderError if a text may be the cause."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, shape (dimension,). Raises EmbedderError if it cannot be
        embedded."""


@dataclass(frozen=True, slots=True)
class EmbedderName:
    """The parts of ``PROVIDER:MODEL@DIMENSION``. A dimension of None means the model's own."""

    provider: str
    model: str = ""
    dimension: int | None = None

    def __str__(self) -> str:
        model = f":{self.model}" if self.model else ""
        return f"{self.provider}{model}" + (f"@{self.dimension}" if self.dimension else "")

    @property
    def row(self) -> Provider:
        """The row of the embedder's provider in the tables of `providers`."""
        return EMBEDDERS.get(self.provider) or added_embedders()[self.provider]


def _prompts(written: Iterable[tuple[str, tuple[str, str]]]) -> tuple[tuple[str, Prompts], ...]:
    return tuple((name, Prompts(*texts)) for name, texts in written)


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """The owner's settings for embedders."""

    model_dir: Path = setting("model_dir", Path())
    ollama_url: str = setting("ollama_server", OLLAMA_URL)
    openai_url: str = setting("embedding_url", "")
    openai_key: str = setting("embedding_key", "", secret=True)
    timeout_s: float = setting("embedding_timeout_s", 300.0)
    #: Maximum tokens that a model may read of a text; None for the usual number.
    context: int | None = setting("embedding_context", None)
    prompts: tuple[tuple[str, Prompts], ...] = setting("prompts", (), _prompts)
    device: str | None = setting("device", None)
    offline: bool = setting("offline", True)
    retry_s: float = 0.5  #: Seconds before the first retry, doubled for each further retry.

    def prompts_of(self, name: EmbedderName, told: Prompts = NO_PROMPTS) -> Prompts:
        """Return the prompts of an embedder: the configured ones, else ``told`` from its files, else those of
        its family."""
        wanted = str(replace(name, dimension=None))
        named = ((str(replace(parse_name(written), dimension=None)), own) for written, own in self.prompts)
        otherwise = told if told != NO_PROMPTS else family_of(name.model).prompts
        return next((own for written, own in named if written == wanted), otherwise)


class InProcess(ABC):
    """An embedder whose model runs in this process. ``latin`` says whether the model was trained on Latin
    script only."""

    server = ""

    def __init__(
        self, identity: EmbedderIdentity, max_tokens: int, prompts: Prompts = NO_PROMPTS, *, latin: bool
    ) -> None:
        self.identity, self.max_tokens = identity, max_tokens
        self._prompts, self._latin = prompts, latin

    @abstractmethod
    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens of the whole ``text``, including special ones."""

    @abstractmethod
    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        """Return the vectors of the texts without adding prompts, not normalized, shape (len(texts),
        dimension)."""

    def reads(self, text: str) -> bool:
        return not self._latin or is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        return self._units([self._prompts.document + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self._units([self._prompts.query + text])[0])

    def _units(self, texts: list[str]) -> Vectors:
        vectors = unit_rows(self._encode(texts))
        if vectors is None:
            message = f"The model {self.identity.model!r} gives no usable vector for a text."
            raise EmbedderError(message, "The text can still be found by words.")
        return vectors


def parse_name(name: str) -> EmbedderName:
    """Parse an embedder's name. Raises InvalidInput for an unknown provider or a malformed name."""
    shape = _SHAPE.fullmatch(name)
    provider, model = (shape["provider"], shape["model"] or "") if shape else ("", "")
    row = EMBEDDERS.get(provider) or added_embedders().get(provider)
    if row and row.after.usual is not None and not model:
        return EmbedderName(provider, row.after.usual)
    if row and model and re.fullmatch(row.after.pattern, model):
        cut = _WITH_DIMENSION.fullmatch(model) if row.after.before_dimension == "@" else None
        return (
            EmbedderName(provider, cut["model"], int(cut["dimension"]))
            if cut
            else EmbedderName(provider, model)
        )
    first, *others = spellings(EMBEDDERS)
    advice = f"Use {first} (built in), {', '.join(others)}."
    raise InvalidInput(f"There is no embedder called {name[:80]!r}.", advice)


def full_name(name: str) -> str:
    """Return the full name of an embedder: ``ollama:embeddinggemma`` for ``ollama``. Raises InvalidInput for
    an unknown provider or a malformed name."""
    return str(parse_name(name))


def dimension_error(model: str, wanted: int, possible: int) -> InvalidInput:
    """Return the error that a model cannot produce vectors of ``wanted`` numbers, but of ``possible``
    numbers."""
    message = f"The model {model!r} cannot give vectors of {wanted} numbers."
    return InvalidInput(message, f"Use {possible}, or leave out the dimension.")


def unit_rows(rows: npt.NDArray[np.float64]) -> Vectors | None:
    """Scale each row to length 1, as float32; None if any row is zero or not finite."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        return None
    return np.asarray(rows / lengths, np.float32)
