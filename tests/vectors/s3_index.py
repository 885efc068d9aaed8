"""An index at the stand-in for Amazon S3 Vectors, as tests make it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rag_core.vectors import VectorRecord
from rag_core.vectors.s3vectors import S3Options, S3Vectors
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.vector_bench import vectors

ME = "owner-1"
BUCKET = "commonplace-notes"
ADDRESS = f"s3vectors://{BUCKET}/main"


def options(amazon: Server, **changes: Any) -> S3Options:
    return replace(S3Options(region=REGION, endpoint_url=amazon.url, backoff=0.01), **changes)


def opened(amazon: Server, address: str = ADDRESS, dimension: int = 16, **changes: Any) -> S3Vectors:
    index = S3Vectors(address, dimension, "cosine", options(amazon, **changes))
    index.prepare(ME)
    return index


def record(key: str = "k", **changes: Any) -> VectorRecord:
    return replace(VectorRecord(key, vectors(1, 16)[0], "A text", {"path": "a.md"}), **changes)
