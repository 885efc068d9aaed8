"""Records on their way to a vector index: in requests of bounded size, without those that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rag_core.vectors import Receipt, Settled, VectorRecord
from rag_core.vectors.attempts import Refused

_T = TypeVar("_T")


@dataclass
class Batch(Generic[_T]):
    """Records by key as an index takes them, and why others are not taken."""

    items: dict[str, _T] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def batches(
    records: Iterable[VectorRecord],
    taken: Callable[[VectorRecord], tuple[_T, int] | str],
    most: int,
    most_bytes: int,
) -> Iterator[Batch[_T]]:
    """``records`` in batches of at most ``most`` and, but for a single larger one, ``most_bytes``.

    ``taken`` gives a record as the index takes it and how many bytes of a request it fills at most, or why
    it is not taken. Of records with the same key the last counts.
    """
    batch: Batch[_T] = Batch()
    sizes: dict[str, int] = {}
    total = 0
    for record in records:
        key, found = record.key, taken(record)
        if isinstance(found, str):
            batch.items.pop(key, None)
            total -= sizes.pop(key, 0)
            batch.refused[key] = found
            continue
        item, size = found
        if sizes and key not in sizes and (len(sizes) == most or total + size > most_bytes):
            yield batch
            batch, sizes, total = Batch(), {}, 0
        batch.refused.pop(key, None)
        total += size - sizes.get(key, 0)
        batch.items[key], sizes[key] = item, size
    if batch.items or batch.refused:
        yield batch


def send(batch: Batch[_T], put: Callable[[dict[str, _T]], None]) -> Receipt:
    """Put what is in ``batch``; what the index refuses is found and left out. Raises what ``put`` raises
    when it is not about the records."""
    refused = {**batch.refused, **_refused(batch.items, put)}
    return Receipt(tuple(key for key in batch.items if key not in refused), refused)


def _refused(items: dict[str, _T], put: Callable[[dict[str, _T]], None]) -> dict[str, str]:
    if not items:
        return {}
    try:
        put(items)
    except Refused as error:
        if not error.about_records:
            raise
        pairs = [*items.items()]
        if len(pairs) == 1:
            return dict.fromkeys(items, error.reason)
        if named := {at for at in error.named if at < len(pairs)}:
            rest = dict(pair for at, pair in enumerate(pairs) if at not in named)
            return {**dict.fromkeys((pairs[at][0] for at in named), error.reason), **_refused(rest, put)}
        middle = len(pairs) // 2
        return {**_refused(dict(pairs[:middle]), put), **_refused(dict(pairs[middle:]), put)}
    return {}


def settle(receipts: Iterable[Receipt], settled: Settled) -> Receipt:
    """All of ``receipts`` in one; ``settled`` hears of each."""
    sent: list[str] = []
    refused: dict[str, str] = {}
    for receipt in receipts:
        settled(receipt)
        sent += receipt.sent
        refused |= receipt.refused
    return Receipt(tuple(sent), refused)


def parts(values: Iterable[_T], count: int) -> Iterator[list[_T]]:
    """``values`` in lists of ``count``, the last one shorter."""
    part: list[_T] = []
    for value in values:
        part.append(value)
        if len(part) == count:
            yield part
            part = []
    if part:
        yield part
