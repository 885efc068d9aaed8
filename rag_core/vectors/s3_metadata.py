"""Metadata and filters as Amazon S3 Vectors takes them.

The service counts bytes by a rule of its own, refuses empty lists, nulls, nested values and halves
of characters, and a filter object with more than one key; one bad record fails a whole request. So
everything is brought into shape here before it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_core.types import Filters
from rag_core.vectors import Metadata, VectorRecord
from rag_core.vectors.payload import UNFILTERED, Condition, affordable
from rag_core.vectors.records import DOC, TEXT, Value, document, values, whole

NON_FILTERABLE = (TEXT, DOC)
"""The keys that hold the chunk; declared when an index is made and never changed after."""

MAX_FILTERABLE = 2_048
MAX_METADATA = 40_960
MAX_CONSTRAINTS = 100  # of one filter, in an index that filters first

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
    return {**fitted(record.metadata), TEXT: whole(record.text), DOC: document(record)}


def fitted(metadata: Metadata) -> dict[str, Value]:
    """The filterable keys that have a value and fit together, the largest left out first.

    Which were left out stands in the record itself: ``compiled`` lets it pass wherever they are asked for.
    """
    kept = {key: value for key, value in values(metadata).items() if value != []}
    while size(kept) > MAX_FILTERABLE:
        largest = max((key for key in kept if key != UNFILTERED), key=lambda key: _value_size(kept[key]))
        del kept[largest]
        known = kept.get(UNFILTERED, [])
        kept[UNFILTERED] = [*known, largest] if isinstance(known, list) else [largest]
    return kept


def compiled(filters: Filters) -> Filter | None:
    """The filter that lets pass whatever fits ``filters``, None when nothing need be asked."""
    asked: list[Filter] = [
        {"$or": [*_alternatives(condition), {UNFILTERED: {"$eq": condition.key}}]}
        for condition in affordable(filters, MAX_CONSTRAINTS)
    ]
    if len(asked) > 1:
        return {"$and": asked}
    return asked[0] if asked else None


def _alternatives(condition: Condition) -> list[Filter]:
    """What may hold, each an object of one key. Lists are only documented to be compared by ``$eq``."""
    key, given = condition.key, [*condition.values]
    match condition.test:
        case "from":
            return [{key: {"$gte": given[0]}}]
        case "below":
            return [{key: {"$lt": given[0]}}]
        case "any" if condition.is_list or len(given) == 1:
            return [{key: {"$eq": value}} for value in given]
        case _:
            return [{key: {"$in": given}}]
