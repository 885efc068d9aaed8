"""Where in Qdrant a store's vectors are, and how to get there.

Stores share a collection and are told apart by a key of each point. After a switch of the embedder the
new vectors go to the collection ``NAME-<identity>``: a collection has one dimension for good.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rag_core.errors import InvalidInput
from rag_core.models.servers.addresses import server_name, shown, whole_url
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors.agreement import check_dimension
from rag_core.vectors.variants import beside

ADDRESS = "qdrant://"
DEFAULT_COLLECTION = "notes"
PORT = 6333
MAX_DIMENSION = 65_536

QdrantMetric = Literal["Cosine", "Euclid", "Dot"]

_COLLECTION = re.compile(r"[A-Za-z0-9_][\w.-]{0,199}")
_STORE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    """How to reach Qdrant: the server at ``url``, or, without one, the folder ``path`` for working in this
    process, which only one process at a time can do.

    ``api_key`` comes from the environment and goes to ``url`` only. ``exact`` has every vector compared;
    otherwise a search looks at ``hnsw_ef`` candidates at least. ``timeout`` and ``backoff`` (before the first
    of ``attempts`` − 1 retries, doubled each time) are seconds.
    """

    url: str = ""
    path: Path | None = None
    collection: str = DEFAULT_COLLECTION
    api_key: str = field(default="", repr=False)
    exact: bool = False
    hnsw_ef: int = 400
    attempts: int = 7
    timeout: float = 30.0
    backoff: float = 0.25

    def __post_init__(self) -> None:
        whole_url(self.url, PORT)
        _check(self.collection, _COLLECTION, "collection")

    @property
    def server(self) -> str:
        """``HOST:PORT`` of the server, ``""`` when Qdrant works in this process."""
        return server_name(self.url, PORT) if self.url else ""


@dataclass(frozen=True, slots=True)
class QdrantPlace:
    """One store's part of a collection: its address and the shape that the collection has or shall have.
    ``server`` is ``HOST:PORT``, ``""`` in this process."""

    server: str
    collection: str
    store: str
    dimension: int
    metric: QdrantMetric = "Cosine"

    def __post_init__(self) -> None:
        _check(self.collection, _COLLECTION, "collection")
        _check(self.store, _STORE, "store")
        check_dimension("Qdrant", self.dimension, MAX_DIMENSION)

    def __str__(self) -> str:
        return f"{ADDRESS}{self.server}/{self.collection}#{self.store}"


def qdrant_metric(metric: Metric) -> QdrantMetric:
    """Qdrant's name for ``metric``."""
    names: dict[Metric, QdrantMetric] = {"cosine": "Cosine", "euclidean": "Euclid", "dot_product": "Dot"}
    return names[metric]


def qdrant_address(store: str, options: QdrantOptions, identity: EmbedderIdentity | None = None) -> str:
    """The address that the vectors of the store called ``store`` get. Raises InvalidInput."""
    return str(QdrantPlace(options.server, beside(options.collection, identity), store, 1))


def parse_qdrant(address: str) -> tuple[str, str, str]:
    """Server, collection and store of ``qdrant://HOST:PORT/COLLECTION#STORE``; the server is empty in
    ``qdrant:///COLLECTION#STORE``. Raises InvalidInput."""
    where, _, store = address.removeprefix(ADDRESS).partition("#")
    server, _, collection = where.rpartition("/")
    if not address.startswith(ADDRESS) or not collection or not store:
        raise InvalidInput(
            f"{shown(address)} is not the address of an index.", f"Write {ADDRESS}HOST:PORT/COLLECTION#STORE."
        )
    named = server_name(f"http://{server}", PORT) if server else ""
    place = QdrantPlace(named, collection, store, 1)
    return place.server, place.collection, place.store


def _check(name: str, pattern: re.Pattern[str], noun: str) -> None:
    if not pattern.fullmatch(name):
        raise InvalidInput(
            f"{name[:80]!r} cannot be the name of a {noun} in Qdrant.",
            "Use letters, digits, hyphens and underscores, and begin with a letter or digit.",
        )
