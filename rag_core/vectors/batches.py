"""Records on their way to a vector index: in requests of bounded size, without those that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from rag_core.types import Vectors
from rag_core.vectors import Receipt, Settled, VectorRecord, unit
from rag_core.vectors.attempts import Refused

NUMBER_BYTES = 14
"""At most so many bytes of a request a number of ``numbers`` takes: ``-0.123456789, ``."""

_DIGITS = 9  # of a number in a unit vector: closer than float32 tells apart
_ABOUT_RECORDS = {400, 409, 413, 422}  # what is said of a request when a record in it is at fault
_T = TypeVar("_T")


@dataclass
class Batch(Generic[_T]):
    """Records by key as an index takes them, and why others are not taken."""

    items: dict[str, _T] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def batches(
    records: Iterable[VectorRecord],
    made: Callable[[VectorRecord], tuple[_T, int]],
    reason_against: Callable[[VectorRecord], str],
    most: int,
    most_bytes: int,
) -> Iterator[Batch[_T]]:
    """``records`` in batches of at most ``most`` and, but for a single larger one, ``most_bytes``.

    ``made`` gives a record as the index takes it and how many bytes of a request it fills at most; it is
    asked only for records that nothing speaks against. Of records with the same key the last counts.
    """
    batch: Batch[_T] = Batch()
    sizes: dict[str, int] = {}
    total = 0
    for record in records:
        key = record.key
        if reason := reason_against(record):
            batch.items.pop(key, None)
            total -= sizes.pop(key, 0)
            batch.refused[key] = reason
            continue
        item, size = made(record)
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
        if error.status not in _ABOUT_RECORDS:
            raise
        if len(items) == 1:
            return dict.fromkeys(items, error.reason)
        pairs = [*items.items()]
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


def reason_against(vector: Vectors, dimension: int) -> str:
    """Why an index of ``dimension`` would refuse ``vector``, and all beside it; ``""`` if it would not."""
    if vector.shape != (dimension,):
        return f"Its vector has the shape {vector.shape} instead of ({dimension},)."
    if not np.isfinite(vector).all():
        return "Its vector holds a value that is not a number."
    if not np.any(unit(vector)):
        return "Its vector has no length."
    return ""


def can_be_searched(query: Vectors) -> bool:
    """Whether anything is near to ``query``: it has a length."""
    return bool(np.isfinite(query).all() and np.any(query))


def numbers(vector: Vectors) -> list[float]:
    """A unit vector as Python numbers that are short when written."""
    found: list[float] = np.round(vector.astype(np.float64), _DIGITS).tolist()
    return found


def whole(text: str) -> str:
    """``text`` with a replacement character for each half of one, which no index takes."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def clipped(cosine: float) -> float:
    """``cosine`` within −1 and 1, which rounding may leave."""
    return max(-1.0, min(1.0, cosine))
