"""A chunk as a record of Chroma, and filters as Chroma takes them.

Its metadata is flat: texts, numbers, yes or no, and lists of one of these, never empty. An upsert leaves the
keys of an old record that the new one lacks, so each record says of every key that it has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rag_core.types import Filters, Vectors
from rag_core.vectors import VectorRecord, unit
from rag_core.vectors.batches import reason_against, whole
from rag_core.vectors.payload import MAY_BE_UNFILTERED, UNFILTERED, Condition, conditions

DOC = "doc"
KEYS = ("file_type", "folder", "folders", "names", "private", "tags", "page", "date", UNFILTERED)
"""Every key that ``payload.metadata`` may give."""

MAX_ALTERNATIVES = 500
"""So many in one filter, all together: they are looked up in SQLite, which takes no more than 1,000."""

_NUMBER_BYTES = 6  # of base64, or fewer
_RECORD_BYTES = 256

Value = str | int | bool | list[str] | None
Where = dict[str, Any]


class Item(NamedTuple):
    """A record as Chroma takes it, but for its id."""

    vector: Vectors
    text: str
    metadata: dict[str, Value]


def item_of(record: VectorRecord) -> tuple[Item, int]:
    """A record as Chroma takes it, and at most how many bytes of a request that is."""
    doc = json.dumps(record.doc, ensure_ascii=False, separators=(",", ":"))
    metadata: dict[str, Value] = dict.fromkeys(KEYS)
    metadata |= {key: _plain(value) for key, value in record.metadata.items()}
    item = Item(unit(record.vector), whole(record.text), {**metadata, DOC: whole(doc)})
    texts = len(json.dumps(item.metadata)) + len(json.dumps(item.text))
    return item, texts + record.vector.size * _NUMBER_BYTES + _RECORD_BYTES


def _plain(value: str | int | bool | tuple[str, ...]) -> Value:
    match value:
        case str():
            return whole(value)
        case tuple():
            return [whole(element) for element in value] or None
        case _:
            return value


def record_of(key: str, vector: Any, text: str | None, metadata: Mapping[str, Any]) -> VectorRecord:
    """The record that Chroma keeps so."""
    found = dict(metadata)
    doc = found.pop(DOC, "{}")
    return VectorRecord(
        key=key,
        vector=np.array(vector, np.float32),
        text=text or "",
        doc=json.loads(doc),
        metadata={name: tuple(value) if isinstance(value, list) else value for name, value in found.items()},
    )


def reason_against_item(record: VectorRecord, dimension: int) -> str:
    """Why Chroma would refuse ``record``, ``""`` if it would not."""
    if not record.key or whole(record.key) != record.key:
        return "Its key is empty, or holds halves of characters."
    return reason_against(record.vector, dimension)


def compiled(filters: Filters) -> Where | None:
    """The filter that lets pass whatever fits ``filters``, None when nothing need be asked."""
    asked: list[Where] = []
    room = MAX_ALTERNATIVES
    for condition in sorted(conditions(filters), key=lambda condition: len(condition.values)):
        if len(condition.values) < room:  # the rest is left to the local check
            room -= len(condition.values) + 1
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
    values = [whole(value) if isinstance(value, str) else value for value in condition.values]
    match condition.test:
        case "from":
            return [{condition.key: {"$gte": values[0]}}]
        case "below":
            return [{condition.key: {"$lt": values[0]}}]
        case "any" if condition.is_list:
            return [{condition.key: {"$contains": value}} for value in values]
        case _:
            return [{condition.key: {"$in": values}}]
