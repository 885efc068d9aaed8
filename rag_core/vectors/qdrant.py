"""The vector index in Qdrant: stores share a collection, each sees its own points only.

What Qdrant cannot do shapes this module: a collection never changes its dimension, an upsert that holds
one bad point is refused whole, an id is one point whatever store it is of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from rag_core.errors import VectorError
from rag_core.models.servers.addresses import whole_url
from rag_core.types import Filters, Vectors
from rag_core.vectors import (
    EVERYTHING,
    Match,
    Receipt,
    Settled,
    VectorRecord,
    best_first,
    can_be_searched,
    clipped,
    unit,
    unnoticed,
)
from rag_core.vectors.agreement import check_server, check_shape, of_another
from rag_core.vectors.attempts import Refused
from rag_core.vectors.batches import Batch, batches, parts, send, settle
from rag_core.vectors.programs import QDRANT
from rag_core.vectors.qdrant_connection import QdrantConnection
from rag_core.vectors.qdrant_place import PORT, QdrantMetric, QdrantOptions, QdrantPlace, parse_qdrant
from rag_core.vectors.qdrant_points import (
    FILTER,
    INDEXED,
    OWNER,
    STORE,
    Point,
    compiled,
    is_point_id,
    marker_id,
    marker_of,
    of_store,
    point_of,
    record_of,
    these,
)
from rag_core.vectors.records import DOC, TEXT, numbers

HNSW = {"m": 32, "ef_construct": 200}
"""How new collections link their vectors. With ``hnsw_ef`` 400 it finds more than 99 of 100 of the nearest
ten even among random directions, where the server's own defaults lose a quarter."""

_BATCH = 500
_BODY = 24 * 2**20  # a server takes 32 MB unless it is told otherwise
_KEYS_A_PAGE = 5000
_RECORDS_A_PAGE = 256
_SEARCH_ATTEMPTS, _SEARCH_S = 3, 10.0  # somebody waits


class Qdrant:
    """See RemoteIndex. Making one reaches nothing yet."""

    def __init__(
        self, place: QdrantPlace, options: QdrantOptions, connection: QdrantConnection | None = None
    ) -> None:
        self.place = place
        self._options = options
        self._connection = connection or QdrantConnection(options)
        check_server(str(place), place.server, options.server, QDRANT.url_setting)

    @classmethod
    def at(cls, address: str, options: QdrantOptions) -> Qdrant:
        """The index that is at ``qdrant://HOST:PORT/COLLECTION#STORE`` already, with the shape it has.

        Raises InvalidInput for another address, VectorError when there is nothing or when the server is not
        the configured one.
        """
        server, collection, store = parse_qdrant(address)
        index = cls(QdrantPlace(server, collection, store, 1), options)
        dimension, metric = index._shape(index._collection())
        index.place = QdrantPlace(server, collection, store, dimension, metric)
        if not index.owner():
            raise Refused(
                f"There is no store at {address!r}.",
                "Check the name of the store behind the '#', and the collection.",
                404,
                "there is no such store",
            )
        return index

    @property
    def server(self) -> str:
        """See RemoteIndex.server."""
        return whole_url(self._options.url, PORT)

    def close(self) -> None:
        """Let go of the server or the folder, which another process may use then."""
        self._connection.close()

    # --- the index itself -----------------------------------------------------------

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """See RemoteIndex.prepare. The owner is that of the store: the collection belongs to nobody."""
        if not self._call("collection_exists"):
            self._create()
        found = self._collection()  # ours, or the one of somebody who was quicker
        self._check_shape(found)
        self._index_keys(found)
        theirs = self.owner()
        if not theirs and (take_over or not self._count()):
            self._mark(owner, only_if_new=not take_over)
            theirs = self.owner()
        if theirs == owner:
            return
        if not take_over:
            raise of_another(str(self.place), theirs, "set another `qdrant_collection`")
        self._mark(owner)

    def owner(self) -> str:
        """See RemoteIndex.owner."""
        try:
            found = self._call("retrieve", ids=[marker_id(self.place)], with_payload=[OWNER])
        except Refused as error:
            if error.status == 404:
                return ""
            raise
        return str(found[0].payload.get(OWNER, "")) if found else ""

    def drop(self, owner: str) -> None:
        """See RemoteIndex.drop. The collection goes with the last store in it."""
        if self.owner() != owner:
            return
        self._delete_where(of_store(self.place.store))
        if self._call("count", exact=True).count == 1:  # the owner's mark goes last: this may be cut off
            self._call("delete_collection")
        else:
            self._delete_where({"has_id": [marker_id(self.place)]})

    def _delete_where(self, condition: Any) -> None:
        self._call("delete", points_selector=self._selector({"must": [condition]}), wait=True)

    def _collection(self) -> Any:
        return self._call("get_collection")

    def _create(self) -> None:
        models = self._connection.models
        shape = models.VectorParams(
            size=self.place.dimension,
            distance=models.Distance(self.place.metric),
            hnsw_config=models.HnswConfigDiff(**HNSW),
        )
        try:
            self._call("create_collection", vectors_config=shape)
        except Refused:
            if not self._call("collection_exists"):  # else somebody was quicker
                raise

    def _shape(self, found: Any) -> tuple[int, QdrantMetric]:
        vectors = found.config.params.vectors
        if not hasattr(vectors, "size"):  # several with names, or none
            raise VectorError(
                f"The collection {self.place.collection!r} of {self._connection.called} was not made for"
                " notes: its vectors have names.",
                "Set another `qdrant_collection`.",
            )
        return vectors.size, vectors.distance.value

    def _check_shape(self, found: Any) -> None:
        dimension, metric = self._shape(found)
        compared = [
            ("dimension", dimension, self.place.dimension),
            ("distance", metric, self.place.metric),
        ]
        check_shape(
            f"The collection {self.place.collection!r} of {self._connection.called}",
            compared,
            "Set another `qdrant_collection`; a collection cannot be changed.",
        )

    def _index_keys(self, found: Any) -> None:
        """Have a server index what filters ask for; in this process indexes have no effect."""
        if not self._connection.is_server:
            return
        models = self._connection.models
        for key in INDEXED.keys() - found.payload_schema.keys():
            kind = INDEXED[key]
            if kind == "tenant":
                schema = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            else:
                schema = models.PayloadSchemaType(kind)
            self._call("create_payload_index", field_name=key, field_schema=schema, wait=True)

    def _mark(self, owner: str, *, only_if_new: bool = False) -> None:
        marker = marker_of(self.place, owner)
        extra = {}
        if only_if_new:  # a marker that is there is another's then, and stays
            extra["update_filter"] = self._filter({"must": [{"key": OWNER, "match": {"value": owner}}]})
        self._upsert([marker], **extra)

    def _count(self) -> int:
        wanted = self._filter({"must": [of_store(self.place.store)]})
        return int(self._call("count", count_filter=wanted, exact=True).count)

    # --- writing --------------------------------------------------------------------

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.put."""
        store, dimension = self.place.store, self.place.dimension
        made = batches(records, lambda record: point_of(record, store, dimension), _BATCH, _BODY)
        return settle((self._put_batch(batch) for batch in made), settled)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.delete."""
        return settle((self._delete_batch(part) for part in parts(dict.fromkeys(keys), _BATCH)), settled)

    def _put_batch(self, batch: Batch[Point]) -> Receipt:
        for key in self._taken(batch.items):
            del batch.items[key]
            batch.refused[key] = "Another store in this collection has the same passage."
        return send(batch, lambda points: self._upsert([*points.values()]))

    def _taken(self, points: Iterable[str]) -> list[str]:
        """The ids that are points of another store: copies of one store file have the same keys."""
        if not (ids := [*points]):
            return []
        found = self._call("retrieve", ids=ids, with_payload=[STORE])
        return [point.id for point in found if point.payload.get(STORE) != self.place.store]

    def _upsert(self, points: list[Point], **extra: object) -> None:
        make = self._connection.models.PointStruct
        self._call("upsert", points=[make(**point) for point in points], wait=True, **extra)

    def _delete_batch(self, keys: list[str]) -> Receipt:
        if ids := [key for key in keys if is_point_id(key)]:
            selector = self._selector(these(ids, self.place.store))
            self._call("delete", points_selector=selector, wait=True)
        return Receipt(tuple(keys))

    # --- reading --------------------------------------------------------------------

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search."""
        query = unit(query)
        if k < 1 or not can_be_searched(query):
            return []
        found = self._call(
            "query_points",
            attempts=_SEARCH_ATTEMPTS,
            query=numbers(query),
            limit=k,
            query_filter=self._filter(compiled(filters, self.place.store)),
            with_payload=False,
            **self._how(),
        )
        return best_first(
            Match(point.id, _similarity(point.score, self.place.metric)) for point in found.points
        )

    def _how(self) -> dict[str, object]:
        """How a server searches; in this process every vector is compared."""
        if not self._connection.is_server:
            return {}
        exact = self._options.exact
        ef = None if exact else self._options.hnsw_ef
        return {
            "search_params": self._connection.models.SearchParams(exact=exact, hnsw_ef=ef),
            "timeout": math.ceil(min(self._options.timeout, _SEARCH_S)),
        }

    def keys(self) -> Iterator[str]:
        """See RemoteIndex.keys."""
        for point in self._points(_KEYS_A_PAGE, with_payload=False, with_vectors=False):
            yield point.id

    def records(self) -> Iterator[VectorRecord]:
        """See RemoteIndex.records."""
        for point in self._points(_RECORDS_A_PAGE, with_payload=[TEXT, DOC, FILTER], with_vectors=True):
            yield record_of(point.id, point.vector, point.payload)

    def _points(self, count: int, **wanted: object) -> Iterator[Any]:
        mine = self._filter({"must": [of_store(self.place.store)]})
        offset = None
        while True:
            page, offset = self._call("scroll", scroll_filter=mine, limit=count, offset=offset, **wanted)
            yield from page
            if offset is None:
                return

    def _filter(self, wanted: dict[str, Any]) -> Any:
        return self._connection.models.Filter(**wanted)

    def _selector(self, wanted: dict[str, Any]) -> Any:
        return self._connection.models.FilterSelector(filter=self._filter(wanted))

    def _call(self, operation: str, **arguments: Any) -> Any:
        return self._connection.call(operation, self.place.collection, **arguments)


def _similarity(score: float, metric: QdrantMetric) -> float:
    """The cosine of two unit vectors that Qdrant gives ``score``."""
    return clipped(1 - score * score / 2 if metric == "Euclid" else score)
