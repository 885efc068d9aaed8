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

from rag_core.types import Filters
from rag_core.vectors import VectorRecord, unit
from rag_core.vectors.payload import MAY_BE_UNFILTERED, UNFILTERED, Condition, conditions
from rag_core.vectors.qdrant_place import QdrantPlace
from rag_core.vectors.records import (
    DOC,
    NUMBER_BYTES,
    TEXT,
    document,
    numbers,
    reason_against,
    rebuilt,
    values,
    whole,
)

STORE = "vault_name"
FILTER = "filter"
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


def point_of(record: VectorRecord, store: str, dimension: int) -> tuple[Point, int] | str:
    """A record as Qdrant takes it, and at most how many bytes of a request that is; or why it takes none."""
    if not is_point_id(record.key):
        return "Its key is not a UUID."
    if reason := reason_against(record.vector, dimension):
        return reason
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
        "heading_path": whole(str(record.doc.get("headings", ""))),
        "chunk_index": int(record.doc.get("chunk_index", 0)),
        "note_title": whole(str(record.doc.get("title", ""))),
        TEXT: whole(record.text),
        DOC: document(record),
        FILTER: values(record.metadata),
    }


def vault_id(store: str) -> int:
    """A number for a store: the same wherever a store has this name, in whatever case."""
    return int.from_bytes(hashlib.sha256(store.casefold().encode()).digest()[:6])


def record_of(key: str, vector: Sequence[float], payload: Mapping[str, Any]) -> VectorRecord:
    """The record that a point was made of."""
    return rebuilt(key, vector, payload.get(TEXT, ""), payload.get(DOC, "{}"), payload.get(FILTER, {}))


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
    given = [*condition.values]
    match condition.test:
        case "from":
            asked: Filter = {"key": key, "range": {"gte": given[0]}}
        case "below":
            asked = {"key": key, "range": {"lt": given[0]}}
        case _:
            asked = {"key": key, "match": {"any": given}}
    if condition.key not in MAY_BE_UNFILTERED:
        return asked
    return {"should": [asked, {"key": f"{FILTER}.{UNFILTERED}", "match": {"value": condition.key}}]}
