"""Connections to one store file: a limited pool for reading, and a single connection for writing."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote

from rag_core.errors import StoreDamaged, StoreError
from rag_core.store import decisions
from rag_core.store.errors import MEND, cannot_write, is_damage, is_outside, raise_unreadable, sqlite_name
from rag_core.store.migrations import APPLICATION_ID
from rag_core.text.phrases import has_phrase, shows_phrase
from rag_core.text.words import name_order

READERS = 4
"""Maximum number of threads that read one store at once. More threads would only wait for each other, because
Python computes in one thread at a time.

During a run, 25 searches a second took three times as long with eight readers (`benchmarks/load.py`).
"""

BUSY_TIMEOUT_S = 30.0
LOG_LIMIT = 64 * 1024 * 1024
_LOG_PAGES = 8_000
"""Pages of 4 KB in the write-ahead log (32 MB) at which SQLite moves them into the file. With its default of
1,000 pages, a run over 7,400 small notes takes a tenth longer."""

_CHECKPOINT_TIMEOUT_MS = 100
OF_LOG = ("-wal", "-shm")
"""Suffixes of the two files that SQLite writes next to a store: the write-ahead log and its index."""

# Larger caches make no search faster, because the system caches the file for all connections.
_READER_CACHE_KB = 4_000
_WRITER_CACHE_KB = 16_000

OpenMode = Literal["rw", "ro", "ro&immutable=1"]
STILL: OpenMode = "ro&immutable=1"
"""Mode for a file that no process writes. SQLite then takes no locks and creates no files."""

_Value = TypeVar("_Value")


class ReadConnection(sqlite3.Connection):
    """A read-only connection that caches values for `kept`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.remembered: dict[Callable[[sqlite3.Connection], Any], tuple[int, Any]] = {}


def kept(db: sqlite3.Connection, read: Callable[[sqlite3.Connection], _Value]) -> _Value:
    """Return ``read(db)``. A read-only connection caches the value until the store is written. A writing
    connection calls ``read`` each time."""
    if not isinstance(db, ReadConnection):
        return read(db)
    version: int = db.execute("PRAGMA data_version").fetchone()[0]
    if db.remembered.get(read, (-1, None))[0] != version:
        db.remembered[read] = version, read(db)
    value: _Value = db.remembered[read][1]
    return value


def rows_at_once(
    db: sqlite3.Connection, columns: Sequence[str], sql: str, values: Sequence[Any]
) -> list[list[Any]]:
    """Return the rows of a SELECT, each as a list. All ``columns`` must hold numbers or texts.

    SQLite returns all rows as one JSON text, because Python's sqlite3 may wait 5 ms for the interpreter
    before each row (`sys.getswitchinterval`).
    """
    names = ", ".join(columns)
    sql = f"WITH found ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM found"
    rows: list[list[Any]] = json.loads(db.execute(sql, values).fetchone()[0])
    return rows


def connect(path: Path, mode: OpenMode, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open ``path`` in autocommit mode. Raises StoreError if the file is missing, unreadable or not a
    store."""
    opened = sqlite3.connect if mode == "rw" else partial(sqlite3.connect, factory=ReadConnection)
    uri, db = f"file:{quote(str(path))}?mode={mode}", None
    try:
        db = opened(uri, busy_timeout_s, isolation_level=None, check_same_thread=False, uri=True)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        db.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KB if mode == 'rw' else _READER_CACHE_KB}")
        db.create_function("has_phrase", 2, has_phrase, deterministic=True)
        db.create_function("shows_phrase", 3, shows_phrase, deterministic=True)
        db.create_function("name_order", 1, name_order, deterministic=True)
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            if decisions.beside(path).exists():  # so the file was a store
                raise StoreDamaged(f"Store {path.stem!r} is damaged: its file is no longer a store.", MEND)
            problem = f"{path.name!r} is not a Commonplace store."
            raise StoreError(problem, "Move it out of the stores folder.")
    except BaseException as error:
        if db is not None:
            db.close()
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # or an undecodable message
            raise _cannot_open(path, error) from error
        raise
    return db


def _cannot_open(path: Path, error: Exception) -> StoreError:
    problem, rest = f"Store {path.stem!r} cannot be opened: {error}.", "Other stores are not affected."
    if log_size(path) and not can_be_written(path.parent):  # SQLite cannot create the missing -shm
        advice = "Its newest changes are in a log next to it: copy its files to a folder that can be written."
    elif is_outside(error) and not is_damage(error):
        advice = f"Check who may read and write in {str(path.parent)!r}, and that its disk is not full."
    else:
        return StoreDamaged(problem, f"{MEND} {rest}")
    return StoreError(problem, f"{advice} {rest}")


def can_be_written(path: Path) -> bool:
    """Whether this account may write to a folder or a file."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def log_size(path: Path) -> int:
    """Return the size of the store's write-ahead log in bytes, or 0 if there is no log."""
    try:
        return Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        return 0


class Rights(NamedTuple):
    """The access rights on a store file. A connection is closed when the rights differ from those it was
    opened with."""

    #: Whether the file is read without locks: this account cannot write files next to it, and no other
    #: process has it open.
    is_still: bool
    is_writable: bool  #: Whether this account may write to the file.
    size: int = 0  #: Size of a still file in bytes, to detect changes that SQLite cannot see; otherwise 0.
    mtime_ns: int = 0  #: Time of the last change of a still file; otherwise 0.


def rights(path: Path) -> Rights:
    """Return the access rights on the store file ``path``."""
    if (
        can_be_written(path.parent)
        or log_size(path)
        or all(Path(f"{path}{suffix}").exists() for suffix in OF_LOG)
    ):
        return Rights(is_still=False, is_writable=can_be_written(path))
    status = path.stat()
    return Rights(True, False, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """The store file that was opened at ``path``. Another file may replace it later."""

    path: Path
    inode: int
    busy_timeout_s: float

    def require(self) -> None:
        """Raise StoreError if the file at ``path`` is missing or is another one now."""
        with suppress(OSError):
            if self.path.stat().st_ino == self.inode:
                return
        raise self.gone()

    def gone(self) -> StoreError:
        """Return the error for a store that was replaced, renamed or deleted after it was opened."""
        return StoreError(
            f"Store {self.path.stem!r} is not open any more: it was closed, renamed or deleted.", "Try again."
        )


class Readers:
    """A pool of at most READERS read-only connections to one file. Each connection is lent to one thread at a
    time."""

    def __init__(self, file: OpenedFile) -> None:
        self._file = file
        self._free = threading.Semaphore(READERS)
        self._lock = threading.Lock()  # guards the attributes below
        self._idle: list[tuple[sqlite3.Connection, Rights]] = []
        self._closed = False
        self._lent = threading.local()

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection in one read transaction, so that all reads see the same state. Raises StoreError
        if the file or disk is damaged, the pool is closed, or the file was replaced."""
        if getattr(self._lent, "one", False):
            raise RuntimeError("this thread has a connection of this store already; pass it on")
        try:
            with self._free:
                db, known = self._take()
                self._lent.one = True  # a second connection could make all threads wait forever
                try:
                    db.execute("BEGIN")
                    yield db
                except Exception as error:
                    raise_unreadable(db, self._file.path, error)
                    raise
                finally:
                    self._lent.one = False
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    with self._lock:
                        self._idle.append((db, known))
                    if self._closed:
                        self.close()
        except StoreError as error:
            error.store = self._file.path.stem
            raise

    def _take(self) -> tuple[sqlite3.Connection, Rights]:
        now = rights(self._file.path)
        with self._lock:
            if self._closed:
                raise self._file.gone()
            while self._idle:
                db, known = self._idle.pop()
                if known == now:
                    return db, known
                db.close()
        db = connect(self._file.path, STILL if now.is_still else "ro", self._file.busy_timeout_s)
        try:
            self._file.require()
        except StoreError:
            db.close()
            raise
        return db, now

    def close(self) -> None:
        """Close idle connections now, and each lent connection when it is returned."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop()[0].close()


class Writer:
    """The only connection of this process that writes to a file."""

    def __init__(self, file: OpenedFile) -> None:
        self._file = file
        self._lock = threading.RLock()
        self._closed = False
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Context manager: run the block between ``BEGIN IMMEDIATE`` and ``COMMIT``. An error rolls back. A
        power cut can undo the last transactions, except ``durable`` ones.

        Raises StoreError if the disk is full, read-only or damaged, if another writer takes too long, or if
        the file is closed or replaced.
        """
        with self._lock:
            if self._closed:
                raise self._file.gone()
            if self._db is None:
                self._db = connect(self._file.path, "rw", self._file.busy_timeout_s)
            db = self._db
            self._file.require()
            db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            try:
                db.execute("BEGIN IMMEDIATE")
                self._file.require()  # a repair may have replaced the file meanwhile
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if sqlite_name(error).startswith("SQLITE_READONLY"):
                    self._db = None
                    db.close()  # the connection stays read-only even if the rights change
                if is_outside(error) or isinstance(error, sqlite3.OperationalError):  # a table is missing
                    raise cannot_write(self._file.path, error) from error
                raise

    def checkpoint(self, longest: int) -> None:
        """Move a write-ahead log of at least ``longest`` bytes into the file, if no reader needs the log and
        the disk has room. SQLite itself does so only when nobody reads."""
        with self._lock:
            if self._db is None or log_size(self._file.path) < max(longest, 1):
                return
            self._db.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_TIMEOUT_MS}")
            try:
                with suppress(sqlite3.OperationalError):  # the log may also stay as it is
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {round(self._file.busy_timeout_s * 1000)}")

    def close(self) -> None:
        """Close the connection. SQLite then moves the write-ahead log into the file."""
        with self._lock:
            self._closed = True
            if self._db is not None:
                self._db.close()
                self._db = None
