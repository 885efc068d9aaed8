"""The base of every index outside a store's file: its shape and owner, batches of records, and searching."""

from __future__ import annotations

import hashlib
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from rag_core.errors import InvalidInput, VectorError
from rag_core.models.addresses import shown
from rag_core.models.deadline import ask_index
from rag_core.models.registry import CircuitBreaker
from rag_core.text.words import well_formed
from rag_core.types import Filters, Metric, Vectors
from rag_core.vectors import NO_FILTERS, Match, Receipt, RemoteIndex, Settled, VectorRecord, unit, unnoticed
from rag_core.vectors.payload import reason_against
from rag_core.vectors.service import Options, ServiceRefused, VectorService

SEARCH_S = 5.0  # seconds for all requests of one search to an index

KEYS_A_PAGE, RECORDS_A_PAGE = 5000, 256

Shape = tuple[int, str]  # dimension and distance of an index
Undo = list[Callable[[], object]]

_Service = TypeVar("_Service", bound=VectorService[Any])


class Remote(RemoteIndex, ABC, Generic[_Service]):
    """A vector index outside the store's file. Creating the object does not connect to it."""

    is_exact = False
    service_type: ClassVar[Any]
    options_type: ClassVar[type[Options]]  #: The options that it gets from the settings.
    form: ClassVar[str]  #: How an address is written, for people.
    pattern: ClassVar[re.Pattern[str]]  #: Matches an address; `_locate` gets its groups.
    metrics: ClassVar[Mapping[Metric, str]]  #: Our metrics → the service's names.
    max_dimension: ClassVar[int]
    max_batch: ClassVar[int]  #: Maximum records in a request.
    max_bytes: ClassVar[int]  #: Maximum bytes of the records in a request.
    other_place: ClassVar[str]  #: A sentence that says how to create an index elsewhere.

    def __init__(self, address: str, dimension: int, metric: Metric, options: Any) -> None:
        if not 1 <= dimension <= self.max_dimension:
            message = f"The index {shown(address)} cannot keep vectors of dimension {dimension!r}."
            raise InvalidInput(
                message, f"Choose an embedder with a dimension from 1 to {self.max_dimension}."
            )
        if not (match := self.pattern.fullmatch(address)):
            raise InvalidInput(f"{shown(address)} is not the address of an index.", f"Write {self.form}.")
        self.address, self.dimension, self.metric = address, dimension, self.metrics[metric]
        self.service: _Service = self.service_type(options)
        self._locate(match.groupdict(""))

    @staticmethod
    @abstractmethod
    def address_of(store: str, variant: str, options: Any) -> str:
        """Return the address of the index for the store ``store``. ``variant`` is '', or a short word for the
        new index while the store switches to another embedder. Raises InvalidInput if the options give no
        valid address."""

    @classmethod
    @abstractmethod
    def visible(cls, options: Any) -> Iterator[str]:
        """Yield the addresses of indexes that the credentials can see and that may be attached here. Raises
        VectorError if they cannot be listed."""

    @abstractmethod
    def _locate(self, names: Mapping[str, str]) -> None:
        """Store the ``names`` parsed from the address. Raises InvalidInput, VectorError."""

    @abstractmethod
    def _describe(self) -> Any:
        """Return the service's description of the index. Raises ServiceRefused."""

    @abstractmethod
    def _shape(self, found: Any) -> Shape:
        """Return the shape of the described index. Raises VectorError if the index was not made for notes."""

    @abstractmethod
    def _owner_of(self, found: Any) -> str:
        """Return the owner of the described index; '' for none."""

    @abstractmethod
    def _create(self, owner: str, undo: Undo) -> None:
        """Create the index, unless another process has just created it. ``undo`` collects the steps that
        would remove it."""

    def _adopt(self, found: Any, owner: str) -> str:  # noqa: ARG002
        """Prepare an existing index of the right shape for use, and return its owner."""
        return self._owner_of(found)

    @abstractmethod
    def _give_to(self, found: Any, owner: str) -> None:
        """Make ``owner`` the owner of the described index."""

    @abstractmethod
    def _encode(self, record: VectorRecord) -> tuple[Any, int] | str:
        """Convert a record with a unit vector for the service. Return the result and its maximum size in
        bytes, or a text that says why the record is refused."""

    @abstractmethod
    def _put(self, items: dict[str, Any]) -> None:
        """Write encoded records, by key."""

    @abstractmethod
    def _delete(self, keys: list[str]) -> None:
        """Remove the records with these keys. Keys that do not exist are no error."""

    @abstractmethod
    def _nearest(self, query: Vectors, k: int, filters: Filters) -> Iterable[tuple[str, float]]:
        """Return the records nearest to a unit vector: (key, cosine)."""

    @property
    def server(self) -> str:
        return str(self.service.options.server)

    def close(self) -> None:
        self.service.close()

    @classmethod
    def existing(cls, address: str, options: Any) -> Self:
        """Return the existing index at ``address`` with its actual dimension and metric. Raises InvalidInput
        for a bad address, and VectorError if there is no such index or it cannot be reached."""
        index = cls(address, 1, "cosine", options)
        index.dimension, index.metric = index._shape(index._describe())
        return index

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        undo: Undo = []
        try:
            self._prepare(owner, undo, take_over=take_over)
            undo.clear()
        finally:  # with an error, also Ctrl-C, what was begun is taken back
            for step in reversed(undo):
                with suppress(VectorError):
                    step()

    def _prepare(self, owner: str, undo: Undo, *, take_over: bool) -> None:
        found = self._found()
        if found is None:
            self._create(owner, undo)
            found = self._describe()  # ours, or one that was created meanwhile
        has, needs = self._shape(found), (self.dimension, self.metric)
        if has != needs:
            raise VectorError(
                f"The index {self.address!r} is there already and has dimension {has[0]} and distance"
                f" {has[1]!r} instead of {needs[0]} and {needs[1]!r}.",
                f"It cannot be changed. Delete it if nobody needs it. {self.other_place}",
            )
        theirs = self._adopt(found, owner)
        if theirs == owner:
            return
        if not take_over:
            whose = "another installation of Commonplace" if theirs else "somebody else"
            raise VectorError(
                f"The index {self.address!r} belongs to {whose}.",
                f"Attach it to read it, or take it over to write to it. {self.other_place}",
            )
        self._give_to(found, owner)

    def owner(self) -> str:
        found = self._found()
        return "" if found is None else self._owner_of(found)

    def _found(self) -> Any:
        """Return the service's description of the index; None if the index does not exist."""
        try:
            return self._describe()
        except ServiceRefused as error:
            if error.is_absence:
                return None
            raise

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        return _summed(map(self._send, self._batches(records)), settled)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        every, most = [*dict.fromkeys(keys)], self.max_batch

        def receipts() -> Iterator[Receipt]:
            for start in range(0, len(every), most):
                self._delete(every[start : start + most])
                yield Receipt(tuple(every[start : start + most]))

        return _summed(receipts(), settled)

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        query = unit(query)
        if k < 1 or reason_against(query, len(query)):
            return []
        found = self._nearest(query, k, filters)
        matches = [Match(key, max(-1.0, min(1.0, cosine))) for key, cosine in found]  # of rounding
        return sorted(matches, key=lambda match: (-match.similarity, match.key))[:k]

    def _batches(self, records: Iterable[VectorRecord]) -> Iterator[Batch]:
        """Group ``records`` into batches of at most ``max_batch`` records and ``max_bytes``. A batch never
        has the same key twice."""
        batch, total = Batch({}, {}), 0
        for record in records:
            made = replace(record, vector=unit(record.vector), text=well_formed(record.text))
            encoded = reason_against(record.vector, self.dimension) or self._encode(made)
            size = 0 if isinstance(encoded, str) else encoded[1]
            is_full = len(batch.items) == self.max_batch or (batch.items and total + size > self.max_bytes)
            if is_full or record.key in batch.items or record.key in batch.refused:
                yield batch
                batch, total = Batch({}, {}), 0
            if isinstance(encoded, str):
                batch.refused[record.key] = encoded
            else:
                batch.items[record.key] = encoded[0]
                total += size
        yield batch

    def _send(self, batch: Batch) -> Receipt:
        """Put a batch. If the service refuses records, find these and leave them out."""
        refused = {**batch.refused, **self._refused(batch.items)}
        return Receipt(tuple(key for key in batch.items if key not in refused), refused)

    def _refused(self, items: dict[str, Any]) -> dict[str, str]:
        """Put ``items``. If the service refuses, put them in halves to find the bad ones. Return key → reason
        of the refused items."""
        if not items:
            return {}
        try:
            self._put(items)
        except ServiceRefused as error:
            if not error.about_records:
                raise
            keys = [*items]
            if len(keys) == 1:
                return {keys[0]: error.reason}
            halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
            first, second = (self._refused({key: items[key] for key in half}) for half in halves)
            return {**first, **second}
        return {}


class Batch(NamedTuple):
    """Encoded records by key, and records refused before sending: key → reason."""

    items: dict[str, Any]
    refused: dict[str, str]


class WithDeadline:
    """Runs one search in the remote ``index``, whose calls may take `SEARCH_S` together. If the index does
    not exist, ``absent`` is raised."""

    is_exact = False

    def __init__(self, index: RemoteIndex, server: str, breaker: CircuitBreaker, absent: VectorError) -> None:
        self._index, self._server, self._breaker, self._absent = index, server, breaker, absent
        self._left = SEARCH_S

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        """Return the nearest chunks that the index finds. Raises VectorsUnreachable if that takes too long,
        and at once if another search has just had no answer."""
        started = time.monotonic()
        with self._breaker.guard(self._server):
            try:
                return ask_index(partial(self._index.search, query, k, filters), self._server, self._left)
            except ServiceRefused as error:
                raise self._absent if error.is_absence else error from None
            finally:
                self._left -= time.monotonic() - started


def _summed(receipts: Iterable[Receipt], settled: Settled) -> Receipt:
    """Combine ``receipts`` into one. ``settled`` is called with each of them."""
    sent: list[str] = []
    refused: dict[str, str] = {}
    for receipt in receipts:
        settled(receipt)
        sent += receipt.sent
        refused |= receipt.refused
    return Receipt(tuple(sent), refused)


def unless(statuses: tuple[int, ...], act: Callable[[], object]) -> bool:
    """Call ``act``. Return False if the service refuses it with one of ``statuses``, else True."""
    try:
        act()
    except ServiceRefused as error:
        if error.status not in statuses:
            raise
        return False
    return True


def short_mark(text: str) -> str:
    """Return eight hexadecimal digits of the text's hash, which distinguish different texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
