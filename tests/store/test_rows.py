"""Rows that SQLite puts together are those that it gives one by one."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from rag_core.store.connection import rows_at_once
from rag_core.store.lexical import EXACT

TEXTS = [
    "",
    "plain",
    'a "quote" and \\ and /',
    "tab\tline\nreturn\r",
    "nul\0in it",
    "\x01\x1f\x7f",
    "漢字 é \U0001f600",
    "\ufffe",
]
NUMBERS = [0.1, 1 / 3, -2.5e-17, 1e300, 5e-324, 12345678901234.567, -0.0]


@pytest.fixture
def db() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def test_texts_come_as_they_are(db: sqlite3.Connection) -> None:
    with closing(db):
        db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT)")
        db.executemany("INSERT INTO texts (text) VALUES (?)", [(text,) for text in TEXTS])
        found = rows_at_once(db, ["id", "text"], "SELECT id, text FROM texts ORDER BY id DESC LIMIT ?", (99,))
    assert found == [[number, text] for number, text in reversed(list(enumerate(TEXTS, 1)))]


def test_numbers_lose_nothing(db: sqlite3.Connection) -> None:
    with closing(db):
        db.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, x REAL)")
        db.executemany("INSERT INTO numbers (x) VALUES (?)", [(number,) for number in NUMBERS])
        found = rows_at_once(db, ["x"], f"SELECT {EXACT.format('x')} FROM numbers ORDER BY id", ())
    assert [float(text) for (text,) in found] == NUMBERS


def test_no_rows_are_none(db: sqlite3.Connection) -> None:
    with closing(db):
        assert rows_at_once(db, ["id"], "SELECT 1 WHERE 0", ()) == []
