"""An index at a stand-in for Qdrant, or in a folder, as tests make it."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from rag_core.types import Metric
from rag_core.vectors import VectorRecord
from rag_core.vectors.qdrant import Qdrant, QdrantOptions
from tests.support.standin import StandIn
from tests.vectors.vector_bench import vectors

ME = "owner-1"
QUERY = vectors(1, 16, seed=5)[0]


def options(server: StandIn, **changes: Any) -> QdrantOptions:
    return replace(QdrantOptions(url=server.url, backoff=0.01), **changes)


def unprepared(
    options: QdrantOptions, store: str = "notes", dimension: int = 16, metric: Metric = "cosine"
) -> Qdrant:
    return Qdrant(Qdrant.address_of(store, "", options), dimension, metric, options)


def opened(options: QdrantOptions, store: str = "notes", owner: str = ME, **shape: Any) -> Qdrant:
    index = unprepared(options, store, **shape)
    index.prepare(owner)
    return index


def record(key: str = "", **changes: Any) -> VectorRecord:
    made = VectorRecord(key or str(uuid.uuid4()), vectors(1, 16)[0], "A text", {"path": "a.md"})
    return replace(made, **changes)
