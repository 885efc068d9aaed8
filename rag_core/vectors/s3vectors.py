"""The vector index in Amazon S3 Vectors: one bucket a store, one index an embedder.

What the service cannot do shapes this module: an index never changes its shape, a put replaces a record
whole, nothing is counted, a search gives distances and no more than 100 of them at once.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

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
from rag_core.vectors.agreement import check_shape, of_another, undone_on_failure
from rag_core.vectors.batches import Batch, batches, parts, send, settle
from rag_core.vectors.records import DOC, TEXT, numbers, reason_against, rebuilt, whole
from rag_core.vectors.s3_client import Refused, S3Client
from rag_core.vectors.s3_metadata import MAX_METADATA, NON_FILTERABLE, compiled, metadata_of, size
from rag_core.vectors.s3_place import S3Metric, S3Options, S3Place, parse_address

MAX_FOUND = 10_000
"""So many hits the service pages through; it looks no further."""

_BATCH = 500
_BODY = 20 * 2**20 - 4096  # of a request, with room for all that is not a record
_AT_ONCE = 2
_PAGE = 1000
_KEY_BYTES = 1024
_OWNER_TAG = "commonplace:owner"
_SEARCH_ATTEMPTS = 3  # somebody waits


class S3Vectors:
    """See RemoteIndex. Making one reaches nothing yet."""

    def __init__(self, place: S3Place, options: S3Options, client: S3Client | None = None) -> None:
        self.place = place
        self._options = options
        self._client = client or S3Client(options)

    @classmethod
    def at(cls, address: str, options: S3Options) -> S3Vectors:
        """The index that is at ``s3vectors://BUCKET/INDEX`` already, with the shape it has.

        Raises InvalidInput for another address, VectorError when there is nothing.
        """
        bucket, index = parse_address(address)
        client = S3Client(options)
        found = client.call("get_index", vectorBucketName=bucket, indexName=index)["index"]
        return cls(S3Place(bucket, index, found["dimension"], found["distanceMetric"]), options, client)

    # --- the index itself -----------------------------------------------------------

    @property
    def server(self) -> str:
        """See RemoteIndex.server."""
        return self._options.endpoint_url or f"https://s3vectors.{self._options.region or 'aws'}.api.aws"

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        """See RemoteIndex.prepare."""
        with undone_on_failure() as undo:
            found = self._found()
            if found is None:
                self._create(owner, undo)
                found = self._index()  # ours, or the one of somebody who was quicker
            self._check_shape(found)
            theirs = self._tags(found["indexArn"]).get(_OWNER_TAG, "")
            if theirs == owner:
                return
            if not take_over:
                raise of_another(str(self.place), theirs, "choose another bucket prefix")
            self._call("tag_resource", resourceArn=found["indexArn"], tags={_OWNER_TAG: owner})

    def owner(self) -> str:
        """See RemoteIndex.owner."""
        found = self._found()
        return self._tags(found["indexArn"]).get(_OWNER_TAG, "") if found else ""

    def drop(self, owner: str) -> None:
        """See RemoteIndex.drop. The bucket goes with the last index in it."""
        found = self._found()
        theirs = self._tags(found["indexArn"]).get(_OWNER_TAG, "") if found else self._bucket_owner()
        if theirs != owner:
            return
        if found:
            self._delete_index()
        self._delete_bucket()

    def _delete_index(self) -> None:
        where = {"vectorBucketName": self.place.bucket, "indexName": self.place.index}
        self._unless("NotFoundException", "delete_index", **where)

    def _delete_bucket(self) -> None:
        """Delete the bucket unless another index is in it."""
        codes = "NotFoundException ConflictException"
        self._unless(codes, "delete_vector_bucket", vectorBucketName=self.place.bucket)

    def _bucket_owner(self) -> str:
        """Who made the bucket; ``""`` when there is none, or nobody may know."""
        try:
            found = self._call("get_vector_bucket", vectorBucketName=self.place.bucket)["vectorBucket"]
            return self._tags(found["vectorBucketArn"]).get(_OWNER_TAG, "")
        except Refused:
            return ""

    def _found(self) -> dict[str, Any] | None:
        try:
            return self._index()
        except Refused as error:
            if error.code == "NotFoundException":
                return None
            raise

    def _index(self) -> dict[str, Any]:
        index: dict[str, Any] = self._here("get_index")["index"]
        return index

    def _tags(self, arn: str) -> Mapping[str, str]:
        tags: Mapping[str, str] = self._call("list_tags_for_resource", resourceArn=arn)["tags"]
        return tags

    def _create(self, owner: str, undo: list[Callable[[], object]]) -> None:
        """Create the bucket and the index, whichever is not there; ``undo`` gets what removes them."""
        made: dict[str, object] = {}
        if self._options.kms_key:
            made["encryptionConfiguration"] = {"sseType": "aws:kms", "kmsKeyArn": self._options.kms_key}
        tags = {**self._options.tags, _OWNER_TAG: owner}
        where = {"vectorBucketName": self.place.bucket}
        if self._unless("ConflictException", "create_vector_bucket", **where, tags=tags, **made):
            undo.append(self._delete_bucket)
        if self._unless(
            "ConflictException",
            "create_index",
            **where,
            indexName=self.place.index,
            **self._shape(),
            tags=tags,
            **made,
        ):
            undo.append(self._delete_index)

    def _unless(self, codes: str, operation: str, **arguments: object) -> bool:
        """Call ``operation``, which may be refused for one of ``codes``; whether it was done."""
        try:
            self._call(operation, **arguments)
        except Refused as error:
            if error.code not in codes.split():
                raise
            return False
        return True

    def _shape(self) -> dict[str, object]:
        return {
            "dataType": "float32",
            "dimension": self.place.dimension,
            "distanceMetric": self.place.metric,
            "metadataConfiguration": {"nonFilterableMetadataKeys": [*NON_FILTERABLE]},
        }

    def _check_shape(self, found: Mapping[str, Any]) -> None:
        keys = found.get("metadataConfiguration", {}).get("nonFilterableMetadataKeys", [])
        compared = [
            ("dimension", found["dimension"], self.place.dimension),
            ("distance metric", found["distanceMetric"], self.place.metric),
            ("non-filterable keys", ", ".join(sorted(keys)), ", ".join(sorted(NON_FILTERABLE))),
        ]
        check_shape(
            f"The index {str(self.place)!r}",
            compared,
            "Choose another bucket prefix, or delete the index if nobody needs it; it cannot be changed.",
        )

    def close(self) -> None:
        """See RemoteIndex.close. It holds nothing."""

    # --- writing --------------------------------------------------------------------

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.put."""
        made = batches(records, lambda record: _item(record, self.place.dimension), _BATCH, _BODY)
        return settle(self._sent(made), settled)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        """See RemoteIndex.delete."""
        return settle((self._delete_batch(batch) for batch in parts(dict.fromkeys(keys), _BATCH)), settled)

    def _sent(self, made: Iterable[Batch[bytes]]) -> Iterator[Receipt]:
        """The receipts of batches in their order: while one is on its way the next is made ready, but never
        two with the same key are under way."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            under_way: deque[tuple[set[str], Future[Receipt]]] = deque()
            for batch in made:
                keys = {*batch.items}
                while under_way and (len(under_way) == _AT_ONCE or any(keys & some for some, _ in under_way)):
                    yield under_way.popleft()[1].result()
                under_way.append((keys, pool.submit(send, batch, self._put_items)))
            while under_way:
                yield under_way.popleft()[1].result()

    def _put_items(self, items: dict[str, bytes]) -> None:
        self._client.put_vectors(self.place.bucket, self.place.index, items.values())

    def _delete_batch(self, keys: list[str]) -> Receipt:
        self._here("delete_vectors", keys=keys)
        return Receipt(tuple(keys))

    # --- reading --------------------------------------------------------------------

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search. It looks no further than ``MAX_FOUND``."""
        query = unit(query)
        if k < 1 or not can_be_searched(query):
            return []
        arguments: dict[str, object] = {
            "topK": min(k, MAX_FOUND),
            "queryVector": {"float32": numbers(query)},
            "returnDistance": True,
        }
        if condition := compiled(filters):
            arguments["filter"] = condition
        found: dict[str, float] = {}
        for page in self._pages("query_vectors", attempts=_SEARCH_ATTEMPTS, **arguments):
            for hit in page["vectors"]:
                found.setdefault(hit["key"], _similarity(hit["distance"], self.place.metric))
            if len(found) >= k:
                break
        return best_first(Match(key, similarity) for key, similarity in found.items())[:k]

    def keys(self) -> Iterator[str]:
        """See RemoteIndex.keys."""
        for page in self._pages("list_vectors", maxResults=_PAGE):
            yield from (item["key"] for item in page["vectors"])

    def records(self) -> Iterator[VectorRecord]:
        """See RemoteIndex.records."""
        for page in self._pages("list_vectors", maxResults=_PAGE, returnData=True, returnMetadata=True):
            yield from map(_record, page["vectors"])

    def _pages(self, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        page = self._here(operation, **arguments)
        yield page
        while token := page.get("nextToken"):
            page = self._here(operation, nextToken=token, **arguments)
            yield page

    def _here(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._call(
            operation, vectorBucketName=self.place.bucket, indexName=self.place.index, **arguments
        )

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._client.call(operation, **arguments)


# --- records ----------------------------------------------------------------------------


def _item(record: VectorRecord, dimension: int) -> tuple[bytes, int] | str:
    """A record as the service takes it, in JSON, and how many bytes of a request that is; or why it would
    refuse it, and everything beside it."""
    key = record.key
    if not 1 <= len(key.encode("utf-8", "surrogatepass")) <= _KEY_BYTES or whole(key) != key:
        return f"Its key is not 1 to {_KEY_BYTES} bytes of whole characters."
    if reason := reason_against(record.vector, dimension):
        return reason
    metadata = metadata_of(record)
    if (taken := size(metadata)) > MAX_METADATA:
        return f"It takes {taken:,} bytes, {MAX_METADATA:,} are allowed."
    item = {"key": key, "data": {"float32": numbers(unit(record.vector))}, "metadata": metadata}
    written = json.dumps(item, separators=(",", ":")).encode()
    return written, len(written) + len(b",")


def _record(found: Mapping[str, Any]) -> VectorRecord:
    kept = dict(found.get("metadata", {}))
    text, doc = kept.pop(TEXT, ""), kept.pop(DOC, "{}")
    return rebuilt(found["key"], found["data"]["float32"], text, doc, kept)


def _similarity(distance: float, metric: S3Metric) -> float:
    """The cosine of two unit vectors at ``distance``."""
    return clipped(1 - distance if metric == "cosine" else 1 - distance * distance / 2)
