"""Vector indexes: a protocol for searching them, and one for filling remote indexes with a copy of every
chunk. Where an index and the store's file differ, the file is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from rag_core.types import Filters, Vectors

NO_FILTERS = Filters()
"""Filters that leave out nothing."""

Metadata = Mapping[str, str | int | bool | tuple[str, ...]]
"""The fields that a remote index can filter by, created by ``payload.metadata``."""


class Match(NamedTuple):
    """A chunk near a query: its key and the cosine similarity (−1 to 1)."""

    key: str
    similarity: float


class VectorIndex(Protocol):
    """Finds the nearest chunks. The caller checks them, and asks for more if too few are eligible."""

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        """Return the ``k`` chunks nearest to ``query`` (shape (dimension,)), best first. Fewer are returned
        only if there are no more, or the index cannot look further.

        The index may leave out chunks that do not match ``filters``, but no others. Raises VectorError if it
        cannot be searched.
        """

    @property
    def is_exact(self) -> bool:
        """Whether the similarities of the last search were exact. If not, the caller computes them again."""


@dataclass(frozen=True, slots=True)
class VectorRecord:
    """A chunk as it is stored in a remote index."""

    key: str
    vector: Vectors  #: Shape (dimension,).
    text: str  #: The chunk's text.
    #: Everything else needed to rebuild the chunk and its document: a JSON object.
    doc: Mapping[str, Any] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)  #: The fields that filters compare.


class Receipt(NamedTuple):
    """The keys that were put into (or removed from) the index, and the keys that it refused: key → reason.
    Sending a refused record again is of no use."""

    sent: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


Settled = Callable[[Receipt], None]
"""Called after each request to an index, with the keys that it has put, removed or refused."""


def unnoticed(_: Receipt) -> None:
    """Do nothing, for callers that only need the final receipt."""


class RemoteIndex(VectorIndex, Protocol):
    """A vector index outside the store's file. Threads may share it. Every method raises VectorsUnreachable
    if a later attempt may succeed, else VectorError."""

    @property
    def server(self) -> str:
        """The address of the server that receives the texts; '' if they stay in this process."""

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """Create the index for ``owner``, or check the dimension, metric and owner of an existing index.
        ``take_over`` makes ``owner`` its owner. If they differ, this raises VectorError, after removing what
        this call created."""

    def owner(self) -> str:
        """Return the owner of the index; ``""`` if there is no index or it has no owner."""

    def drop(self, owner: str) -> None:
        """Delete the index, or what an interrupted deletion left of it, if it belongs to ``owner``. Otherwise
        do nothing."""

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """Add ``records``, or replace those with the same key (the last one counts). They are read while they
        are sent. ``settled`` is called with the receipt of each request. A bad record is refused alone,
        without its batch."""

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """Remove the chunks with these keys. Keys that the index does not have are no error. ``settled`` is
        called with the receipt of each request."""

    def keys(self) -> Iterator[str]:
        """Yield the key of every record in the index, in any order."""

    def records(self) -> Iterator[VectorRecord]:
        """Yield every record in the index, in any order."""

    def close(self) -> None:
        """Release local resources. The object cannot be used afterwards."""


def unit(vector: Vectors) -> Vectors:
    """Scale ``vector`` to length 1. It is returned unchanged if its length is 0 or not a finite number."""
    wide = vector.astype(np.float64)
    length = math.sqrt(np.einsum("i,i->", wide, wide))  # norm waits for threads of BLAS, if others are busy
    if not np.isfinite(length) or length == 0:
        return vector
    return (vector / length).astype(np.float32)
