"""Whatever page of a store's file is torn: what was read from files comes back, and what only its owner can
say is never made up."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.errors import StoreBusy, StoreError
from rag_core.library import Library
from rag_core.store import Store, outbox
from rag_core.store.repair import repair
from rag_core.store.rescue import RENEWED, rescue
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.killing import KILLS, Killer, Ledger
from tests.stored import contents, copy_of, file_of, found, outcomes
from tests.trees import write
from tests.unwritable import no_file_grows

PAGE = 8192
NOTES = {
    f"d{number % 7}/note {number}.md": f"---\ntags: [kind{number % 9}/x]\naliases: [Other {number}]\n---\n"
    f"# Note {number}\n\n"
    + "".join(
        f"## Part {part}\n\nIt tells of subject{number} in part{part}. [[note {number * 3 % 80}]]\n"
        + f"Word{number * part} " * 30
        for part in range(3)
    )
    for number in range(80)
}
SEED = int(os.environ.get("COMMONPLACE_TEST_SEED", random.SystemRandom().randrange(10**6)))
ALL_PAGES = "COMMONPLACE_TORTURE" in os.environ


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with one store ``s`` of many pages, with an excluded file; nobody changes it."""
    folder = tmp_path_factory.mktemp("rescue")
    write(folder / "notes", {**NOTES, "out.md": "The quagga is out.\n"})
    library = Library.open(Settings(folder / "data", folder / "models", ()))
    index(library, "s", folder / "notes")
    library.exclude_file(OWNER, "s", "out.md")
    index(library, "s")
    library.close()  # the log is folded into the file, which can be copied
    yield library
    library.close()


@pytest.fixture(scope="module")
def expected(sound: Library) -> dict[bytes, dict[str, Any]]:
    """What the store holds that was never damaged."""
    return contents(sound, "s")


@pytest.fixture
def library(sound: Library, tmp_path: Path) -> Iterator[Library]:
    """A library of one's own with a copy of the store."""
    with copy_of(sound, tmp_path) as opened:
        yield opened


def roots(library: Library) -> dict[str, int]:
    """The first page of each table and index, which leads to all the others of it."""
    db = sqlite3.connect(file_of(library))
    found = dict(db.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 1").fetchall())
    db.close()
    return found


def tear(library: Library, page: int, put: bytes | None = None) -> None:
    """Let another thing stand where page number ``page`` was, in the file and not only in its log."""
    with closing(sqlite3.connect(file_of(library))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with file_of(library).open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(put or random.Random(page).randbytes(PAGE))


def put_page(library: Library, one: str, other: str) -> None:
    """Let the first page of a table stand where that of another was."""
    first = roots(library)
    with file_of(library).open("rb") as file:
        file.seek((first[one] - 1) * PAGE)
        page = file.read(PAGE)
    tear(library, first[other], page)


def rename_a_folder(library: Library) -> None:
    """Another root in the page of the table, which its index does not know; and something that is torn."""
    data = bytearray(file_of(library).read_bytes())
    start = (roots(library)["sources"] - 1) * PAGE
    at = data.index(b"rescue", start)
    data[at : at + 6] = b"rescux"
    file_of(library).write_bytes(data)
    tear(library, roots(library)["names"])


def assert_comes_back(library: Library, expected: dict[bytes, dict[str, Any]]) -> None:
    library.repair(OWNER, "s")
    assert library.verify(OWNER, "s").sound
    index(library, "s")
    assert library.verify(OWNER, "s").findings == ()
    assert library.repair(OWNER, "s").done == ()
    assert contents(library, "s") == expected
    assert {each.path for each in library.files(OWNER, "s") if each.state == "excluded"} == {"out.md"}


DERIVED = (
    "documents", "documents_by_display", "tags", "names", "names_by_key", "links", "links_by_key", "chunks",
    "chunks_by_hash", "words_data", "words_idx", "words_docsize", "words_config", "identities", "embeddings",
    "queue", "requests", "jobs", "job_results", "outbox",
)  # fmt: skip


@pytest.mark.parametrize("table", DERIVED)
def test_a_table_whose_first_page_is_noise_is_made_anew(
    library: Library, expected: dict[bytes, dict[str, Any]], table: str
) -> None:
    tear(library, roots(library)[table])
    assert not library.verify(OWNER, "s").sound
    assert_comes_back(library, expected)


@pytest.mark.parametrize("how", ["noise", "zeros", "another page"])
def test_any_page_may_be_torn(
    sound: Library, tmp_path: Path, expected: dict[bytes, dict[str, Any]], how: str
) -> None:
    print(f"COMMONPLACE_TEST_SEED={SEED}")
    chance = random.Random(SEED)
    whole = file_of(sound).read_bytes()
    first = set(roots(sound).values())
    pages = [page for page in range(2, len(whole) // PAGE + 1) if page not in first]
    schema = {page for page in pages if b"CREATE TABLE" in whole[(page - 1) * PAGE : page * PAGE]}
    pages = [page for page in pages if page not in schema]
    assert len(pages) > 40

    for page in pages if ALL_PAGES else chance.sample(pages, 5):
        home = tmp_path / str(page)
        library = Library.open(Settings(home, home / "models", ()))
        library.settings.store_dir.mkdir(parents=True)
        file_of(library).write_bytes(whole)
        other = chance.choice([each for each in pages if each != page])
        tear(library, page, {
            "noise": chance.randbytes(PAGE),
            "zeros": bytes(PAGE),
            "another page": whole[(other - 1) * PAGE : other * PAGE],
        }[how])  # fmt: skip
        assert_comes_back(library, expected)
        library.close()


@pytest.mark.parametrize(
    "how",
    [
        "DROP TABLE tags",
        "DROP TABLE documents",
        "DROP TABLE links; CREATE VIEW links AS SELECT 1 AS id",
        "ALTER TABLE chunks ADD COLUMN mine TEXT",
        "ALTER TABLE chunks RENAME COLUMN key TO other",
    ],
)
def test_a_table_that_is_not_as_it_should_be_is_made_anew(
    library: Library, expected: dict[bytes, dict[str, Any]], how: str
) -> None:
    change(library, how)

    assert not library.verify(OWNER, "s").sound
    assert library.verify(OWNER, "s").checks == ("schema",)
    assert_comes_back(library, expected)


def change(library: Library, script: str) -> None:
    db = sqlite3.connect(file_of(library), isolation_level=None)
    db.executescript(f"PRAGMA foreign_keys = OFF; {script}")
    db.close()


def test_nothing_is_embedded_again_that_is_still_there(library: Library) -> None:
    tear(library, roots(library)["chunks"])

    repaired = library.repair(OWNER, "s")
    job = index(library, "s")

    assert RENEWED in repaired.done
    assert repaired.reread == len(NOTES)
    assert job.texts_embedded == 0
    assert set(outcomes(job).values()) == {"reread"}


def test_what_has_the_store_open_finds_by_meaning_what_was_read_again(sound: Library, tmp_path: Path) -> None:
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    notes = tmp_path / "notes"
    write(notes, {name: text for number, (name, text) in enumerate(NOTES.items()) if number < 20})
    index(library, "s", notes)
    write(notes, {name: text for number, (name, text) in enumerate(NOTES.items()) if number >= 20})
    index(library, "s")
    asked = [f"It tells of subject{number} in part0." for number in range(0, 80, 7)]
    before = [nearest(library, query) for query in asked]
    tear(library, roots(library)["embeddings"])

    library.repair(OWNER, "s")
    index(library, "s")

    assert [nearest(library, query) for query in asked] == before
    library.close()


def nearest(library: Library, query: str) -> list[tuple[str, int]]:
    hits = library.search(OWNER, query, mode="vector", top_k=5).hits
    return sorted((hit.document.path, hit.chunk_index) for hit in hits)


def test_guests_meet_nothing_of_it_until_it_is_read_again(library: Library) -> None:
    guest = Viewer("ada@example.org", stores=frozenset({"s"}))
    assert library.search(guest, "subject7").hits
    tear(library, roots(library)["tags"])

    library.repair(OWNER, "s")

    assert library.search(guest, "subject7").hits == ()
    assert library.search(OWNER, "subject7").hits
    index(library, "s")
    assert library.search(guest, "subject7").hits


def test_an_index_that_a_store_is_about_to_use_is_compared_and_filled(library: Library) -> None:
    db = sqlite3.connect(file_of(library))
    with db:
        db.execute(
            "INSERT INTO meta VALUES ('next_backend', 'qdrant'), ('next_remote', 'qdrant://127.0.0.1:9/x')"
        )
    db.close()
    tear(library, roots(library)["outbox"])

    with closing(Store(file_of(library))) as store, store.hold("repair"):
        rescue(store)
        with store.read() as db:
            waiting = {row[0] for row in db.execute("SELECT key FROM outbox")}
            assert waiting == {row[0] for row in db.execute("SELECT key FROM chunks")} != set()
            assert outbox.wants_recheck(db)


def test_lost_history_is_said(library: Library) -> None:
    tear(library, roots(library)["jobs"])
    assert "Some of the history of runs was lost." in library.repair(OWNER, "s").done


def test_what_is_not_torn_is_found_before_the_files_are_read_again(library: Library) -> None:
    tear(library, roots(library)["words_data"])
    library.repair(OWNER, "s")
    assert found(library, "subject7")[0] == "d0/note 7.md"


# --- what nobody but the owner could say ------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda library: tear(library, roots(library)["sources"]), "its table sources is damaged"),
        (lambda library: tear(library, roots(library)["exclusions"]), "its table exclusions is damaged"),
        (lambda library: put_page(library, "outbox", "sources"), "its table sources is damaged"),
        (lambda library: put_page(library, "tags", "exclusions"), "its table exclusions is damaged"),
        (lambda library: put_page(library, "names", "exclusions"), "its table exclusions is damaged"),
        (rename_a_folder, "its table sources is damaged"),
        (
            lambda library: change(library, "PRAGMA foreign_keys = OFF; DELETE FROM sources"),
            "it does not say any more which folder its documents are from",
        ),
        (
            lambda library: change(library, "DROP TABLE sources"),
            "it has not the table sources that it should have",
        ),
        (
            lambda library: change(
                library, "DROP TABLE tags; INSERT INTO meta VALUES ('attached', '1'), ('remote', 'qdrant')"
            ),
            "another installation has the files of this index",
        ),
    ],
)
def test_what_was_decided_is_never_made_up(
    library: Library, damage: Callable[[Library], None], message: str
) -> None:
    passages = library.store_info(OWNER, "s").chunk_count
    library.close()
    damage(library)

    with pytest.raises(StoreError) as refused:
        library.repair(OWNER, "s")

    assert refused.value.message == f"Store 's' is damaged beyond repair: {message}."
    assert refused.value.suggestion == "Delete the store, then import its export or index its folders again."
    library.close()
    db = sqlite3.connect(file_of(library))
    assert db.execute("SELECT count(*) FROM chunks").fetchone() == (passages,)
    db.close()


# --- others, and the disk ---------------------------------------------------------------


def test_what_others_ask_for_meanwhile_is_kept(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    tear(library, roots(library)["words_data"])
    meanwhile(monkeypatch, lambda: library.request_index(OWNER, "s"), times=2)

    library.repair(OWNER, "s")

    db = sqlite3.connect(file_of(library))
    assert db.execute("SELECT count(*) FROM requests").fetchone() == (2,)
    db.close()


def test_a_store_that_others_change_all_the_time_is_left_alone(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    tear(library, roots(library)["words_data"])
    meanwhile(monkeypatch, lambda: library.pause_source(OWNER, "s", 1), times=99)

    with pytest.raises(StoreBusy) as busy:
        library.repair(OWNER, "s")

    assert busy.value.message == "Others write to store 's' all the time."
    assert busy.value.suggestion == "Stop the app, then repair it again."
    assert not library.verify(OWNER, "s").sound


def test_somebody_who_writes_and_does_not_end_is_not_waited_for_for_ever(library: Library) -> None:
    tear(library, roots(library)["names"])
    path = file_of(library)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, closing(Store(path, 0.2)) as store:
        other.execute("BEGIN IMMEDIATE")
        with store.hold("repair"), pytest.raises(StoreError) as refused:
            rescue(store)
    assert refused.value.message == "Store 's' cannot be written: database is locked."
    assert library.repair(OWNER, "s").done


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int) -> None:
    """Let somebody act ``times`` while a store is copied."""
    replace, left = Store.replace, [None] * times

    def replaced(store: Store, new: sqlite3.Connection, look: Callable[[], None]) -> None:
        if left:
            left.pop()
            act()
        replace(store, new, look)

    monkeypatch.setattr(Store, "replace", replaced)


def test_another_process_goes_on_with_the_new_file(library: Library) -> None:
    other = Library.open(library.settings)
    assert found(other, "subject7")
    tear(library, roots(library)["tags"])

    library.repair(OWNER, "s")
    index(library, "s")

    assert found(other, "subject7") == ["d0/note 7.md"]
    assert other.verify(OWNER, "s").sound
    other.close()


@pytest.mark.parametrize(("late", "what"), [(False, "repaired"), (True, "written")])
def test_on_a_full_disk_the_file_stays_as_it_was(
    library: Library, monkeypatch: pytest.MonkeyPatch, late: bool, what: str
) -> None:
    tear(library, roots(library)["tags"])
    before = library.generations(OWNER)
    stores = library.settings.store_dir
    replace = Store.replace

    def replaced(store: Store, new: sqlite3.Connection, look: Callable[[], None]) -> None:
        with no_file_grows(20 * PAGE):
            replace(store, new, look)

    monkeypatch.setattr(Store, "replace", replaced)
    with nullcontext() if late else no_file_grows(20 * PAGE), pytest.raises(StoreError) as refused:
        library.repair(OWNER, "s")
    monkeypatch.undo()

    assert re.fullmatch(
        f"Store 's' cannot be {what}: (disk I/O error|database or disk is full).", refused.value.message
    )
    assert f"'{stores}'" in refused.value.suggestion
    assert library.generations(OWNER) == before
    assert [path.name for path in stores.iterdir() if path.is_dir()] == []
    assert library.repair(OWNER, "s").done


# --- killed -----------------------------------------------------------------------------


def mend(ledger: Ledger, path: Path) -> None:
    """In a process of its own: a repair, which begins when it says so."""
    store = Store(path)
    ledger.begins()
    repair(store)
    store.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_repair_that_is_killed_is_taken_whole_or_not_at_all(
    library: Library, tmp_path: Path, expected: dict[bytes, dict[str, Any]]
) -> None:
    tear(library, roots(library)["tags"])
    path, torn = file_of(library), tmp_path / "torn.db"
    shutil.copy(path, torn)
    killer = Killer(tmp_path)
    killer.spare(mend, path)

    for _ in killer.rounds(KILLS // 5):
        for file in (path, path.with_name("s.db-wal"), path.with_name("s.db-shm")):
            file.unlink(missing_ok=True)
        shutil.copy(torn, path)
        killer.kill(mend, path)

        assert_torn_or_whole(path)
        assert_comes_back(library, expected)
        library.close()
    library.create_store(OWNER, "next", "hashing")
    assert [left.name for left in path.parent.iterdir() if left.is_dir()] == [], "the next one cleans up"


def assert_torn_or_whole(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        try:
            db.execute("SELECT count(*) FROM tags NOT INDEXED").fetchone()
        except sqlite3.DatabaseError:
            return  # as it was
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("SELECT count(*) FROM documents WHERE extractor > 0").fetchone() == (0,)
