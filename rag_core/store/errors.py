"""What is said of a store's file that cannot be read or written, and to whom."""

from __future__ import annotations

from pathlib import Path

from rag_core.errors import RagError, StoreError
from rag_core.types import Viewer


def for_viewer(error: RagError, viewer: Viewer, name: str) -> RagError:
    """What ``viewer`` is told of an error of the store ``name``. What is wrong with its file is for the owner
    alone: it may hold paths, and bits of what nobody else may see."""
    if not isinstance(error, StoreError):
        return error
    error.store = name
    if viewer.is_owner:
        return error
    for_guests = StoreError(f"Store {name!r} cannot be read just now.", "Tell its owner.")
    for_guests.store = name
    for_guests.__cause__ = error
    return for_guests


def not_written(name: str, what: str, folder: Path, error: Exception, kept: str = "") -> StoreError:
    """The error for a store that cannot be ``what`` (made, exported …) because of the disk or the rights of
    ``folder``; ``kept`` says what became of all that was there."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
    return StoreError(
        f"Store {name!r} cannot be {what}: {why}.",
        f"Check that {str(folder)!r} can be written and its disk is not full{'; ' if kept else ''}{kept}.",
    )
