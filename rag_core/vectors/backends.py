"""The vector indexes that a store can have, by the name of their kind. An address begins with that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_core.config.options import options_from
from rag_core.errors import InvalidInput, VectorError
from rag_core.messages import say
from rag_core.models.addresses import destination as destination_of
from rag_core.providers import LOCAL, VECTOR_INDEXES, Added, added_vector_indexes
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors import RemoteIndex, foreign

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

VectorOptions = Mapping[str, Any]
"""The owner's options for each built-in kind."""


def vector_options(settings: Settings) -> dict[str, Any]:
    """Return the options of each kind of remote vector index from ``settings``: kind → options."""
    rows = [row for row in VECTOR_INDEXES.values() if row.opens]
    return {row.name: options_from(settings, row.opener.options_type) for row in rows}


def _opener(kind: str) -> Any:
    """Return the object that addresses and opens indexes of a kind, such as a class derived from `Remote`.
    Raises InvalidInput for an unknown kind, and VectorError if its package is broken."""
    row = VECTOR_INDEXES.get(kind) or added_vector_indexes().get(kind)
    if row is None or not row.opens:
        raise InvalidInput(f"There is no vector index called {kind[:80]!r}.", f"Use {', '.join(kinds())}.")
    return row.opener(row.extension) if isinstance(row, Added) else row.opener


def address_of(
    kind: str, store: str, options: VectorOptions, identity: EmbedderIdentity | None = None
) -> str:
    """Return the address of the index for the store ``store``; '' for its own file. With ``identity``, return
    the address of the new index while the store switches to this embedder. Raises InvalidInput for an unknown
    kind."""
    from rag_core.vectors.remote import short_mark

    variant = short_mark(str(identity)) if identity else ""
    return "" if kind == LOCAL else str(_opener(kind).address_of(store, variant, options.get(kind)))


def kinds() -> tuple[str, ...]:
    """Return the kinds of vector index that stores can have here: built-in kinds, then those of working
    packages."""
    return (*VECTOR_INDEXES, *foreign.usable())


def text_goes_to(kind: str, options: VectorOptions) -> str:
    """Return in words where text in a vector index of this kind is sent, such as ``goes to HOST`` or ``stays
    on this machine``. Raises InvalidInput for an unknown kind, and VectorError if its package is broken."""
    if kind in options:
        return str(options[kind].destination)
    return destination_of("" if kind == LOCAL else _opener(kind).server)


def backend_of(address: str) -> str:
    """Return the kind of the index at ``address``."""
    return address.partition("://")[0] if address else LOCAL


def open_remote(address: str, dimension: int, metric: Metric, options: VectorOptions) -> RemoteIndex:
    """Return the index at ``address`` for vectors of this dimension and metric. The index may not exist, and
    nothing is connected yet. Raises VectorError if its package is not installed, and InvalidInput for a bad
    address."""
    kind = backend_of(address)
    index: RemoteIndex = _opener(kind)(address, dimension, metric, options.get(kind))
    return index


def existing(address: str, options: VectorOptions) -> RemoteIndex:
    """Return the existing index at ``address`` with its actual dimension and metric. Raises InvalidInput for
    a bad address, and VectorError if there is no such index or it cannot be reached."""
    kind = backend_of(address)
    index: RemoteIndex = _opener(kind).existing(address, options.get(kind))
    return index


def none_there(address: str, *, is_copy: bool) -> VectorError:
    """Return the error for an index that no longer exists. ``is_copy`` means that another installation fills
    it."""
    advice = "If the computer that fills it uses another address, attach that one and delete this copy."
    gone = f"There is no vector index at {address!r}."
    return VectorError(gone, advice if is_copy else say("heal_vectors"))
