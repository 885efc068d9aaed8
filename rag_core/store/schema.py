"""Compares the schema of a store file with that of a new one.

A file may come from anywhere: a trigger or view that it adds could change what is written to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
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
    """A part that differs from a new store's. ``kind`` is that of the part found, if there is one."""

    name: str
    kind: str
    what: Literal["missing", "altered", "unknown"]


def parts(db: sqlite3.Connection) -> dict[str, Part]:
    """The parts of a schema by name, without SQLite's own. A trigger hides the table or index of its name."""
    rows = db.execute(f"SELECT name, type, sql FROM sqlite_master WHERE {_OURS} ORDER BY type = 'trigger'")
    return {name: Part(kind, _plain(name, sql or "")) for name, kind, sql in rows}


def _plain(name: str, sql: str) -> str:
    """``sql`` without comments and spacing."""
    if name.startswith("words_") and sql.startswith("CREATE TABLE"):
        return ""
    return " ".join(_COMMENT.sub(lambda found: found[1] or "", sql).split())


@cache
def _new(steps: tuple[Callable[[sqlite3.Connection], None], ...]) -> dict[str, Part]:
    """The parts of a store that ``steps`` have just made."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for step in steps:
            step(db)
        return parts(db)


def differences(db: sqlite3.Connection, version: int | None = None) -> Iterator[Difference]:
    """The differences from a new store, or one of an older ``version`` of the schema, by name."""
    found, new = parts(db), _new(migrations.MIGRATIONS[:version])
    for name in sorted(found.keys() | new.keys()):
        if name not in found:
            yield Difference(name, new[name].kind, "missing")
        elif found[name] != new.get(name):
            yield Difference(name, found[name].kind, "altered" if name in new else "unknown")


def lost_tables(db: sqlite3.Connection) -> list[str]:
    """The tables of a new store that are missing or altered."""
    found, new = parts(db), _new(migrations.MIGRATIONS)
    return [name for name, part in new.items() if part.kind == "table" and found.get(name) != part]
