"""A portable file may come from anywhere: what is not exactly one of ours makes no store and runs nothing."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, RagError, StoreError
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.index import portable_file
from tests.index.portable_file import MANIFEST, STORE

pytestmark = pytest.mark.thorough


@pytest.fixture
def file(library: Library, notes: Path, tmp_path: Path) -> Path:
    """A portable file, whose store is gone."""
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# B\n\nThe [[a]] wakes.\n", "utf-8")
    index(library, "s", notes)
    path = library.stores.export(OWNER, "s", tmp_path).path
    library.stores.delete(OWNER, "s")
    return path


def refusal(library: Library, file: Path, kind: type[RagError] = StoreError) -> str:
    """What is said of a file that is not taken in, once it is sure that nothing is left of it."""
    with pytest.raises(kind) as refused:
        library.stores.import_file(OWNER, file)
    assert library.stores.names(OWNER) == []
    assert [path.name for path in library.settings.store_dir.glob("*")] == []
    assert refused.value.suggestion
    return refused.value.message


# --- the archive ------------------------------------------------------------------------

Spoil = Callable[[Path], object]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def added(path: Path, name: str) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        archive.writestr(name, b"x")


def without(path: Path, name: str) -> None:
    kept = portable_file.members(path)
    with zipfile.ZipFile(path, "w") as archive:
        for other in kept.keys() - {name}:
            archive.writestr(other, kept[other])


def encrypted(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        place = archive.start_dir
    data = bytearray(path.read_bytes())
    data[place + 8] |= 1  # the flags of the first member
    path.write_bytes(data)


def packed_otherwise(path: Path) -> None:
    kept = portable_file.members(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, data in kept.items():
            archive.writestr(name, data)


def leading_out(path: Path) -> None:
    without(path, MANIFEST)
    added(path, "../../x")


def many_members(path: Path) -> None:
    """A directory of megabytes, whose length is in the long end record."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(70_000):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")


ARCHIVES: dict[str, tuple[Spoil, str]] = {
    "empty": (lambda path: path.write_bytes(b""), "not an export"),
    "cut off": (cut, "not an export"),
    "one bit": (flip, "damaged"),
    "one more member": (lambda path: added(path, "more.txt"), "manifest.json and store.db, and nothing else"),
    "the same twice": (lambda path: added(path, STORE), "manifest.json and store.db, and nothing else"),
    "a name that leads out": (leading_out, "manifest.json and store.db, and nothing else"),
    "no manifest": (lambda path: without(path, MANIFEST), "manifest.json and store.db, and nothing else"),
    "no store": (lambda path: without(path, STORE), "manifest.json and store.db, and nothing else"),
    "encrypted": (encrypted, "encrypted"),
    "another packing": (packed_otherwise, "compression is not supported"),
    "many members": (many_members, "more than manifest.json and store.db"),
}


@pytest.mark.parametrize(("spoil", "said"), ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_that_is_not_ours_is_refused(
    library: Library, file: Path, spoil: Spoil, said: str
) -> None:
    spoil(file)
    message = refusal(library, file)
    assert message.startswith("'s.commonplace' cannot be imported. ")
    assert said in message


def _pipe(path: Path) -> None:
    make = getattr(os, "mkfifo", None)
    if make is None:
        pytest.skip("this system has no named pipes")
    make(path)


@pytest.mark.parametrize("make", [os.mkdir, _pipe, lambda path: None], ids=["folder", "pipe", "nothing"])
def test_what_is_no_file_is_not_opened(
    library: Library, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    library.settings.store_dir.mkdir(parents=True)
    make(tmp_path / "x.commonplace")
    assert "There is no file" in refusal(library, tmp_path / "x.commonplace", InvalidInput)


def test_no_more_is_unpacked_than_there_is_room_for(library: Library, file: Path) -> None:
    about = portable_file.manifest(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(about))
        archive.writestr(STORE, b"x" * 1000)
        archive.filelist[1].file_size = 10**15
    assert "takes 1000000.0 GB" in refusal(library, file)


def test_a_member_that_is_longer_than_it_says_is_refused(library: Library, file: Path) -> None:
    store, about = portable_file.members(file)[STORE], portable_file.manifest(file)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(about))
        archive.writestr(STORE, store)
        archive.filelist[1].file_size = 1000
    assert "damaged" in refusal(library, file)


# --- the manifest -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "[" * 100_000,
        '{"format": "1", "schema": 1, "store": {"name": "s"}}',
        '{"format": true, "schema": 1, "store": {"name": "s"}}',
        '{"format": 1, "store": {"name": "s"}}',
        '{"format": 1, "schema": 1, "store": {}}',
    ],
    ids=lambda text: text[:60],
)
def test_a_manifest_without_what_an_import_needs_is_refused(library: Library, file: Path, text: str) -> None:
    store = portable_file.members(file)[STORE]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(STORE, store)
        archive.writestr(MANIFEST, text)
    assert "Its manifest" in refusal(library, file)


@pytest.mark.parametrize("what", ["format", "schema"])
def test_a_file_of_a_newer_version_says_so(library: Library, file: Path, what: str) -> None:
    about = portable_file.manifest(file) | {what: 99, "program": "7.0.0"}
    about.pop("store")  # who knows what a newer one holds
    portable_file.write(file, portable_file.members(file)[STORE], about)
    assert refusal(library, file) == (
        f"'s.commonplace' was written by a newer Commonplace ('7.0.0', {what} 99)."
    )


# --- the store in it --------------------------------------------------------------------

TRIGGER = "CREATE TRIGGER {} AFTER INSERT ON jobs BEGIN DELETE FROM documents; END"


def rewritten(name: str, old: str, new: str) -> Callable[[sqlite3.Connection], object]:
    """Change what the schema says of one of its parts."""

    def change(db: sqlite3.Connection) -> None:
        sql = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
        assert old in sql
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (sql.replace(old, new), name))

    return change


def hidden_trigger(db: sqlite3.Connection) -> None:
    """One whose name is kept for SQLite's own tables."""
    db.execute(TRIGGER.format("evil"))
    db.execute(
        "UPDATE sqlite_master SET name = 'sqlite_evil', sql = replace(sql, 'evil', 'sqlite_evil')"
        " WHERE name = 'evil'"
    )


def trigger_before_its_namesake(db: sqlite3.Connection) -> None:
    db.execute(TRIGGER.format("exclusions"))
    db.execute("UPDATE sqlite_master SET rowid = rowid + 1000 WHERE name = 'exclusions' AND type = 'table'")


SCHEMAS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "a trigger": lambda db: db.execute(TRIGGER.format("evil")),
    "a trigger called like a table": lambda db: db.execute(TRIGGER.format("documents")),
    "a trigger that hides behind a table": trigger_before_its_namesake,
    "a trigger called like a table of the word index": lambda db: db.execute(TRIGGER.format("words_data")),
    "a trigger called like one of SQLite's": hidden_trigger,
    "a trigger that does more": rewritten("chunks_removed", "BEGIN", "BEGIN DELETE FROM links;"),
    "a view": lambda db: db.execute("CREATE VIEW evil AS SELECT * FROM documents"),
    "a table": lambda db: db.execute("CREATE TABLE evil (x)"),
    "an index": lambda db: db.execute("CREATE INDEX evil ON documents (upper(title))"),
    "a missing index": lambda db: db.execute("DROP INDEX tags_by_name"),
    "a column that computes": lambda db: db.execute("ALTER TABLE tags ADD COLUMN evil TEXT AS (hex(tag))"),
    "a default that computes": rewritten(
        "jobs", "message TEXT NOT NULL DEFAULT ''", "message TEXT DEFAULT (1)"
    ),
    "another word index": rewritten("words", "porter unicode61", "trigram --"),
    "a word index changed inside quotes": rewritten("words", "Co M*", 'Co --\'", "\nM*'),
    "a part of the word index that is a module": rewritten(
        "words_config",
        "CREATE TABLE 'words_config'(k PRIMARY KEY, v) WITHOUT ROWID",
        "CREATE VIRTUAL TABLE words_config USING fts5vocab('words', 'row')",
    ),
}


@pytest.mark.parametrize("change", SCHEMAS.values(), ids=SCHEMAS)
def test_a_store_with_anything_but_our_schema_is_refused(
    library: Library, file: Path, change: Callable[[sqlite3.Connection], object]
) -> None:
    portable_file.changed(file, change)
    assert "Its schema is not that of a store" in refusal(library, file)


PRAGMAS = {
    "PRAGMA application_id = 1": "It does not hold a Commonplace store.",
    "PRAGMA user_version = 1": "Its store and its manifest have different schema versions.",
    "PRAGMA user_version = -1": "Its store and its manifest have different schema versions.",
}


@pytest.mark.parametrize(("pragma", "said"), PRAGMAS.items())
def test_a_store_that_is_something_else_is_refused(
    library: Library, file: Path, pragma: str, said: str
) -> None:
    portable_file.changed(file, lambda db: db.execute(pragma))
    assert said in refusal(library, file)


DAMAGES: dict[str, str] = {
    "a row that belongs to nothing": "UPDATE chunks SET document_id = 99 WHERE id IN"
    " (SELECT max(id) FROM chunks)",
    "a text that is none": "UPDATE identities SET provider = CAST(x'fffe41' AS TEXT)",
    "an embedder that is not known": "UPDATE meta SET value = 'gpt' WHERE key = 'embedder'",
    "sizes that cannot be": "UPDATE meta SET value = '{\"text\": [10, 20]}' WHERE key = 'chunk_sizes'",
    "nothing about itself": "DELETE FROM meta WHERE key = 'id'",
    "a place that cannot be": "UPDATE chunks SET start_line = -5",
    "parts of a passage that are no list": "UPDATE chunks SET kept = -1",
    "parts of a passage that are no spans": "UPDATE chunks SET kept = '[1, null]'",
    "parts of a passage that are no numbers": "UPDATE chunks SET kept = '[[0, \"x\"]]'",
    "metadata that is none": "UPDATE documents SET metadata = '[]'",
    "folders that are no list of globs": "UPDATE sources SET include = '[[1]]'",
}


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=DAMAGES)
def test_a_store_that_cannot_be_used_is_refused(library: Library, file: Path, sql: str) -> None:
    portable_file.changed(file, lambda db: db.execute(sql))
    assert "cannot be imported" in refusal(library, file)


def test_a_damaged_page_is_found(library: Library, file: Path) -> None:
    store = bytearray(portable_file.members(file)[STORE])
    aside = file.with_suffix(".db")
    aside.write_bytes(store)
    db = sqlite3.connect(aside)
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks_by_hash'").fetchone()[0]
    db.close()
    start = (page - 1) * 8192
    store[start : start + 8192] = bytes(8192)
    portable_file.with_store(file, bytes(store))
    assert "Its store is damaged." in refusal(library, file)


def test_runs_and_requests_of_another_computer_are_forgotten(library: Library, file: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute(
            "INSERT INTO jobs (state, start_time, counts) VALUES ('running', 'soon', '{\"x\": \"y\"}')"
        )
        db.execute("INSERT INTO requests (kind, created_at) VALUES ('index', '')")

    portable_file.changed(file, change)
    library.stores.import_file(OWNER, file)
    assert library.jobs.all(OWNER, "s") == []
    assert not library.jobs.requested(OWNER, "s")


def test_folders_are_never_taken_for_here_when_they_cannot_be(library: Library, file: Path) -> None:
    portable_file.changed(file, lambda db: db.execute("UPDATE sources SET root = CAST('.' || x'00' AS BLOB)"))
    assert library.stores.import_file(OWNER, file).sources[0].paused
    library.stores.delete(OWNER, "s")
    portable_file.changed(file, lambda db: db.execute("UPDATE sources SET root = CAST('.' AS BLOB)"))
    assert library.stores.import_file(OWNER, file).sources[0].paused
