"""Reading and writing a store: snapshots, generations, what is safe on the disk, its log."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rag_core.library import Library
from rag_core.store import Store
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check
from tests.support.runner import WAIT_S
from tests.support.stored import new_store, store_of


def test_a_store_made_again_has_no_generation_that_a_cache_may_have_met(
    library: Library, notes: Path
) -> None:
    met = set()
    for text in ("The zebra sleeps.", "The giraffe sleeps."):
        (notes / "a.md").write_text(text, "utf-8")
        index(library, "s", notes)
        met.add(library.stores.generations(OWNER))
        library.stores.delete(OWNER, "s")
    assert len(met) == 2


def test_the_generation_moves_with_a_write_and_not_with_a_note(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    moved = store.generation() + 1
    with store.write():
        pass
    assert store.generation() == moved
    with store.note() as db:
        db.execute("INSERT INTO meta VALUES ('x', 'y')")
    assert store.generation() == moved
    with pytest.raises(ZeroDivisionError), store.write() as db:
        raise ZeroDivisionError
    assert store.generation() == moved
    store.close()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    with pytest.raises(sqlite3.IntegrityError), store.write() as db:
        db.executemany("INSERT INTO meta VALUES (?, 'y')", [("x",), ("x",)])
    with store.write() as db:
        assert db.execute("SELECT count(*) FROM meta WHERE key = 'x'").fetchone()[0] == 0
    store.close()


def test_readers_cannot_write(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    with store.read() as db, pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM meta")
    store.close()


def test_every_moment_of_a_run_is_consistent(library: Library, notes: Path) -> None:
    for n in range(120):
        (notes / f"{n}.md").write_text(f"It tells of [[{(n + 1) % 120}]] and subject{n}. #tag{n}\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    ended = threading.Event()
    faults: list[BaseException] = []
    looks = 0

    def look() -> None:
        nonlocal looks
        store = store_of(library, "s")
        try:
            while not ended.is_set():
                check(store)
                looks += 1
        except BaseException as fault:  # the test's own thread tells
            faults.append(fault)
        finally:
            store.close()

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        index(library, "s")
        for n in range(0, 120, 3):
            (notes / f"{n}.md").write_text(f"It tells of another matter, {n}.\n", "utf-8")
        index(library, "s")
    finally:
        ended.set()
        watcher.join(WAIT_S)

    assert faults == []
    assert looks > 1


_NORMAL, _FULL = 1, 2
DECISIONS: dict[str, Callable[[Library, Path], object]] = {
    "add folder": lambda library, notes: library.add_source(OWNER, "s", notes, ["*.md"]),
    "change folder": lambda library, notes: library.sources.change(OWNER, "s", 1, ["*.md"]),
    "pause folder": lambda library, notes: library.sources.pause(OWNER, "s", 1),
    "remove folder": lambda library, notes: library.sources.remove(OWNER, "s", 1),
    "exclude file": lambda library, notes: library.files.exclude(OWNER, "s", "a.md"),
    "keep private": lambda library, notes: library.privacy.set(OWNER, "s", ["*.md"]),
    "let private leave": lambda library, notes: library.placement.let_private_leave(
        OWNER, "s", allowed=False
    ),
    "clear store": lambda library, notes: library.stores.clear(OWNER, "s", confirm=True),
}


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How well each commit of the test was kept from a power cut."""
    levels: list[int] = []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                levels.append(super().execute("PRAGMA synchronous").fetchone()[0])
            return super().execute(sql, *values)

    monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, factory=Watched))
    return levels


@pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS)
def test_what_the_owner_decides_is_on_the_disk_before_it_is_acknowledged(
    library: Library, notes: Path, commits: list[int], decide: Callable[[Library, Path], object]
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    commits.clear()
    decide(library, notes)
    assert _FULL in commits


def test_what_a_run_reads_waits_for_no_disk(library: Library, notes: Path, commits: list[int]) -> None:
    index(library, "s", notes)
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    library.sources.pause(OWNER, "s", 1, paused=False)
    commits.clear()
    assert index(library, "s").counts["added"] == 1
    assert {*commits} == {_NORMAL}


def test_a_thread_that_borrows_a_second_connection_is_told_so(library: Library) -> None:
    library.create_store(OWNER, "notes", "hashing")
    store = Store(library.settings.store_dir / "notes.db")
    with store.read(), pytest.raises(RuntimeError, match="has a connection"), store.read():
        pass
    store.close()


@pytest.mark.posix
def test_a_store_can_be_read_by_its_owner_alone(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("text", "utf-8")
    index(library, "notes", notes)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in library.settings.store_dir.glob("notes.db*")
    }
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(library.settings.store_dir.stat().st_mode) == 0o700


def test_a_store_made_where_one_was_deleted_by_hand_is_empty(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("text", "utf-8")
    index(library, "notes", notes)
    path = library.settings.store_dir / "notes.db"
    log = path.with_name("notes.db-wal").read_bytes()
    library.close()
    path.unlink()
    path.with_name("notes.db-wal").write_bytes(log)
    library.create_store(OWNER, "notes", "hashing")
    info = library.stores.info(OWNER, "notes")
    assert (info.file_count, info.pending) == (0, 0)


def test_a_long_log_is_folded_into_the_file(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (notes / f"{number}.md").write_text(f"text {number} " * 500, "utf-8")
    monkeypatch.setattr("rag_core.store.connection.LOG_LIMIT", 100_000)
    index(library, "notes", notes)
    assert (library.settings.store_dir / "notes.db-wal").stat().st_size <= 200_000
