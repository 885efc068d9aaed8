"""A chunk as a point of Qdrant, and filters as Qdrant takes them.

The keys of a point's payload that other programs read are those that the Note Q&A plan fixes
(``vault_id`` … ``note_title``); a store is its vault. Beside them stand ``text`` and ``doc``, which rebuild
the chunk, and under ``filter`` what our own filters ask for: ``folder`` is another thing there.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rag_core.types import Filters
from rag_core.vectors import VectorRecord, unit
from rag_core.vectors.batches import NUMBER_BYTES, numbers, reason_against, whole
from rag_core.vectors.payload import MAY_BE_UNFILTERED, UNFILTERED, Condition, conditions
from rag_core.vectors.qdrant_place import QdrantPlace

STORE = "vault_name"
TEXT, DOC, FILTER = "text", "doc", "filter"
OWNER, OWNER_OF = "commonplace_owner", "commonplace_owner_of"
"""The keys of the one point that says whose a store is. It has no vault, so no store finds it."""

INDEXED = {
    STORE: "tenant",
    **{f"{FILTER}.{key}": "keyword" for key in (
        "file_type", "folder", "folders", "names", "tags", "page", UNFILTERED,
    )},
    f"{FILTER}.date": "integer",
}  # fmt: skip
"""Keys that are filtered by → what kind of payload index they get on a server."""

_SPACE = uuid.UUID("7b0f6ddc-6a5e-5f0e-9d5e-2f1f2f3e6c11")
_RECORD_BYTES = 128  # names, braces and commas of one point

Filter = dict[str, Any]
Point = dict[str, Any]


def point_of(record: VectorRecord, store: str) -> tuple[Point, int]:
    """A record as Qdrant takes it, and at most how many bytes of a request that is."""
    payload = payload_of(record, store)
    vector = numbers(unit(record.vector))
    size = len(json.dumps(payload)) + len(vector) * NUMBER_BYTES + _RECORD_BYTES
    return {"id": record.key, "vector": vector, "payload": payload}, size


def payload_of(record: VectorRecord, store: str) -> dict[str, Any]:
    """All that is kept of ``record`` beside its vector."""
    path = whole(str(record.doc.get("path", "")))
    return {
        "vault_id": vault_id(store),
        STORE: store,
        "note_id": str(uuid.uuid5(_SPACE, f"{store}/{path}")),
        "rel_path": path,
        "folder": posixpath.dirname(path),
        "heading_path": _heading_path(record.doc.get("heading_path", ())),
        "chunk_index": int(record.doc.get("chunk_index", 0)),
        "note_title": whole(str(record.doc.get("title", ""))),
        TEXT: whole(record.text),
        DOC: whole(json.dumps(record.doc, ensure_ascii=False, separators=(",", ":"))),
        FILTER: {key: _plain(value) for key, value in record.metadata.items()},
    }


def _heading_path(headings: Sequence[str]) -> str:
    """``# A > ## B``: the deeper, the more signs."""
    return " > ".join(f"{'#' * depth} {whole(heading)}" for depth, heading in enumerate(headings, 1))


def _plain(value: str | int | bool | tuple[str, ...]) -> str | int | bool | list[str]:
    match value:
        case str():
            return whole(value)
        case tuple():
            return [whole(element) for element in value]
        case _:
            return value


def vault_id(store: str) -> int:
    """A number for a store: the same wherever a store has this name, in whatever case."""
    return int.from_bytes(hashlib.sha256(store.casefold().encode()).digest()[:6])


def record_of(key: str, vector: Sequence[float], payload: Mapping[str, Any]) -> VectorRecord:
    """The record that a point was made of."""
    return VectorRecord(
        key=key,
        vector=np.array(vector, np.float32),
        text=payload.get(TEXT, ""),
        doc=json.loads(payload.get(DOC, "{}")),
        metadata={
            name: tuple(value) if isinstance(value, list) else value
            for name, value in payload.get(FILTER, {}).items()
        },
    )


def reason_against_point(record: VectorRecord, dimension: int) -> str:
    """Why Qdrant would refuse ``record``, ``""`` if it would not."""
    if not is_point_id(record.key):
        return "Its key is not a UUID."
    return reason_against(record.vector, dimension)


def is_point_id(key: str) -> bool:
    """Whether ``key`` can be the id of a point, and comes back as it is."""
    try:
        return str(uuid.UUID(key)) == key
    except ValueError:
        return False


def marker_of(place: QdrantPlace, owner: str) -> Point:
    """The point that says whose the store at ``place`` is."""
    vector = [1.0, *[0.0] * (place.dimension - 1)]
    return {"id": marker_id(place), "vector": vector, "payload": {OWNER_OF: place.store, OWNER: owner}}


def marker_id(place: QdrantPlace) -> str:
    """The id of that point."""
    return str(uuid.uuid5(_SPACE, f"owner of {place.store}"))


def compiled(filters: Filters, store: str) -> Filter:
    """The filter for what is of ``store`` and may fit ``filters``."""
    return {"must": [of_store(store), *(_either(condition) for condition in conditions(filters))]}


def of_store(store: str) -> Filter:
    """The condition that all of a store's points fit, and no other."""
    return {"key": STORE, "match": {"value": store}}


def these(keys: Sequence[str], store: str) -> Filter:
    """The filter for the points ``keys`` as far as they are of ``store``."""
    return {"must": [of_store(store), {"has_id": [*keys]}]}


def _either(condition: Condition) -> Filter:
    """What ``condition`` says, or where need be a point that says of itself that it cannot be asked."""
    key = f"{FILTER}.{condition.key}"
    values = [whole(value) if isinstance(value, str) else value for value in condition.values]
    match condition.test:
        case "from":
            asked: Filter = {"key": key, "range": {"gte": values[0]}}
        case "below":
            asked = {"key": key, "range": {"lt": values[0]}}
        case _:
            asked = {"key": key, "match": {"any": values}}
    if condition.key not in MAY_BE_UNFILTERED:
        return asked
    return {"should": [asked, {"key": f"{FILTER}.{UNFILTERED}", "match": {"value": condition.key}}]}
