"""Vectors that count which three letters follow one another: no model, and no idea of meaning."""

import zlib
from collections.abc import Sequence

import numpy as np

from rag_core.errors import ModelMissing
from rag_core.models import EmbedderOptions
from rag_core.types import EmbedderIdentity, Vectors

API_VERSION = 1


class Letters:
    """See rag_core.models.Embedder."""

    identity = EmbedderIdentity(
        provider="example", model="letters", digest="1", dimension=256, prompts="none"
    )
    max_tokens = 256
    server = ""  # texts stay in this process

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def reads(self, text: str) -> bool:
        return True

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            row[:] = self.embed_query(text)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        vector = np.full(self.identity.dimension, 1e-3, np.float32)
        for word in text.casefold().split()[: self.max_tokens]:
            for at in range(len(word)):
                three = f" {word} "[at : at + 3].encode("utf-8", "replace")
                vector[zlib.crc32(three) % len(vector)] += 1
        return vector / np.linalg.norm(vector)


def open_letters(model: str, options: EmbedderOptions) -> Letters:
    """The embedder ``example:letters``."""
    if model != "letters":
        raise ModelMissing(f"The package commonplace-example has no model {model!r}.", "Use example:letters.")
    return Letters()
