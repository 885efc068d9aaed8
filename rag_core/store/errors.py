"""Errors of a store's file: decides whether the file or the disk is at fault, and writes the messages for
owners and guests."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from rag_core.errors import RagError, StoreDamaged, StoreError
from rag_core.types import Viewer

MEND = (
    "Check the disk, then repair the store. Where that fails, delete it, and import its export or index its"
    " folders again."
)
"""Advice for a damaged store."""

_UNREADABLE = "its content is damaged"  # replaces messages of SQLite and Python, which may quote notes

# Errors from outside the program. All other errors are bugs and are raised unchanged.
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_OUTSIDE = (
    *_DAMAGE,
    *("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN"),
)


def sqlite_name(error: BaseException) -> str:
    """Return SQLite's name of an error, such as ``SQLITE_FULL``, or '' if the error is not from SQLite."""
    return getattr(error, "sqlite_errorname", "")


def is_outside(error: BaseException) -> bool:
    """Whether an SQLite error has a cause outside the program: the file, the disk, the access rights or
    another process."""
    return sqlite_name(error).startswith(_OUTSIDE)


def is_damage(error: BaseException) -> bool:
    """Whether an error means that the file is damaged. For a StoreError its cause is checked."""
    return sqlite_name(error.__cause__ or error).startswith(_DAMAGE)


def blames_file(error: BaseException) -> bool:
    """Whether the file's content caused an SQLite error, and not the disk, the access rights or another
    process. For a StoreError its cause is checked."""
    cause = error.__cause__ or error
    return isinstance(cause, sqlite3.Error) and (is_damage(cause) or not is_outside(cause))


def damage(db: sqlite3.Connection, error: Exception) -> str:
    """Describe the damage in the file that caused ``error``. Returns '' if the disk or the program is the
    cause."""
    is_elsewhere = isinstance(error, sqlite3.Error) and not blames_file(error)
    if is_elsewhere or isinstance(error, RagError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return ""
    if isinstance(error, ValueError) or str(error).startswith("Could not decode to UTF-8"):
        return _UNREADABLE
    if isinstance(error, sqlite3.Error):
        return str(error)
    try:
        is_sound = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except (sqlite3.Error, UnicodeDecodeError):
        is_sound = False
    return "" if is_sound else "it is damaged"


def raise_unreadable(db: sqlite3.Connection, path: Path, error: Exception) -> None:
    """Raise StoreError if ``error`` means that the store cannot be read. Returns if the program is at
    fault."""
    if what := damage(db, error):
        message = f"Store {path.stem!r} cannot be read: {what}."
        raise StoreDamaged(message, MEND) from (None if what == _UNREADABLE else error)
    if is_outside(error):
        advice = f"Check the disk, and who may read in {str(path.parent)!r}; then try again."
        raise StoreError(f"Store {path.stem!r} cannot be read: {error}.", advice) from error


def cannot_write(path: Path, error: BaseException) -> StoreError:
    """Return the error for a store that cannot be written because of ``error``."""
    message = f"Store {path.stem!r} cannot be written: {system_says(error)}."
    if blames_file(error):
        return StoreDamaged(message, MEND)
    advice = f"Free some disk space, or check who may write in {str(path.parent)!r}; then do the same again."
    return StoreError(message, advice)


def system_says(error: BaseException) -> str:
    """Return the reason that the system or SQLite gives for an error."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def not_written(message: str, folder: Path, kept: str = "") -> StoreError:
    """Return the error for a write that the disk or the rights on ``folder`` did not allow. ``message`` is a
    sentence. ``kept`` is a sentence about what was saved."""
    advice = f"Check that {str(folder)!r} can be written and that its disk is not full."
    return StoreError(message, f"{advice} {kept}".rstrip())


def for_viewer(error: RagError, viewer: Viewer, name: str) -> RagError:
    """Return ``error`` as ``viewer`` may read it. Guests get no details, because details can contain paths
    and parts of private notes."""
    if isinstance(error, StoreError):
        cause = error
        if not viewer.is_owner:
            error = StoreError(f"Store {name!r} cannot be read just now.", "Tell its owner.")
            error.__cause__ = cause
        error.store = name
    return error
