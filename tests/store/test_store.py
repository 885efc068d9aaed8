"""A store is one file: made whole, opened with care, read in snapshots, removed without a trace."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.errors import InvalidInput, NotFound, StoreBusy, StoreError
from rag_core.library import Library
from rag_core.store import Store, lock
from rag_core.store import file as store_file
from rag_core.store.connection import connect
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.runner import WAIT_S, child, stop
from tests.support.stored import found, long_note, new_store, paths, store_of

# --- making ---------------------------------------------------------------------------


def test_a_name_is_taken_once_whatever_its_case(library: Library) -> None:
    library.create_store(OWNER, "Work", "hashing")
    with pytest.raises(InvalidInput, match="'Work' exists already"):
        library.create_store(OWNER, "wORK", "hashing")


def test_the_size_of_a_store_does_not_depend_on_its_log(library: Library, notes: Path) -> None:
    (notes / "long.md").write_text(long_note(400), "utf-8")
    index(library, "a", notes)
    size, file = library.stores.info(OWNER, "a").size_bytes, library.settings.store_dir / "a.db"
    assert file.with_name("a.db-wal").stat().st_size > 0
    library.close()
    assert size == file.stat().st_size == library.stores.info(OWNER, "a").size_bytes


def test_a_store_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(db: sqlite3.Connection, name: str) -> None:
        db.execute("CREATE TABLE half (x)")
        assert not (tmp_path / "a.db").exists()
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("rag_core.store.migrations.migrate", broken)
    with pytest.raises(StoreError, match="'a' cannot be created: database or disk is full"):
        new_store(tmp_path / "a.db")

    assert list(tmp_path.iterdir()) == []


def test_two_that_make_the_same_store_at_once_make_one(tmp_path: Path) -> None:
    made: list[str] = []
    start = threading.Barrier(4)

    def make() -> None:
        start.wait(WAIT_S)
        try:
            new_store(tmp_path / "a.db").close()
            made.append("one")
        except StoreError as error:
            made.append(error.message)

    makers = [threading.Thread(target=make) for _ in range(4)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(WAIT_S)

    assert sorted(made) == ["Store 'a' exists already."] * 3 + ["one"]
    assert not list(tmp_path.glob(".*"))


MAKE = """
import sys, time
from pathlib import Path
from rag_core.store import migrations
from tests.support.stored import new_store

def migrate(db, name):
    db.execute("CREATE TABLE half (x)")
    print("holding", flush=True)
    sys.stdin.readline()

migrations.migrate = migrate
new_store(Path(sys.argv[1]))
"""


def test_what_a_killed_creation_left_is_gone_after_the_next_one(tmp_path: Path) -> None:
    process = child(MAKE, tmp_path / "a.db")
    new_store(tmp_path / "b.db").close()
    at_work = [path for path in tmp_path.glob(".*") if path.is_dir()]
    assert len(at_work) == 1, "what is at work is not touched"
    assert (at_work[0] / "a.db").exists()
    stop(process)
    assert at_work[0].exists()

    new_store(tmp_path / "c.db").close()

    assert not list(tmp_path.glob(".*"))
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["b.db", "c.db"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("No folder.", "utf-8")
    with pytest.raises(StoreError, match="cannot be created") as refused:
        new_store(tmp_path / "file" / "a.db")
    assert str(tmp_path / "file") in refused.value.suggestion


# --- opening --------------------------------------------------------------------------


def test_a_file_that_is_no_store_is_named(library: Library) -> None:
    library.settings.store_dir.mkdir(parents=True)
    (library.settings.store_dir / "text.db").write_text("These are just words. " * 100, "utf-8")
    (library.settings.store_dir / "empty.db").write_text("", "utf-8")
    db = sqlite3.connect(library.settings.store_dir / "other.db")
    db.execute("CREATE TABLE t (x)")
    db.close()

    with pytest.raises(StoreError, match="'text' cannot be opened: file is not a database"):
        library.stores.info(OWNER, "text")
    for name in ("empty", "other"):
        with pytest.raises(StoreError, match=f"'{name}.db' is not a Commonplace store"):
            library.stores.info(OWNER, name)


def test_a_closed_store_is_one_file_that_can_be_copied(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    library.close()
    path = library.settings.store_dir / "s.db"
    assert not path.with_name("s.db-wal").exists()
    shutil.copy(path, path.with_name("copy.db"))

    assert found(library, "zebra", "copy") == ["a.md"]
    check_library(library, "copy")


def test_a_store_replaced_under_an_open_library_is_noticed(library: Library, notes: Path, home: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    other = Library.open(Settings(home / "data", home / "data" / "models", ()))
    other.stores.delete(OWNER, "s")
    with pytest.raises(NotFound):
        library.documents.all(OWNER, "s")
    assert list(library.settings.store_dir.iterdir()) == []
    (notes / "a.md").write_text("The giraffe sleeps.\n", "utf-8")
    index(other, "s", notes)

    assert found(library, "giraffe") == ["a.md"]

    (notes / "b.md").write_text("The hyena sleeps.\n", "utf-8")
    index(library, "s")
    assert found(other, "hyena") == ["b.md"]
    check_library(other, "s")
    other.close()


def test_a_store_that_is_renamed_while_it_is_opened_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that goes by the old name, beside one by the new name, would damage it."""
    path = tmp_path / "a.db"
    new_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")  # as a rename does

    def slow(opened: Path, *rest: Any) -> sqlite3.Connection:
        db = connect(opened, *rest)
        path.rename(tmp_path / "b.db")
        return db

    monkeypatch.setattr("rag_core.store.file.connect", slow)
    with pytest.raises(StoreError, match="'a' is not open any more"):
        Store(path)
    with closing(sqlite3.connect(tmp_path / "b.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_a_closed_store_refuses_and_does_not_open_what_has_its_name_now(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    with store.read():
        pass
    store.close()
    for use in (store.read, store.write, store.note):
        with pytest.raises(StoreError, match="Store 'a' is not open any more"), use():
            pass


def test_an_open_store_never_reads_or_writes_another_file_that_took_its_name(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    (tmp_path / "a.db").rename(tmp_path / "was-a.db")
    new = new_store(tmp_path / "a.db")
    before = new.generation()
    done = threading.Event()
    lent = threading.Event()

    def borrow() -> None:
        with store.read():  # the only connection there is
            lent.set()
            assert done.wait(WAIT_S)

    holder = threading.Thread(target=borrow)
    holder.start()
    assert lent.wait(WAIT_S)
    for use in (store.read, store.write):
        with pytest.raises(StoreError, match="is not open any more"), use():
            pass
    done.set()
    holder.join(WAIT_S)
    assert new.generation() == before
    store.close()
    new.close()


def test_a_lent_connection_is_closed_when_it_comes_back(
    tmp_path: Path,
) -> None:
    store = new_store(tmp_path / "a.db")
    with store.read() as db:
        store.close()
        assert db.execute("SELECT count(*) FROM meta").fetchone()[0] > 0
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        db.execute("SELECT 1")


def test_a_folder_of_stores_that_cannot_be_read_is_not_taken_for_an_empty_one(library: Library) -> None:
    library.settings.data_dir.mkdir(parents=True)
    library.settings.store_dir.write_text("No folder.", "utf-8")
    with pytest.raises(StoreError, match="cannot be read: Not a directory") as refused:
        library.stores.names(OWNER)
    assert str(library.settings.store_dir) in refused.value.message
    with pytest.raises(StoreError) as refused:
        library.stores.names(Viewer("guest"))
    assert str(library.settings.store_dir) not in str(refused.value)


def test_a_store_of_an_embedder_that_is_not_known_here_is_listed(library: Library) -> None:
    for name in ("hashing", f"hashing:{'9' * 5000}", "ollama:nomic-embed-text"):
        library.create_store(OWNER, "s", "hashing")
        store = store_of(library, "s")
        with store.decide() as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'embedder'", (name,))
        store.close()
        library.close()
        info = library.stores.info(OWNER, "s")
        assert (info.embedder, info.dimension) == (name, 256 if name == "hashing" else 0)
        library.stores.delete(OWNER, "s")


# --- removing and renaming --------------------------------------------------------------


def test_a_deleted_store_leaves_nothing_behind_and_its_files_stay(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)

    library.stores.delete(OWNER, "s")

    assert list(library.settings.store_dir.iterdir()) == []
    assert (notes / "a.md").exists()
    assert library.stores.names(OWNER) == []
    library.create_store(OWNER, "s", "hashing")
    assert paths(library) == []


def test_a_rename_takes_the_place_of_no_store_that_was_made_meanwhile(tmp_path: Path) -> None:
    for name in ("a", "b"):
        new_store(tmp_path / f"{name}.db").close()
    before = (tmp_path / "b.db").read_bytes()
    with pytest.raises(StoreError, match="Store 'b' exists already"):
        store_file.rename(tmp_path / "a.db", tmp_path / "b.db", lambda: None)
    assert (tmp_path / "b.db").read_bytes() == before


def test_a_store_is_not_made_while_another_is_renamed_or_made_to_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.store.lock._TIMEOUT_S", 0.05)
    with lock.hold(tmp_path / "a.db"), pytest.raises(StoreBusy):
        new_store(tmp_path / "a.db")
    new_store(tmp_path / "b.db").close()
    with lock.hold(tmp_path / "a.db"), pytest.raises(StoreBusy):
        store_file.rename(tmp_path / "b.db", tmp_path / "a.db", lambda: None)
    assert [path.name for path in tmp_path.glob("*.db")] == ["b.db"]


def test_a_refused_rename_or_delete_leaves_the_store_open(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.store.lock._TIMEOUT_S", 0.05)
    library.create_store(OWNER, "s", "hashing")
    stores = library._shared.stores
    opened = stores.open(OWNER, "s")
    with lock.hold(stores.path("s")):
        with pytest.raises(StoreBusy, match="Nothing was renamed"):
            stores.rename(OWNER, "s", "t")
        with pytest.raises(StoreBusy, match="Nothing was deleted"):
            stores.delete(OWNER, "s")
    assert stores.open(OWNER, "s") is opened


def test_a_store_that_is_not_renamed_or_made_leaves_no_lock_of_the_other_name(tmp_path: Path) -> None:
    new_store(tmp_path / "a.db").close()
    other = sqlite3.connect(tmp_path / "a.db")
    other.execute("SELECT * FROM meta").fetchall()
    with pytest.raises(StoreBusy, match="in use by another process"):
        store_file.rename(tmp_path / "a.db", tmp_path / "b.db", lambda: None)
    other.close()
    with pytest.raises(FileNotFoundError):
        store_file.put_in_place(tmp_path / "nothing.db", tmp_path / "c.db")
    assert sorted(path.name for path in tmp_path.glob("*.lock")) == ["a.lock"]
