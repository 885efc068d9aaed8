"""A store: one SQLite file that describes itself."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rag_core import system
from rag_core.errors import StoreBusy, StoreDamaged, StoreError
from rag_core.store import connection, decisions, lock, migrations, signs
from rag_core.store.connection import BUSY_TIMEOUT_S, STILL, OpenedFile, Readers, Writer, connect
from rag_core.store.errors import (
    MEND,
    blames_file,
    cannot_write,
    is_damage,
    not_written,
    sqlite_name,
    system_says,
)
from rag_core.store.staging import staging_folder
from rag_core.types import ChunkSpec, EmbedderIdentity, Vectors

_PAGE_SIZE = 8192
_RENAME_TIMEOUT_MS = 1000
_DAMAGED = ".damaged-"
_RAISE_GENERATION = "UPDATE meta SET value = value + 1 WHERE key = 'generation'"


def meta(db: sqlite3.Connection) -> dict[str, str]:
    """Return the table ``meta`` as a dict: facts about the store, as in the snapshot of ``db``."""
    return dict(db.execute("SELECT key, value FROM meta").fetchall())


def generation(db: sqlite3.Connection) -> int:
    """Return the store's generation, a number that every write raises. A value computed at a lower generation
    may be out of date."""
    return int(db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0])


def id_of(path: Path) -> str:
    """Return the id of the store in a file, without changing the file. Returns '' if the file is not a
    store."""
    with suppress(StoreError, sqlite3.Error, KeyError), closing(connect(path, STILL)) as db:
        return meta(db)["id"]
    return ""


ACTIVE = "(SELECT value FROM meta WHERE key = 'identity_id')"
"""SQL for the row id of the embedder whose vectors are searched."""

TARGET = "(SELECT value FROM meta WHERE key IN ('identity_id', 'next_identity_id') ORDER BY key DESC LIMIT 1)"
"""SQL for the row id of the embedder that runs use. During a switch this is the new one."""


class Known(NamedTuple):
    """An embedder as the store knows it."""

    id: int
    identity: EmbedderIdentity
    canary: Vectors  #: Its vector of `embeddings.CANARY_TEXT`, by which the model is recognized.
    mean: Vectors  #: The mean vector that its sign bits are relative to (see `signs`).
    width: int  #: How many candidates searches choose by sign bits: an index of `vectors.local.WIDTHS`.


def _known(db: sqlite3.Connection, which: str) -> Known | None:
    sql = f"SELECT id, canary, provider, model, digest, dimension, prompts FROM identities WHERE id = {which}"
    if (row := db.execute(sql).fetchone()) is None:
        return None
    number, canary, *identity = row
    known, mean = EmbedderIdentity(*identity), signs.mean_of(db, number, identity[3])
    recall = signs.recall_of(db, number)
    return Known(number, known, np.frombuffer(canary, np.float32), mean, recall.width if recall else 0)


active_identity = partial(_known, which=ACTIVE)
"""Return the embedder whose vectors are searched, or None if there are no vectors yet."""

target_identity = partial(_known, which=TARGET)
"""Return the embedder that texts are embedded with, or None if none was ever used."""


def spec_rows(spec: ChunkSpec) -> dict[str, str]:
    """Return the rows of ``meta`` for the settings by which documents are split into passages."""
    sizes, chunkers = json.dumps(spec.sizes), json.dumps(spec.chunkers)
    return {"max_tokens": str(spec.max_tokens), "chunk_sizes": sizes, "chunkers": chunkers}


def new_generation() -> str:
    """Return a start value for the generation. No cache can contain it, even from an earlier store of the
    same name."""
    return str(time.time_ns() // 1000)


def now() -> str:
    """Return the current time as stores write it: ISO 8601, UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Store:
    """An open store. The other modules of this package read and write through its connections."""

    def __init__(self, path: Path, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Open the store file ``path`` and bring its schema up to date. Raises StoreError if the file is
        missing, damaged, or written by a newer version."""
        self.path = path
        self.name = path.stem
        try:
            self._file = OpenedFile(path, path.stat().st_ino, busy_timeout_s)
            self._migrate(busy_timeout_s)
        except OSError as error:
            problem = f"Store {path.stem!r} cannot be opened: {error.strerror}."
            raise StoreError(problem, "Check that its file is still there and who may read it.") from error
        self._readers = Readers(self._file)
        self.read = self._readers.borrow
        """Context manager: lend a read-only connection, in which all reads see the same state."""
        self._writer = Writer(self._file)
        try:
            about = self._meta()
            self.id = about["id"]
            self.created_at = about["created_at"]
            self.metric = about["metric"]
            _ = about["embedder"], about["backend"], self.spec  # checks that these can be read
            if not self.is_as_decided():
                raise self._differs()
        except (sqlite3.Error, LookupError, ValueError, TypeError, AttributeError) as error:
            self.close()
            problem = f"Store {self.name!r} is damaged: its own settings cannot be read."
            raise StoreDamaged(problem, MEND) from error
        except StoreError:
            self.close()
            raise

    def _meta(self) -> dict[str, str]:
        with self.read() as db:
            return meta(db)

    @property
    def embedder(self) -> str:
        """The name of the embedder that searches use. A switch changes it."""
        return self._meta()["embedder"]

    @property
    def target_embedder(self) -> str:
        """The name of the embedder that runs use. During a switch this is the new one."""
        about = self._meta()
        return about.get("next_embedder", about["embedder"])

    @property
    def backend(self) -> str:
        """The kind of index that searches use: ``local``, or the kind of a remote index."""
        return self._meta()["backend"]

    @property
    def spec(self) -> ChunkSpec:
        """The settings by which documents of this store are split into passages."""
        about = self._meta()
        sizes, chunkers = json.loads(about["chunk_sizes"]), json.loads(about.get("chunkers", "{}"))
        pairs = zip(sizes, map(tuple, sizes.values()), strict=True)
        return ChunkSpec(int(about["max_tokens"]), dict(pairs), dict(chunkers))

    @property
    def sends_private(self) -> bool:
        """Whether the owner allows private notes to be sent to servers on other machines."""
        return self._meta().get("sends_private") == "1"

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        embedder: str,
        spec: ChunkSpec,
        backend: str,
        metric: str,
        facts: Mapping[str, str] = {},
        make_room: Callable[[], None] = lambda: None,
    ) -> Store:
        """Create a store file and open it. An error leaves no file. Raises StoreError if the file exists or
        cannot be written.

        Args:
            path: The store file to create.
            embedder: The name of the embedder.
            spec: The settings by which documents are split into passages.
            backend: The kind of vector index.
            metric: The metric that compares vectors.
            facts: Further rows of the table ``meta``: key → value.
            make_room: Called just before the file is put in place, to remove what an earlier store left.

        """
        try:
            with staging_folder(path.parent) as room:
                unfinished = room / path.name
                unfinished.touch(mode=0o600)  # for the owner only; SQLite's other files copy this
                with closing(new_file(unfinished)) as db:
                    about = {
                        "id": str(uuid.uuid4()),
                        "generation": new_generation(),
                        "created_at": now(),
                        "embedder": embedder,
                        "backend": backend,
                        "metric": metric,
                        **spec_rows(spec),
                        **facts,
                    }
                    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", about.items())
                    db.execute("PRAGMA journal_mode = WAL")  # last: a log left behind is lost
                make_room()
                put_in_place(unfinished, path)
        except (OSError, sqlite3.Error) as error:
            if path.exists():
                raise StoreError(f"Store {path.stem!r} exists already.", "Choose another name.") from None
            message = f"Store {path.stem!r} cannot be created: {system_says(error)}."
            raise not_written(message, path.parent) from error
        return cls(path)

    def _migrate(self, busy_timeout_s: float) -> None:
        still = connection.rights(self.path).is_still
        db = connect(self.path, STILL if still else "rw", busy_timeout_s)
        try:
            if not still and db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                # Imports and renames switch the log off. An open log keeps the file from being renamed;
                # without a log only the lock does.
                with self.hold("make"):
                    db.execute("PRAGMA journal_mode = WAL")
            elif not still:
                self._file.require()
            migrations.migrate(db, self.name)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            message = f"Store {self.name!r} cannot be brought up to date: {error}."
            if still and not is_damage(error):
                raise StoreError(message, "Copy the file to a folder that can be written.") from error
            if isinstance(error, sqlite3.Error) and not blames_file(error):
                raise not_written(message, self.path.parent, "Nothing was lost.") from error
            raise StoreDamaged(f"Store {self.name!r} is damaged: {error}.", MEND) from error
        finally:
            db.close()

    @contextmanager
    def hold(self, work: lock.Work) -> Iterator[None]:
        """Context manager: hold the lock of this store. Raises StoreBusy or InUpkeep if another process holds
        the lock, and StoreError if the file was replaced."""
        with lock.hold(self.path, work):
            self._file.require()
            yield

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Context manager: a write transaction that raises ``generation``, so that cached answers are
        renewed."""
        with self._writer.transaction() as db:
            yield db
            db.execute(_RAISE_GENERATION)

    @contextmanager
    def decide(self) -> Iterator[sqlite3.Connection]:
        """Context manager: a write transaction for decisions of the owner. It is durable, and the decisions
        are also saved in the file next to the store. Raises StoreDamaged if the store has lost earlier
        decisions."""
        with self._writer.transaction(durable=True) as db:
            before = decisions.read(db)
            if decisions.standing(self.path, before) == "other":
                raise self._differs()
            yield db
            db.execute(_RAISE_GENERATION)
            try:
                decisions.save(self.path, decisions.read(db), before)
            except OSError as error:
                raise cannot_write(self.path, error) from error
        with suppress(OSError, StoreError), self._writer.transaction() as db:  # or the next opening does
            decisions.settle(self.path, db)

    def is_as_decided(self) -> bool:
        """Whether the store has the same decisions as the file next to it. If the file is missing, damaged or
        unfinished, it is written again."""
        with self.read() as db:
            standing = decisions.standing(self.path, decisions.read(db))
        if standing != "as decided" and connection.can_be_written(self.path.parent):
            with suppress(OSError, StoreError), self._writer.transaction() as db:
                standing = decisions.settle(self.path, db)
        return standing != "other"

    def _differs(self) -> StoreDamaged:
        file = decisions.beside(self.path).name
        return StoreDamaged(
            f"Store {self.name!r} is damaged: its settings, folders or rules are not those in {file!r}.",
            "To restore what that file says, repair the store. If you copied the store there yourself and"
            f" want to keep it as it is, delete {file!r}.",
        )

    @contextmanager
    def note(self) -> Iterator[sqlite3.Connection]:
        """Context manager: a write transaction for progress and requests. These change no answers, so
        ``generation`` stays."""
        with self._writer.transaction() as db:
            yield db
        self._writer.checkpoint(connection.LOG_LIMIT)

    def checkpoint(self) -> None:
        """Move as much as possible of the write-ahead log into the file, to free disk space."""
        self._writer.checkpoint(0)

    def generation(self) -> int:
        """Return a number that changes whenever answers may change."""
        with self.read() as db:
            return generation(db)

    def running(self) -> bool:
        """Whether a run is under way, in this or any other process."""
        return lock.holder(self.path) == "index"

    def close(self) -> None:
        """Close every connection."""
        self._readers.close()
        self._writer.close()


def put_in_place(unfinished: Path, path: Path) -> None:
    """Rename a complete store file to ``path``, under the lock of ``path``. Raises FileExistsError if
    ``path`` exists."""
    with lock.hold(path, "make"):
        if not path.exists():  # files of a store that was deleted by hand
            _remove_beside(path)
        system.move_to_new(unfinished, path)


def remove(path: Path, close: Callable[[], None]) -> None:
    """Delete the files of a store, damaged or not. ``close`` is called to close the store in this process.
    Raises StoreBusy or InUpkeep if another process uses the store, and StoreError if the folder cannot be
    written."""
    with lock.hold(path, "delete"):
        close()
        try:
            system.when_free(partial(path.unlink, missing_ok=True))
            _remove_beside(path)
        except PermissionError as error:
            if system.rules.moves_open_files:
                message = f"Store {path.stem!r} cannot be deleted: {system_says(error)}."
                raise not_written(message, path.parent) from error
            raise in_use(
                path, "Stop it and try again, or delete the store on the app's own Stores page."
            ) from error


def rename(
    path: Path, target: Path, close: Callable[[], None], make_room: Callable[[], None] = lambda: None
) -> None:
    """Rename the store file ``path`` to ``target``.

    Args:
        path: The store file.
        target: The new path.
        close: Closes the store in this process.
        make_room: Removes what an earlier store of the new name left there. It is called when nothing else
            can prevent the renaming.

    Raises:
        StoreBusy, InUpkeep: Another process uses the store.
        StoreError: ``target`` exists, the file is damaged, or the folder cannot be written.

    """
    with lock.hold(path, "rename"), ExitStack() as held:
        if target.name.casefold() != path.name.casefold():  # otherwise both may be one file and lock
            held.enter_context(lock.hold(target, "rename"))
            if target.exists():
                raise StoreError(f"Store {target.stem!r} exists already.", "Choose another name.")
        close()
        db = held.enter_context(closing(connect(path, "rw")))
        try:
            db.execute(f"PRAGMA busy_timeout = {_RENAME_TIMEOUT_MS}")
            db.execute("PRAGMA journal_mode = DELETE")  # its log has the old name
            db.execute("BEGIN EXCLUSIVE")
            make_room()
            if not system.rules.moves_open_files:  # an open file cannot be renamed
                db.close()
            _rename_all(path, target)
        except (sqlite3.DatabaseError, OSError) as error:
            is_held = isinstance(error, PermissionError) and not system.rules.moves_open_files
            if is_held or sqlite_name(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise in_use(
                    path, "Stop it and try again, or rename the store on the app's own Stores page."
                ) from error
            message = f"Store {path.stem!r} cannot be renamed: {system_says(error)}."
            raise not_written(message, path.parent) from error


def _rename_all(path: Path, target: Path) -> None:
    """Rename a closed store with the files next to it. If OSError is raised, the store has its old name."""
    beside, target_beside = decisions.beside(path), decisions.beside(target)
    if has_decisions := beside.exists():
        system.replace(beside, target_beside)
    else:  # left by a store that was deleted by hand
        target_beside.unlink(missing_ok=True)
    try:  # after its decisions: it must not find those of another store
        system.when_free(partial(path.rename, target))
    except OSError:
        if has_decisions:
            system.replace(target_beside, beside)
        raise
    for file in _copies(path):
        file.rename(file.with_name(target.name + file.name.removeprefix(path.name)))


def in_use(path: Path, advice: str) -> StoreBusy:
    """Return the error for a store that cannot be changed while another process has it open."""
    return StoreBusy(f"Store {path.stem!r} is in use by another process, such as a running app.", advice)


def take_place(new: Path, path: Path) -> Path:
    """Replace the store ``path`` by the file ``new``. Returns the path under which the old file is kept.
    Other processes must open the store again. Raises OSError if a file cannot be renamed or replaced.

    No process may have ``new`` open, and the caller must hold the lock of the store.
    """
    kept = path.with_name(f"{path.name}{_DAMAGED}{datetime.now(UTC):%Y-%m-%d-%H%M%S-%f}")
    system.require_free(path)
    system.keep_as(path, kept)
    if connection.log_size(path):
        shutil.copyfile(f"{path}-wal", f"{kept}-wal")
    remove_log(path)  # otherwise SQLite would use it for the new file
    system.replace(new, path)
    return kept


def _copies(path: Path) -> list[Path]:
    """Return the earlier states of a store that are kept next to it. These are damaged files, and decisions
    saved before an earlier version updated the schema."""
    return [file for kind in (_DAMAGED, ".schema-") for file in path.parent.glob(f"{path.name}{kind}*")]


def remove_log(path: Path) -> None:
    """Remove the write-ahead log of a store that no process has open."""
    for suffix in connection.OF_LOG:
        system.when_free(partial(Path(f"{path}{suffix}").unlink, missing_ok=True))


def _remove_beside(path: Path) -> None:
    remove_log(path)
    for file in (decisions.beside(path), *_copies(path)):
        file.unlink(missing_ok=True)


def new_file(path: Path) -> sqlite3.Connection:
    """Create the tables of a store in the empty file ``path``. Returns an open connection, which the caller
    must close. Raises sqlite3.Error if the file cannot be written."""
    with ExitStack() as failing:
        db = sqlite3.connect(path, isolation_level=None)
        failing.callback(db.close)
        db.execute(f"PRAGMA page_size = {_PAGE_SIZE}")  # ignored unless set before the first write
        db.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
        migrations.migrate(db, path.name)
        failing.pop_all()  # success: the caller closes the connection
    return db
