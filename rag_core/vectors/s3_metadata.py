"""Metadata and filters as Amazon S3 Vectors takes them.

The service counts bytes by a rule of its own, refuses empty lists, nulls, nested values and halves
of characters, and a filter object with more than one key; one bad record fails a whole request. So
everything is brought into shape here before it is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rag_core.types import Filters
from rag_core.vectors import Metadata, VectorRecord
from rag_core.vectors.batches import whole
from rag_core.vectors.payload import UNFILTERED, Condition, conditions

TEXT, DOC = "text", "doc"
NON_FILTERABLE = (TEXT, DOC)
"""The keys that hold the chunk; declared when an index is made and never changed after."""

MAX_FILTERABLE = 2_048
MAX_METADATA = 40_960
MAX_CONSTRAINTS = 100  # of one filter, in an index that filters first

Value = str | int | float | bool | list[str]
Filter = dict[str, Any]


def size(metadata: Mapping[str, Value]) -> int:
    """The bytes of ``metadata`` as the service counts them."""
    return 4 + sum(8 + len(key.encode()) + _value_size(value) for key, value in metadata.items())


def _value_size(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bool):
        return 0
    if isinstance(value, list):
        return sum(4 + _value_size(element) for element in value)
    return 4


def metadata_of(record: VectorRecord) -> dict[str, Value]:
    """All metadata of ``record``: what fits of the filterable keys, its text and its document."""
    doc = json.dumps(record.doc, ensure_ascii=False, separators=(",", ":"))
    return {**fitted(record.metadata), TEXT: whole(record.text), DOC: whole(doc)}


def fitted(metadata: Metadata) -> dict[str, Value]:
    """The filterable keys that have a value and fit together, the largest left out first.

    Which were left out stands in the record itself: ``compiled`` lets it pass wherever they are asked for.
    """
    kept = {key: _plain(value) for key, value in metadata.items() if value != ()}
    while size(kept) > MAX_FILTERABLE:
        largest = max((key for key in kept if key != UNFILTERED), key=lambda key: _value_size(kept[key]))
        del kept[largest]
        known = kept.get(UNFILTERED, [])
        kept[UNFILTERED] = [*known, largest] if isinstance(known, list) else [largest]
    return kept


def _plain(value: str | int | bool | tuple[str, ...]) -> Value:
    match value:
        case str():
            return whole(value)
        case tuple():
            return [whole(element) for element in value]
        case _:
            return value


def compiled(filters: Filters) -> Filter | None:
    """The filter that lets pass whatever fits ``filters``, None when nothing need be asked."""
    parts: list[Filter] = []
    room = MAX_CONSTRAINTS
    for condition in sorted(conditions(filters), key=lambda condition: len(condition.values)):
        alternatives = [*_alternatives(condition), {UNFILTERED: {"$eq": condition.key}}]
        if len(condition.values) < room:  # the rest is left to the local check
            room -= len(condition.values) + 1
            parts.append({"$or": alternatives})
    if len(parts) > 1:
        return {"$and": parts}
    return parts[0] if parts else None


def _alternatives(condition: Condition) -> list[Filter]:
    """What may hold, each an object of one key. Lists are only documented to be compared by ``$eq``."""
    values = [whole(value) if isinstance(value, str) else value for value in condition.values]
    match condition.test:
        case "from":
            return [{condition.key: {"$gte": values[0]}}]
        case "below":
            return [{condition.key: {"$lt": values[0]}}]
        case "any" if condition.is_list or len(values) == 1:
            return [{condition.key: {"$eq": value}} for value in values]
        case _:
            return [{condition.key: {"$in": values}}]
