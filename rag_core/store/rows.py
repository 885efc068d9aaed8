"""Reading many rows in one step, and counts that are remembered until the store is written.

Before each row Python's sqlite3 releases the interpreter, and to get it back waits up to 5 ms for a busy
thread (`sys.getswitchinterval`). A search of a thousand rows would wait a thousand times beside an indexing
run, so SQLite itself puts the rows together. To count the passages with a common word, SQLite reads all of
them, so those counts are remembered.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from rag_core.text.words import match_any

_MOST_COUNTS = 20_000  # they take 3 MB


class Reading(sqlite3.Connection):
    """A connection that only reads, with what was counted through it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._counts: dict[tuple[str, str], int] = {}
        self._version = -1

    def counts(self) -> dict[tuple[str, str], int]:
        """The counts of the current snapshot, by what was counted."""
        version = self.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version or len(self._counts) > _MOST_COUNTS:
            self._counts, self._version = {}, version
        return self._counts


EXACT = "printf('%!.17g', {})"
"""SQL for a floating number as a text that ``float`` reads without loss."""


def rows_at_once(
    db: sqlite3.Connection, columns: Sequence[str], sql: str, values: Sequence[Any]
) -> list[list[Any]]:
    """The rows of a SELECT of ``columns``, which are numbers and texts, each as a list."""
    names = ", ".join(columns)
    found = db.execute(
        f"WITH found ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM found", values
    )
    rows: list[list[Any]] = json.loads(found.fetchone()[0])
    return rows


def count(db: sqlite3.Connection, rows: str) -> int:
    """How many rows the SELECT ``rows`` has."""
    known = db.counts() if isinstance(db, Reading) else {}
    if (rows, "") not in known:
        known[rows, ""] = int(db.execute(f"SELECT count(*) FROM ({rows})").fetchone()[0])
    return known[rows, ""]


def holders(db: sqlite3.Connection, words: Sequence[str], condition: str = "1") -> dict[str, int]:
    """How many passages hold each of ``words``, of those that meet ``condition`` on ``words.rowid``."""
    known = db.counts() if isinstance(db, Reading) else {}
    sql = f"""SELECT value, (SELECT count(*) FROM words WHERE words MATCH wanted.value AND {condition})
              FROM json_each(?) wanted"""
    matches: dict[str, str] = {}
    new: list[str] = []
    for word in words:
        matches[word] = match_any([word])
        if (condition, matches[word]) not in known:
            new.append(matches[word])
    if new:
        for match, number in rows_at_once(db, ["match", "holders"], sql, (json.dumps(new),)):
            known[condition, match] = number
    return {word: known[condition, match] for word, match in matches.items()}
