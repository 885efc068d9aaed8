"""What is said of a store's file that cannot be read, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rag_core.errors import StoreError
from rag_core.types import Viewer


@contextmanager
def told(viewer: Viewer, name: str) -> Iterator[None]:
    """Say what is wrong with the file of the store ``name`` to the owner alone: it may hold paths, and bits
    of what nobody else may see."""
    try:
        yield
    except StoreError as error:
        error.store = name
        if viewer.is_owner:
            raise
        for_guests = StoreError(f"Store {name!r} cannot be read just now.", "Tell its owner.")
        for_guests.store = name
        raise for_guests from error
