"""A record as indexes outside the store's file keep it, and as it comes back: whole characters, lists for
tuples, the document in one text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rag_core.types import Vectors
from rag_core.vectors import Metadata, VectorRecord, unit

TEXT, DOC = "text", "doc"
"""The keys that hold what rebuilds a chunk, where an index has no place of its own for it."""

NUMBER_BYTES = 14
"""At most so many bytes of a request a number of ``numbers`` takes: ``-0.123456789, ``."""

Value = str | int | bool | list[str]

_DIGITS = 9  # of a number in a unit vector: closer than float32 tells apart


def whole(text: str) -> str:
    """``text`` with a replacement character for each half of one, which no index takes."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def document(record: VectorRecord) -> str:
    """The document of ``record`` as it is kept."""
    return whole(json.dumps(record.doc, ensure_ascii=False, separators=(",", ":")))


def values(metadata: Metadata) -> dict[str, Value]:
    """What can be asked of a record, as it is kept."""
    return {key: _kept(value) for key, value in metadata.items()}


def _kept(value: str | int | bool | tuple[str, ...]) -> Value:
    match value:
        case str():
            return whole(value)
        case tuple():
            return [whole(element) for element in value]
        case _:
            return value


def numbers(vector: Vectors) -> list[float]:
    """A unit vector as Python numbers that are short when written."""
    found: list[float] = np.round(vector.astype(np.float64), _DIGITS).tolist()
    return found


def rebuilt(key: str, vector: Any, text: str, doc: str, kept: Mapping[str, Any]) -> VectorRecord:
    """The record that is kept so."""
    metadata = {name: _ours(value) for name, value in kept.items()}
    return VectorRecord(key, np.array(vector, np.float32), text, json.loads(doc), metadata)


def _ours(value: Any) -> str | int | bool | tuple[str, ...]:
    match value:
        case list():
            return tuple(value)
        case float():  # some give every number so
            return int(value)
        case _:
            return value  # type: ignore[no-any-return]


def reason_against(vector: Vectors, dimension: int) -> str:
    """Why an index of ``dimension`` would refuse ``vector``, and all beside it; ``""`` if it would not."""
    if vector.shape != (dimension,):
        return f"Its vector has the shape {vector.shape} instead of ({dimension},)."
    if not np.isfinite(vector).all():
        return "Its vector holds a value that is not a number."
    if not np.any(unit(vector)):
        return "Its vector has no length."
    return ""
