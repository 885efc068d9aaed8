"""Embedders that installed packages bring, held to what an `Embedder` promises.

A package names its opener by an entry point in ``commonplace.embedders``; ``PROVIDER:MODEL`` then opens the
model with it. What it gives is checked: vectors of another length, or of another identity than they had
when they were stored, would spoil a store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rag_core.errors import EmbedderError
from rag_core.extensions import Extension
from rag_core.models.addresses import silence_about
from rag_core.models.embedder import EmbedderName, EmbedderOptions, providers
from rag_core.types import EmbedderIdentity, Vectors

if TYPE_CHECKING:
    from rag_core.models.embedder import Embedder

MOST_NUMBERS = 16_384
"""Numbers in one vector."""


class Opener(Protocol):
    """What an entry point in ``commonplace.embedders`` names."""

    def __call__(self, model: str, options: EmbedderOptions) -> Embedder:
        """The embedder ``PROVIDER:model``, ready to be used.

        Its ``identity.provider`` is the name of the entry point, and its ``server`` says where texts go.
        Raises ModelMissing when the model is not there, Unreachable when its server does not answer,
        another EmbedderError when it cannot be had.
        """


def open_foreign(name: EmbedderName, options: EmbedderOptions) -> Embedder:
    """The embedder ``name`` of a package. Raises EmbedderError, also for whatever the package raises."""
    extension = providers().by_key[name.provider]
    opener = opener_of(extension)
    with extension.explained(EmbedderError, "opening it"):
        opened = opener(name.model, options)
        return Foreign(extension, opened)


def opener_of(extension: Extension) -> Opener:
    """What a package's entry point names. Raises EmbedderError."""
    opener: Opener = extension.load(EmbedderError)
    if not callable(opener):
        raise extension.failed(EmbedderError, f"is of type {type(opener).__name__!r} and cannot be called")
    return opener


class Foreign:
    """An embedder of a package."""

    def __init__(self, extension: Extension, opened: Any) -> None:
        self._extension = extension
        self._opened = opened
        said = [getattr(opened, name, None) for name in ("identity", "max_tokens", "server")]
        if wrong := _objection(extension.name, *said):
            raise extension.failed(EmbedderError, wrong)
        self.identity: EmbedderIdentity = opened.identity
        self.max_tokens: int = opened.max_tokens
        self.server: str = opened.server

    def count_tokens(self, text: str) -> int:
        """See Embedder.count_tokens."""
        with self._extension.explained(EmbedderError, "counting tokens"):
            return max(0, int(self._opened.count_tokens(text)))

    def reads(self, text: str) -> bool:
        """See Embedder.reads."""
        with self._extension.explained(EmbedderError, "looking at a text"):
            return bool(self._opened.reads(text))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """See Embedder.embed_documents."""
        return self._checked(lambda: self._opened.embed_documents(texts), len(texts))

    def embed_query(self, text: str) -> Vectors:
        """See Embedder.embed_query."""
        vector: Vectors = self._checked(lambda: [self._opened.embed_query(text)], 1)[0]
        return vector

    def _checked(self, embed: Callable[[], Any], count: int) -> Vectors:
        """What ``embed`` gives as vectors of length 1, shape (count, dimension)."""
        shape = count, self.identity.dimension
        if not count:
            return np.empty(shape, np.float32)
        with self._extension.explained(EmbedderError, "embedding"):
            rows = np.asarray(embed(), np.float64)
        if rows.shape != shape:
            raise self._extension.failed(
                EmbedderError, f"gave vectors of the shape {rows.shape} instead of {shape}"
            )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise self._extension.failed(EmbedderError, "gives no numbers for a text")
        vectors: Vectors = (rows / lengths).astype(np.float32)
        return vectors


def _objection(provider: str, identity: object, max_tokens: object, server: object) -> str:
    """Why an embedder cannot be used, as the end of a sentence; '' if it can."""
    if not isinstance(identity, EmbedderIdentity) or not identity.model:
        return "does not say what its vectors depend on (identity)"
    if identity.provider != provider:
        return f"calls its provider {identity.provider!r}"
    if type(identity.dimension) is not int or not 1 <= identity.dimension <= MOST_NUMBERS:
        return f"gives vectors of {identity.dimension!r} numbers"
    if type(max_tokens) is not int or max_tokens < 1:
        return f"reads {max_tokens!r} tokens of a text"
    return silence_about(server)
