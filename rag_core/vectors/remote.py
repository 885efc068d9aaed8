"""The base of every index outside a store's file: its shape and owner, batches of records, one search.

A backend adds what its service is asked: see the abstract methods of `Remote`, in their order.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from rag_core.errors import InvalidInput, VectorError
from rag_core.models.addresses import shown
from rag_core.types import Filters, Metric, Vectors
from rag_core.vectors import (
    EVERYTHING,
    Match,
    Receipt,
    Settled,
    VectorRecord,
    best_first,
    can_be_searched,
    clipped,
    unit,
    unnoticed,
)
from rag_core.vectors.payload import reason_against
from rag_core.vectors.service import Options, Refused, Service

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

Undo = list[Callable[[], object]]
Shape = dict[str, object]

_Service = TypeVar("_Service", bound=Service[Any])


class Remote(ABC, Generic[_Service]):
    """An index outside the store's file; see RemoteIndex. Making one reaches nothing yet."""

    service_type: ClassVar[Any]
    form: ClassVar[str]
    """How an address is written."""
    pattern: ClassVar[re.Pattern[str]]
    """What addresses match; its groups are given to ``_locate``."""
    metrics: ClassVar[Mapping[Metric, str]]
    """Our metrics → the service's names."""
    most_numbers: ClassVar[int]
    """The largest dimension."""
    most_bytes: ClassVar[int]
    """Of the records in one request."""
    other_place: ClassVar[str]
    """What to do when the index there is of another shape or owner."""

    def __init__(self, address: str, dimension: int, metric: Metric, options: Any) -> None:
        if not 1 <= dimension <= self.most_numbers:
            raise InvalidInput(
                f"The index {shown(address)} cannot keep vectors of dimension {dimension!r}.",
                f"Choose an embedder with a dimension from 1 to {self.most_numbers}.",
            )
        self.address = address
        self.dimension = dimension
        self.metric = self.metrics[metric]
        self.service: _Service = self.service_type(options)
        if not (match := self.pattern.fullmatch(address)):
            raise InvalidInput(f"{shown(address)} is not the address of an index.", f"Write {self.form}.")
        self._locate(match.groupdict(""))

    # --- what a backend says ----------------------------------------------------------------

    @classmethod
    @abstractmethod
    def options(cls, settings: Settings) -> Options:
        """The part of ``settings`` that the constructor takes."""

    @staticmethod
    @abstractmethod
    def address_of(store: str, variant: str, options: Any) -> str:
        """The address that the index of ``store`` gets; see foreign.Backend.address. Raises InvalidInput."""

    @abstractmethod
    def _locate(self, names: Mapping[str, str]) -> None:
        """Keep the ``names`` in the address. Raises InvalidInput, VectorError."""

    @abstractmethod
    def _describe(self) -> Any:
        """What the service knows of the index. Raises Refused."""

    @abstractmethod
    def _shape(self, found: Any) -> Shape:
        """The ``dimension``, the ``distance`` and whatever else cannot be changed of what was described."""

    @abstractmethod
    def _owner_of(self, found: Any) -> str:
        """The owner of what was described, '' without one."""

    @abstractmethod
    def _create(self, owner: str, undo: Undo) -> None:
        """Create the index unless somebody else just did; ``undo`` gets what removes it."""

    def _adopt(self, found: Any, owner: str, undo: Undo) -> str:  # noqa: ARG002
        """Get an index of the right shape ready; its owner then."""
        return self._owner_of(found)

    @abstractmethod
    def _give_to(self, found: Any, owner: str) -> None:
        """Make what was described ``owner``'s."""

    @abstractmethod
    def drop(self, owner: str) -> None:
        """See RemoteIndex.drop."""

    @abstractmethod
    def _most(self) -> int:
        """How many records one request may hold at most."""

    @abstractmethod
    def _encode(self, record: VectorRecord) -> tuple[Any, int] | str:
        """A record with a good vector as the service takes it, and the most bytes of a request that it fills;
        or why it is refused."""

    @abstractmethod
    def _put(self, items: dict[str, Any]) -> None:
        """Write encoded records by their keys."""

    @abstractmethod
    def _delete(self, keys: list[str]) -> None:
        """Remove records; those that are not there are no error."""

    @abstractmethod
    def _nearest(self, query: Vectors, k: int, filters: Filters) -> Iterable[tuple[str, float]]:
        """The keys nearest to a unit vector, with their cosines."""

    @abstractmethod
    def keys(self) -> Iterator[str]:
        """See RemoteIndex.keys."""

    @abstractmethod
    def records(self) -> Iterator[VectorRecord]:
        """See RemoteIndex.records."""

    # --- the index itself -------------------------------------------------------------------

    @property
    def server(self) -> str:
        """See RemoteIndex.server."""
        return str(self.service.options.server)

    def close(self) -> None:
        """See RemoteIndex.close."""
        self.service.close()

    @classmethod
    def existing(cls, address: str, options: Any) -> Self:
        """The index that is at ``address`` already, with the shape it has.

        Raises InvalidInput for another kind of address, VectorError when there is nothing.
        """
        index = cls(address, 1, "cosine", options)
        shape: Any = index._shape(index._describe())
        index.dimension, index.metric = shape["dimension"], shape["distance"]
        return index

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """See RemoteIndex.prepare."""
        with undone_on_failure() as undo:
            found = self._found()
            if found is None:
                self._create(owner, undo)
                found = self._describe()  # ours, or the one of somebody who was quicker
            self._check_shape(found)
            theirs = self._adopt(found, owner, undo)
            if theirs == owner:
                return
            if not take_over:
                whose = "another installation of Commonplace" if theirs else "somebody else"
                raise VectorError(
                    f"The index {self.address!r} belongs to {whose}.",
                    f"Attach it to read it, take it over to write to it, or {self.other_place}.",
                )
            self._give_to(found, owner)

    def owner(self) -> str:
        """See RemoteIndex.owner."""
        found = self._found()
        return "" if found is None else self._owner_of(found)

    def _found(self) -> Any:
        """What the service knows of the index, None when there is none."""
        try:
            return self._describe()
        except Refused as error:
            if error.is_absence:
                return None
            raise

    def _needs(self) -> Shape:
        return {"dimension": self.dimension, "distance": self.metric}

    def _check_shape(self, found: Any) -> None:
        has = self._shape(found)
        differing = [f"{what} {has[what]!r} instead of {needs!r}" for what, needs in self._needs().items()
                     if has[what] != needs]  # fmt: skip
        if differing:
            raise VectorError(
                f"The index {self.address!r} is there already and has {'; '.join(differing)}.",
                f"It cannot be changed: {self.other_place}, or delete it if nobody needs it.",
            )

    def _unless(self, statuses: tuple[int, ...], act: Callable[[], object]) -> bool:
        """Do ``act``, which may be refused with one of ``statuses``; whether it was done."""
        try:
            act()
        except Refused as error:
            if error.status not in statuses:
                raise
            return False
        return True

    # --- records ------------------------------------------------------------------------------

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.put."""
        return _summed(self._sent(batches(records, self._checked, self._most(), self.most_bytes)), settled)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.delete."""
        return _summed(self._deleted([*dict.fromkeys(keys)]), settled)

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search."""
        query = unit(query)
        if k < 1 or not can_be_searched(query):
            return []
        found = self._nearest(query, k, filters)
        return best_first(Match(key, clipped(cosine)) for key, cosine in found)[:k]

    def _checked(self, record: VectorRecord) -> tuple[Any, int] | str:
        return reason_against(record.vector, self.dimension) or self._encode(record)

    def _sent(self, made: Iterable[Batch]) -> Iterator[Receipt]:
        return (self._send(batch) for batch in made)

    def _send(self, batch: Batch) -> Receipt:
        """Put a batch; what the service refuses is found and left out."""
        refused = {**batch.refused, **self._refused(batch.items)}
        return Receipt(tuple(key for key in batch.items if key not in refused), refused)

    def _refused(self, items: dict[str, Any]) -> dict[str, str]:
        if not items:
            return {}
        try:
            self._put(items)
        except Refused as error:
            if not error.about_records:
                raise
            keys = [*items]
            bad = {keys[at] for at in error.named if at < len(keys)} or ({*keys} if len(keys) == 1 else set())
            if bad:
                rest = {key: item for key, item in items.items() if key not in bad}
                return {**dict.fromkeys(bad, error.reason), **self._refused(rest)}
            halves = keys[: len(keys) // 2], keys[len(keys) // 2 :]
            first, second = ({key: items[key] for key in half} for half in halves)
            return {**self._refused(first), **self._refused(second)}
        return {}

    def _deleted(self, keys: list[str]) -> Iterator[Receipt]:
        most = self._most()
        for start in range(0, len(keys), most):
            part = keys[start : start + most]
            self._delete(part)
            yield Receipt(tuple(part))


class Batch(NamedTuple):
    """Encoded records by key, and why others are refused."""

    items: dict[str, Any]
    refused: dict[str, str]


def batches(
    records: Iterable[VectorRecord],
    encode: Callable[[VectorRecord], tuple[Any, int] | str],
    most: int,
    most_bytes: int,
) -> Iterator[Batch]:
    """``records`` in batches of at most ``most`` and, but for a single larger one, ``most_bytes``. Of records
    with the same key the last counts."""
    batch, sizes, total = Batch({}, {}), dict[str, int](), 0
    for record in records:
        key, found = record.key, encode(record)
        if isinstance(found, str):
            batch.items.pop(key, None)
            total -= sizes.pop(key, 0)
            batch.refused[key] = found
            continue
        item, size = found
        if sizes and key not in sizes and (len(sizes) == most or total + size > most_bytes):
            yield batch
            batch, sizes, total = Batch({}, {}), {}, 0
        batch.refused.pop(key, None)
        total += size - sizes.get(key, 0)
        batch.items[key], sizes[key] = item, size
    if batch.items or batch.refused:
        yield batch


def _summed(receipts: Iterable[Receipt], settled: Settled) -> Receipt:
    """All of ``receipts`` in one; ``settled`` gets each."""
    sent: list[str] = []
    refused: dict[str, str] = {}
    for receipt in receipts:
        settled(receipt)
        sent += receipt.sent
        refused |= receipt.refused
    return Receipt(tuple(sent), refused)


@contextmanager
def undone_on_failure() -> Iterator[Undo]:
    """A list for the steps that remove what the block has made. If the block fails they are taken, the last
    one first; the error then says what could not be removed."""
    steps: Undo = []
    try:
        yield steps
    except BaseException as error:
        try:
            for step in reversed(steps):
                step()
        except VectorError as stays:
            if isinstance(error, VectorError):
                left = f"{error.message} What was made before that could not be removed: {stays.message}"
                raise VectorError(left, error.suggestion) from error
        raise


def mark(text: str) -> str:
    """Eight letters that differ where ``text`` does."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]
