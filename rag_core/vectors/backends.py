"""The vector indexes that a store can have, by the name of their kind, which begins their addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rag_core.errors import InvalidInput, VectorError
from rag_core.messages import say
from rag_core.models.addresses import destination as destination_of
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors import RemoteIndex, foreign
from rag_core.vectors.builtin import BUILT_IN
from rag_core.vectors.remote import mark

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_LOCAL = "local"

VectorOptions = Mapping[str, Any]
"""What the owner configured for each kind that is built in."""


def vector_options(settings: Settings) -> dict[str, Any]:
    """What of ``settings`` vector indexes outside a store's file are opened with."""
    return {kind: index.options(settings) for kind, index in BUILT_IN.items()}


def address_of(
    backend: str, store: str, options: VectorOptions, identity: EmbedderIdentity | None = None
) -> str:
    """The address of the index that a store called ``store`` gets, '' for its own file; with ``identity``
    that of the one which a switch to this embedder builds. Raises InvalidInput for an unknown kind."""
    variant = mark(str(identity)) if identity else ""
    if backend == _LOCAL:
        return ""
    if index := BUILT_IN.get(backend):
        return index.address_of(store, variant, options[backend])
    return _foreign(backend).address(store, variant)


def kinds() -> tuple[str, ...]:
    """Every kind of vector index that a store can have here; those of packages that work are last."""
    return (_LOCAL, *BUILT_IN, *foreign.usable())


def destination(backend: str, options: VectorOptions) -> str:
    """Where the text in a vector index of this kind goes, in words. Raises InvalidInput for an unknown kind,
    VectorError when its package is broken."""
    if backend in BUILT_IN:
        return str(options[backend].destination)
    return destination_of("" if backend == _LOCAL else _foreign(backend).server)


def backend_of(address: str) -> str:
    """The kind of the index at ``address``."""
    return address.partition("://")[0] if address else _LOCAL


def open_remote(address: str, dimension: int, metric: Metric, options: VectorOptions) -> RemoteIndex:
    """The index at ``address`` for vectors of this shape, there or not; connects to nothing yet. Raises
    VectorError when its package is not installed, InvalidInput for a bad address."""
    kind = backend_of(address)
    if index := BUILT_IN.get(kind):
        return index(address, dimension, metric, options[kind])
    return _foreign(kind).open(address, dimension, metric)


def existing(address: str, options: VectorOptions) -> RemoteIndex:
    """The index that is at ``address``, with the shape it has. Raises InvalidInput, VectorError."""
    kind = backend_of(address)
    if index := BUILT_IN.get(kind):
        return index.existing(address, options[kind])
    return _foreign(kind).existing(address)


def visible(backend: str, options: VectorOptions) -> Iterator[str]:
    """The addresses of the indexes of a built-in kind that the credentials can see. Raises VectorError."""
    return BUILT_IN[backend].visible(options[backend])


def none_there(address: str, *, is_copy: bool) -> VectorError:
    """The error for an index that is gone; ``is_copy`` when another installation fills it."""
    advice = "If the computer that fills it uses another address, attach that one and delete this copy."
    gone = f"There is no vector index at {address!r}."
    return VectorError(gone, advice if is_copy else say("heal_vectors"))


def _foreign(backend: str) -> foreign.Backend:
    """The backend of a package. Raises InvalidInput when none has the name, VectorError when it is broken."""
    extension = foreign.backends().get(backend)
    if extension is None:
        raise InvalidInput(f"There is no vector index called {backend[:80]!r}.", f"Use {', '.join(kinds())}.")
    return foreign.backend_of(extension)
