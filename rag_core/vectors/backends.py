"""The vector indexes that a store can have, by the name of their kind; an address begins with it.

local                                  the store's own file
s3vectors://BUCKET/INDEX               Amazon S3 Vectors
qdrant://HOST:PORT/COLLECTION#STORE    Qdrant; without HOST:PORT in this process
chroma://HOST:PORT/COLLECTION          Chroma; the same
NAME://…                               an index that an installed package brings
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rag_core.errors import InvalidInput
from rag_core.models.servers.addresses import destination as destination_of
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors import RemoteIndex, foreign
from rag_core.vectors.chroma_place import (
    ChromaOptions,
    ChromaPlace,
    chroma_address,
    chroma_metric,
    parse_chroma,
)
from rag_core.vectors.qdrant_place import (
    QdrantOptions,
    QdrantPlace,
    parse_qdrant,
    qdrant_address,
    qdrant_metric,
)
from rag_core.vectors.s3_place import S3Options, S3Place, bucket_name, index_name, parse_address, s3_metric
from rag_core.vectors.variants import mark

LOCAL = "local"
BACKENDS = (LOCAL, "s3vectors", "qdrant", "chroma")


@dataclass(frozen=True, slots=True)
class VectorOptions:
    """What the owner configured for vector indexes outside a store's file."""

    s3: S3Options = field(default_factory=S3Options)
    qdrant: QdrantOptions = field(default_factory=QdrantOptions)
    chroma: ChromaOptions = field(default_factory=ChromaOptions)


def address_of(
    backend: str, store: str, options: VectorOptions, identity: EmbedderIdentity | None = None
) -> str:
    """The address of the index that a store called ``store`` gets, '' for its own file; with ``identity``
    that of the one which a switch to this embedder builds beside it.

    Raises InvalidInput for a kind that is none.
    """
    match backend:
        case "local":
            return ""
        case "s3vectors":
            place = S3Place(bucket_name(options.s3.bucket_prefix, store), index_name(identity), 1)
            return str(place)
        case "qdrant":
            return qdrant_address(store, options.qdrant, identity)
        case "chroma":
            return chroma_address(store, options.chroma, identity)
        case _:
            return _foreign(backend).address(store, mark(str(identity)) if identity else "")


def kinds() -> tuple[str, ...]:
    """Every kind of vector index that a store can have here; those of packages that work are last."""
    return (*BACKENDS, *foreign.usable())


def destination(backend: str, options: VectorOptions) -> str:
    """Where the text goes that is kept in a vector index of this kind, in words.

    Raises InvalidInput for a kind that is none, VectorError when its package is broken.
    """
    match backend:
        case "s3vectors":
            url = options.s3.endpoint_url
            return destination_of(url) if url else "goes to Amazon S3 Vectors"
        case "qdrant":
            return destination_of(options.qdrant.url)
        case "chroma":
            return destination_of(options.chroma.url)
        case "local":
            return destination_of("")
        case _:
            return destination_of(_foreign(backend).server)


def backend_of(address: str) -> str:
    """The kind of the index at ``address``."""
    return address.partition("://")[0] if address else LOCAL


def open_remote(address: str, dimension: int, metric: Metric, options: VectorOptions) -> RemoteIndex:
    """The index at ``address`` for vectors of this shape, there or not; asks nobody yet.

    Raises VectorError when its package is not installed, InvalidInput when the address is none.
    """
    match backend_of(address):
        case "s3vectors":
            from rag_core.vectors.s3vectors import S3Vectors

            return S3Vectors(S3Place(*parse_address(address), dimension, s3_metric(metric)), options.s3)
        case "qdrant":
            from rag_core.vectors.qdrant import Qdrant

            place = QdrantPlace(*parse_qdrant(address), dimension, qdrant_metric(metric))
            return Qdrant(place, options.qdrant)
        case "chroma":
            from rag_core.vectors.chroma import Chroma

            return Chroma(
                ChromaPlace(*parse_chroma(address), dimension, chroma_metric(metric)), options.chroma
            )
        case other:
            return _foreign(other).open(address, dimension, metric)


def existing(address: str, options: VectorOptions) -> RemoteIndex:
    """The index that is at ``address``, with the shape it has. Raises InvalidInput, VectorError."""
    match backend_of(address):
        case "s3vectors":
            from rag_core.vectors.s3vectors import S3Vectors

            return S3Vectors.at(address, options.s3)
        case "qdrant":
            from rag_core.vectors.qdrant import Qdrant

            return Qdrant.at(address, options.qdrant)
        case "chroma":
            from rag_core.vectors.chroma import Chroma

            return Chroma.at(address, options.chroma)
        case other:
            return _foreign(other).existing(address)


def _foreign(backend: str) -> foreign.ForeignBackend:
    """The backend of a package. Raises InvalidInput when none has the name, VectorError when it is broken."""
    extension = foreign.backends().by_key.get(backend)
    if extension is None:
        raise unknown(backend)
    return foreign.ForeignBackend(extension)


def unknown(backend: str) -> InvalidInput:
    """The error for a kind of vector index that is none."""
    return InvalidInput(f"There is no vector index called {backend[:80]!r}.", f"Use {', '.join(kinds())}.")
