"""Vector indexes: one protocol to search them, one to fill remote ones, which have a copy of every chunk. The
store's file stays the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from rag_core.types import Filters, Vectors

NO_FILTERS = Filters()
"""Filters that leave nothing out."""

Metadata = Mapping[str, str | int | bool | tuple[str, ...]]
"""What a remote index can filter by; made by ``payload.metadata``."""


class Match(NamedTuple):
    """A chunk near a query: its key and the cosine similarity (−1 to 1)."""

    key: str
    similarity: float


class VectorIndex(Protocol):
    """Finds the nearest chunks. The caller checks them, and asks for more when too few are eligible."""

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        """The ``k`` nearest chunks to ``query`` (shape (dimension,)), best first; fewer only when there are
        no more, or the index cannot look further. It may leave out what does not fit ``filters``, and never
        leaves out what does. Raises VectorError."""

    @property
    def is_exact(self) -> bool:
        """Whether the similarities of the last search were exact. If not, the caller computes them."""


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A chunk as a remote index keeps it."""

    key: str
    vector: Vectors  #: Shape (dimension,).
    text: str  #: The chunk's text.
    #: Everything else that rebuilds the chunk and its document: a JSON object.
    doc: Mapping[str, Any] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)  #: What filters ask for.


class Receipt(NamedTuple):
    """The keys that are in the index now (or gone from it), and why others never will be, by key."""

    sent: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


Settled = Callable[[Receipt], None]


def unnoticed(_: Receipt) -> None:
    """For callers that only want the final receipt."""


class RemoteIndex(VectorIndex, Protocol):
    """A vector index outside the store's file. Safe to share between threads. Every method raises
    VectorsUnreachable when it may work later, VectorError when it will not."""

    @property
    def server(self) -> str:
        """The address of the server that gets the texts, '' when they stay in this process."""

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """Create the index for ``owner``, or make sure that the one there has the same shape and owner;
        ``take_over`` makes another's index this owner's. Raises VectorError with the difference, and removes
        what this call made."""

    def owner(self) -> str:
        """The owner of the index; ``""`` when there is no index or no owner."""

    def drop(self, owner: str) -> None:
        """Delete the index, or what is left of it, if it belongs to ``owner``; otherwise do nothing."""

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """Add ``records`` or replace them whole; of records with the same key the last counts. They are read
        while they are sent; ``settled`` gets the receipt of each request. A bad record is refused alone."""

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """Remove the chunks ``keys``; those that are not there are no error."""

    def keys(self) -> Iterator[str]:
        """The key of everything in the index, in no order."""

    def records(self) -> Iterator[VectorRecord]:
        """Everything in the index, in no order."""

    def close(self) -> None:
        """Release its local resources; it is not used afterwards."""


def unit(vector: Vectors) -> Vectors:
    """``vector`` with length 1, and unchanged when it has no length or none that can be told."""
    wide = vector.astype(np.float64)
    length = math.sqrt(np.einsum("i,i->", wide, wide))  # norm waits for threads of BLAS, if others are busy
    if not np.isfinite(length) or length == 0:
        return vector
    return (vector / length).astype(np.float32)
