"""Text → unit vectors. One protocol, several providers, opened by ``provider:model`` name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag_core.errors import InvalidInput
from rag_core.models.embedders.options import EmbedderOptions, full_name, parse_name
from rag_core.types import EmbedderIdentity, Vectors

DEFAULT_EMBEDDER = "minilm"


class Embedder(Protocol):
    """Turns texts into vectors of length 1, the same for a text alone or in any batch.

    One embedder may be used from several threads at once.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """What the vectors depend on."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of one text are read; the rest would be lost."""

    @property
    def server(self) -> str:
        """The address of the server that gets the texts, '' when they stay in this process."""

    def count_tokens(self, text: str) -> int:
        """The number of tokens ``text`` takes, special tokens included: exact where the model is at hand,
        otherwise rather too high."""

    def reads(self, text: str) -> bool:
        """Whether the model was made for the script that most of ``text`` is in; the vector of
        any other text is noise that would pass for similarity."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors for passages, shape (len(texts), dimension), in order.

        Raises ModelMissing or Unreachable when none can be embedded now, another EmbedderError when it
        may be one of the texts.
        """

    def embed_query(self, text: str) -> Vectors:
        """The vector for a question, shape (dimension,)."""


Open = Callable[[str], Embedder]
"""Opens an embedder by its name."""


def open_embedder(name: str, options: EmbedderOptions) -> Embedder:
    """The embedder called ``name``: ``minilm``, ``hashing``, ``hashing:DIMENSION``, ``ollama:MODEL``,
    ``openai:MODEL`` (both with ``@DIMENSION``), ``sentence-transformers:FOLDER``, ``mlx:FOLDER``, or
    ``PROVIDER:MODEL`` of an installed package.

    A server is asked for its model. Raises ModelMissing when the weights are not there yet, Unreachable
    when the server does not answer, another EmbedderError when its package is not installed, InvalidInput
    when no provider has this name.
    """
    parsed = parse_name(name)
    match parsed.provider:
        case "minilm":
            from rag_core.models.embedders.minilm import MiniLM

            return MiniLM(options.model_dir)
        case "hashing":
            from rag_core.models.embedders.hashing import Hashing

            return Hashing(int(parsed.model)) if parsed.model else Hashing()
        case "ollama":
            from rag_core.models.embedders.ollama import open_ollama

            return open_ollama(parsed, options)
        case "openai":
            from rag_core.models.embedders.openai import open_openai

            return open_openai(parsed, options)
        case "sentence-transformers":
            from rag_core.models.embedders.sentence_transformers import open_sentence_transformers

            return open_sentence_transformers(parsed, options)
        case "mlx":
            from rag_core.models.embedders.mlx import open_mlx

            return open_mlx(parsed, options)
        case _:
            from rag_core.models.embedders.foreign import open_foreign

            return open_foreign(parsed, options)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a new store must know of its embedder."""

    dimension: int
    max_tokens: int


def known_facts(name: str) -> Facts | None:
    """What this program knows of the embedder called ``name``, even before its model is installed; None
    where only its server or its files can tell.

    Raises InvalidInput when no provider has this name.
    """
    match parse_name(name).provider:
        case "minilm":
            from rag_core.models.embedders.minilm import DIMENSION, MAX_TOKENS

            return Facts(DIMENSION, MAX_TOKENS)
        case "hashing":
            return _facts(open_embedder(name, EmbedderOptions()))
        case _:
            return None


def asks_others(name: str) -> bool:
    """Whether the embedder called ``name`` needs a server or a package that may not be there; False for a
    name that is none."""
    try:
        return known_facts(name) is None
    except InvalidInput:
        return False


def _facts(embedder: Embedder) -> Facts:
    return Facts(embedder.identity.dimension, embedder.max_tokens)


def reading_limit(name: str, opened: Open) -> int:
    """How many tokens of a text the embedder called ``name`` reads; it is ``opened`` if need be.

    Raises InvalidInput when no provider has this name, otherwise as ``open_embedder`` does.
    """
    return (known_facts(name) or _facts(opened(name))).max_tokens


def dimension_of(name: str, opened: Open) -> int:
    """How many numbers a vector of the embedder called ``name`` has; it is ``opened`` if need be.

    Raises as ``reading_limit`` does.
    """
    return (known_facts(name) or _facts(opened(name))).dimension


def with_dimension(name: str, dimension: int | None, opened: Open) -> str:
    """The full name of the embedder ``name`` giving vectors of ``dimension`` numbers; None: what it gives
    anyway. It is ``opened`` if need be.

    Raises InvalidInput when the model cannot give that many, otherwise as ``reading_limit`` does.
    """
    parsed = parse_name(name)
    if dimension is None or dimension == dimension_of(str(parsed), opened):
        return str(parsed)
    if name == "hashing":
        chosen = f"hashing:{dimension}"
    elif parsed.provider in ("ollama", "openai") and parsed.dimension is None:
        chosen = f"{parsed}@{dimension}"
    else:
        raise InvalidInput(
            f"The embedder {name!r} cannot give vectors of {dimension} numbers.",
            f"Use {dimension_of(name, opened)}, or leave the dimension away.",
        )
    dimension_of(chosen, opened)
    return chosen


__all__ = [
    "DEFAULT_EMBEDDER",
    "Embedder",
    "EmbedderOptions",
    "Facts",
    "Open",
    "asks_others",
    "dimension_of",
    "full_name",
    "known_facts",
    "open_embedder",
    "reading_limit",
    "with_dimension",
]
