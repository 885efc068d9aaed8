"""Text → unit vectors. One protocol, several providers, opened by ``provider:model`` name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from rag_core.errors import InvalidInput
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

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens ``text`` takes, special tokens included."""

    def reads(self, text: str) -> bool:
        """Whether the model was made for the script that most of ``text`` is in; the vector of
        any other text is noise that would pass for similarity."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors for passages, shape (len(texts), dimension), in order."""

    def embed_query(self, text: str) -> Vectors:
        """The vector for a question, shape (dimension,)."""


def open_embedder(name: str, model_dir: Path) -> Embedder:
    """The embedder called ``name``: ``minilm``, ``hashing`` or ``hashing:DIMENSION``.

    Raises ModelMissing when its weights are not in ``model_dir`` yet, InvalidInput when
    no provider has this name.
    """
    match name.partition(":"):
        case "minilm", _, "":
            from rag_core.embedders.minilm import MiniLM

            return MiniLM(model_dir)
        case "hashing", _, "":
            from rag_core.embedders.hashing import Hashing

            return Hashing()
        case "hashing", _, dimension if dimension.isascii() and dimension.isdigit():
            from rag_core.embedders.hashing import Hashing

            return Hashing(int(dimension))
        case _:
            raise InvalidInput(
                f"There is no embedder called {name!r}.", "Use 'minilm' (built in) or 'hashing' (for tests)."
            )


def reading_limit(name: str) -> int:
    """How many tokens of a text the embedder called ``name`` reads, even before its model is installed.

    Raises InvalidInput when no provider has this name.
    """
    if name == "minilm":
        from rag_core.embedders.minilm import MAX_TOKENS

        return MAX_TOKENS
    return open_embedder(name, Path()).max_tokens
