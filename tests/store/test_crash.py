"""Whatever is done to a store may be killed at any moment: what was acknowledged stays, nothing is half.

30 times a process is killed on its way; one that comes to its end before does not count. ``make torture``
lets these tests kill 500 times. Each prints a seed, and COMMONPLACE_TEST_SEED=… repeats what it did to the
files, if not the moments. What is killed while it embeds has the hashing embedder, slowed down to the pace of
a small model.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import rag_core.index.index
from rag_core.config import Settings
from rag_core.index.embedding import BATCH
from rag_core.library import Library
from rag_core.store import Store, migrations
from rag_core.store.file import generation
from rag_core.store.migrations import schema_parts
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check, check_library
from tests.support.killing import KILLS, Accountable, Embedding, Killer, Ledger
from tests.support.mailboxes import mailbox, message
from tests.support.stored import contents, fresh_contents, store_of, unused_vectors

INDEX_KILLS = KILLS * 3 // 5
MIGRATION_KILLS = KILLS // 5
TRANSFER_KILLS = KILLS // 5
FILES = 120

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def killer(tmp_path: Path) -> Iterator[Killer]:
    killer = Killer(tmp_path)
    yield killer
    print(f"{killer.killed} of {killer.begun} killed")


# --- indexing and embedding -------------------------------------------------------------


def run(ledger: Ledger, path: Path) -> None:
    """In a process of its own: a run, which begins when it says so."""
    store = Accountable(path, ledger)
    ledger.begins()
    rag_core.index.index.run(store, lambda _: Embedding(ledger))
    store.close()


def note(rng: random.Random, number: int) -> str:
    head = f"---\ntags: [t/{number % 7}]\naliases: [alias {number}]\n---\n" if number % 3 else ""
    body = "\n\n".join(
        f"## Part {part}\n\nIt tells of subject{rng.randrange(1000)} and [[{rng.randrange(FILES)}]] at some"
        " length, so that it is a passage of its own."
        for part in range(rng.randrange(1, 6))
    )
    return f"{head}# Note {number}\n\n{body}\n"


def change(rng: random.Random, folder: Path, number: int) -> None:
    """Edit, delete, move, copy and add some files, and rename a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    rng.shuffle(files)
    while len(files) > FILES:
        files.pop().unlink()
    for file in files[:12]:
        file.write_text(note(rng, rng.randrange(FILES)), "utf-8")
    for file in files[12:16]:
        file.unlink()
    for file in files[16:24]:
        file.rename(folder / f"{rng.randrange(5)}" / f"moved {number} {file.name[-12:]}")
    for file in files[24:27]:
        (folder / f"copy {number} {file.name[-12:]}").write_bytes(file.read_bytes())
    for more in range(max(7, FILES - len(files))):
        (folder / f"{number} {more}.md").write_text(note(rng, rng.randrange(FILES)), "utf-8")
    renamed = folder / str(rng.randrange(5))
    renamed.rename(folder / "aside")
    (folder / "aside").rename(folder / f"was {renamed.name} {number}")
    renamed.mkdir()


def on_disk(folder: Path) -> dict[bytes, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {bytes(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


class Kept:
    """What a store holds: files by path, texts that are needed, texts that have a vector."""

    def __init__(self, store: Store) -> None:
        with store.read() as db:
            self.files = dict(
                db.execute("SELECT path, file_hash FROM documents WHERE state = 'indexed'").fetchall()
            )
            self.needed = {
                row[0].hex() for row in db.execute("SELECT embed_hash FROM chunks WHERE prefix || text <> ''")
            }
            self.embedded = {row[0].hex() for row in db.execute("SELECT hash FROM embeddings")}
            self.generation = generation(db)


@pytest.mark.posix
def test_runs_that_are_killed_lose_nothing_and_the_last_one_completes(
    library: Library, notes: Path, killer: Killer
) -> None:
    rng = killer.random
    for number in range(5):
        (notes / str(number)).mkdir()
    for number in range(FILES):
        (notes / str(number % 5) / f"{number}.md").write_text(note(rng, number), "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    path = library.settings.store_dir / "s.db"
    library.jobs.request(OWNER, "s")
    library.close()
    killer.spare(run, path)
    before = look(library)

    for number in killer.rounds(INDEX_KILLS):
        change(rng, notes, number)
        same = {file for file, found in on_disk(notes).items() if found == before.files.get(file)}
        library.jobs.request(OWNER, "s")
        library.close()
        ledger = killer.kill(run, path)

        after = look(library)
        assert not [file for file in same if after.files.get(file) != before.files[file]]
        assert after.generation >= max((int(n) for word, n in ledger if word == "generation"), default=0)
        assert before.embedded & after.needed <= after.embedded
        again = {text for word, text in ledger if word == "embedded"} & after.needed - after.embedded
        assert len(again) <= BATCH
        [newest] = library.jobs.all(OWNER, "s", 1)
        assert newest.state == "done" or library.jobs.requested(OWNER, "s")
        before = after

    change(rng, notes, killer.begun)
    job = index(library, "s")

    assert (job.state, job.failed) == ("done", 0)
    assert library.upkeep.verify(OWNER, "s", files=True).findings == ()
    assert unused_vectors(library) == 0
    assert look(library).files == on_disk(notes)
    assert contents(library, "s") == fresh_contents(library, notes)


@pytest.mark.posix
def test_a_mailbox_whose_reading_is_killed_is_read_to_its_end(
    library: Library, notes: Path, killer: Killer
) -> None:
    rng, box = killer.random, notes / "archive.mbox"
    letters = [
        message(f"Letter {n}", f"It is about subject{n}.", 1 + n % 28, f"m{n}@x.org") for n in range(60)
    ]
    box.write_text(mailbox(*letters), "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    path = library.settings.store_dir / "s.db"
    library.jobs.request(OWNER, "s")
    library.close()
    killer.spare(run, path)
    for number in killer.rounds(KILLS // 5):
        letters = rng.sample(letters, len(letters) - 8)
        letters += [message(f"New {number} {n}", f"It is about topic{number}x{n}.") for n in range(8)]
        box.write_text(mailbox(*letters), "utf-8")
        library.jobs.request(OWNER, "s")
        library.close()
        killer.kill(run, path)
        look(library)
    library.jobs.request(OWNER, "s")
    job = library.jobs.run(OWNER, "s")
    assert job is not None
    assert (job.state, job.failed) == ("done", 0)
    assert unused_vectors(library) == 0
    assert contents(library, "s") == fresh_contents(library, notes)
    assert len(contents(library, "s")) == 1 + len(letters)


def look(library: Library) -> Kept:
    """What the store holds, if it is sound."""
    store = store_of(library, "s")
    try:
        check(store)
        return Kept(store)
    finally:
        store.close()


# --- opening a store of an older version ------------------------------------------------

Steps = tuple[migrations.Step, ...]


def slow_step(db: sqlite3.Connection) -> None:
    """A step that takes a while, as one does that rewrites every row."""
    db.execute("ALTER TABLE documents ADD COLUMN later TEXT NOT NULL DEFAULT ''")
    for (document_id,) in db.execute("SELECT id FROM documents").fetchall():
        db.execute("UPDATE documents SET later = title WHERE id = ?", (document_id,))
        time.sleep(0.0005)
    db.execute("CREATE INDEX documents_by_later ON documents (later)")


def open_with(ledger: Ledger, path: Path, steps: Steps) -> None:
    """In a process of its own: a program that knows ``steps`` opens a store."""
    migrations.MIGRATIONS, migrations.VERSION = steps, migrations.OLDEST - 1 + len(steps)
    ledger.begins()
    Store(path).close()


def as_oldest(path: Path, old: Path) -> None:
    """Make ``old``: a file of the oldest version with all rows of the store ``path``."""
    db = sqlite3.connect(old, isolation_level=None)
    db.execute(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    db.execute("PRAGMA journal_mode = WAL")
    migrations._apply(db, migrations.OLDEST)
    tables = [name for name, part in schema_parts(db).items() if part.kind == "table" and "words" not in name]
    db.execute("DELETE FROM meta")
    db.execute("ATTACH ? AS new", (str(path),))
    for table in tables:
        columns = ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA main.table_info({table})"))
        if table != "migrations":
            db.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    db.close()


@pytest.mark.posix
@pytest.mark.parametrize(
    "steps", [(*migrations.MIGRATIONS, slow_step)], ids=["every step and one that takes a while"]
)
def test_migrations_that_are_killed_are_taken_whole_or_not_at_all(
    library: Library,
    notes: Path,
    tmp_path: Path,
    killer: Killer,
    steps: Steps,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(FILES):
        (notes / f"{number}.md").write_text(note(killer.random, number), "utf-8")
    index(library, "s", notes)
    library.close()
    path, old = library.settings.store_dir / "s.db", tmp_path / "old.db"
    as_oldest(path, old)
    expected = contents(library, "s")
    monkeypatch.setattr(migrations, "MIGRATIONS", steps)
    monkeypatch.setattr(migrations, "VERSION", migrations.OLDEST - 1 + len(steps))
    schemas = [schema_of(steps[:count]) for count in range(len(steps) + 1)]
    shutil.copy(old, path)
    killer.spare(open_with, path, steps)

    for _ in killer.rounds(MIGRATION_KILLS):
        path.unlink()
        shutil.copy(old, path)
        killer.kill(open_with, path, steps)

        db = sqlite3.connect(path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        assert schema_parts(db) == schemas[version - migrations.OLDEST + 1]
        db.close()
        store = store_of(library, "s")
        check(store)
        store.close()
        assert contents(library, "s") == expected


def schema_of(steps: Steps) -> object:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for step in steps:
        migrations.take_step(db, step)
    found = schema_parts(db)
    db.close()
    return found


# --- taking a store elsewhere -----------------------------------------------------------


def take_elsewhere(ledger: Ledger, settings: Settings, file: Path) -> None:
    """In a process of its own: write the store ``s`` into a portable file, and make ``copy`` of that."""
    library = Library.open(settings)
    ledger.begins()
    library.stores.export(OWNER, "s", file)
    ledger.write("exported")
    library.stores.import_file(OWNER, file, "copy")
    ledger.write("imported")
    library.close()


@pytest.mark.posix
def test_exports_and_imports_that_are_killed_leave_a_whole_store_or_none(
    library: Library, notes: Path, tmp_path: Path, killer: Killer
) -> None:
    for number in range(FILES):
        (notes / f"{number}.md").write_text(note(killer.random, number), "utf-8")
    index(library, "s", notes)
    expected = contents(library, "s")
    file = tmp_path / "away.commonplace"
    killer.spare(take_elsewhere, library.settings, file)

    for _ in killer.rounds(TRANSFER_KILLS):
        library.stores.delete(OWNER, "copy")
        file.unlink()
        ledger = killer.kill(take_elsewhere, library.settings, file)

        assert file.exists() >= (["exported"] in ledger)
        assert ("copy" in library.stores.names(OWNER)) >= (["imported"] in ledger)
        if not file.exists():
            library.stores.export(OWNER, "s", file)
        if "copy" not in library.stores.names(OWNER):
            library.stores.import_file(OWNER, file, "copy")
        for name in library.stores.names(OWNER):
            check_library(library, name)
            assert contents(library, name) == expected

    library.stores.delete(OWNER, "copy")
    library.stores.import_file(OWNER, file, "copy")
    assert [path.name for path in library.settings.store_dir.glob(".*")] == []
    assert [path.name for path in tmp_path.glob(".*")] == []
