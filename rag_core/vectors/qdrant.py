"""The vector index in Qdrant. Stores share a collection, and each sees only its own points. The dimension of
a collection cannot change, so a store with a new embedder moves to the collection ``NAME-VARIANT``.

Other programs read the payload keys that the Note Q&A plan defines (``vault_id`` … ``note_title``). A store
is its vault. ``text`` and ``doc`` rebuild the chunk, and ``filter`` contains the fields for our filters.
"""

from __future__ import annotations

import hashlib
import json
import math
import posixpath
import re
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from rag_core.config.options import setting
from rag_core.errors import VectorError
from rag_core.models.addresses import straight_to
from rag_core.models.server import Server, probe
from rag_core.text.words import well_formed
from rag_core.types import Filters, Vectors
from rag_core.vectors import Receipt, VectorRecord, payload
from rag_core.vectors.payload import DOC, MAY_BE_UNFILTERED, TEXT, UNFILTERED, Condition
from rag_core.vectors.remote import KEYS_A_PAGE, RECORDS_A_PAGE, Batch, Remote, Shape, Undo, unless
from rag_core.vectors.service import SEARCH_ATTEMPTS, Busy, Program, ProgramOptions, ServiceRefused

KEY_VARIABLE = "COMMONPLACE_QDRANT_API_KEY"

_HNSW = {"m": 32, "ef_construct": 200}
HNSW_EF = 400
"""With this value, over 99 of 100 of the nearest ten are found, even among random directions. With the
defaults, a quarter are missed."""

STORE_FIELD = "vault_name"
FILTER = "filter"
OWNER, OWNER_OF = "commonplace_owner", "commonplace_owner_of"
"""The keys of the point that names a store's owner. The point has no vault, so no store finds it."""

_KEYWORDS = ("file_type", "folder", "folders", "names", "tags", "page", UNFILTERED)
INDEXED = {f"{FILTER}.{key}": "keyword" for key in _KEYWORDS} | {
    STORE_FIELD: "tenant",
    f"{FILTER}.date": "integer",
}
"""Filtered keys → the kind of payload index for them on a server."""

_MOST_STORES = 1000  # maximum number of stores listed in a collection
_SPACE = uuid.UUID("7b0f6ddc-6a5e-5f0e-9d5e-2f1f2f3e6c11")

QdrantFilter = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantOptions(ProgramOptions):
    """How to reach Qdrant."""

    url: str = setting("qdrant_url", "")
    path: Path = setting("qdrant_folder", Path())
    collection: str = setting("qdrant_collection", "notes")
    #: From the environment. It is sent only to ``url``.
    api_key: str = setting("qdrant_api_key", "", secret=True)
    port = 6333


class QdrantService(Program[QdrantOptions]):
    """Qdrant, on a server or in a folder."""

    name, extra, package, module = "Qdrant", "qdrant", "qdrant-client", "qdrant_client"
    access = f"Set {KEY_VARIABLE}, best in .env."
    wanted = "Qdrant"

    @staticmethod
    def version_at(server: Server, options: QdrantOptions) -> str | None:
        _, said = probe(server, "/")
        if not isinstance(said, dict) or "qdrant" not in str(said.get("title", "")).lower():
            return None
        probe(server, "/collections", options.api_key)
        version = said.get("version")
        return version if isinstance(version, str) else ""

    def _connect(self) -> Any:
        key = self.options.api_key
        return self.imported().QdrantClient(
            url=self.options.server,
            headers={"api-key": key} if key else None,
            timeout=math.ceil(self.options.timeout),
            # the check asks the server in the background, and warns on standard error
            check_compatibility=False,
            **straight_to(self.options.server),
        )

    def _start(self, folder: Path) -> Any:
        client = self.imported().QdrantClient
        try:
            return client(path=str(folder), force_disable_check_same_thread=True)  # we take turns
        except (RuntimeError, ValueError, sqlite3.Error, OSError) as error:
            raise self.damage(error) from error

    @staticmethod
    def _stop(engine: Any) -> None:
        engine.close()

    def explained(self, error: Exception) -> Exception:
        from httpx import TransportError

        busy = self.imported("qdrant_client.common.client_exceptions")
        http = self.imported("qdrant_client.http.exceptions")
        if isinstance(error, http.ResponseHandlingException):
            error = error.source
        match error:
            case ValueError() if not self.options.url:
                said = str(error)
                return self.refusal(404 if re.fullmatch("Collection .* not found", said) else 400, said)
            case sqlite3.Error() | OSError() if not self.options.url:
                return self.damage(error)
            case http.UnexpectedResponse():
                content = error.content.decode("utf-8", "replace")
                return self.answered(error.status_code or 0, content, secret=self.options.api_key)
            case busy.QdrantException():  # without a number of seconds, the server named a day to wait for
                return Busy("status 429", float(getattr(error, "retry_after_s", 0)))
            case TransportError():
                return Busy(type(error).__name__)
            case ValueError() | AssertionError():  # no JSON, or not all of it
                return self.mistaken()
        return error


class Qdrant(Remote[QdrantService]):
    """The points of one store in a Qdrant collection."""

    service_type = QdrantService
    options_type = QdrantOptions
    form = "qdrant://HOST:PORT/COLLECTION#STORE"
    pattern = re.compile(
        r"qdrant://(?P<server>[^#]*)/(?P<collection>[A-Za-z0-9_][\w.-]{0,199})"
        r"#(?P<store>[A-Za-z0-9][A-Za-z0-9_-]{0,62})"
    )
    metrics = {"cosine": "Cosine", "euclidean": "Euclid", "dot_product": "Dot"}  # noqa: RUF012
    max_dimension = 65_536
    max_batch = 500
    max_bytes = 24 * 2**20  # a server accepts 32 MB by default
    other_place = "To make a separate index for this store, set another `qdrant_collection`."

    @staticmethod
    def address_of(store: str, variant: str, options: QdrantOptions) -> str:
        collection = f"{options.collection}-{variant}" if variant else options.collection
        return f"qdrant://{options.host}/{collection}#{store}"

    @classmethod
    def visible(cls, options: QdrantOptions) -> Iterator[str]:
        """Yield the address of every store in collections whose points name their store. Raises VectorError
        if the server cannot be asked."""
        with closing(QdrantService(options)) as service:
            for found in service.ask(methodcaller("get_collections")).collections:
                try:
                    counts = service.ask(methodcaller("facet", found.name, STORE_FIELD, limit=_MOST_STORES))
                # its points are not counted by store, so it belongs to another program
                except ServiceRefused:
                    continue
                stores = sorted(str(hit.value) for hit in counts.hits)
                addresses = (f"qdrant://{options.host}/{found.name}#{store}" for store in stores)
                yield from (address for address in addresses if cls.pattern.fullmatch(address))

    def _locate(self, names: Mapping[str, str]) -> None:
        self.service.require(self.address, names["server"])
        self._collection, self._store = names["collection"], names["store"]
        self._mine = {"key": STORE_FIELD, "match": {"value": self._store}}
        self._marker = str(uuid.uuid5(_SPACE, f"owner of {self._store}"))

    @classmethod
    def existing(cls, address: str, options: QdrantOptions) -> Qdrant:
        index = super().existing(address, options)
        if not index.owner():
            advice = "Check the name of the store after the '#', and the collection."
            raise ServiceRefused(f"There is no store at {address!r}.", advice, 404)
        return index

    def _describe(self) -> Any:
        return self._call("get_collection")

    def _shape(self, found: Any) -> Shape:
        vectors = found.config.params.vectors
        if not hasattr(vectors, "size"):  # several with names, or none
            message = f"The collection {self._collection!r} of {self.service.called} was not made for notes."
            raise VectorError(message, "Set another `qdrant_collection`.")
        return vectors.size, vectors.distance.value

    def _owner_of(self, _: Any) -> str:
        found = self._call("retrieve", ids=[self._marker], with_payload=[OWNER])
        return str(found[0].payload.get(OWNER, "")) if found else ""

    def _create(self, owner: str, undo: Undo) -> None:  # noqa: ARG002 - collections have no owner
        models = self.service.imported().models
        distance, hnsw = models.Distance(self.metric), models.HnswConfigDiff(**_HNSW)
        shape = models.VectorParams(size=self.dimension, distance=distance, hnsw_config=hnsw)
        if unless((400, 409), partial(self._call, "create_collection", vectors_config=shape)):
            undo.append(self._delete_if_empty)

    def _adopt(self, found: Any, owner: str) -> str:
        """Create payload indexes for the fields that filters use. A store without owner and points gets the
        owner ``owner``. Return the store's owner."""
        if self.service.options.url:  # in this process indexes have no effect
            models = self.service.imported().models
            tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            for key in INDEXED.keys() - found.payload_schema.keys():
                schema = tenant if INDEXED[key] == "tenant" else models.PayloadSchemaType(INDEXED[key])
                self._call("create_payload_index", field_name=key, field_schema=schema, wait=True)
        theirs = self._owner_of(found)
        if theirs or self._call("count", count_filter=self._filter(self._mine), exact=True).count:
            return theirs
        is_mine = self._filter({"key": OWNER, "match": {"value": owner}})
        self._mark(owner, update_filter=is_mine)  # a mark of another owner stays
        return self._owner_of(found)

    def _give_to(self, _: Any, owner: str) -> None:
        self._mark(owner)

    def _mark(self, owner: str, **how: object) -> None:
        vector = [1.0, *[0.0] * (self.dimension - 1)]
        fields = {OWNER_OF: self._store, OWNER: owner}
        self._put({self._marker: {"id": self._marker, "vector": vector, "payload": fields}}, **how)

    def drop(self, owner: str) -> None:
        """Delete the points of this store if they belong to ``owner``. When the last store in the collection
        is dropped, the collection is deleted."""
        if self.owner() != owner:
            return
        self._delete_where(self._mine)
        # the owner's mark goes last, because this may be interrupted
        if self._call("count", exact=True).count == 1:
            self._call("delete_collection")
        else:
            self._delete_where({"has_id": [self._marker]})

    def _delete_if_empty(self) -> None:
        if not self._call("count", exact=True).count:
            self._call("delete_collection")

    def _encode(self, record: VectorRecord) -> tuple[dict[str, Any], int] | str:
        path = well_formed(str(record.doc.get("path", "")))
        vault = hashlib.sha256(self._store.casefold().encode()).digest()[:6]
        fields = {
            "vault_id": int.from_bytes(vault),
            STORE_FIELD: self._store,
            "note_id": str(uuid.uuid5(_SPACE, f"{self._store}/{path}")),
            "rel_path": path,
            "folder": posixpath.dirname(path),
            "heading_path": well_formed(str(record.doc.get("headings", ""))),
            "chunk_index": int(record.doc.get("chunk_index", 0)),
            "note_title": well_formed(str(record.doc.get("title", ""))),
            TEXT: record.text,
            DOC: payload.document(record),
            FILTER: payload.values(record.metadata),
        }
        point = {"id": record.key, "vector": payload.short_numbers(record.vector), "payload": fields}
        return point, len(json.dumps(point)) + len(", ")

    def _send(self, batch: Batch) -> Receipt:
        """See Remote._send. A point with the key of another store's point is refused, because copies of a
        store's file have the same keys."""
        ids = [*batch.items]
        found = self._call("retrieve", ids=ids, with_payload=[STORE_FIELD]) if ids else []
        for point in found:
            if point.payload.get(STORE_FIELD) != self._store:
                del batch.items[point.id]
                batch.refused[point.id] = "Another store in this collection has the same passage."
        return super()._send(batch)

    def _put(self, items: dict[str, dict[str, Any]], **how: object) -> None:
        make = self.service.imported().models.PointStruct
        self._call("upsert", points=[make(**point) for point in items.values()], wait=True, **how)

    def _delete(self, keys: list[str]) -> None:
        self._delete_where(self._mine, {"has_id": keys})

    def _delete_where(self, *conditions: QdrantFilter) -> None:
        selector = self.service.imported().models.FilterSelector(filter=self._filter(*conditions))
        self._call("delete", points_selector=selector, wait=True)

    def _nearest(self, query: Vectors, k: int, filters: Filters) -> Iterator[tuple[str, float]]:
        params = self.service.imported().models.SearchParams(hnsw_ef=HNSW_EF)
        found = self._call(
            "query_points",
            SEARCH_ATTEMPTS,
            query=payload.short_numbers(query),
            limit=k,
            query_filter=self._filter(self._mine, *map(_either, payload.conditions(filters))),
            with_payload=False,
            search_params=params if self.service.options.url else None,  # a folder compares all
        )
        for point in found.points:
            yield point.id, 1 - point.score**2 / 2 if self.metric == "Euclid" else point.score

    def keys(self) -> Iterator[str]:
        for point in self._points(KEYS_A_PAGE, with_payload=False, with_vectors=False):
            yield point.id

    def records(self) -> Iterator[VectorRecord]:
        for point in self._points(RECORDS_A_PAGE, with_payload=[TEXT, DOC, FILTER], with_vectors=True):
            kept = point.payload
            text, doc, metadata = kept.get(TEXT, ""), kept.get(DOC, "{}"), kept.get(FILTER, {})
            yield payload.rebuilt(point.id, point.vector, text, doc, metadata)

    def _points(self, count: int, **wanted: object) -> Iterator[Any]:
        mine, offset = self._filter(self._mine), None
        while True:
            page, offset = self._call("scroll", scroll_filter=mine, limit=count, offset=offset, **wanted)
            yield from page
            if offset is None:
                return

    def _filter(self, *conditions: QdrantFilter) -> Any:
        return self.service.imported().models.Filter(must=[*conditions])

    def _call(self, operation: str, attempts: int = 0, /, **arguments: Any) -> Any:
        return self.service.ask(methodcaller(operation, self._collection, **arguments), attempts)


def _either(condition: Condition) -> QdrantFilter:
    """Return the filter for ``condition``. For fields that a point may lack, it also matches points that list
    the field as unfiltered."""
    key = f"{FILTER}.{condition.key}"
    asked: QdrantFilter = {"key": key, "match": {"any": [*condition.values]}}
    if condition.test != "any":
        asked = {"key": key, "range": {"gte" if condition.test == "from" else "lt": condition.values[0]}}
    if condition.key not in MAY_BE_UNFILTERED:
        return asked
    return {"should": [asked, {"key": f"{FILTER}.{UNFILTERED}", "match": {"value": condition.key}}]}
