"""What is counted in a store is remembered until somebody writes it, and not longer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.store import Store
from rag_core.store.connection import kept
from rag_core.store.lexical import chunk_count, holders
from tests.conftest import index
from tests.support.stored import store_of


@pytest.fixture
def store(library: Library, notes: Path) -> Iterator[Store]:
    (notes / "a.md").write_text("An otter.", "utf-8")
    index(library, "zoo", notes)
    opened = store_of(library, "zoo")
    yield opened
    opened.close()


def counted(store: Store) -> tuple[int, dict[str, int], list[str]]:
    """All passages, those with each animal, and the statements that it took to count them."""
    statements: list[str] = []
    with store.read() as db:
        db.set_trace_callback(statements.append)
        every, animals = kept(db, chunk_count), holders(db, ["otter", "newt"])
        db.set_trace_callback(None)
    return every, animals, [sql for sql in statements if "count(*)" in sql]


def test_nothing_is_counted_twice(store: Store) -> None:
    every, holders, statements = counted(store)
    assert (every, holders) == (1, {"otter": 1, "newt": 0})
    assert statements
    assert counted(store) == (every, holders, [])


def test_what_another_process_writes_is_counted(store: Store, library: Library, notes: Path) -> None:
    counted(store)
    (notes / "b.md").write_text("An otter and a newt.", "utf-8")
    index(library, "zoo", notes)
    assert counted(store)[:2] == (2, {"otter": 2, "newt": 1})


def test_what_a_transaction_wrote_is_counted_in_it(store: Store) -> None:
    with store.write() as db:
        assert kept(db, chunk_count) == 1
        db.execute("DELETE FROM chunks")
        assert kept(db, chunk_count) == 0
    assert counted(store)[:2] == (0, {"otter": 0, "newt": 0})


def test_a_transaction_counts_what_it_sees(store: Store, library: Library, notes: Path) -> None:
    """Somebody else may write meanwhile."""
    with store.read() as db:
        assert kept(db, chunk_count) == 1
        (notes / "b.md").write_text("An otter and a newt.", "utf-8")
        index(library, "zoo", notes)
        assert holders(db, ["otter", "newt"]) == {"otter": 1, "newt": 0}
    assert counted(store)[:2] == (2, {"otter": 2, "newt": 1})
