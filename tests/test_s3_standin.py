"""The stand-in for Amazon S3 Vectors refuses what the service refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.s3_index import BUCKET, HERE, opened, raw
from tests.s3vectors import Server
from tests.s3vectors.http import REGION

pytestmark = pytest.mark.usefixtures("aws")

ONE = {"key": "k", "data": {"float32": [1.0] * 16}}
Ask = Callable[[Any], object]
ARN = f"arn:aws:s3vectors:{REGION}:123456789012:bucket/{BUCKET}/index/main"
BAD: dict[str, tuple[str, Ask]] = {
    "bucket with capitals": ("ValidationException", lambda s: s.create_vector_bucket(vectorBucketName="Abc")),
    "bucket twice": ("ConflictException", lambda s: s.create_vector_bucket(vectorBucketName=BUCKET)),
    "index with underscore": ("ValidationException", lambda s: make(s, "a_b", 1, "cosine")),
    "dot product": ("ValidationException", lambda s: make(s, "dot", 1, "dot_product")),
    "too wide": ("ValidationException", lambda s: make(s, "wide", 4097, "cosine")),
    "index twice": (
        "ConflictException",
        lambda s: s.create_index(**HERE, dataType="float32", dimension=16, distanceMetric="cosine"),
    ),
    "bucket that is not empty": (
        "ConflictException",
        lambda s: s.delete_vector_bucket(vectorBucketName=BUCKET),
    ),
    "no such index": ("NotFoundException", lambda s: s.get_index(vectorBucketName=BUCKET, indexName="other")),
    "empty list": ("ValidationException", lambda s: put(s, {"a": []})),
    "null": ("ValidationException", lambda s: put(s, {"a": None})),
    "nested": ("ValidationException", lambda s: put(s, {"a": {"b": 1}})),
    "list of bools": ("ValidationException", lambda s: put(s, {"a": [True]})),
    "mixed list": ("ValidationException", lambda s: put(s, {"a": ["x", 1]})),
    "51 keys": ("ValidationException", lambda s: put(s, {f"k{n}": 1 for n in range(51)})),
    "2,049 filterable bytes": ("ValidationException", lambda s: put(s, {"a": "x" * (2049 - 13)})),
    "40,961 bytes": ("ValidationException", lambda s: put(s, {"text": "x" * (40961 - 16)})),
    "half a character": ("SerializationException", lambda s: put(s, {"a": "\ud800"})),
    "wrong length": ("ValidationException", lambda s: vector(s, [1.0])),
    "zero vector": ("ValidationException", lambda s: vector(s, [0.0] * 16)),
    "nan": ("ValidationException", lambda s: vector(s, [float("nan")] * 16)),
    "too large for float32": ("ValidationException", lambda s: vector(s, [1e39] * 16)),
    "501 vectors": (
        "ValidationException",
        lambda s: s.put_vectors(**HERE, vectors=[{**ONE, "key": str(n)} for n in range(501)]),
    ),
    "key of 1,025 bytes": ("ValidationException", lambda s: s.delete_vectors(**HERE, keys=["ü" * 513])),
    "empty filter": ("ValidationException", lambda s: ask(s, {})),
    "two keys in a filter": ("ValidationException", lambda s: ask(s, {"a": 1, "b": 2})),
    "two keys inside and": ("ValidationException", lambda s: ask(s, {"$and": [{"a": 1, "b": 2}]})),
    "empty in": ("ValidationException", lambda s: ask(s, {"a": {"$in": []}})),
    "empty condition": ("ValidationException", lambda s: ask(s, {"a": {}})),
    "null condition": ("ValidationException", lambda s: ask(s, {"a": None})),
    "list as condition": ("ValidationException", lambda s: ask(s, {"a": ["x"]})),
    "comparing texts": ("ValidationException", lambda s: ask(s, {"a": {"$gt": "1"}})),
    "unknown operator": ("ValidationException", lambda s: ask(s, {"a": {"$regex": "x"}})),
    "not": ("ValidationException", lambda s: ask(s, {"$not": {"a": 1}})),
    "non-filterable key": ("ValidationException", lambda s: ask(s, {"text": "x"})),
    "101 constraints": ("ValidationException", lambda s: ask(s, {"$or": [{"a": n} for n in range(101)]})),
    "topK of 10,001": ("ValidationException", lambda s: ask(s, {"a": 1}, 10_001)),
    "foreign page token": ("ValidationException", lambda s: s.list_vectors(**HERE, nextToken="abc")),
    "name and arn": ("ValidationException", lambda s: s.get_index(**HERE, indexArn=ARN)),
}  # fmt: skip


def make(client: Any, name: str, dimension: int, metric: str) -> None:
    where = {"vectorBucketName": BUCKET, "indexName": name}
    client.create_index(**where, dataType="float32", dimension=dimension, distanceMetric=metric)


def vector(client: Any, numbers: list[float]) -> None:
    client.put_vectors(**HERE, vectors=[{"key": "k", "data": {"float32": numbers}}])


def put(client: Any, metadata: dict[str, Any]) -> None:
    client.put_vectors(**HERE, vectors=[{**ONE, "metadata": metadata}])


def ask(client: Any, condition: dict[str, Any], k: int = 5) -> None:
    client.query_vectors(**HERE, topK=k, queryVector={"float32": [1.0] * 16}, filter=condition)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Server]:
    with Server() as stand_in:
        yield stand_in


@pytest.mark.parametrize("what", BAD)
def test_the_stand_in_refuses(shared_server: Server, what: str) -> None:
    opened(shared_server)
    code, act = BAD[what]
    client = raw(shared_server)
    with pytest.raises(ClientError) as caught:
        act(client)
    assert caught.value.response["Error"]["Code"] == code
