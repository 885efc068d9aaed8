"""Vector indexes that installed packages bring, held to what a `RemoteIndex` promises.

A package names its backend by an entry point in ``commonplace.vector_indexes``; the addresses of its
indexes begin with that name and ``://``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import Protocol, TypeVar

from rag_core.errors import RagError, VectorError
from rag_core.extensions import Catalogue, Extension, catalogue, plain_name
from rag_core.models.addresses import silence_about
from rag_core.types import Filters, Metric, Vectors
from rag_core.vectors import (
    EVERYTHING,
    Match,
    Receipt,
    RemoteIndex,
    Settled,
    VectorRecord,
    unnoticed,
)
from rag_core.vectors.builtin import BUILT_IN

_REASON = 300
_T = TypeVar("_T")


class Backend(Protocol):
    """What an entry point in ``commonplace.vector_indexes`` names; a module will do.

    Credentials and the like are the package's own to find, best in variables of the environment.
    """

    server: str
    """Where vectors and texts go: '' for this machine, or an address like https://example.org."""

    def address(self, store: str, variant: str) -> str:
        """The address of the index that a store gets: ``NAME://`` and whatever finds it again.

        ``store`` is the store's name. ``variant`` is '' or a short word: indexes of one store with
        different variants stand side by side while its embedder is switched.
        """

    def open(self, address: str, dimension: int, metric: Metric) -> RemoteIndex:
        """The index at ``address``, there or not, for vectors of this shape. Asks nobody yet.

        Raises VectorError when it cannot be had.
        """

    def existing(self, address: str) -> RemoteIndex:
        """The index that is at ``address`` already, with the shape it has. Raises VectorError."""


@cache
def backends() -> Catalogue:
    """The vector indexes that installed packages bring, by name."""
    return catalogue("vector_indexes", plain_name(frozenset({"local", *BUILT_IN})))


def usable() -> tuple[str, ...]:
    """The names of those that load and say where texts go; `commonplace doctor` tells of the others."""
    return tuple(name for name, extension in backends().by_key.items() if _works(extension))


def _works(extension: Extension) -> bool:
    try:
        ForeignBackend(extension)
    except VectorError:
        return False
    return True


class ForeignBackend:
    """The backend of a package. Raises VectorError when it cannot be used."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension
        self._backend: Backend = extension.load(VectorError)
        self.server: str = getattr(self._backend, "server", None)  # type: ignore[assignment]
        if silence := silence_about(self.server):
            raise self._extension.failed(VectorError, silence)

    def address(self, store: str, variant: str) -> str:
        """See Backend.address."""
        with _explained(self._extension, "naming an address"):
            found = self._backend.address(store, variant)
        if not isinstance(found, str) or not found.startswith(f"{self._extension.name}://"):
            raise self._extension.failed(
                VectorError, f"gave an address that does not begin with {self._extension.name}://"
            )
        return found

    def open(self, address: str, dimension: int, metric: Metric) -> RemoteIndex:
        """See Backend.open."""
        with _explained(self._extension, "opening an index"):
            return ForeignIndex(self._extension, self._backend.open(address, dimension, metric), self.server)

    def existing(self, address: str) -> RemoteIndex:
        """See Backend.existing."""
        with _explained(self._extension, "opening an index"):
            return ForeignIndex(self._extension, self._backend.existing(address), self.server)


class ForeignIndex:
    """An index of a package. What it raises becomes a VectorError, and what it settles is counted."""

    def __init__(self, extension: Extension, index: RemoteIndex, server: str) -> None:
        self.server = server
        self._extension = extension
        self._index = index

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search."""
        with _explained(self._extension, "searching"):
            found = [
                Match(str(key), float(similarity))
                for key, similarity in self._index.search(query, k, filters)
            ]
        if not all(math.isfinite(match.similarity) for match in found):
            raise self._extension.failed(VectorError, "found something at no distance that is a number")
        return found[:k]

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """See RemoteIndex.prepare."""
        with _explained(self._extension, "preparing an index"):
            self._index.prepare(owner, take_over=take_over)

    def owner(self) -> str:
        """See RemoteIndex.owner."""
        with _explained(self._extension, "looking for the owner"):
            return str(self._index.owner())

    def drop(self, owner: str) -> None:
        """See RemoteIndex.drop."""
        with _explained(self._extension, "deleting an index"):
            if str(self._index.owner()) == owner:
                self._index.drop(owner)

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.put."""
        tally = _Tally(settled)
        with _explained(self._extension, "writing"):
            tally.settle(self._index.put(tally.noting(records, lambda record: record.key), tally.settle))
        return tally.receipt()

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.delete."""
        tally = _Tally(settled)
        with _explained(self._extension, "deleting"):
            tally.settle(self._index.delete(tally.noting(keys, str), tally.settle))
        return tally.receipt()

    def keys(self) -> Iterator[str]:
        """See RemoteIndex.keys."""
        with _explained(self._extension, "listing"):
            yield from self._index.keys()

    def records(self) -> Iterator[VectorRecord]:
        """See RemoteIndex.records."""
        with _explained(self._extension, "listing"):
            yield from self._index.records()

    def close(self) -> None:
        """See RemoteIndex.close."""
        with _explained(self._extension, "closing"):
            self._index.close()


class _Tally:
    """Which of the keys that were given are settled. What a package settles twice, or was not given,
    does not count."""

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._given: set[str] = set()
        self._sent: list[str] = []
        self._refused: dict[str, str] = {}

    def noting(self, values: Iterable[_T], key: Callable[[_T], str]) -> Iterator[_T]:
        """``values`` as they are, their keys noted on the way."""
        for value in values:
            self._given.add(key(value))
            yield value

    def settle(self, receipt: Receipt) -> None:
        """Pass ``receipt`` on, as far as it is about what was given."""
        sent = [key for key in dict.fromkeys(receipt.sent) if key in self._given]
        refused = {key: str(why)[:_REASON] for key, why in receipt.refused.items() if key in self._given}
        self._given.difference_update(sent, refused)
        self._sent += sent
        self._refused |= refused
        if sent or refused:
            self._settled(Receipt(tuple(sent), refused))

    def receipt(self) -> Receipt:
        """All that was settled."""
        return Receipt(tuple(self._sent), self._refused)


def _explained(extension: Extension, doing: str) -> AbstractContextManager[None]:
    """Let whatever the package raises become a VectorError; a RagError may be ours, from what it reads."""
    return extension.explained(VectorError, doing, RagError)
