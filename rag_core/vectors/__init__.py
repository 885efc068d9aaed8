"""Where a store's vectors are searched. One protocol; the store's file stays the truth."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rag_core.types import Vectors


class Match(NamedTuple):
    """A chunk near a query: its key and the cosine similarity (−1 to 1)."""

    key: str
    similarity: float


class VectorIndex(Protocol):
    """Finds the nearest chunks. What it returns is checked against the store by the caller,
    who asks for more when too few are eligible."""

    def search(self, query: Vectors, k: int) -> list[Match]:
        """The ``k`` nearest chunks to ``query`` (shape (dimension,), length 1), best first;
        fewer only when there are no more."""
