"""The vector indexes outside a store's file that Commonplace brings: a row for each, by its kind."""

from __future__ import annotations

from typing import Any

from rag_core.vectors.chroma import Chroma
from rag_core.vectors.qdrant import Qdrant
from rag_core.vectors.remote import Remote
from rag_core.vectors.s3vectors import S3Vectors

BUILT_IN: dict[str, type[Remote[Any]]] = {
    "s3vectors": S3Vectors,  # s3vectors://BUCKET/INDEX
    "qdrant": Qdrant,  # qdrant://HOST:PORT/COLLECTION#STORE; without HOST:PORT in this process
    "chroma": Chroma,  # chroma://HOST:PORT/COLLECTION; the same
}
"""A kind begins the addresses of its indexes."""
