"""``verify`` finds whatever is wrong with a store; after ``repair`` it answers as if it were new."""

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
from tests.conftest import index
from tests.runner import Gate, Run
from tests.stored import contents, copy_of, file_of, found, outcomes, store_of
from tests.trees import write

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
    found = library.verify(OWNER, "s").findings
    return {finding.check: finding for finding in found if finding.severity == "fault"}


def answers(library: Library) -> list[tuple[str, str, int, float]]:
    hits = [hit for query in QUERIES for hit in library.search(OWNER, query).hits]
    return [(hit.document.path, hit.content, hit.chunk_index, round(hit.score, 6)) for hit in hits]


# --- how files are damaged --------------------------------------------------------------


def lose_a_row_of_an_index(db: sqlite3.Connection) -> None:
    """Write a row while SQLite does not know that the index is there."""
    db.execute("PRAGMA writable_schema = ON")
    part = db.execute(
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = 'links_by_key'"
    )
    part = part.fetchone()
    db.execute("DELETE FROM sqlite_master WHERE name = 'links_by_key'")
    db.execute("PRAGMA writable_schema = RESET")
    db.execute("UPDATE links SET id = id + 100 WHERE target = 'nowhere'")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", part)
    db.execute("PRAGMA writable_schema = RESET")


def turn(column: str) -> str:
    """Two bytes that are no UTF-8 in front of a chunk's ``column``."""
    return f"UPDATE chunks SET {column} = CAST(x'fffe' || CAST({column} AS BLOB) AS TEXT) WHERE {IN_GARDEN}"


IN_GARDEN = "path = 'garden.md'"
GARDEN_ROW = "display = 'garden.md'"
SECRET_ROW = "display = 'secret.md'"
SHED = "(SELECT id FROM documents WHERE display = 'd/shed.md')"
COLUMNS = "title, headings, path, tags, text, title_terms, terms"
FORGET = (
    f"INSERT INTO words (words, rowid, {COLUMNS}) SELECT 'delete', id, {COLUMNS} FROM chunks WHERE id = 2"
)
REPEAT = """UPDATE chunks SET (text, "end", prefix, embed_hash) =
    (SELECT text, chunks.start + length(text), prefix, embed_hash FROM chunks c WHERE chunk_index = 2)
    WHERE chunk_index = 3"""
WORSE_TRIGGER = """DROP TRIGGER chunks_added;
    CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN DELETE FROM chunks; END"""
ODD_LINK = """INSERT INTO links (document_id, type, target, key, heading, label, start)
    VALUES (999, 'embed', 'x', 'x', '', '', 0)"""
NAN = "UPDATE embeddings SET vector = CAST(x'ff7f' || substr(vector, 3) AS BLOB) WHERE id = 2"

DAMAGES: dict[str, tuple[Damage, set[str]]] = {
    "a trigger more": ("CREATE TRIGGER spy AFTER INSERT ON queue BEGIN DELETE FROM queue; END", {"schema"}),
    "a view more": ("CREATE VIEW 'it''s \"mine' AS SELECT 1", {"schema"}),
    "a table more": ("CREATE TABLE mine (x); CREATE INDEX mine_too ON mine (x)", {"schema"}),
    "an index less": ("DROP INDEX chunks_by_hash", {"schema"}),
    "another index": ("DROP INDEX links_by_key; CREATE INDEX links_by_key ON links (label)", {"schema"}),
    "a trigger less": (
        "DROP TRIGGER chunks_removed; DELETE FROM chunks WHERE path = 'secret.md'",
        {"schema", "words", "states", "names"},
    ),
    "another trigger": (WORSE_TRIGGER, {"schema"}),
    "no words": ("DROP TABLE words", {"schema"}),
    "half of the words": ("DROP TABLE words_idx", {"schema"}),
    "other words": ("DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (text)", {"schema"}),
    "a row that an index has lost": (lose_a_row_of_an_index, {"structure"}),
    "a link of nobody": (ODD_LINK, {"references"}),
    "a link to nobody": ("UPDATE links SET target_id = 999 WHERE target = 'd/shed'", {"references", "links"}),
    "a vector of nobody": (
        "INSERT INTO embeddings (identity_id, hash, vector) VALUES (9, x'00', x'00')",
        {"references"},
    ),
    "passages of nobody": (f"DELETE FROM documents WHERE id = {SHED}", {"references", "links"}),
    "a generation that is no number": ("UPDATE meta SET value = 'x' WHERE key = 'generation'", {"about"}),
    "no embedder": ("DELETE FROM meta WHERE key = 'identity_id'", {"about", "unembedded"}),
    "another embedder": ("UPDATE meta SET value = 9 WHERE key = 'identity_id'", {"about", "unembedded"}),
    "a canary that is cut": ("UPDATE identities SET canary = x'00000000'", {"about"}),
    "a canary without direction": ("UPDATE identities SET canary = zeroblob(1024)", {"about"}),
    "metadata that is cut": (f"UPDATE documents SET metadata = '{{' WHERE {GARDEN_ROW}", {"values"}),
    "headings that are no list": (f"UPDATE chunks SET heading_path = '1' WHERE {IN_GARDEN}", {"values"}),
    "a message that is no text": ("UPDATE jobs SET message = CAST(x'ff' AS TEXT)", {"values"}),
    "counts that are no JSON": ("UPDATE jobs SET counts = 'x'", {"values"}),
    "a text that is no text": (turn("text"), {"values", "hashes", "offsets"}),
    "tags that are no text": (turn("tags"), {"values"}),
    "a title that is no text": (turn("title"), {"values", "places"}),
    "lost text": (f"DELETE FROM chunks WHERE document_id = {SHED}", {"states", "names"}),
    "text of a skipped file": (f"UPDATE documents SET state = 'skipped' WHERE {GARDEN_ROW}", {"states"}),
    "another folder": (f"UPDATE documents SET folder = 'x' WHERE {SECRET_ROW}", {"places"}),
    "another path": (f"UPDATE documents SET display = 'x.md' WHERE {SECRET_ROW}", {"places", "names"}),
    "a passage of another path": (f"UPDATE chunks SET path = 'x.md' WHERE {IN_GARDEN}", {"places"}),
    "a name less": ("DELETE FROM names WHERE key = 'd/shed'", {"names", "links"}),
    "a name more": (f"INSERT INTO names VALUES ({SHED}, 'nowhere', 0)", {"names", "links"}),
    "a tag without its parent": ("DELETE FROM tags WHERE folded = 'plants'", {"tags"}),
    "a tag under another": ("UPDATE tags SET folded = 'plant' WHERE folded = 'plants'", {"tags"}),
    "a link to nowhere": ("UPDATE links SET target_id = NULL WHERE target = 'd/shed'", {"links"}),
    "a link elsewhere": (f"UPDATE links SET target_id = {SHED} WHERE target = 'nowhere'", {"links"}),
    "a link by another name": ("UPDATE links SET key = 'x' WHERE target = 'nowhere'", {"links"}),
    "a gap between passages": ("UPDATE chunks SET chunk_index = 9 WHERE chunk_index = 2", {"numbering"}),
    "a passage twice": (REPEAT, {"numbering"}),
    "an end too late": ('UPDATE chunks SET "end" = "end" + 1 WHERE chunk_index = 1', {"offsets"}),
    "a start before the file": (
        'UPDATE chunks SET start = -9, "end" = length(text) - 9 WHERE chunk_index = 1',
        {"offsets"},
    ),
    "lines that run backwards": ("UPDATE chunks SET end_line = 0 WHERE chunk_index = 1", {"offsets"}),
    "another text": (
        "UPDATE chunks SET text = replace(text, 'subject', 'sobject') WHERE chunk_index = 3",
        {"hashes"},
    ),
    "another prefix": (f"UPDATE chunks SET prefix = 'x' WHERE {IN_GARDEN}", {"hashes"}),
    "a vector less": ("DELETE FROM embeddings WHERE id = 2", {"unembedded"}),
    "waiting for nothing": ("INSERT INTO queue (hash) VALUES (x'00')", {"queue"}),
    "waiting again": ("INSERT INTO queue (hash) SELECT hash FROM embeddings WHERE id = 2", {"queue"}),
    "a vector that is cut": ("UPDATE embeddings SET vector = substr(vector, 9) WHERE id = 2", {"vectors"}),
    "a vector without direction": ("UPDATE embeddings SET vector = zeroblob(512) WHERE id = 2", {"vectors"}),
    "a vector that is no number": (NAN, {"vectors"}),
    "an old run that never ended": ("UPDATE jobs SET state = 'running' WHERE id = 1", {"jobs"}),
    "forgotten words": (FORGET, {"words"}),
    "words that are no index, of passages that change": (
        f"UPDATE words_data SET block = x'00' WHERE id > 10; UPDATE chunks SET path = 'x' WHERE {IN_GARDEN}",
        {"words", "places"},
    ),
    "words that are no index": ("UPDATE words_data SET block = x'00' WHERE id > 10", {"words"}),
}


@pytest.fixture(scope="module")
def expected(sound: Library) -> tuple[object, object]:
    """What a store says that was never damaged, and what it answers."""
    found = contents(sound, "s"), answers(sound)
    sound.close()
    return found


def test_a_store_as_indexed_is_sound(sound: Library) -> None:
    health = sound.verify(OWNER, "s", files=True)
    assert health.findings == ()
    assert health.sound
    assert {check for _, checks in DAMAGES.values() for check in checks} < set(health.checks)
    sound.close()


@pytest.mark.parametrize(("how", "broken"), DAMAGES.values(), ids=DAMAGES)
def test_damage_is_found_mended_and_forgotten(
    library: Library, expected: tuple[object, object], how: Damage, broken: set[str]
) -> None:
    damage(library, how)

    assert set(faults(library)) == broken
    assert library.repair(OWNER, "s").done
    assert library.verify(OWNER, "s").sound
    assert library.repair(OWNER, "s").done == ()
    index(library, "s")

    assert library.verify(OWNER, "s").findings == ()
    assert contents(library, "s") == expected[0]
    assert answers(library) == expected[1]


# --- what is said -----------------------------------------------------------------------


def test_a_finding_says_how_many_and_names_five(library: Library) -> None:
    damage(library, 'UPDATE chunks SET "end" = "end" + 1 WHERE path = \'d/long.md\'')

    finding = faults(library)["offsets"]

    assert finding.count == 6
    assert finding.sentence == "6 passages with a place in the file that cannot be."
    assert finding.examples == tuple(f"d/long.md, passage {number}" for number in range(5))


def test_a_vector_that_nobody_needs_is_no_fault(library: Library) -> None:
    damage(
        library,
        "INSERT INTO embeddings (identity_id, hash, vector) SELECT 1, x'00', vector FROM embeddings LIMIT 1",
    )

    health = library.verify(OWNER, "s")

    assert [(finding.check, finding.count) for finding in health.findings] == [("leftovers", 1)]
    assert health.sound
    assert library.repair(OWNER, "s").done == ("1 vector that no passage needs dropped.",)
    assert library.verify(OWNER, "s").findings == ()


def test_files_that_are_no_longer_as_they_were_read_are_noted_when_asked_for(
    library: Library, notes: Path
) -> None:
    for name in ("kept.md", "same size.md", "longer.md", "gone.md"):
        (notes / name).write_text(f"This is {name}.\n")
    library.create_store(OWNER, "files", "hashing")
    index(library, "files", notes)
    (notes / "same size.md").write_text("This was same size.md"[:21] + "\n")
    (notes / "longer.md").write_text("This is longer.md, and longer.\n")
    (notes / "gone.md").unlink()

    health = library.verify(OWNER, "files", files=True)

    [finding] = health.findings
    assert (finding.check, finding.severity, finding.count) == ("files", "note", 3)
    assert sorted(finding.examples) == [
        "gone.md: gone, or not to be read", "longer.md: changed", "same size.md: changed",
    ]  # fmt: skip
    assert health.sound
    assert library.verify(OWNER, "files").findings == ()


def test_verify_changes_nothing(library: Library) -> None:
    before = library.generations(OWNER)
    library.verify(OWNER, "s")
    assert library.generations(OWNER) == before


def test_a_store_can_be_verified_while_it_is_indexed(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.create_store(OWNER, "busy", "hashing")
    library.add_source(OWNER, "busy", notes, ("**/*",))
    library.request_index(OWNER, "busy")
    store, gate = store_of(library, "busy"), Gate()
    run = Run(store, gate)
    gate.wait()

    assert library.verify(OWNER, "busy").findings == ()
    with pytest.raises(StoreBusy) as busy:
        library.repair(OWNER, "busy")

    gate.open()
    run.end()
    store.close()
    assert busy.value.suggestion == "Nothing was repaired; cancel the run, or wait for its end."


# --- what repair does not do ------------------------------------------------------------


def test_repair_leaves_a_sound_store_alone(library: Library) -> None:
    before = library.generations(OWNER)
    assert library.repair(OWNER, "s").done == ()
    assert library.generations(OWNER) == before


def test_a_document_that_is_not_trusted_is_found_until_it_is_read_again(library: Library) -> None:
    damage(library, 'UPDATE chunks SET "end" = "end" + 1 WHERE path = \'garden.md\'')

    before = library.generations(OWNER)

    repaired = library.repair(OWNER, "s")

    assert library.generations(OWNER) > before
    assert repaired.done == ("1 passage with a possible place again.",)
    assert repaired.reread == 1
    assert found(library, "basil grows") == ["garden.md"]
    assert outcomes(index(library, "s")) == {"garden.md": "reread"}
    assert library.repair(OWNER, "s").reread == 0


def test_a_document_that_is_not_trusted_is_read_again_where_it_was_moved_to(
    library: Library, notes: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    index(library, "own", notes)
    library.close()
    db = sqlite3.connect(library.settings.store_dir / "own.db")
    db.execute("UPDATE chunks SET text = 'The quagga sleeps.'")
    db.commit()
    db.close()
    library.repair(OWNER, "own")
    (notes / "a.md").rename(notes / "b.md")

    index(library, "own")

    assert found(library, "zebra sleeps", "own") == ["b.md"]
    assert found(library, "quagga sleeps", "own") == []


def test_a_strange_trigger_never_acts_while_a_store_is_repaired(library: Library) -> None:
    damage(library, 'UPDATE chunks SET "end" = "end" + 1')
    damage(library, "CREATE TRIGGER spy AFTER UPDATE ON chunks BEGIN UPDATE documents SET private = 0; END")

    library.repair(OWNER, "s")

    assert {each.path: each.private for each in library.documents(OWNER, "s")}["secret.md"]


def test_patterns_that_cannot_be_read_are_beyond_repair(library: Library) -> None:
    damage(library, "UPDATE sources SET include = 'x'")
    assert set(faults(library)) == {"values"}
    with pytest.raises(StoreError, match="the patterns of a folder cannot be read"):
        library.repair(OWNER, "s")


@pytest.mark.parametrize("how", ["DROP TABLE meta", "DELETE FROM meta WHERE key = 'chunk_sizes'"])
def test_a_store_that_does_not_say_what_it_is_is_called_damaged(library: Library, how: str) -> None:
    damage(library, how)
    with pytest.raises(StoreError, match=r"'s' (is damaged|cannot be read)") as broken:
        library.verify(OWNER, "s")
    assert "index its folders" in broken.value.suggestion
