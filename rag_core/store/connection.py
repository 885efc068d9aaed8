"""Connections to one store file: a bounded pool for reading, one at a time for writing.

Every Streamlit rerun is a new thread, so a connection never belongs to one; it is borrowed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote

from rag_core.errors import RagError, StoreDamaged, StoreError
from rag_core.store.decisions import copy_path
from rag_core.store.migrations import APPLICATION_ID
from rag_core.store.rows import Reading
from rag_core.text.words import has_phrase

READERS = 4
"""How many threads read one store at once. More would only wait for each other, as Python computes in one:
beside a run, 25 searches a second took three times as long with eight (`benchmarks/load.py`)."""

BUSY_TIMEOUT_S = 30.0
LOG_LIMIT = 64 * 1024 * 1024
_FOLD_PATIENCE_MS = 100

# Searches are no faster with what a run needs, and four readers would hold 48 MB more: the system keeps the
# file in memory anyway, once for all.
_READER_CACHE_KB = 4_000
_WRITER_CACHE_KB = 16_000

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


def _is_read_only(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_READONLY")


def is_damage(error: BaseException) -> bool:
    """Whether an error, or the one that a StoreError came from, says that the file is damaged."""
    name = getattr(error.__cause__ or error, "sqlite_errorname", "")
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def blames_file(error: BaseException) -> bool:
    """Whether an error of SQLite, or the one that a StoreError came from, is about what the file holds, and
    not about the disk, the rights or another process."""
    cause = error.__cause__ or error
    return isinstance(cause, sqlite3.Error) and (is_damage(cause) or not _is_outside(cause))


_UNDECODED = "Could not decode to UTF-8"
_UNREADABLE = "what is in it is damaged"  # what SQLite and Python say of that quotes notes


def damage(db: sqlite3.Connection, error: Exception) -> str:
    """What is wrong with the file that ``error`` came up in; '' where nothing is, so that it is the disk's or
    a mistake in the program. Nobody can say what else comes of rows that are not as they were written."""
    if isinstance(error, RagError | sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return ""
    if isinstance(error, sqlite3.Error) and not blames_file(error):
        return ""
    if isinstance(error, ValueError) or str(error).startswith(_UNDECODED):  # text, JSON, vectors
        return _UNREADABLE
    if isinstance(error, sqlite3.Error):
        return str(error)
    try:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (sqlite3.Error, UnicodeDecodeError):
        return "it is damaged"
    return "" if found == "ok" else "it is damaged"


Mode = Literal["rw", "ro", "ro&immutable=1"]
STILL: Mode = "ro&immutable=1"  # takes no locks and makes no file: for what nobody writes

MEND = (
    "Check the disk, then repair the store. Where that fails, delete it, and import its export or index its"
    " folders again."
)
"""What to do about a store that is damaged."""


def connect(path: Path, mode: Mode, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open ``path`` in autocommit, rows as sqlite3.Row.

    Raises StoreError when it is missing, unreadable or not a store.
    """
    opened = sqlite3.connect if mode == "rw" else partial(sqlite3.connect, factory=Reading)
    try:
        db = opened(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=busy_timeout_s,
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise _cannot_open(path, error) from error
    try:
        _prepare(db, path, _WRITER_CACHE_KB if mode == "rw" else _READER_CACHE_KB)
    except BaseException as error:
        db.close()
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):  # also an error that is no text
            raise _cannot_open(path, error) from error
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path, cache_kb: int) -> None:
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute(f"PRAGMA cache_size = -{cache_kb}")
    db.create_function("has_phrase", 2, has_phrase, deterministic=True)
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        if copy_path(path).exists():  # so it was one
            raise StoreDamaged(f"Store {path.stem!r} is damaged: it is no store any more.", MEND)
        raise StoreError(f"{path.name!r} is not a Commonplace store.", "Move it out of the stores folder.")


def _cannot_open(path: Path, error: Exception) -> StoreError:
    said, rest = f"Store {path.stem!r} cannot be opened: {error}.", "Other stores are not affected."
    if _has_log(path) and not can_be_written(path.parent):  # and without -shm, or it could be read
        advice = "Its newest changes lie in a log beside it: copy its files to a folder that can be written."
    elif _is_outside(error) and not is_damage(error):
        advice = f"Check who may read and write in {str(path.parent)!r}, and that its disk is not full."
    else:
        return StoreDamaged(said, f"{MEND} {rest}")
    return StoreError(said, f"{advice} {rest}")


# --- a store that cannot be written -----------------------------------------------------


def is_still(path: Path) -> bool:
    """Whether this account can write nothing beside the store file ``path``, and nobody has it open.

    Such a file is read as it stands: SQLite would need a file beside it to see what others write.
    """
    if can_be_written(path.parent):
        return False
    return not _has_log(path) and not (_beside(path, "-wal").exists() and _beside(path, "-shm").exists())


def can_be_written(path: Path) -> bool:
    """Whether this account may write in a folder or a file."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _has_log(path: Path) -> bool:
    log = _beside(path, "-wal")
    return log.exists() and log.stat().st_size > 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


class _Rights(NamedTuple):
    """How a file can be read just now. A connection that was opened otherwise is of no use: one to a still
    file does not see what others write, and one without rights keeps the whole process from writing."""

    is_still: bool
    can_be_written: bool
    size: int = 0
    mtime_ns: int = 0


def _rights(path: Path) -> _Rights:
    if not is_still(path):
        return _Rights(is_still=False, can_be_written=can_be_written(path))
    status = path.stat()
    return _Rights(True, False, status.st_size, status.st_mtime_ns)


# --- lending connections ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """The store file at ``path`` as it was opened: another one may have the name later. ``busy_timeout_s`` is
    how long to wait for another process that writes it."""

    path: Path
    inode: int
    busy_timeout_s: float

    def require(self) -> None:
        """Raises StoreError when it does not have the name any more."""
        try:
            if self.path.stat().st_ino == self.inode:
                return
        except OSError:
            pass
        raise self.gone()

    def gone(self) -> StoreError:
        """The error for a store that is not the one any more that was opened."""
        return StoreError(f"Store {self.path.stem!r} was closed, renamed or deleted meanwhile.", "Try again.")


class _Lendable(NamedTuple):
    """A connection for reading, and what there was to read when it was opened."""

    db: sqlite3.Connection
    rights: _Rights


class Readers:
    """At most READERS read-only connections to one file, lent to one thread at a time."""

    def __init__(self, file: OpenedFile) -> None:
        self._file = file
        self._free = threading.Semaphore(READERS)
        self._lock = threading.Lock()  # guards what follows
        self._idle: list[_Lendable] = []
        self._closed = False
        self._lent = threading.local()

    @contextmanager
    def borrow(self) -> Iterator[sqlite3.Connection]:
        """A connection inside one read transaction: everything read belongs together.

        Raises StoreDamaged when the file or the disk is, StoreError once the pool is closed or another file
        has the name.
        """
        if getattr(self._lent, "one", False):
            raise RuntimeError("this thread has a connection of this store already; pass it on")
        with self._free:
            lent = self._take()
            db = lent.db
            self._lent.one = True  # a second one could be the one that everybody waits for
            try:
                db.execute("BEGIN")
                yield db
            except Exception as error:
                if refusal := self._refusal(db, error):
                    raise refusal from (None if _UNREADABLE in refusal.message else error)
                raise
            finally:
                self._lent.one = False
                if db.in_transaction:
                    db.execute("ROLLBACK")
                with self._lock:
                    if self._closed:
                        db.close()
                    else:
                        self._idle.append(lent)

    def _refusal(self, db: sqlite3.Connection, error: Exception) -> StoreError | None:
        said = f"Store {self._file.path.stem!r} cannot be read"
        if what := damage(db, error):
            return StoreDamaged(f"{said}: {what}.", MEND)
        if isinstance(error, sqlite3.Error) and _is_outside(error):
            advice = f"Check the disk, and who may read in {str(self._file.path.parent)!r}; then try again."
            return StoreError(f"{said}: {error}.", advice)
        return None

    def drop_stale(self) -> None:
        """Close what was opened when there were other rights on the file."""
        rights = _rights(self._file.path)
        with self._lock:
            stale = [each for each in self._idle if each.rights != rights]
            self._idle = [each for each in self._idle if each.rights == rights]
        for each in stale:
            each.db.close()

    def _take(self) -> _Lendable:
        rights = _rights(self._file.path)
        with self._lock:
            if self._closed:
                raise self._file.gone()
            while self._idle:
                known = self._idle.pop()
                if known.rights == rights:
                    return known
                known.db.close()
        db = connect(self._file.path, STILL if rights.is_still else "ro", self._file.busy_timeout_s)
        try:
            self._file.require()
        except StoreError:
            db.close()
            raise
        return _Lendable(db, rights)

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            while self._idle:
                self._idle.pop().db.close()


def cannot_write(path: Path, error: BaseException) -> StoreError:
    """The error for a store that cannot be written because of ``error``."""
    why = (error.strerror if isinstance(error, OSError) else None) or error
    said = f"Store {path.stem!r} cannot be written: {why}."
    if blames_file(error):
        return StoreDamaged(said, MEND)
    return StoreError(
        said, f"Free some disk space, or check who may write in {str(path.parent)!r}; then do the same again."
    )


class Writer:
    """The one connection of this process that writes to a file; a transaction at a time. ``make_way`` is
    called before it is opened, and closes those that would keep it from writing."""

    def __init__(self, file: OpenedFile, make_way: Callable[[], None]) -> None:
        self._file = file
        self._make_way = make_way
        self._lock = threading.RLock()
        self._closed = False
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def transaction(self, *, lasting: bool = False) -> Iterator[sqlite3.Connection]:
        """``BEGIN IMMEDIATE`` … ``COMMIT``; any error rolls back. What is ``lasting`` is on the disk when it
        ends; a power cut may take back the last ones of the others, all of them or a few.

        Raises StoreError when the disk is full, read-only or damaged or another writer does not finish, and
        once it is closed or another file has the name.
        """
        with self._lock:
            db = self._connected()
            db.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")
            try:
                db.execute("BEGIN IMMEDIATE")
                self._file.require()  # a repair may have put another one there while this waited
                yield db
                db.execute("COMMIT")
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                if _is_read_only(error):
                    self._db = None
                    db.close()  # it stays so, whatever rights there are later
                if _is_outside(error) or isinstance(error, sqlite3.OperationalError):  # a table may be gone
                    raise cannot_write(self._file.path, error) from error
                raise

    def _connected(self) -> sqlite3.Connection:
        if self._db is None and not self._closed:
            self._make_way()
            self._db = connect(self._file.path, "rw", self._file.busy_timeout_s)
        if self._db is None:
            raise self._file.gone()
        self._file.require()
        return self._db

    def fold_log(self, longest: int) -> None:
        """Fold a write-ahead log of ``longest`` bytes or more into the file, if no reader needs it just now
        and the disk has room for that.

        SQLite does so by itself only when nobody reads; with searches all the time the log would
        outgrow the store.
        """
        with self._lock:
            log = _beside(self._file.path, "-wal")
            if self._db is None or not log.exists() or log.stat().st_size < longest:
                return
            self._db.execute(f"PRAGMA busy_timeout = {_FOLD_PATIENCE_MS}")
            try:
                with suppress(sqlite3.OperationalError):  # it is as good unfolded
                    self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {round(self._file.busy_timeout_s * 1000)}")

    def close(self) -> None:
        """Close the connection; SQLite folds the write-ahead log into the file."""
        with self._lock:
            self._closed = True
            if self._db is not None:
                self._db.close()
                self._db = None
