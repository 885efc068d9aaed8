"""A store file with torn pages: what can be read of it goes into a new file, whose pages take its place.

The rows of a torn page are gone. They came from files, so every document is marked and the next run reads
it again; until then it is the owner's alone, as nobody knows what the page said of it. Vectors are known by
what was embedded, so only lost ones are made again. What nobody but the owner could say once more (folders,
excluded files, how the store was made) must be whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from rag_core.errors import StoreBusy
from rag_core.store import faults, outbox, schema, switch
from rag_core.store.check import any_text
from rag_core.store.connection import blames_file, connect, is_damage
from rag_core.store.errors import not_written
from rag_core.store.file import Store, new_file, unmet_generation
from rag_core.store.privacy import BY_NOTE
from rag_core.store.sources import forget_whole_read
from rag_core.store.workroom import require_space, workroom

_DECIDED = ("sources", "exclusions", "meta")  # the last one tells triggers of a remote index
_HISTORY = ("jobs", "job_results")
_OWN = ("migrations",)  # that every file has
_BY_DOCUMENT = ("tags", "names")  # the others have an id
_LAST_ID = 2**48  # no store gets there, but a torn page may say so
_UNMET = 2**32  # so many ids further on none was given yet
_TRIES = 5

RENEWED = (
    "What could be read of the damaged file was put into a new one. The next run reads every file; guests"
    " find nothing until then."
)


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
        if is_damage(error):
            raise BeyondRepair(str(error)) from error
        if blames_file(error):  # a mistake in the program
            raise
        raise not_written(
            store.name, "repaired", store.path.parent, error, "the file is as it was"
        ) from error
    store.fold_log()
    return (RENEWED,) if whole else (RENEWED, "Some of the history of runs was lost.")


def _renew_in(room: Path, store: Store) -> bool:
    for _ in range(_TRIES):
        with suppress(_Moved):
            return _renew(store, room / store.path.name)
    raise StoreBusy(
        f"Others write to store {store.name!r} all the time.", "Stop the app, then repair it again."
    )


def _renew(store: Store, path: Path) -> bool:
    """Copy what can be read to ``path`` and let it take the place of the store's file. Whether the history of
    runs is whole; raises _Moved when the file was written to meanwhile, and is as others left it."""
    path.unlink(missing_ok=True)
    with closing(connect(store.path, "ro")) as old, closing(_unsynced(path, old)) as new:
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
    tables = [name for name, part in schema.parts(new).items() if part.sql.startswith("CREATE TABLE")]
    derived = [table for table in tables if table not in (*_OWN, *_DECIDED)]
    new.execute("DELETE FROM meta")
    with any_text(old):
        whole = {table: _copy_rows(old, new, table) for table in derived}
    new.execute("UPDATE documents SET file_hash = '', extractor = 0, private = private | ?", (BY_NOTE,))
    for table, rows in decided.items():
        try:
            new.executemany(_insert(new, table), rows)
        except sqlite3.IntegrityError as error:
            raise BeyondRepair(f"its table {table} is damaged") from error
    if switch.is_attached(new):
        raise BeyondRepair("another installation has the files of this index")
    _pass_over_ids(old, new, derived)
    take_out_orphans(new)
    new.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (unmet_generation(),))
    for (source_id,) in new.execute("SELECT id FROM sources").fetchall():
        forget_whole_read(new, source_id)
    if not whole["outbox"]:
        outbox.queue_all(new)
    outbox.recheck(new, wanted=bool(outbox.target(new) or outbox.address(new)))
    return all(whole[table] for table in _HISTORY)


def _all(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> list[sqlite3.Row]:
    """Every row of a table; raises BeyondRepair where it is not as it was written."""
    if not _is_there(old, new, table):
        raise BeyondRepair(f"it has not the table {table} that it should have")
    try:
        if old.execute(f"PRAGMA integrity_check({table})").fetchone()[0] == "ok":
            return old.execute(f"SELECT {_columns(new, table)} FROM {table} NOT INDEXED").fetchall()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if not blames_file(error) and not isinstance(error, UnicodeDecodeError):
            raise
    raise BeyondRepair(f"its table {table} is damaged")


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
                if _put(new, insert, row) and number > after:
                    after, step = number, 1
            return whole
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            after, step, whole = after + step, step * 2, False
    return False


def _put(db: sqlite3.Connection, insert: str, row: Sequence[object]) -> bool:
    """Insert a row, unless no store has written it."""
    try:
        db.execute(insert, [_text(value) for value in row])
    except sqlite3.IntegrityError:
        return False
    return True


def _text(value: object) -> object:
    """``value`` as it can be written: what is no UTF-8 in it was read as surrogates."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _pass_over_ids(old: sqlite3.Connection, new: sqlite3.Connection, tables: Sequence[str]) -> None:
    """Have no id given again that a lost row had: whoever has the store open knows rows by them."""
    for table in tables:
        if "AUTOINCREMENT" in schema.parts(new)[table].sql:
            last = new.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]
            given = _given(old, table)
            number = given if last <= given < _LAST_ID else last + _UNMET
            new.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            new.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))


def _given(db: sqlite3.Connection, table: str) -> int:
    """The highest id that a table has ever given; -1 where that cannot be read."""
    try:
        found = db.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return -1
    return found[0] if found and isinstance(found[0], int) else -1


def take_out_orphans(db: sqlite3.Connection) -> int:
    """Let go of the rows that hang on nothing, or of what they hang on; how many there were."""
    count = 0
    while lost := [wrong.id for wrong in faults.references(db)]:  # what hung on them is next
        _take_out(db, dict.fromkeys(lost))
        count += len(lost)
    return count


def _take_out(db: sqlite3.Connection, lost: Iterable[tuple[str, str]]) -> None:
    for table, parent in lost:
        for key in db.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            column = key[3]
            alone = f"{column} IS NOT NULL AND {column} NOT IN (SELECT id FROM {parent})"
            if key[2] == parent and key[6] == "SET NULL":
                db.execute(f"UPDATE {table} SET {column} = NULL WHERE {alone}")
            elif key[2] == parent:
                db.execute(f"DELETE FROM {table} WHERE {alone}")


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
    return f"INSERT INTO {table} ({_columns(db, table)}) VALUES ({', '.join('?' * len(names))})"
