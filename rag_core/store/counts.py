"""What was counted in a store, remembered as long as nobody writes it.

To count the passages with a common word, SQLite goes through all of them, for every search that has it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from rag_core.store.rows import rows_at_once
from rag_core.text.words import match_any

_MOST = 20_000  # counts, which take 3 MB


class Reading(sqlite3.Connection):
    """A connection that reads only, and what was counted with it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._counts: dict[tuple[str, str], int] = {}
        self._version = -1

    def counts(self) -> dict[tuple[str, str], int]:
        """What is known of the store as the transaction under way sees it, by what was counted."""
        version = self.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version or len(self._counts) > _MOST:
            self._counts, self._version = {}, version
        return self._counts


def count(db: sqlite3.Connection, rows: str) -> int:
    """How many rows the SELECT ``rows`` has."""
    known = _known(db)
    if (rows, "") not in known:
        known[rows, ""] = int(db.execute(f"SELECT count(*) FROM ({rows})").fetchone()[0])
    return known[rows, ""]


def holders(db: sqlite3.Connection, words: Sequence[str], condition: str = "1") -> dict[str, int]:
    """How many passages hold each of ``words``, of those that meet ``condition`` on ``words.rowid``."""
    known = _known(db)
    matches = {word: match_any([word]) for word in words}
    new = [match for match in matches.values() if (condition, match) not in known]
    if new:
        sql = f"""SELECT value, (SELECT count(*) FROM words WHERE words MATCH wanted.value AND {condition})
                  FROM json_each(?) wanted"""
        found = rows_at_once(db, ["match", "holders"], sql, (json.dumps(new),))
        known.update(((condition, match), number) for match, number in found)
    return {word: known[condition, match] for word, match in matches.items()}


def _known(db: sqlite3.Connection) -> dict[tuple[str, str], int]:
    return db.counts() if isinstance(db, Reading) else {}
