"""A store is one file: made whole, opened with care, read in snapshots, removed without a trace."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from rag_core.chunk import chunk_spec
from rag_core.config import Settings
from rag_core.errors import Forbidden, InvalidInput, NotFound, StoreBusy, StoreError
from rag_core.library import Library
from rag_core.store import Store, lock
from rag_core.store import file as store_file
from rag_core.store.connection import READERS
from rag_core.stores import Stores
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.consistency import check, check_library
from tests.runner import WAIT_S
from tests.stored import found, paths, store_of


def new_store(path: Path) -> Store:
    return Store.create(path, embedder="hashing", spec=chunk_spec(256), backend="local", metric="cosine")


# --- making ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["", "-a", "_a", "a b", "a/b", "../a", "a.b", "ä", "a\n", "x" * 64, "a\0b", ".hidden", "con:"],
)
def test_a_name_that_is_no_name_is_refused(library: Library, name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a store's name"):
        library.create_store(OWNER, name, "hashing")
    assert library.store_names(OWNER) == []


@pytest.mark.parametrize("name", ["a", "0", "A-b_C9", "x" * 63])
def test_a_name_of_letters_digits_hyphens_and_underscores_is_taken(library: Library, name: str) -> None:
    assert library.create_store(OWNER, name, "hashing").name == name
    assert library.store_names(OWNER) == [name]


def test_a_name_is_taken_once_whatever_its_case(library: Library) -> None:
    library.create_store(OWNER, "Work", "hashing")
    with pytest.raises(InvalidInput, match="'Work' exists already"):
        library.create_store(OWNER, "wORK", "hashing")


def test_an_unknown_embedder_is_refused_and_makes_no_store(library: Library) -> None:
    with pytest.raises(InvalidInput, match="no embedder called 'word2vec'"):
        library.create_store(OWNER, "a", "word2vec")
    assert library.store_names(OWNER) == []


def test_a_new_store_tells_what_it_is(library: Library) -> None:
    info = library.create_store(OWNER, "a", "hashing")

    assert (info.name, info.embedder, info.backend, info.distance_metric) == (
        "a",
        "hashing",
        "local",
        "cosine",
    )
    assert (info.file_count, info.chunk_count, info.pending, info.sources) == (0, 0, 0, ())
    assert info.created_at.endswith("Z")
    assert info.size_bytes > 0


def test_a_store_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(db: sqlite3.Connection, name: str) -> None:
        db.execute("CREATE TABLE half (x)")
        assert not (tmp_path / "a.db").exists()
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("rag_core.migrations.migrate", broken)
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


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("No folder.")
    with pytest.raises(StoreError, match="cannot be created") as refused:
        new_store(tmp_path / "file" / "a.db")
    assert str(tmp_path / "file") in refused.value.suggestion


def test_looking_at_an_empty_library_creates_nothing(library: Library, home: Path) -> None:
    assert library.store_names(OWNER) == []
    assert not home.exists()


# --- opening --------------------------------------------------------------------------


def test_a_file_that_is_no_store_is_named(library: Library) -> None:
    library.settings.store_dir.mkdir(parents=True)
    (library.settings.store_dir / "text.db").write_text("These are just words. " * 100)
    (library.settings.store_dir / "empty.db").write_text("")
    db = sqlite3.connect(library.settings.store_dir / "other.db")
    db.execute("CREATE TABLE t (x)")
    db.close()

    with pytest.raises(StoreError, match="'text' cannot be opened: file is not a database"):
        library.store_info(OWNER, "text")
    for name in ("empty", "other"):
        with pytest.raises(StoreError, match=f"'{name}.db' is not a Commonplace store"):
            library.store_info(OWNER, name)


def test_a_store_that_is_not_there_is_told_with_the_nearest_name(library: Library) -> None:
    library.create_store(OWNER, "recipes", "hashing")
    with pytest.raises(NotFound, match="Did you mean 'recipes'"):
        library.store_info(OWNER, "recipies")


def test_a_guest_learns_nothing_of_a_store_that_is_not_granted(library: Library) -> None:
    library.create_store(OWNER, "secret", "hashing")
    guest = Viewer("guest")
    messages = []
    for name in ("secret", "nothing"):
        with pytest.raises(NotFound) as refused:
            library.store_info(guest, name)
        messages.append(str(refused.value).replace(name, "NAME"))
    assert messages[0] == messages[1]
    assert library.store_names(guest) == []


def test_a_store_opens_again_with_all_that_is_in_it(library: Library, notes: Path, home: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)
    library.close()

    again = Library.open(Settings(home / "data", home / "data" / "models", ()))

    assert found(again, "zebra") == ["a.md"]
    again.close()


def test_a_closed_store_is_one_file_that_can_be_copied(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)
    library.close()
    path = library.settings.store_dir / "s.db"
    assert not path.with_name("s.db-wal").exists()
    shutil.copy(path, path.with_name("copy.db"))

    assert found(library, "zebra", "copy") == ["a.md"]
    check_library(library, "copy")


def test_a_store_replaced_under_an_open_library_is_noticed(library: Library, notes: Path, home: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)
    other = Library.open(Settings(home / "data", home / "data" / "models", ()))
    other.delete_store(OWNER, "s")
    with pytest.raises(NotFound):
        library.documents(OWNER, "s")
    assert list(library.settings.store_dir.iterdir()) == []
    (notes / "a.md").write_text("The giraffe sleeps.\n")
    index(other, "s", notes)

    assert found(library, "giraffe") == ["a.md"]

    (notes / "b.md").write_text("The hyena sleeps.\n")
    index(library, "s")
    assert found(other, "hyena") == ["b.md"]
    check_library(other, "s")
    other.close()


def test_a_folder_of_stores_that_cannot_be_read_is_not_taken_for_an_empty_one(library: Library) -> None:
    library.settings.data_dir.mkdir(parents=True)
    library.settings.store_dir.write_text("No folder.")
    with pytest.raises(StoreError, match="cannot be read: Not a directory") as refused:
        library.store_names(OWNER)
    assert str(library.settings.store_dir) in refused.value.message
    with pytest.raises(StoreError) as refused:
        library.store_names(Viewer("guest"))
    assert str(library.settings.store_dir) not in str(refused.value)


def test_a_link_that_leads_nowhere_hides_no_store(library: Library) -> None:
    library.create_store(OWNER, "s", "hashing")
    (library.settings.store_dir / "loop.db").symlink_to("loop.db")
    (library.settings.store_dir / "folder.db").mkdir()
    assert library.store_names(OWNER) == ["s"]


def test_a_store_of_an_embedder_that_is_not_known_here_is_listed(library: Library) -> None:
    for name in ("hashing", f"hashing:{'9' * 5000}", "ollama:nomic-embed-text"):
        library.create_store(OWNER, "s", "hashing")
        store = store_of(library, "s")
        with store.write() as db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'embedder'", (name,))
        store.close()
        library.close()
        info = library.store_info(OWNER, "s")
        assert (info.embedder, info.dimension) == (name, 256 if name == "hashing" else 0)
        library.delete_store(OWNER, "s")


# --- removing and renaming --------------------------------------------------------------


def test_a_deleted_store_leaves_nothing_behind_and_its_files_stay(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)

    library.delete_store(OWNER, "s")

    assert list(library.settings.store_dir.iterdir()) == []
    assert (notes / "a.md").exists()
    assert library.store_names(OWNER) == []
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
    monkeypatch.setattr("rag_core.store.lock._PROBE_S", 0.05)
    with lock.hold(tmp_path / "a.db"), pytest.raises(StoreBusy):
        new_store(tmp_path / "a.db")
    new_store(tmp_path / "b.db").close()
    with lock.hold(tmp_path / "a.db"), pytest.raises(StoreBusy):
        store_file.rename(tmp_path / "b.db", tmp_path / "a.db", lambda: None)
    assert [path.name for path in tmp_path.glob("*.db")] == ["b.db"]


def test_a_store_that_is_being_indexed_stays_open_when_it_is_not_renamed_or_deleted(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.store.lock._PROBE_S", 0.05)
    library.create_store(OWNER, "s", "hashing")
    stores = Stores(library.settings.store_dir, 1.0)
    opened = stores.open(OWNER, "s")
    with lock.hold(stores.path("s")):
        with pytest.raises(StoreBusy, match="Nothing was renamed"):
            stores.rename(OWNER, "s", "t")
        with pytest.raises(StoreBusy, match="Nothing was deleted"):
            stores.delete(OWNER, "s")
    assert stores.open(OWNER, "s") is opened
    stores.close()


def test_the_lock_file_of_a_store_that_goes_is_removed_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind its release it may be the next one's: then two would hold the lock of one name."""
    new_store(tmp_path / "a.db").close()
    there: dict[str, bool] = {}
    release = FileLock.release

    def look(held: FileLock, force: bool = False) -> None:
        there[Path(held.lock_file).name] = Path(held.lock_file).exists()
        release(held, force=force)

    monkeypatch.setattr(FileLock, "release", look)
    store_file.rename(tmp_path / "a.db", tmp_path / "b.db", lambda: None)
    assert there == {"a.lock": False, "b.lock": True}
    store_file.remove(tmp_path / "b.db", lambda: None)
    assert there == {"a.lock": False, "b.lock": False}


def test_only_the_owner_makes_and_deletes_stores(library: Library) -> None:
    library.create_store(OWNER, "s", "hashing")
    guest = Viewer("guest", stores=frozenset({"s", "t"}))
    with pytest.raises(Forbidden):
        library.create_store(guest, "t", "hashing")
    with pytest.raises(Forbidden):
        library.delete_store(guest, "s")
    assert library.store_names(OWNER) == ["s"]


# --- reading and writing --------------------------------------------------------------


def test_a_store_made_again_has_no_generation_that_a_cache_may_have_met(
    library: Library, notes: Path
) -> None:
    met = set()
    for text in ("The zebra sleeps.", "The giraffe sleeps."):
        (notes / "a.md").write_text(text)
        index(library, "s", notes)
        met.add(library.generations(OWNER))
        library.delete_store(OWNER, "s")
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


def test_a_reader_sees_one_moment_however_long_it_looks(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.read() as db:
        count = "SELECT (SELECT count(*) FROM chunks), (SELECT value FROM meta WHERE key = 'generation')"
        before = tuple(db.execute(count).fetchone())
        (notes / "b.md").write_text("The giraffe sleeps.\n")
        index(library, "s")
        assert tuple(db.execute(count).fetchone()) == before
    with store.read() as db:
        assert tuple(db.execute(count).fetchone()) > before
    store.close()


def test_every_moment_of_a_run_is_consistent(library: Library, notes: Path) -> None:
    for n in range(120):
        (notes / f"{n}.md").write_text(f"It tells of [[{(n + 1) % 120}]] and subject{n}. #tag{n}\n")
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
            (notes / f"{n}.md").write_text(f"It tells of another matter, {n}.\n")
        index(library, "s")
    finally:
        ended.set()
        watcher.join(WAIT_S)

    assert faults == []
    assert looks > 3


def test_more_readers_than_connections_wait_for_one_another(tmp_path: Path) -> None:
    store = new_store(tmp_path / "a.db")
    at_once: list[int] = []
    reading = 0

    def read() -> None:
        nonlocal reading
        for _ in range(5):
            with store.read():
                reading += 1
                at_once.append(reading)
                time.sleep(0.002)
                reading -= 1

    readers = [threading.Thread(target=read) for _ in range(3 * READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(WAIT_S)

    assert len(at_once) == 15 * READERS
    assert 1 < max(at_once) <= READERS
    store.close()


def test_a_full_disk_ends_the_run_says_so_and_loses_nothing(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "s", notes)
    store = library._stores.open(OWNER, "s").store
    with store.note() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute("INSERT INTO meta VALUES ('x', 'y')")
    store._writer._db.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[union-attr]
    for n in range(200):
        (notes / f"{n}.md").write_text(f"It tells of subject{n} at length. " * 100)

    job = index(library, "s")

    assert job.state == "failed"
    assert "Store 's' cannot be written: database or disk is full. Free some disk space" in job.message
    assert found(library, "zebra") == ["a.md"]
    check_library(library, "s")
    store._writer._db.execute("PRAGMA max_page_count = 1000000")  # type: ignore[union-attr]
    assert index(library, "s").state == "done"
    assert len(paths(library)) == 201


def test_the_time_is_written_in_whole_seconds_of_utc() -> None:
    assert len(store_file.now()) == len("2026-01-01T00:00:00Z")


def test_a_damaged_store_can_be_deleted(library: Library) -> None:
    library.create_store(OWNER, "notes", "hashing")
    library.close()
    (library.settings.store_dir / "notes.db").write_bytes(b"garbage" * 1000)
    library.delete_store(OWNER, "notes")
    assert library.store_names(OWNER) == []
    assert list(library.settings.store_dir.iterdir()) == []


def test_many_threads_may_ask_about_a_store_at_once(library: Library) -> None:
    library.create_store(OWNER, "notes", "hashing")
    with ThreadPoolExecutor(24) as pool:
        asked = [pool.submit(library.store_info, OWNER, "notes") for _ in range(200)]
        assert {each.result(timeout=30).name for each in asked} == {"notes"}


def test_a_thread_that_borrows_a_second_connection_is_told_so(library: Library) -> None:
    library.create_store(OWNER, "notes", "hashing")
    store = Store(library.settings.store_dir / "notes.db")
    with store.read(), pytest.raises(RuntimeError, match="has a connection"), store.read():
        pass
    store.close()


def test_a_store_can_be_read_by_its_owner_alone(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("text")
    index(library, "notes", notes)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in library.settings.store_dir.glob("notes.db*")
    }
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(library.settings.store_dir.stat().st_mode) == 0o700


def test_a_store_made_where_one_was_deleted_by_hand_is_empty(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("text")
    index(library, "notes", notes)
    path = library.settings.store_dir / "notes.db"
    log = path.with_name("notes.db-wal").read_bytes()
    library.close()
    path.unlink()
    path.with_name("notes.db-wal").write_bytes(log)
    library.create_store(OWNER, "notes", "hashing")
    info = library.store_info(OWNER, "notes")
    assert (info.file_count, info.pending) == (0, 0)


def test_a_long_log_is_folded_into_the_file(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (notes / f"{number}.md").write_text(f"text {number} " * 500)
    monkeypatch.setattr("rag_core.store.connection.LOG_LIMIT", 100_000)
    index(library, "notes", notes)
    assert (library.settings.store_dir / "notes.db-wal").stat().st_size <= 200_000
