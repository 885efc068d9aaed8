"""Whatever happens to a store's files, ``repair`` makes it anew from its folders: what was read comes back,
whole vectors stay, and no decision of the owner is undone.

``make torture`` damages 400 stores; COMMONPLACE_TEST_SEED=… repeats what a run did.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import StoreBusy, StoreError
from rag_core.index.priority import SearchPriority
from rag_core.index.reading import Limits
from rag_core.index.repair import repair
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store, decisions, outbox
from rag_core.types import OWNER
from tests.conftest import index
from tests.store.damaged_store import (
    GUEST,
    PAGE,
    QUERIES,
    Expected,
    answers,
    assert_comes_back,
    change,
    decided,
    tear,
)
from tests.support.killing import KILLS, Killer, Ledger
from tests.support.stored import contents, copy_of, file_of, found, outcomes
from tests.support.trees import write
from tests.support.unwritable import no_file_grows

pytestmark = pytest.mark.thorough

SEED = int(os.environ.get("COMMONPLACE_TEST_SEED", random.SystemRandom().randrange(10**6)))
DAMAGED_STORES = 400 if "COMMONPLACE_TORTURE" in os.environ else 6


@pytest.fixture
def library(sound: Library, tmp_path: Path) -> Iterator[Library]:
    """A library of one's own with a copy of the store, which reads the same notes."""
    with copy_of(sound, tmp_path) as opened:
        yield opened


# --- any damage -------------------------------------------------------------------------


def flip(file: Path, chance: random.Random) -> None:
    """Change single bits, or whole stretches, of a file."""
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 1, 3, 20)) if data else 0):
        at = chance.randrange(len(data))
        if chance.random() < 0.5:
            data[at] ^= 1 << chance.randrange(8)
        else:
            length = min(chance.choice((8, 64, 512, PAGE)), len(data) - at)
            data[at : at + length] = chance.randbytes(length)
    file.write_bytes(data)


@pytest.fixture(scope="module")
def with_log(sound: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of the store as they are while it is open: its newest decisions, which are
    those of ``sound``, are still in its log."""
    folder = tmp_path_factory.mktemp("log")
    with copy_of(sound, folder) as library, closing(sqlite3.connect(file_of(library))) as other:
        other.execute("SELECT count(*) FROM meta").fetchone()
        library.privacy.set(OWNER, "s", [])
        library.files.include(OWNER, "s", "out.md")
        index(library, "s")
        library.files.exclude(OWNER, "s", "out.md")
        library.privacy.set(OWNER, "s", ["hidden/**"])
        index(library, "s")
        shutil.copytree(library.settings.store_dir, folder / "files")
    return folder / "files"


@pytest.mark.parametrize("name", ["s.db", "s.db-wal", "s.db-shm", "s.decisions.json"])
def test_a_damaged_store_says_so_and_comes_back(
    sound: Library, with_log: Path, tmp_path: Path, expected: Expected, name: str
) -> None:
    print(f"COMMONPLACE_TEST_SEED={SEED}")
    files = with_log if name in ("s.db-wal", "s.db-shm") else sound.settings.store_dir
    for number in range(DAMAGED_STORES // (2 if name == "s.db" else 4)):
        chance = random.Random(f"{SEED} {name} {number}")
        home = tmp_path / str(number)
        library = Library.open(Settings(home, home / "models", ()))
        shutil.copytree(files, library.settings.store_dir)
        flip(file_of(library).with_name(name), chance)

        if is_said_to_be_sound(library) and not library.jobs.requested(
            OWNER, "s"
        ):  # whose log may be shorter
            assert answers(library) == expected.answers
            assert [about["about"] for about in contents(library, "s").values()] == [
                about["about"] for about in expected.contents.values()
            ]
        library.upkeep.repair(OWNER, "s")
        assert library.upkeep.verify(OWNER, "s").sound
        assert same_decisions(decided(library)) == same_decisions(expected.decided)
        index(library, "s")
        assert answers(library) == expected.answers
        library.close()
        shutil.rmtree(home)


def is_said_to_be_sound(library: Library) -> bool:
    try:
        return library.upkeep.verify(OWNER, "s").sound
    except StoreError:
        return False


def same_decisions(found: decisions.Decisions) -> decisions.Decisions:
    """Decisions without the times at which they were made."""
    return {**found, "exclusions": [{**row, "created_at": ""} for row in found["exclusions"]]}


@pytest.mark.parametrize(
    "table",
    [
        "documents",
        "chunks",
        "words_data",
        "embeddings",
        "queue",
        "meta",
        "sources",
        "exclusions",
        "identities",
    ],
)
def test_a_table_whose_first_page_is_noise_is_made_anew(
    library: Library, expected: Expected, table: str
) -> None:
    tear(library, table)
    assert not is_said_to_be_sound(library)
    assert_comes_back(library, expected)


@pytest.mark.parametrize(
    "how",
    [
        "DROP TABLE tags",
        "DROP TABLE sources",
        "DROP TABLE links; CREATE VIEW links AS SELECT 1 AS id",
        "ALTER TABLE chunks RENAME COLUMN key TO other",
        "DELETE FROM meta WHERE key = 'chunk_sizes'",
        "CREATE TRIGGER spy AFTER INSERT ON documents BEGIN UPDATE documents SET private = 0; END",
    ],
)
def test_a_schema_that_is_not_as_it_should_be_is_made_anew(
    library: Library, expected: Expected, how: str
) -> None:
    change(library, how)
    assert_comes_back(library, expected)


@pytest.mark.parametrize(
    "content", [b"", b"no database" * 5000, b"SQLite format 3\0" + bytes(range(256)) * 64]
)
def test_a_file_of_which_nothing_is_left_is_made_anew(
    library: Library, expected: Expected, content: bytes
) -> None:
    file_of(library).write_bytes(content)
    assert_comes_back(library, expected)


# --- what is taken over -----------------------------------------------------------------


def test_nothing_is_embedded_again_where_the_vectors_are_whole(library: Library) -> None:
    tear(library, "chunks")

    repaired = library.upkeep.repair(OWNER, "s")

    assert repaired.done[0].startswith("42 documents read again into a new file, ")
    assert repaired.to_embed == 0
    assert not library.jobs.requested(OWNER, "s")
    job = index(library, "s")
    assert job.texts_embedded == 0
    assert outcomes(job) == {}


def test_a_vector_that_is_not_as_it_was_written_is_found_and_made_again(
    library: Library, expected: Expected
) -> None:
    change(library, "UPDATE embeddings SET vector = CAST(x'0102' || substr(vector, 3) AS BLOB) WHERE id = 7")
    [finding] = library.upkeep.verify(OWNER, "s").findings
    assert finding.sentence == "1 vector has damaged numbers."

    assert library.upkeep.repair(OWNER, "s").to_embed == 1
    assert library.jobs.requested(OWNER, "s")
    job = library.jobs.run(OWNER, "s")

    assert job is not None
    assert job.texts_embedded == 1
    assert contents(library, "s") == expected.contents


def test_words_are_found_at_once_and_nobody_sees_what_is_private(library: Library) -> None:
    tear(library, "embeddings")
    library.upkeep.repair(OWNER, "s")
    assert found(library, "subject7 in part1") == ["d0/note 7.md"]
    assert library.search(OWNER, "okapi").hits[0].document.path == "own.md"
    seen = {hit.document.path for query in QUERIES for hit in library.search(GUEST, query, top_k=50).hits}
    assert seen
    assert not seen & {"own.md", "hidden/kiwi.md", "out.md"}


def test_what_was_asked_of_the_store_is_asked_still(library: Library) -> None:
    assert library.stores.clear(OWNER, "s", confirm=True) == 42
    tear(library, "words_data")

    library.upkeep.repair(OWNER, "s")
    assert library.search(OWNER, "subject7").hits, "a paused folder keeps its documents"
    library.jobs.run(OWNER, "s")

    assert library.documents.all(OWNER, "s") == []
    tear(library, "words_data")
    library.upkeep.repair(OWNER, "s")
    assert library.documents.all(OWNER, "s") == []


def test_an_index_that_the_store_sends_to_is_compared_and_filled(library: Library) -> None:
    with closing(Store(file_of(library))) as store, store.decide() as db:
        db.execute("INSERT INTO meta VALUES ('remote', 'qdrant://127.0.0.1:9/x')")
        db.execute("UPDATE meta SET value = 'qdrant' WHERE key = 'backend'")
    tear(library, "outbox")

    library.upkeep.repair(OWNER, "s")

    with closing(Store(file_of(library))) as store, store.read() as db:
        waiting = {row[0] for row in db.execute("SELECT key FROM outbox")}
        assert waiting == {row[0] for row in db.execute("SELECT key FROM chunks")} != set()
        assert outbox.wants_recheck(db)


def test_the_damaged_file_is_kept_until_it_or_the_store_is_deleted(library: Library) -> None:
    tear(library, "tags")
    torn = file_of(library).read_bytes()

    said = library.upkeep.repair(OWNER, "s").done

    [kept] = file_of(library).parent.glob("s.db.damaged-*")
    assert kept.read_bytes() == torn
    assert any(repr(kept.name) in sentence for sentence in said)
    library.stores.rename(OWNER, "s", "t")
    assert [file.name for file in kept.parent.glob("t.db.damaged-*")] == [kept.name.replace("s.db", "t.db")]
    library.stores.delete(OWNER, "t")
    assert [file.name for file in kept.parent.iterdir()] == []


# --- folders that are not there ---------------------------------------------------------


@pytest.fixture
def own(library: Library, tmp_path: Path) -> Path:
    """The folder of the store ``own``, which is damaged."""
    notes = tmp_path / "notes"
    write(notes, {"a.md": "The zebra sleeps.\n"})
    index(library, "own", notes)
    library.close()
    with closing(sqlite3.connect(file_of(library, "own"))) as db, db:
        db.execute("UPDATE chunks SET start_line = 7")
    return notes


@pytest.mark.parametrize(
    "how", [shutil.rmtree, lambda notes: (notes / "a.md").unlink()], ids=["gone", "empty"]
)
def test_a_store_whose_folder_is_not_there_stays_as_it_is(
    library: Library, own: Path, how: Callable[[Path], object]
) -> None:
    how(own)
    with pytest.raises(StoreError, match=r"'own' is damaged, and .*folder '.*notes'") as refused:
        library.upkeep.repair(OWNER, "own")
    assert "or remove it from the store" in refused.value.suggestion
    assert found(library, "zebra", "own") == ["a.md"]
    assert not list(file_of(library).parent.glob("*.damaged-*"))

    write(own, {"a.md": "The zebra sleeps.\n"})
    assert library.upkeep.repair(OWNER, "own").done
    assert library.upkeep.verify(OWNER, "own").sound


def test_a_paused_folder_keeps_its_documents_and_gets_no_others(library: Library, own: Path) -> None:
    library.sources.pause(OWNER, "own", 1)
    write(own, {"later.md": "The okapi came later.\n"})
    library.upkeep.repair(OWNER, "own")
    assert [document.path for document in library.documents.all(OWNER, "own")] == ["a.md"]
    assert library.sources.all(OWNER, "own")[0].source.paused


def test_a_paused_folder_of_which_nothing_is_known_is_not_read(library: Library, own: Path) -> None:
    library.sources.pause(OWNER, "own", 1)
    library.close()
    file_of(library, "own").write_bytes(b"nothing is left")
    said = library.upkeep.repair(OWNER, "own").done
    assert said[-1] == f"Paused folders whose files are no longer known were not read: {own}."
    assert library.documents.all(OWNER, "own") == []


def test_a_copy_of_the_index_of_another_installation_is_to_be_attached_again(library: Library) -> None:
    with closing(Store(file_of(library))) as store, store.decide() as db:
        db.execute("INSERT INTO meta VALUES ('attached', '1')")
    tear(library, "tags")
    with pytest.raises(StoreError) as refused:
        library.upkeep.repair(OWNER, "s")
    assert refused.value.suggestion == "Delete it here, where nothing else is lost, and attach it again."


# --- others, and the disk ---------------------------------------------------------------


def test_what_is_decided_meanwhile_is_not_lost(library: Library) -> None:
    tear(library, "words_data")

    def meanwhile(_: str) -> Hashing:
        library.sources.pause(OWNER, "s", 1)
        return Hashing()

    with pytest.raises(StoreBusy) as busy:
        repair(file_of(library), meanwhile, Limits(), SearchPriority())

    assert busy.value.message == "The settings of store 's' were changed while it was being repaired."
    assert library.upkeep.repair(OWNER, "s").done
    assert library.sources.all(OWNER, "s")[0].source.paused


def test_another_process_goes_on_with_the_new_file(library: Library) -> None:
    other = Library.open(library.settings)
    assert found(other, "subject7 in part1")
    opened = other._shared.stores.open(OWNER, "s").store
    tear(library, "tags")

    library.upkeep.repair(OWNER, "s")

    with pytest.raises(StoreError, match="is not open any more"), opened.decide():
        pass
    assert found(other, "subject7 in part1") == ["d0/note 7.md"]
    other.sources.pause(OWNER, "s", 1)
    assert other.upkeep.verify(OWNER, "s").sound
    other.close()


@pytest.mark.posix
@pytest.mark.parametrize("pages", [20, 75], ids=["before a file is read", "while files are read"])
def test_on_a_full_disk_the_store_stays_as_it_was(library: Library, pages: int) -> None:
    tear(library, "tags")
    torn = file_of(library).read_bytes()
    with no_file_grows(pages * PAGE), pytest.raises(StoreError, match=r"'s' cannot be repaired") as refused:
        library.upkeep.repair(OWNER, "s")
    assert re.search("disk I/O error|disk is full", str(refused.value))
    assert file_of(library).read_bytes() == torn
    assert [path.name for path in library.settings.store_dir.iterdir() if path.is_dir()] == []
    assert library.upkeep.repair(OWNER, "s").done


# --- killed -----------------------------------------------------------------------------


def mend(ledger: Ledger, path: Path) -> None:
    """In a process of its own: a repair, which begins when it says so."""
    ledger.begins()
    repair(path, lambda _: Hashing(), Limits(), SearchPriority())


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_repair_that_is_killed_is_taken_whole_or_not_at_all(
    library: Library, tmp_path: Path, expected: Expected
) -> None:
    tear(library, "tags")
    stores, torn = library.settings.store_dir, tmp_path / "torn"
    shutil.copytree(stores, torn)
    killer = Killer(tmp_path)
    killer.spare(mend, file_of(library))

    for _ in killer.rounds(KILLS // 5):
        shutil.rmtree(stores)
        shutil.copytree(torn, stores)
        killer.kill(mend, file_of(library))

        assert decided(library) == expected.decided
        if is_said_to_be_sound(library):
            assert contents(library, "s") == expected.contents
        assert_comes_back(library, expected)
        library.close()
    library.create_store(OWNER, "next", "hashing")
    assert [left.name for left in stores.iterdir() if left.is_dir()] == [], "the next one cleans up"
