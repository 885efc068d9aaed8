"""A deterministic embedder without a model, for tests and demos: feature hashing (Weinberger et al. 2009,
"Feature Hashing for Large Scale Multitask Learning"). Every word and every character trigram adds +1 or -1
times its weight to one of ``dimension`` buckets. Synonyms get unrelated vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import islice

import numpy as np

from rag_core.errors import InvalidInput
from rag_core.models.embedder import EmbedderName, EmbedderOptions
from rag_core.types import EmbedderIdentity, Vectors

SCHEME = "words+trigrams-1"
MAX_TOKENS = 256
WORD_WEIGHT = 1.0
TRIGRAM_WEIGHT = 0.35

# One CJK character, up to 24 letters or digits, or one other sign.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{1,24}|[^\w\s]|_")


class Hashing:
    """Embeds texts by hashing their words and trigrams, without a model. Raises InvalidInput if ``dimension``
    is outside 8 to 4096."""

    max_tokens = MAX_TOKENS
    server = ""

    def __init__(self, dimension: int = 256) -> None:
        if not 8 <= dimension <= 4096:
            message = f"The hashing embedder cannot have dimension {dimension!r}."
            raise InvalidInput(message, "Use a number from 8 to 4096.")
        digest = blake2b(SCHEME.encode(), digest_size=32).hexdigest()
        self.identity = EmbedderIdentity("hashing", SCHEME, digest, dimension, "none")

    def count_tokens(self, text: str) -> int:
        return sum(1 for _ in _TOKEN.finditer(text))

    def reads(self, text: str) -> bool:  # noqa: ARG002 - the protocol's name
        return True

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = list(map(self.embed_query, texts))
        return np.array(rows, np.float32).reshape(len(texts), self.identity.dimension)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of ``text``, shape (dimension,). A text without words gets the first unit
        vector."""
        sums = np.zeros(self.identity.dimension, np.float64)
        for match in islice(_TOKEN.finditer(text), MAX_TOKENS):
            for number, weight in _weights(match.group().casefold()):
                sums[number % len(sums)] += weight
        if not sums.any():
            sums[0] = 1.0
        return (sums / np.linalg.norm(sums)).astype(np.float32)


def open_hashing(name: EmbedderName, options: EmbedderOptions) -> Hashing:  # noqa: ARG001 - it has none
    """Open the embedder ``hashing:DIMENSION``. Raises InvalidInput if the dimension is not from 8 to 4096."""
    return Hashing(int(name.model)) if name.model else Hashing()


@lru_cache(maxsize=65_536)
def _weights(word: str) -> list[tuple[int, float]]:
    """Return (bucket, value to add there) for a word and each of its trigrams. Python's own hash() would
    differ between runs."""
    weights: list[tuple[int, float]] = []
    for start in range(-1, len(word)):
        feature, weight = (
            (word, WORD_WEIGHT) if start < 0 else (f"#{f'<{word}>'[start : start + 3]}", TRIGRAM_WEIGHT)
        )
        digest = blake2b(feature.encode("utf-8", "replace"), digest_size=8).digest()
        number = int.from_bytes(digest, "big")
        weights.append((number >> 1, weight if number & 1 else -weight))
    return weights
