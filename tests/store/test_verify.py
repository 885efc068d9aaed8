"""``verify`` finds what is wrong with a store; after ``repair`` it answers as if it were new."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import StoreBusy, StoreError
from rag_core.library import Library
from rag_core.reports import Finding
from rag_core.types import OWNER
from tests.conftest import index, stores_of
from tests.support.runner import Gate, Run
from tests.support.stored import contents, copy_of, file_of, store_of
from tests.support.trees import write

GARDEN = """---
tags: [plants/herbs]
aliases: [The Plot]
---
# Garden

The basil grows. [[d/shed]]
"""
PART = "## Part {0}\n\nIt tells of subject{0}, at some length, so that it is a passage of its own.\n\n"
NOTES = {
    "garden.md": GARDEN,
    "d/shed.md": "# Shed\n\nThe rake hangs there, and [the plot](../garden.md) lies outside. [[nowhere]]\n",
    "d/long.md": "# Long\n\n" + "".join(map(PART.format, range(6))),
    "secret.md": "---\nprivate: true\n---\nThe key is under the stone. [[The Plot]]\n",
    "empty.md": "",
    "photo.bin": "\0\1\2" * 50,
}
QUERIES = ("basil", "the rake hangs", "subject3 at some length", "stone", "plot")

Damage = str | Callable[[sqlite3.Connection], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with one store ``s`` that was indexed twice; nobody changes it."""
    folder = tmp_path_factory.mktemp("verify")
    write(folder / "notes", NOTES)
    library = Library.open(Settings(folder / "data", folder / "models", ()))
    index(library, "s", folder / "notes")
    index(library, "s")
    library.close()  # the log is folded into the file, which can be copied
    yield library
    library.close()


@pytest.fixture
def library(sound: Library, tmp_path: Path) -> Iterator[Library]:
    """A library of one's own with a copy of the store."""
    with copy_of(sound, tmp_path) as opened:
        yield opened


def damage(library: Library, how: Damage) -> None:
    """Do something to the store's file that Commonplace never would."""
    db = sqlite3.connect(file_of(library), isolation_level=None)
    if isinstance(how, str):
        db.executescript(how)
    else:
        how(db)
    db.close()


def faults(library: Library) -> dict[str, Finding]:
    found = library.upkeep.verify(OWNER, "s").findings
    return {finding.check: finding for finding in found if finding.severity == "fault"}


def answers(library: Library) -> list[tuple[str, str, int, float]]:
    hits = [hit for query in QUERIES for hit in library.search(OWNER, query).hits]
    return [(hit.document.path, hit.content, hit.chunk_index, round(hit.score, 6)) for hit in hits]


# --- what is found ----------------------------------------------------------------------


def lose_a_row_of_an_index(db: sqlite3.Connection) -> None:
    """Write a row while SQLite does not know that the index is there."""
    db.execute("PRAGMA writable_schema = ON")
    part = db.execute(
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'links_by_target'"
    )
    part = part.fetchone()
    db.execute("DELETE FROM sqlite_master WHERE name = 'links_by_target'")
    db.execute("PRAGMA writable_schema = RESET")
    db.execute("UPDATE links SET id = id + 100 WHERE target = 'nowhere'")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", part)
    db.execute("PRAGMA writable_schema = RESET")


IN_GARDEN = "path = 'garden.md'"
GARDEN_ROW = "display = 'garden.md'"
SHED = "(SELECT id FROM documents WHERE display = 'd/shed.md')"
COLUMNS = "title, headings, path, tags, text, title_terms, terms"
FORGET = (
    f"INSERT INTO words (words, rowid, {COLUMNS}) SELECT 'delete', id, {COLUMNS} FROM chunks"
    " WHERE id = (SELECT max(id) FROM chunks)"
)
TAGS_OF_BYTES = f"UPDATE chunks SET tags = CAST(x'fffe' AS TEXT) WHERE {IN_GARDEN}"
NAN = "UPDATE embeddings SET vector = CAST(x'ff7f' || substr(vector, 3) AS BLOB) WHERE id = 2"
OTHER_TEXT = "UPDATE chunks SET text = replace(text, 'subject', 'sobject') WHERE chunk_index = 3"

DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "a trigger more": ("CREATE TRIGGER spy AFTER INSERT ON queue BEGIN DELETE FROM queue; END", {"schema"}),
    "a table more": ("CREATE TABLE mine (x); CREATE INDEX mine_too ON mine (x)", {"schema"}),
    "an index less": ("DROP INDEX chunks_by_hash", {"schema"}),
    "no words": ("DROP TABLE words", {"schema"}),
    "a row that an index has lost": (lose_a_row_of_an_index, {"structure"}),
    "a link to nobody": ("UPDATE links SET target_id = 999 WHERE target = 'd/shed'", {"structure", "links"}),
    "passages of nobody": (f"DELETE FROM documents WHERE id = {SHED}", {"structure", "links"}),
    "a generation that is no number": ("UPDATE meta SET value = 'x' WHERE key = 'generation'", {"values"}),
    "metadata that is cut": (
        f"UPDATE documents SET metadata = '{{' WHERE {GARDEN_ROW}",
        {"values", "documents"},
    ),
    "a message that is no text": ("UPDATE jobs SET message = CAST(x'ff' AS TEXT)", {"values"}),
    "counts that are no JSON": ("UPDATE jobs SET counts = 'x'", {"values"}),
    "tags that are no text": (TAGS_OF_BYTES, {"documents"}),
    "lost text": (f"DELETE FROM chunks WHERE document_id = {SHED}", {"documents"}),
    "another date": (f"UPDATE documents SET date = '1999-01-01' WHERE {GARDEN_ROW}", {"documents"}),
    "a note that is not private any more": (
        "UPDATE documents SET private = 0 WHERE display = 'secret.md'",
        {"documents"},
    ),
    "a rule that nobody made": (f"UPDATE documents SET private = 2 WHERE {GARDEN_ROW}", {"private"}),
    "a name less": ("DELETE FROM names WHERE key = 'd/shed'", {"documents", "links"}),
    "a tag under another": ("UPDATE tags SET folded = 'plant' WHERE folded = 'plants'", {"documents"}),
    "a link elsewhere": (f"UPDATE links SET target_id = {SHED} WHERE target = 'nowhere'", {"links"}),
    "a link of other words": ("UPDATE links SET label = 'x' WHERE target = 'nowhere'", {"documents"}),
    "a gap between passages": ("UPDATE chunks SET chunk_index = 9 WHERE chunk_index = 2", {"documents"}),
    "lines that run backwards": (
        "UPDATE chunks SET end_line = 0 WHERE chunk_index = 1",
        {"documents", "places"},
    ),
    "another text": (OTHER_TEXT, {"documents"}),
    "a vector less": ("DELETE FROM embeddings WHERE id = 2", {"unembedded", "structure"}),
    "signs of another vector": ("UPDATE signs SET bits = zeroblob(length(bits)) WHERE id = 2", {"vectors"}),
    "a vector that is cut": ("UPDATE embeddings SET vector = substr(vector, 9) WHERE id = 2", {"vectors"}),
    "a vector that is no number": (NAN, {"vectors"}),
    "a vector of another text": (
        "UPDATE embeddings SET hash = x'00' WHERE id = 2",
        {"vectors", "unembedded"},
    ),
    "forgotten words": (FORGET, {"words"}),
    "words that are no index": ("UPDATE words_data SET block = x'00' WHERE id > 10", {"words"}),
}


@pytest.fixture(scope="module")
def expected(sound: Library) -> tuple[object, object]:
    """What a store says that was never damaged, and what it answers."""
    found = contents(sound, "s"), answers(sound)
    sound.close()
    return found


def test_a_store_as_indexed_is_sound(sound: Library) -> None:
    health = sound.upkeep.verify(OWNER, "s", files=True)
    assert health.findings == ()
    assert health.sound
    assert {check for _, checks in DAMAGES.values() for check in checks} < set(health.checks)
    sound.close()


@pytest.mark.parametrize(("how", "broken"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found_and_mended(
    library: Library, expected: tuple[object, object], how: Damage, broken: set[str]
) -> None:
    damage(library, how)

    assert set(faults(library)) == broken
    assert library.upkeep.repair(OWNER, "s").done
    assert library.upkeep.verify(OWNER, "s").sound
    index(library, "s")

    assert library.upkeep.verify(OWNER, "s").findings == ()
    assert contents(library, "s") == expected[0]
    assert answers(library) == expected[1]


def test_a_damaged_index_of_furniture_is_found(tmp_path: Path) -> None:
    with stores_of(tmp_path, {"s/a.md": "# A\n\nText.\n\n%% made by a template %%\n"}) as library:
        damage(library, "UPDATE furniture_words_data SET block = x'00' WHERE id > 10")
        assert set(faults(library)) == {"words"}


# --- what is said -----------------------------------------------------------------------


def test_a_finding_says_how_many_and_names_five(library: Library) -> None:
    damage(library, "UPDATE embeddings SET crc32 = crc32 + 1 WHERE id < 7")

    finding = faults(library)["vectors"]

    assert finding.count == 6
    assert finding.sentence == "6 vectors have damaged numbers."
    assert len(finding.examples) == 5


def test_files_that_are_no_longer_as_they_were_read_are_noted_when_asked_for(
    library: Library, notes: Path
) -> None:
    for name in ("kept.md", "same size.md", "longer.md", "gone.md"):
        (notes / name).write_text(f"This is {name}.\n", "utf-8")
    library.create_store(OWNER, "files", "hashing")
    index(library, "files", notes)
    (notes / "same size.md").write_text("This was same size.md"[:21] + "\n", "utf-8")
    (notes / "longer.md").write_text("This is longer.md, and longer.\n", "utf-8")
    (notes / "gone.md").unlink()

    health = library.upkeep.verify(OWNER, "files", files=True)

    [finding] = health.findings
    assert (finding.check, finding.severity, finding.count) == ("files", "note", 3)
    assert sorted(finding.examples) == [
        "gone.md: gone, or not to be read",
        "longer.md: changed",
        "same size.md: changed",
    ]
    assert health.sound
    assert library.upkeep.verify(OWNER, "files").findings == ()


def test_verify_changes_nothing(library: Library) -> None:
    before = library.stores.generations(OWNER)
    library.upkeep.verify(OWNER, "s")
    assert library.stores.generations(OWNER) == before


def test_a_store_can_be_verified_while_it_is_indexed(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    library.create_store(OWNER, "busy", "hashing")
    library.add_source(OWNER, "busy", notes, ("**/*",))
    library.jobs.request(OWNER, "busy")
    store, gate = store_of(library, "busy"), Gate()
    run = Run(store, gate)
    gate.wait()

    assert library.upkeep.verify(OWNER, "busy").findings == ()
    with pytest.raises(StoreBusy) as busy:
        library.upkeep.repair(OWNER, "busy")

    gate.open()
    run.end()
    store.close()
    said = "Nothing was repaired. Cancel the run (`commonplace jobs --cancel`), or wait for its end."
    assert busy.value.suggestion == said


def test_repair_leaves_a_sound_store_alone(library: Library) -> None:
    before = library.stores.generations(OWNER)
    assert library.upkeep.repair(OWNER, "s").done == ()
    assert library.stores.generations(OWNER) == before


@pytest.mark.parametrize("how", ["DROP TABLE meta", "DELETE FROM meta WHERE key = 'chunk_sizes'"])
def test_a_store_that_does_not_say_what_it_is_is_called_damaged(library: Library, how: str) -> None:
    damage(library, how)
    with pytest.raises(StoreError, match=r"'s' (is damaged|cannot be read)") as broken:
        library.upkeep.verify(OWNER, "s")
    assert "repair the store" in broken.value.suggestion
