"""A store file with torn pages: what can be read of it goes into a new file, whose pages take its place.

The rows of a torn page are gone. They came from files, so every document is marked and the next run reads
it again; vectors are known by what was embedded, so only lost ones are made again. What nobody but the
owner could say once more (folders, excluded files, how the store was made) must be whole.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from rag_core.errors import StoreBusy
from rag_core.store import outbox, schema, switch
from rag_core.store.connection import blames_file, connect, is_damage
from rag_core.store.errors import not_written
from rag_core.store.file import Store, new_file, unmet_generation
from rag_core.store.workroom import require_space, workroom

_DECIDED = ("sources", "exclusions", "meta")
_HISTORY = ("jobs", "job_results")
_OWN = ("migrations",)  # that every file has
_BY_DOCUMENT = ("tags", "names")  # the others have an id
_LAST_ID = 2**48  # no store gets there, but a torn page may say so
_TRIES = 5


class BeyondRepair(Exception):
    """What is broken is neither derived nor to be read again."""


class _Moved(Exception):
    """Somebody wrote to the store while it was copied."""


def rescue(store: Store) -> tuple[str, ...]:
    """Put a new file in place of a torn one, while a repair holds the store; what was done, in sentences.

    Raises BeyondRepair; StoreError when the disk is full or cannot be written, StoreBusy when others write
    the store all the time. The file is then as it was.
    """
    try:
        with workroom(store.path.parent) as room:
            size = store.path.stat().st_size
            require_space(room, 2 * size, f"A new file for store {store.name!r}")  # with the log of its pages
            whole = _renew_in(room, store)
    except (OSError, sqlite3.Error) as error:
        if blames_file(error):
            raise BeyondRepair(str(error)) from error
        raise not_written(
            store.name, "repaired", store.path.parent, error, "the file is as it was"
        ) from error
    store.fold_log()
    done = ("What could be read of the damaged file was put into a new one; the next run reads every file.",)
    return done if whole else (*done, "Some of the history of runs was lost.")


def _renew_in(room: Path, store: Store) -> bool:
    for attempt in range(_TRIES):
        with suppress(_Moved):
            return _renew(store, room / f"{attempt}.db")
    raise StoreBusy(
        f"Others write to store {store.name!r} all the time.", "Stop the app, then repair it again."
    )


def _renew(store: Store, path: Path) -> bool:
    """Copy what can be read to ``path`` and let it take the place of the store's file. Whether the history of
    runs is whole; raises _Moved when the file was written to meanwhile, and is as others left it."""
    with closing(connect(store.path, "ro")) as old, closing(_unsynced(path, old)) as new:
        old.text_factory = lambda data: data.decode("utf-8", "replace")
        old.execute("BEGIN")
        copied = _state(old)
        new.execute("BEGIN")
        whole = _copy(old, new)
        new.execute("COMMIT")
        old.execute("ROLLBACK")

        def require_copied() -> None:
            if _state(old) != copied:
                raise _Moved

        store.replace(new, require_copied)
    return whole


def _state(db: sqlite3.Connection) -> list[object]:
    """What changes with all that may be written beside a repair: decisions and requests."""
    state: list[object] = []
    for sql in ("SELECT value FROM meta WHERE key = 'generation'", "SELECT max(id) FROM requests"):
        try:
            state.append(tuple(db.execute(sql).fetchone() or ()))
        except sqlite3.DatabaseError as error:
            state.append(str(error))
    return state


def _unsynced(path: Path, like: sqlite3.Connection) -> sqlite3.Connection:
    """A new store file with pages as large as those of ``like``, which no power cut has to leave sound."""
    db = new_file(path, like.execute("PRAGMA page_size").fetchone()[0])
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    return db


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> bool:
    """Copy what can be read, and mark every document. Whether the history of runs is whole."""
    decided = {table: _all(old, new, table) for table in _DECIDED}
    derived = [name for name, part in schema.parts(new).items() if part.sql.startswith("CREATE TABLE")]
    new.execute("DELETE FROM meta")  # which the triggers of the others ask for a remote index
    whole = {table: _copy_rows(old, new, table) for table in derived if table not in (*_OWN, *_DECIDED)}
    new.execute("UPDATE documents SET file_hash = '', extractor = 0")
    for table, rows in decided.items():
        try:
            new.executemany(_insert(new, table), rows)
        except sqlite3.IntegrityError as error:
            raise BeyondRepair(f"its table {table} holds what it cannot") from error
    strangers = new.execute("DELETE FROM documents WHERE source_id NOT IN (SELECT id FROM sources)").rowcount
    if strangers and not _is_sound(old, "sources"):
        raise BeyondRepair("it does not say any more which folder its documents are from")
    new.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (unmet_generation(),))
    if switch.is_attached(new):
        raise BeyondRepair("another installation has the files of this index")
    outbox.recheck(new, wanted=bool(outbox.address(new)))
    return all(whole[table] for table in _HISTORY)


def _all(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> list[sqlite3.Row]:
    """Every row of a table; raises BeyondRepair when one cannot be read."""
    if not _is_there(old, new, table):
        raise BeyondRepair(f"it has not the table {table} that it should have")
    try:
        return old.execute(f"SELECT {_columns(new, table)} FROM {table} NOT INDEXED").fetchall()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        raise BeyondRepair(f"its table {table} cannot be read") from error


def _is_sound(db: sqlite3.Connection, table: str) -> bool:
    said: str = db.execute(f"PRAGMA integrity_check({table})").fetchone()[0]
    return said == "ok"


def _copy_rows(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Copy the rows of a table that can be read. Whether those are all.

    Behind a torn page it looks ever further on, and so passes over at most as many rows as are lost.
    """
    if not _is_there(old, new, table):
        return False
    key = "document_id" if table in _BY_DOCUMENT else "id"
    rows = f"SELECT {key}, {_columns(new, table)} FROM {table} NOT INDEXED WHERE {key} > ? AND {key} < ?"
    insert, after, step, whole = _insert(new, table), 0, 1, True
    while after < _LAST_ID:
        try:
            for number, *row in old.execute(f"{rows} ORDER BY {key}", (after, _LAST_ID)):
                after, step = max(after, number), 1
                with suppress(sqlite3.IntegrityError):  # no row of ours
                    new.execute(insert, row)
            return whole
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            after, step, whole = after + step, step * 2, False
    return False


def _is_there(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> bool:
    """Whether ``old`` has a table with the columns that it should have."""
    part = schema.parts(old).get(table)
    if not (part and part.sql.startswith("CREATE TABLE")):
        return False
    return set(_names(new, table)) <= set(_names(old, table))


def _names(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _columns(db: sqlite3.Connection, table: str) -> str:
    return ", ".join(f'"{name}"' for name in _names(db, table))


def _insert(db: sqlite3.Connection, table: str) -> str:
    names = _names(db, table)
    return f"INSERT OR IGNORE INTO {table} ({_columns(db, table)}) VALUES ({', '.join('?' * len(names))})"
