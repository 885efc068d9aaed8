"""Embedders of installed packages, named by entry points in ``commonplace.embedders``. The shape of their
vectors is checked, because vectors of another shape would damage a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from rag_core.errors import EmbedderError
from rag_core.extensions import Guarded
from rag_core.models import EmbedderOptions
from rag_core.models.addresses import destination, leaves, server_problem
from rag_core.models.check import Found, Need
from rag_core.models.embedder import EmbedderName, unit_rows
from rag_core.providers import added_embedders
from rag_core.types import EmbedderIdentity, Vectors

if TYPE_CHECKING:
    from rag_core.models import Embedder


class Opener(Protocol):
    """The function that an entry point in ``commonplace.embedders`` names."""

    def __call__(self, model: str, options: EmbedderOptions) -> Embedder:
        """Open the embedder ``PROVIDER:model``. Its ``identity.provider`` must be the entry point's name.
        Raises ModelMissing, Unreachable if its server does not answer, or another EmbedderError."""


def open_foreign(name: EmbedderName, options: EmbedderOptions) -> Embedder:
    """Open the embedder ``name`` of an installed package. Every error of the package is raised as an
    EmbedderError."""
    extension = added_embedders()[name.provider].extension
    opener: Opener = extension.load(EmbedderError)
    with extension.errors(EmbedderError, "opening it"):
        opened = opener(name.model, options)
    identity = getattr(opened, "identity", None)
    if not isinstance(identity, EmbedderIdentity) or identity.provider != name.provider:
        failure = (
            "{extension} does not say what its vectors depend on: `identity`, with the provider {provider!r}."
        )
        raise extension.failed(EmbedderError, failure, provider=name.provider)
    if silence := server_problem(getattr(opened, "server", None)):
        raise extension.failed(EmbedderError, silence)
    return cast("Embedder", _Foreign(extension, opened, EmbedderError))


class _Foreign(Guarded):
    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._target.embed_documents, texts, len(texts))

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self._checked(lambda text: [self._target.embed_query(text)], text, 1)[0])

    def _checked(self, embed: Any, given: str | Sequence[str], count: int) -> Vectors:
        shape = count, self._target.identity.dimension
        if not count:
            return np.empty(shape, np.float32)
        with self._extension.errors(EmbedderError, "embedding"):
            rows = np.asarray(embed(given), np.float64)
        if rows.shape != shape:
            failure = "{extension} gave vectors of the shape {given} instead of {shape}."
            raise self._extension.failed(EmbedderError, failure, given=rows.shape, shape=shape)
        if (vectors := unit_rows(rows)) is None:
            raise self._extension.failed(EmbedderError, "{extension} gives no numbers for a text.")
        return vectors


def check_foreign(need: Need) -> Found:
    """Live check: open the embedders that stores need. Raises EmbedderError if one cannot be opened."""
    assert need.opened is not None  # noqa: S101 - whoever checks has it
    servers = [need.opened(f"{need.name}:{model}").server for model in dict.fromkeys(need.models)]
    away = next((server for server in servers if leaves(server)), "")
    return Found("ready", "The embedder of an installed package can be opened.", goes=destination(away))
