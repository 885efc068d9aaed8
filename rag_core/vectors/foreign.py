"""Vector indexes of installed packages, named by entry points in ``commonplace.vector_indexes``. The
addresses of a package's indexes begin with that name and ``://``."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Protocol, cast

from rag_core.errors import VectorError
from rag_core.extensions import Extension, Guarded
from rag_core.models.addresses import server_problem
from rag_core.providers import added_vector_indexes
from rag_core.types import Filters, Metric, Vectors
from rag_core.vectors import NO_FILTERS, Match, RemoteIndex


class IndexPackage(Protocol):
    """The object, or module, that an entry point in ``commonplace.vector_indexes`` names. It finds its
    credentials itself, best in environment variables."""

    server: str
    """Where vectors and texts are sent: '' for this machine, or an address like https://example.org."""

    def address(self, store: str, variant: str) -> str:
        """Return the address of the index for the store ``store``, beginning with ``NAME://``.

        ``variant`` is '' or a short word. While a store's embedder is switched, the store has two indexes
        with different variants.
        """

    def open(self, address: str, dimension: int, metric: Metric) -> RemoteIndex:
        """Return the index at ``address`` for vectors of this dimension and metric. The index may not exist,
        and no request is sent. Raise VectorError if the address cannot be used."""

    def existing(self, address: str) -> RemoteIndex:
        """Return the existing index at ``address`` with its actual dimension and metric. Raise VectorError if
        there is no such index or it cannot be reached."""


def usable() -> tuple[str, ...]:
    """Return the names of the packages that load and declare where texts are sent. `commonplace doctor`
    reports the others."""
    names = []
    for name, row in added_vector_indexes().items():
        with suppress(VectorError):
            package_backend(row.extension)
            names.append(name)
    return tuple(names)


def package_backend(extension: Extension) -> PackageBackend:
    """Load the backend of a package. Raises VectorError if it cannot be used."""
    backend = PackageBackend(extension, extension.load(VectorError), VectorError)
    if silence := server_problem(getattr(backend, "server")):  # noqa: B009 - what it has is not known
        raise extension.failed(VectorError, silence)
    return backend


class PackageBackend(Guarded):
    """The backend of a package, with the methods of the built-in backends. ``options`` are always None."""

    def address_of(self, store: str, variant: str, options: None) -> str:  # noqa: ARG002
        found = self._call(self._target.address, "address", store, variant)
        if not str(found).startswith(f"{self._extension.name}://"):
            failure = "{extension} gave an address that does not begin with {scheme}://."
            raise self._extension.failed(VectorError, failure, scheme=self._extension.name)
        return str(found)

    def __call__(self, address: str, dimension: int, metric: Metric, options: None) -> RemoteIndex:  # noqa: ARG002
        return self._index(self._call(self._target.open, "open", address, dimension, metric))

    def existing(self, address: str, options: None) -> RemoteIndex:  # noqa: ARG002
        return self._index(self._call(self._target.existing, "existing", address))

    def _index(self, opened: object) -> RemoteIndex:
        index = _Index(self._extension, opened, VectorError)
        index.server = self._target.server  # `doctor` shows it, and private notes are not sent to it
        return cast("RemoteIndex", index)


class _Index(Guarded):
    server: str

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        with self._extension.errors(VectorError, "search"):
            found = self._target.search(query, k, filters)
            near = [Match(str(key), float(similarity)) for key, similarity in found]
        if not all(math.isfinite(match.similarity) for match in near):
            raise self._extension.failed(VectorError, "{extension} gave a similarity that is no number.")
        return near[:k]
