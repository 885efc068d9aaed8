"""The schema of a store file, compared with that of one that was just made.

A file may come from anywhere: what it has more (a trigger, a view) could change what is written to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, NamedTuple

from rag_core.store import migrations

_OURS = r"(name NOT LIKE 'sqlite\_%' ESCAPE '\' OR type IN ('trigger', 'view'))"
_COMMENT = re.compile(r"""('[^']*'|"[^"]*")|--[^\n]*""")


class Part(NamedTuple):
    """A table, index, trigger or view; ``sql`` is '' for the tables that FTS5 makes for itself."""

    kind: str
    sql: str


class Difference(NamedTuple):
    """A part that is not as a new store has it. ``kind`` is that of the part found, if there is one."""

    name: str
    kind: str
    what: Literal["missing", "altered", "unknown"]


def parts(db: sqlite3.Connection) -> dict[str, Part]:
    """The parts of a schema by name, without those that SQLite keeps for itself.

    A trigger hides the table or index of its name, not the other way round.
    """
    rows = db.execute(f"SELECT name, type, sql FROM sqlite_master WHERE {_OURS} ORDER BY type = 'trigger'")
    return {name: Part(kind, _plain(name, sql or "")) for name, kind, sql in rows}


def _plain(name: str, sql: str) -> str:
    """``sql`` without comments and spacing."""
    if name.startswith("words_") and sql.startswith("CREATE TABLE"):
        return ""
    return " ".join(_COMMENT.sub(lambda found: found[1] or "", sql).split())


def statements() -> dict[str, str]:
    """How a new store's parts are made, by name, in their order; without those that FTS5 makes."""
    return {name: sql for name, sql in _new(migrations.MIGRATIONS)[1] if not name.startswith("words_")}


@cache
def _new(
    steps: tuple[Callable[[sqlite3.Connection], None], ...],
) -> tuple[dict[str, Part], list[tuple[str, str]]]:
    """The parts of a store that ``steps`` have just made, and (name, statement) of each in their order."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in steps:
            step(db)
        rows = db.execute(f"SELECT name, sql FROM sqlite_master WHERE {_OURS} ORDER BY rowid").fetchall()
        return parts(db), rows
    finally:
        db.close()


def differences(db: sqlite3.Connection, version: int | None = None) -> Iterator[Difference]:
    """What is not as in a new store, or in one of an older ``version`` of the schema, by name."""
    found, new = parts(db), _new(migrations.MIGRATIONS[:version])[0]
    for name in sorted(found.keys() | new.keys()):
        if name not in found:
            yield Difference(name, new[name].kind, "missing")
        elif found[name] != new.get(name):
            yield Difference(name, found[name].kind, "altered" if name in new else "unknown")


def lost_tables(db: sqlite3.Connection) -> list[str]:
    """The tables of a new store that are not there as it has them."""
    found, new = parts(db), _new(migrations.MIGRATIONS)[0]
    return [name for name, part in new.items() if part.kind == "table" and found.get(name) != part]
