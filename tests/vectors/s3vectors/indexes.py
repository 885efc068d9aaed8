"""Buckets, indexes and vectors, and every operation on them that the facts describe."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.vectors.s3vectors import rules
from tests.vectors.s3vectors.rules import ServiceError, invalid

ACCOUNT = "123456789012"
QUERY_PAGE = 100
MAX_TOP_K = 10_000
LIST_PAGE_BYTES = 1_000_000
RECORDS_A_LIST = 500
NAMES_A_LIST = 500

Body = dict[str, Any]


@dataclass
class Index:
    about: Body
    tags: dict[str, str]
    records: dict[str, tuple[npt.NDArray[np.float32], Body]] = field(default_factory=dict)
    matrix: tuple[list[str], npt.NDArray[np.float32]] | None = None

    @property
    def non_filterable(self) -> set[str]:
        return set(self.about.get("metadataConfiguration", {}).get("nonFilterableMetadataKeys", ()))

    def nearest(self, query: npt.NDArray[np.float32], condition: Body | None) -> list[tuple[float, str]]:
        if not self.records:
            return []
        if self.matrix is None:
            rows = [vector for vector, _ in self.records.values()]
            self.matrix = ([*self.records], np.array(rows))
        keys, vectors = self.matrix
        if self.about["distanceMetric"] == "cosine":
            lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
            distances = 1 - (vectors @ query) / lengths
        else:
            distances = np.linalg.norm(vectors - query, axis=1)
        pairs = zip(distances.astype(np.float32).tolist(), keys, strict=True)
        return sorted(
            pair for pair in pairs if condition is None or rules.fits(condition, self.records[pair[1]][1])
        )


@dataclass
class Bucket:
    about: Body
    tags: dict[str, str]
    indexes: dict[str, Index] = field(default_factory=dict)


class Service:
    """The state behind the stand-in; each method is an operation of the same name."""

    def __init__(self, region: str) -> None:
        self._region = region
        self._buckets: dict[str, Bucket] = {}
        self._lock = threading.RLock()

    def __call__(self, operation: str, body: Body) -> Body:
        method: Callable[[Body], Body] | None = getattr(self, operation, None)
        if method is None:
            raise ServiceError(501, "NotImplemented", f"The stand-in has no {operation}")
        with self._lock:
            return method(body)

    def index(self, bucket: str, index: str) -> Index:
        """For tests: an index as it is."""
        return self._buckets[bucket].indexes[index]

    # --- buckets and indexes --------------------------------------------------------

    def CreateVectorBucket(self, body: Body) -> Body:  # noqa: N802
        name = body["vectorBucketName"]
        rules.check_name(name, rules.BUCKET, "vectorBucketName")
        if name in self._buckets:
            raise ServiceError(
                409, "ConflictException", "A vector bucket with the specified name already exists"
            )
        arn = f"arn:aws:s3vectors:{self._region}:{ACCOUNT}:bucket/{name}"
        about = {"vectorBucketName": name, "vectorBucketArn": arn, "creationTime": int(time.time())}
        about["encryptionConfiguration"] = body.get("encryptionConfiguration", {"sseType": "AES256"})
        self._buckets[name] = Bucket(about, dict(body.get("tags", {})))
        return {"vectorBucketArn": arn}

    def GetVectorBucket(self, body: Body) -> Body:  # noqa: N802
        return {"vectorBucket": self._bucket(body).about}

    def ListVectorBuckets(self, body: Body) -> Body:  # noqa: N802
        kept = ("vectorBucketName", "vectorBucketArn", "creationTime")
        names, start = sorted(self._buckets), _start(body, "ListVectorBuckets")
        page = names[start : start + body.get("maxResults", NAMES_A_LIST)]
        shown = [{key: self._buckets[name].about[key] for key in kept} for name in page]
        return {"vectorBuckets": shown, **_next(body, "ListVectorBuckets", start + len(page), len(names))}

    def ListIndexes(self, body: Body) -> Body:  # noqa: N802
        kept = ("vectorBucketName", "indexName", "indexArn", "creationTime")
        indexes, start = self._bucket(body).indexes, _start(body, "ListIndexes")
        names = sorted(indexes)
        page = names[start : start + body.get("maxResults", NAMES_A_LIST)]
        shown = [{key: indexes[name].about[key] for key in kept} for name in page]
        return {"indexes": shown, **_next(body, "ListIndexes", start + len(page), len(names))}

    def DeleteVectorBucket(self, body: Body) -> Body:  # noqa: N802
        bucket = self._bucket(body)
        if bucket.indexes:
            raise ServiceError(409, "ConflictException", "The specified vector bucket is not empty")
        del self._buckets[bucket.about["vectorBucketName"]]
        return {}

    def CreateIndex(self, body: Body) -> Body:  # noqa: N802
        bucket, name = self._bucket(body), body["indexName"]
        rules.check_name(name, rules.INDEX, "indexName")
        if name in bucket.indexes:
            raise ServiceError(409, "ConflictException", "An index with the specified name already exists")
        self._check_index(body)
        kept = ("indexName", "dataType", "dimension", "distanceMetric", "metadataConfiguration")
        about = {key: body[key] for key in kept if key in body}
        about["vectorBucketName"] = bucket.about["vectorBucketName"]
        about["indexArn"] = f"{bucket.about['vectorBucketArn']}/index/{name}"
        about["creationTime"] = int(time.time())
        about["encryptionConfiguration"] = body.get(
            "encryptionConfiguration", bucket.about["encryptionConfiguration"]
        )
        bucket.indexes[name] = Index(about, dict(body.get("tags", {})))
        return {"indexArn": about["indexArn"]}

    def _check_index(self, body: Body) -> None:
        metrics = ("euclidean", "cosine")
        if body["distanceMetric"] not in metrics:
            raise invalid("Member must satisfy enum value set: [euclidean, cosine]", "distanceMetric")
        if body["dataType"] != "float32" or not 1 <= body["dimension"] <= 4096:
            raise invalid("Invalid dataType or dimension", "dimension")
        encryption = body.get("encryptionConfiguration", {})
        if encryption.get("sseType") == "aws:kms" and ":key/" not in encryption.get("kmsKeyArn", ""):
            raise ServiceError(400, "KmsNotFoundException", "The KMS key could not be found")

    def GetIndex(self, body: Body) -> Body:  # noqa: N802
        return {"index": self._index(body).about}

    def DeleteIndex(self, body: Body) -> Body:  # noqa: N802
        index = self._index(body)
        del self._buckets[index.about["vectorBucketName"]].indexes[index.about["indexName"]]
        return {}

    def _bucket(self, body: Body) -> Bucket:
        """The bucket by its name: nothing of ours says an ARN."""
        found = self._buckets.get(body.get("vectorBucketName", ""))
        if found is None:
            raise ServiceError(404, "NotFoundException", "The specified vector bucket could not be found")
        return found

    def _index(self, body: Body) -> Index:
        found = self._bucket(body).indexes.get(body.get("indexName", ""))
        if found is None:
            raise ServiceError(404, "NotFoundException", "The specified index could not be found")
        return found

    # --- tags -----------------------------------------------------------------------

    def TagResource(self, body: Body) -> Body:  # noqa: N802
        self._tagged(body["resourceArn"]).update(body["tags"])
        return {}

    def ListTagsForResource(self, body: Body) -> Body:  # noqa: N802
        return {"tags": self._tagged(body["resourceArn"])}

    def _tagged(self, arn: str) -> dict[str, str]:
        bucket, _, index = arn.partition(":bucket/")[2].partition("/index/")
        names = {"vectorBucketName": bucket, "indexName": index}
        return self._index(names).tags if index else self._bucket(names).tags

    # --- vectors --------------------------------------------------------------------

    def PutVectors(self, body: Body) -> Body:  # noqa: N802
        index = self._index(body)
        seen: dict[str, tuple[npt.NDArray[np.float32], Body]] = {}
        for number, item in enumerate(body["vectors"]):
            key, path = item["key"], f"vectors[{number}]"
            rules.check_key(key)
            if key in seen:  # nobody knows what the service does then
                raise invalid(f"The key '{key}' is there twice", path)
            vector = rules.vector_of(
                item["data"]["float32"], index.about["dimension"], index.about["distanceMetric"], key, path
            )
            metadata = item.get("metadata", {})
            rules.check_metadata(metadata, index.non_filterable, key, f"{path}.metadata")
            seen[key] = (vector, metadata)
        index.records.update(seen)
        index.matrix = None
        return {}

    def DeleteVectors(self, body: Body) -> Body:  # noqa: N802
        index = self._index(body)
        for key in body["keys"]:
            rules.check_key(key)
            index.records.pop(key, None)
        index.matrix = None
        return {}

    def ListVectors(self, body: Body) -> Body:  # noqa: N802
        index = self._index(body)
        start, limit = _start(body, "ListVectors"), body.get("maxResults", RECORDS_A_LIST)
        keys = sorted(index.records)
        shown: list[Body] = []
        processed = 0
        for key in keys[start : start + limit]:
            vector, metadata = index.records[key]
            processed += vector.nbytes + rules.size(metadata)
            if shown and processed > LIST_PAGE_BYTES:
                break
            shown.append(_shown(index, key, body))
        return {"vectors": shown, **_next(body, "ListVectors", start + len(shown), len(keys))}

    def QueryVectors(self, body: Body) -> Body:  # noqa: N802
        index = self._index(body)
        if "queryVector" not in body:
            raise invalid("The stand-in answers only queries by vector", "queryVector")
        if body["topK"] > MAX_TOP_K:
            raise invalid(f"topK must be at most {MAX_TOP_K}", "topK")
        condition = body.get("filter")
        if condition is not None:
            rules.check_filter(condition, index.non_filterable)
        try:
            query = rules.vector_of(
                body["queryVector"]["float32"],
                index.about["dimension"],
                index.about["distanceMetric"],
                "",
                "queryVector",
            )
        except ServiceError:
            raise invalid(
                "Query vector contains invalid values or is invalid for this index", "queryVector"
            ) from None
        start = _start(body, "QueryVectors")
        found = index.nearest(query, condition)[: body["topK"]]
        page = found[start : start + QUERY_PAGE]
        hits = [_shown(index, key, {**body, "returnData": False}, distance) for distance, key in page]
        metric = index.about["distanceMetric"]
        more = _next(body, "QueryVectors", start + len(page), len(found))
        return {"vectors": hits, "distanceMetric": metric, **more}


def _shown(index: Index, key: str, body: Body, distance: float | None = None) -> Body:
    vector, metadata = index.records[key]
    shown: Body = {"key": key}
    if body.get("returnData"):
        shown["data"] = {"float32": vector.tolist()}
    if body.get("returnMetadata"):
        shown["metadata"] = metadata
    if distance is not None and body.get("returnDistance"):
        shown["distance"] = distance
    return shown


# --- page tokens: only good for the same request ------------------------------------------


def _mark(body: Body, operation: str) -> str:
    same = {key: value for key, value in body.items() if key != "nextToken"}
    return hashlib.sha256(f"{operation}{json.dumps(same, sort_keys=True)}".encode()).hexdigest()[:16]


def _start(body: Body, operation: str) -> int:
    token = body.get("nextToken")
    if token is None:
        return 0
    try:
        mark, start = base64.b64decode(token).decode().split(":")
    except ValueError:
        mark, start = "", ""
    if mark != _mark(body, operation):
        raise invalid("Invalid page token", "nextToken")
    return int(start)


def _next(body: Body, operation: str, end: int, count: int) -> Body:
    if end >= count:
        return {}
    return {"nextToken": base64.b64encode(f"{_mark(body, operation)}:{end}".encode()).decode()}
