"""What is said of a store's file that cannot be read or written, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


def not_written(name: str, what: str, folder: Path, error: Exception, kept: str = "") -> StoreError:
    """The error for a store that cannot be ``what`` (made, exported …) because of the disk or the rights of
    ``folder``; ``kept`` says what became of all that was there."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
    return StoreError(
        f"Store {name!r} cannot be {what}: {why}.",
        f"Check that {str(folder)!r} can be written and its disk is not full{'; ' if kept else ''}{kept}.",
    )
