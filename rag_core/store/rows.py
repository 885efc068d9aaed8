"""Many rows in one step.

Before each row Python's sqlite3 lets go of the interpreter, and to get it back waits for whoever computes, up
to 5 ms (`sys.getswitchinterval`). A search of a thousand rows would wait a thousand times beside an indexing
run, so SQLite itself puts them together.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any


def exact(number: str) -> str:
    """The SQL of a floating number as a text that loses nothing of it; ``float`` reads it."""
    return f"printf('%!.17g', {number})"


def rows_at_once(
    db: sqlite3.Connection, columns: Sequence[str], sql: str, values: Sequence[Any]
) -> list[list[Any]]:
    """The rows of a SELECT of ``columns``, which are numbers and texts, each as a list."""
    names = ", ".join(columns)
    told = db.execute(
        f"WITH found ({names}) AS ({sql}) SELECT json_group_array(json_array({names})) FROM found", values
    )
    rows: list[list[Any]] = json.loads(told.fetchone()[0])
    return rows
