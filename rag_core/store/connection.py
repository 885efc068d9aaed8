"""Connections to one store file: a bounded pool for reading, one at a time for writing.

Every Streamlit rerun is a new thread, so a connection never belongs to one; it is borrowed.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from rag_core.errors import StoreError
from rag_core.migrations import APPLICATION_ID
from rag_core.words import has_phrase

READERS = 8
BUSY_TIMEOUT_S = 30.0
LOG_LIMIT = 64 * 1024 * 1024
_FOLD_PATIENCE_MS = 100

# What can go wrong outside the program; anything else is a mistake in it and stays loud.
_OUTSIDE = (
    "SQLITE_FULL",
    "SQLITE_READONLY",
    "SQLITE_IOERR",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_NOTADB",
)


def _is_outside(error: BaseException) -> bool:
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorname", "").startswith(
        _OUTSIDE
    )


def connect(path: Path, mode: str, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open ``path`` (``mode`` ``ro`` or ``rw``) in autocommit, rows as sqlite3.Row.

    Raises StoreError when it is missing, unreadable or not a store.
    """
    try:
        db = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=busy_timeout_s,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise _cannot_open(path, error) from error
    try:
        _prepare(db, path)
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error):
            raise _cannot_open(path, error) from error
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -16000")
    db.create_function("has_phrase", 2, has_phrase, deterministic=True)
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{path.name!r} is not a Commonplace store.", "Move it out of the stores folder.")


def _cannot_open(path: Path, error: sqlite3.Error) -> StoreError:
    return StoreError(
        f"Store {path.stem!r} cannot be opened: {error}.",
        "Check the file's permissions and the disk; other stores are not affected.",
    )


class Readers:
    """At most READERS read-only connections, lent to one thread at a time."""

    def __init__(self, path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._free = threading.Semaphore(READERS)
        self._closed = False
        self._lent = threading.local()

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction: everything read belongs together.

        Raises StoreError when the file or the disk is damaged.
        """
        if getattr(self._lent, "one", False):
            raise RuntimeError("this thread has a connection of this store already; pass it on")
        with self._free:
            try:
                db = self._idle.get_nowait()
            except queue.Empty:
                db = connect(self._path, "ro", self._busy_timeout_s)
            self._lent.one = True  # a second one could be the one that everybody waits for
            try:
                db.execute("BEGIN")
                yield db
            except sqlite3.DatabaseError as error:
                if not _is_outside(error):
                    raise
                raise StoreError(
                    f"Store {self._path.stem!r} cannot be read: {error}.",
                    "Check the disk; if the file is damaged, restore it from a copy or index its folders"
                    " into a new store.",
                ) from error
            finally:
                self._lent.one = False
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if self._closed:
                    db.close()
                else:
                    self._idle.put(db)

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        self._closed = True
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return


class Writer:
    """The one connection of this process that writes; a transaction at a time."""

    def __init__(self, path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """``BEGIN IMMEDIATE`` … ``COMMIT``; any error rolls back.

        Raises StoreError when the disk is full, read-only or another writer does not finish.
        """
        with self._lock:
            if self._db is None:
                self._db = connect(self._path, "rw", self._busy_timeout_s)
            db = self._db
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if _is_outside(error):
                    raise StoreError(
                        f"Store {self._path.stem!r} cannot be written: {error}.",
                        "Free some disk space or check permissions, then run the same command again.",
                    ) from error
                raise

    def fold_log(self) -> None:
        """Fold a long write-ahead log into the file, if no reader needs it just now.

        SQLite does so by itself only when nobody reads; with searches all the time the log would
        outgrow the store.
        """
        with self._lock:
            log = self._path.with_name(self._path.name + "-wal")
            if self._db is None or not log.exists() or log.stat().st_size < LOG_LIMIT:
                return
            self._db.execute(f"PRAGMA busy_timeout = {_FOLD_PATIENCE_MS}")
            try:
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {round(self._busy_timeout_s * 1000)}")

    def close(self) -> None:
        """Close the connection; SQLite folds the write-ahead log into the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
