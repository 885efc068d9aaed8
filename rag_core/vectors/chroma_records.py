"""A chunk as a record of Chroma, and filters as Chroma takes them.

Its metadata is flat: texts, numbers, yes or no, and lists of one of these, never empty. An upsert leaves the
keys of an old record that the new one lacks, so each record says of every key that it has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from rag_core.types import Filters, Vectors
from rag_core.vectors import VectorRecord, unit
from rag_core.vectors.payload import MAY_BE_UNFILTERED, UNFILTERED, Condition, affordable
from rag_core.vectors.records import DOC, Value, document, reason_against, rebuilt, values, whole

KEYS = ("file_type", "folder", "folders", "names", "private", "tags", "page", "date", UNFILTERED)
"""Every key that ``payload.metadata`` may give."""

MAX_ALTERNATIVES = 500
"""So many in one filter, all together: they are looked up in SQLite, which takes no more than 1,000."""

_NUMBER_BYTES = 6  # of base64, or fewer
_RECORD_BYTES = 256

Where = dict[str, Any]


class Item(NamedTuple):
    """A record as Chroma takes it, but for its id."""

    vector: Vectors
    text: str
    metadata: dict[str, Value | None]


def item_of(record: VectorRecord, dimension: int) -> tuple[Item, int] | str:
    """A record as Chroma takes it, and at most how many bytes of a request that is; or why it takes none."""
    if not record.key or whole(record.key) != record.key:
        return "Its key is empty, or holds halves of characters."
    if reason := reason_against(record.vector, dimension):
        return reason
    asked = {key: None if value == [] else value for key, value in values(record.metadata).items()}
    metadata = {**dict.fromkeys(KEYS), **asked, DOC: document(record)}
    item = Item(unit(record.vector), whole(record.text), metadata)
    texts = len(json.dumps(item.metadata)) + len(json.dumps(item.text))
    return item, texts + record.vector.size * _NUMBER_BYTES + _RECORD_BYTES


def record_of(key: str, vector: Any, text: str | None, metadata: Mapping[str, Any]) -> VectorRecord:
    """The record that Chroma keeps so."""
    kept = dict(metadata)
    doc = kept.pop(DOC, "{}")
    return rebuilt(key, vector, text or "", doc, kept)


def compiled(filters: Filters) -> Where | None:
    """The filter that lets pass whatever fits ``filters``, None when nothing need be asked."""
    asked: list[Where] = []
    for condition in affordable(filters, MAX_ALTERNATIVES):
        alternatives = _alternatives(condition)
        asked.append({"$or": alternatives} if len(alternatives) > 1 else alternatives[0])
    if len(asked) > 1:
        return {"$and": asked}
    return asked[0] if asked else None


def _alternatives(condition: Condition) -> list[Where]:
    """What may hold: what ``condition`` says, or where need be a record that cannot be asked."""
    asked = _asked(condition)
    if condition.key in MAY_BE_UNFILTERED:
        asked.append({UNFILTERED: {"$contains": condition.key}})
    return asked


def _asked(condition: Condition) -> list[Where]:
    key, given = condition.key, [*condition.values]
    match condition.test:
        case "from":
            return [{key: {"$gte": given[0]}}]
        case "below":
            return [{key: {"$lt": given[0]}}]
        case "any" if condition.is_list:
            return [{key: {"$contains": value}} for value in given]
        case _:
            return [{key: {"$in": given}}]
