"""The languages of a store's text, and whether its owner was told about the model for them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Literal

from rag_core.store.file import meta
from rag_core.text.languages import language_of
from rag_core.types import NAME

SAMPLE = 200
"""Maximum number of passages that are examined."""

_KEY = "language_advice"
_SQL = f"SELECT id, text FROM chunks WHERE id >= ? AND anchor_type <> '{NAME}' ORDER BY id LIMIT 1"

Said = Literal["", "told", "declined"]
"""Whether the owner was told about the model for the store's languages, or declined it; '' for neither."""


def languages(db: sqlite3.Connection) -> Counter[str]:
    """Count the languages of passages spread evenly over the store: English name of the language → passages.
    Passages in an unknown language are left out. This takes about 30 ms."""
    lowest, highest = db.execute("SELECT min(id), max(id) FROM chunks").fetchone()
    if lowest is None:
        return Counter()
    texts: dict[int, str] = {}
    for start in range(lowest, highest + 1, max(1, (highest - lowest) // SAMPLE)):
        texts.update(db.execute(_SQL, (start,)).fetchall())
    return Counter(language for text in texts.values() if (language := language_of(text)))


def said(db: sqlite3.Connection) -> Said:
    """Return whether the owner was told about the model for the store's languages, or declined it; '' for
    neither."""
    known = meta(db).get(_KEY, "")
    return known if known in ("told", "declined") else ""  # type: ignore[return-value]


def note_said(db: sqlite3.Connection, what: Said) -> None:
    """Record that the owner was told about the model, or declined it."""
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_KEY, what))
