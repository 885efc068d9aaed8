"""Where in Chroma a store's vectors are, and how to get there.

A store has a collection of its own, named after it; after a switch of the embedder the new one is
``STORE-<identity>``, so that both can stand side by side.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_core.errors import InvalidInput
from rag_core.models.servers.addresses import server_name, shown, whole_url
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors.agreement import check_dimension
from rag_core.vectors.variants import beside, mark

ADDRESS = "chroma://"
PORT = 8000
MAX_DIMENSION = 65_536

ChromaMetric = Literal["cosine", "l2", "ip"]

_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class ChromaOptions:
    """How to reach Chroma: the server at ``url``, or, without one, the folder ``path`` for working in this
    process, which only one process at a time can do.

    ``exact`` has every vector looked at, as far as the index links them; otherwise a search looks at
    ``ef_search`` candidates at least. ``timeout`` and ``backoff`` (before the first of ``attempts`` − 1
    retries, doubled each time) are seconds.
    """

    url: str = ""
    path: Path | None = None
    exact: bool = False
    ef_search: int = 400
    attempts: int = 7
    timeout: float = 30.0
    backoff: float = 0.25

    def __post_init__(self) -> None:
        whole_url(self.url, PORT)

    @property
    def server(self) -> str:
        """``HOST:PORT`` of the server, ``""`` when Chroma works in this process."""
        return server_name(self.url, PORT) if self.url else ""


@dataclass(frozen=True, slots=True)
class ChromaPlace:
    """One collection: its address and the shape it has or shall have. ``server`` is ``HOST:PORT``, ``""`` in
    this process."""

    server: str
    collection: str
    dimension: int
    metric: ChromaMetric = "cosine"

    def __post_init__(self) -> None:
        if not _COLLECTION.fullmatch(self.collection) or ".." in self.collection:
            raise InvalidInput(
                f"{self.collection[:80]!r} cannot be the name of a collection in Chroma.",
                "Use 3 to 512 letters, digits, hyphens and underscores, with a letter or digit at both ends.",
            )
        check_dimension("Chroma", self.dimension, MAX_DIMENSION)

    def __str__(self) -> str:
        return f"{ADDRESS}{self.server}/{self.collection}"


def chroma_metric(metric: Metric) -> ChromaMetric:
    """Chroma's name for ``metric``."""
    names: dict[Metric, ChromaMetric] = {"cosine": "cosine", "euclidean": "l2", "dot_product": "ip"}
    return names[metric]


def collection_name(store: str, identity: EmbedderIdentity | None = None) -> str:
    """The collection of the store called ``store``: its name where Chroma takes it, else one made of it; with
    ``identity`` that of the collection which is built beside it."""
    name = store if _COLLECTION.fullmatch(store) else f"{store.rstrip('-_')}-{mark(store)}"
    return beside(name, identity)


def chroma_address(store: str, options: ChromaOptions, identity: EmbedderIdentity | None = None) -> str:
    """The address that the vectors of the store called ``store`` get. Raises InvalidInput."""
    return str(ChromaPlace(options.server, collection_name(store, identity), 1))


def parse_chroma(address: str) -> tuple[str, str]:
    """Server and collection of ``chroma://HOST:PORT/COLLECTION``; the server is empty in
    ``chroma:///COLLECTION``. Raises InvalidInput."""
    server, _, collection = address.removeprefix(ADDRESS).rpartition("/")
    if not address.startswith(ADDRESS) or not collection:
        raise InvalidInput(
            f"{shown(address)} is not the address of an index.", f"Write {ADDRESS}HOST:PORT/COLLECTION."
        )
    named = server_name(f"http://{server}", PORT) if server else ""
    place = ChromaPlace(named, collection, 1)
    return place.server, place.collection
