"""The vector index in Chroma: one collection a store.

What Chroma cannot do shapes this module: an upsert leaves the keys that a new record lacks, a collection
learns its dimension from the first vector, and its search is approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

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
from rag_core.vectors.batches import batches, parts, send, settle
from rag_core.vectors.chroma_connection import ChromaConnection
from rag_core.vectors.chroma_place import (
    PORT,
    ChromaMetric,
    ChromaOptions,
    ChromaPlace,
    parse_chroma,
)
from rag_core.vectors.chroma_records import Item, compiled, item_of, record_of
from rag_core.vectors.programs import CHROMA

HNSW = {"max_neighbors": 32, "ef_construction": 200}
"""How collections link their vectors. With ``ef_search`` 400 it finds more than 99 of 100 of the nearest ten
even among random directions, where Chroma's own defaults lose a third."""

ALL = 1_000_000
"""So many candidates are looked at for an exact search: every vector that the index has linked."""

_OWNER, _DIMENSION = "commonplace:owner", "commonplace:dimension"
_BATCH = 2000
_BODY = 16 * 2**20  # a server takes 40 MB unless it is told otherwise
_KEYS_A_PAGE = 5000
_RECORDS_A_PAGE = 256
_SEARCH_ATTEMPTS = 3  # somebody waits
_T = TypeVar("_T")


class Chroma:
    """See RemoteIndex. Making one reaches nothing yet."""

    def __init__(
        self, place: ChromaPlace, options: ChromaOptions, connection: ChromaConnection | None = None
    ) -> None:
        self.place = place
        self._options = options
        self._connection = connection or ChromaConnection(options)
        self._known: Any = None
        check_server(str(place), place.server, options.server, CHROMA.url_setting)

    @classmethod
    def at(cls, address: str, options: ChromaOptions) -> Chroma:
        """The index that is at ``chroma://HOST:PORT/COLLECTION`` already, with the shape it has.

        Raises InvalidInput for another address, VectorError when there is nothing or when the server is not
        the configured one.
        """
        server, collection = parse_chroma(address)
        index = cls(ChromaPlace(server, collection, 1), options)
        dimension, metric = index._shape(index._model())
        if not dimension:
            raise VectorError(
                f"The collection at {address!r} was not made for notes.", "Check its name in the address."
            )
        index.place = ChromaPlace(server, collection, dimension, metric)
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
        """See RemoteIndex.prepare."""
        found = self._found()
        if found is None:
            self._create(owner)
            found = self._model()  # ours, or the one of somebody who was quicker
        self._check_shape(found)
        self._check_age()
        theirs = _metadata(found).get(_OWNER, "")
        if theirs != owner:
            if not take_over:
                raise of_another(str(self.place), theirs, "give the store another name")
            mine = {**_metadata(found), _OWNER: owner, _DIMENSION: self.place.dimension}
            self._modify(new_metadata=mine)
        if found.configuration_json["hnsw"].get("ef_search") != self._ef_search:
            self._modify(new_configuration={"hnsw": {"ef_search": self._ef_search}})

    def owner(self) -> str:
        """See RemoteIndex.owner."""
        found = self._found()
        return str(_metadata(found).get(_OWNER, "")) if found else ""

    def drop(self, owner: str) -> None:
        """See RemoteIndex.drop."""
        if self.owner() != owner:
            return
        try:
            self._connection.call(lambda api: api.delete_collection(self.place.collection))
        except Refused as error:
            if error.status != 404:
                raise
        self._known = None

    @property
    def _ef_search(self) -> int:
        return ALL if self._options.exact else self._options.ef_search

    def _found(self) -> Any:
        """What Chroma knows of the collection now, None when there is none."""
        try:
            return self._model()
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def _model(self) -> Any:
        """What Chroma knows of the collection now."""
        self._known = self._connection.call(lambda api: api.get_collection(self.place.collection))
        return self._known

    def _create(self, owner: str) -> None:
        hnsw = {"space": self.place.metric, "ef_search": self._ef_search, **HNSW}
        metadata = {_OWNER: owner, _DIMENSION: self.place.dimension}
        self._connection.call(
            lambda api: api.create_collection(
                self.place.collection,
                metadata=metadata,
                configuration={"hnsw": hnsw, "embedding_function": None},
                get_or_create=True,
            )
        )

    def _modify(self, **changes: Any) -> None:
        """Change what is said of the collection; its own method for it warns of its embedding function."""
        self._with(lambda collection: collection._client._modify(id=collection.id, **changes))

    def _shape(self, found: Any) -> tuple[int, ChromaMetric]:
        hnsw = found.configuration_json.get("hnsw")
        if not hnsw:
            raise VectorError(
                f"The collection {self.place.collection!r} of {self._connection.called} has another kind of"
                " index than HNSW.",
                "Use a Chroma server of your own.",
            )
        return _metadata(found).get(_DIMENSION) or found.dimension or 0, hnsw["space"]

    def _check_shape(self, found: Any) -> None:
        dimension, metric = self._shape(found)
        compared = [
            ("dimension", dimension or self.place.dimension, self.place.dimension),
            ("distance", metric, self.place.metric),
        ]
        check_shape(
            f"The collection {self.place.collection!r} of {self._connection.called}",
            compared,
            "Give the store another name, or delete the collection if nobody needs it; it cannot be changed.",
        )

    def _check_age(self) -> None:
        """Make sure that lists can be filtered by, which a server's version does not tell."""
        asked = {"names": {"$contains": "any"}}
        try:
            self._with(lambda collection: collection.get(where=asked, limit=1, include=[]))
        except Refused as error:
            if error.status not in (400, 422):
                raise
            raise VectorError(
                f"{self._connection.called} is too old: it cannot filter by lists.",
                "Use Chroma 1.5 or newer.",
            ) from None

    # --- writing --------------------------------------------------------------------

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.put."""
        dimension = self.place.dimension
        made = batches(records, lambda record: item_of(record, dimension), self._most(), _BODY)
        return settle((send(batch, self._upsert) for batch in made), settled)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.delete."""
        return settle(
            (self._delete_batch(part) for part in parts(dict.fromkeys(keys), self._most())), settled
        )

    def _most(self) -> int:
        """How many records one request may hold."""
        said: int = self._connection.call(lambda api: api.get_max_batch_size())
        return min(said, _BATCH) if said > 0 else _BATCH

    def _upsert(self, items: dict[str, Item]) -> None:
        self._with(
            lambda collection: collection.upsert(
                ids=[*items],
                embeddings=[item.vector for item in items.values()],
                documents=[item.text for item in items.values()],
                metadatas=[item.metadata for item in items.values()],
            )
        )

    def _delete_batch(self, keys: list[str]) -> Receipt:
        self._with(lambda collection: collection.delete(ids=keys))
        return Receipt(tuple(keys))

    # --- reading --------------------------------------------------------------------

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search."""
        query = unit(query)
        if k < 1 or not can_be_searched(query):
            return []
        where = compiled(filters)
        found = self._with(
            lambda collection: collection.query(
                query_embeddings=[query], n_results=k, where=where, include=["distances"]
            ),
            attempts=_SEARCH_ATTEMPTS,
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return best_first(Match(key, _similarity(distance, self.place.metric)) for key, distance in pairs)

    def keys(self) -> Iterator[str]:
        """See RemoteIndex.keys."""
        for page in self._pages(_KEYS_A_PAGE, []):
            yield from page["ids"]

    def records(self) -> Iterator[VectorRecord]:
        """See RemoteIndex.records."""
        for page in self._pages(_RECORDS_A_PAGE, ["embeddings", "documents", "metadatas"]):
            columns = page["ids"], page["embeddings"], page["documents"], page["metadatas"]
            for key, vector, text, metadata in zip(*columns, strict=True):
                yield record_of(key, vector, text, metadata or {})

    def _pages(self, count: int, include: list[str]) -> Iterator[dict[str, Any]]:
        start = 0
        while True:
            at = start
            page = self._with(lambda collection: collection.get(limit=count, offset=at, include=include))  # noqa: B023
            yield page
            if len(page["ids"]) < count:
                return
            start += count

    def _with(self, act: Callable[[Any], _T], *, attempts: int | None = None) -> _T:
        """What ``act`` gives, which asks the package's Collection. Raises like ChromaConnection.call."""
        try:
            return self._connection.call(lambda api: act(self._collection(api)), attempts=attempts)
        except Refused as error:
            if error.status == 404:  # another of the same name may come
                self._known = None
            raise

    def _collection(self, api: Any) -> Any:
        from chromadb.api.models.Collection import Collection

        if self._known is None:
            self._known = api.get_collection(self.place.collection)
        return Collection(client=api, model=self._known, embedding_function=None)


def _metadata(model: Any) -> dict[str, Any]:
    return dict(model.metadata or {})


def _similarity(distance: float, metric: ChromaMetric) -> float:
    """The cosine of two unit vectors at ``distance``, which ``l2`` gives squared."""
    return clipped(1 - distance / 2 if metric == "l2" else 1 - distance)
