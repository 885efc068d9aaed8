"""The owner's rules that keep notes private: what they match, where they are kept, what follows them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store, privacy
from rag_core.store import outbox as rows
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.stored import store_of
from tests.support.trees import write

GUEST = Viewer("ada@example.org", stores=frozenset({"notes", "sea"}))
NOTES = {
    "tea.md": "# Tea\n\nThe kettle whistles.\n",
    "my.key.md": "# Key\n\nThe key of the shed.\n",
    "journal/monday.md": "# Monday\n\nNothing happened.\n",
    "Journal/tuesday.md": "# Tuesday\n\nIt rained.\n",
    "trips/diary/rome.md": "# Rome\n\nThe fountain.\n",
    "own.md": "---\nprivate: true\n---\n# Own\n\nMy own word.\n",
}


@pytest.fixture
def shelf(library: Library, notes: Path) -> Library:
    write(notes, NOTES)
    index(library, "notes", notes)
    return library


def seen(library: Library, viewer: Viewer = GUEST, store: str = "notes") -> set[str]:
    return {document.path for document in library.documents.all(viewer, store)}


def hidden(library: Library, *globs: str) -> set[str]:
    """What these rules hide beside what says so itself."""
    library.privacy.set(OWNER, "notes", globs)
    return seen(library, OWNER) - seen(library) - {"own.md"}


# --- what a rule matches ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("journal/**", {"journal/monday.md", "Journal/tuesday.md"}),
        ("journal", {"journal/monday.md", "Journal/tuesday.md"}),
        ("./journal/", {"journal/monday.md", "Journal/tuesday.md"}),
        ("*.key.md", {"my.key.md"}),
        ("**/diary/**", {"trips/diary/rome.md"}),
        ("diary/**", set()),
        ("*.md", {"tea.md", "my.key.md"}),
        ("{tea,trips/**/rome}.md", {"tea.md", "trips/diary/rome.md"}),
        ("**", set(NOTES) - {"own.md"}),
        ("tea.md", {"tea.md"}),
        ("tea", set()),
    ],
)
def test_a_rule_is_a_pattern_as_for_folders(shelf: Library, glob: str, expected: set[str]) -> None:
    assert hidden(shelf, glob) == expected


def test_a_rule_matches_whatever_the_form_of_the_letters_and_hidden_folders(
    library: Library, notes: Path
) -> None:
    composed = unicodedata.normalize("NFC", "Café/Grüße.md")
    write(notes, {unicodedata.normalize("NFD", composed): "Hello.\n", ".secret/a.md": "Hush.\n"})
    index(library, "notes", notes, "**/*", ".secret/**")
    assert hidden(library, composed) == {composed}
    assert hidden(library, unicodedata.normalize("NFD", composed)) == {composed}
    assert hidden(library, "*/*.md") == {composed, ".secret/a.md"}


def test_a_rule_matches_below_every_folder_and_as_the_path_is_shown(library: Library, tmp_path: Path) -> None:
    write(tmp_path, {"one/journal/a.md": "A.\n", "two/journal/b.md": "B.\n", "two/c.md": "C.\n"})
    index(library, "notes", tmp_path / "one")
    library.add_source(OWNER, "notes", tmp_path / "two", ("**/*",))
    index(library, "notes")
    assert hidden(library, "journal/**") == {"journal/a.md", "two/journal/b.md"}
    assert hidden(library, "two/journal/**") == {"two/journal/b.md"}
    assert hidden(library, "two") == {"two/journal/b.md", "two/c.md"}


@pytest.mark.parametrize("glob", ["", "  ", "/etc/**", "../x", "~/notes", "a\0b", "{a,b}" * 20])
def test_a_pattern_that_cannot_be_is_refused_and_nothing_changes(shelf: Library, glob: str) -> None:
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    for act in (
        lambda: shelf.privacy.set(OWNER, "notes", ["journal/**", glob]),
        lambda: shelf.privacy.change(OWNER, "notes", hide=[glob]),
        lambda: shelf.privacy.hidden_by(OWNER, "notes", glob),
    ):
        with pytest.raises(InvalidInput):
            act()
    assert tuple(shelf.privacy.report(OWNER, "notes").rules) == ("tea.md",)


def test_why_a_document_is_private_is_told(shelf: Library) -> None:
    shelf.privacy.set(OWNER, "notes", ["journal/**", "own.md"])
    why = {document.path: document.private_by for document in shelf.documents.all(OWNER, "notes")}
    assert (why["tea.md"], why["journal/monday.md"], why["own.md"]) == ((), ("rule",), ("note", "rule"))


# --- what follows it --------------------------------------------------------------------


def test_a_rule_holds_for_what_comes_and_moves_later(shelf: Library, notes: Path) -> None:
    shelf.privacy.set(OWNER, "notes", ["journal/**"])
    (notes / "journal" / "friday.md").write_text("# Friday\n\nThe secret plan.\n", "utf-8")
    (notes / "tea.md").rename(notes / "journal" / "tea.md")
    (notes / "journal" / "monday.md").rename(notes / "monday.md")
    index(shelf, "notes")
    assert seen(shelf) == {"my.key.md", "monday.md", "trips/diary/rome.md"}


def test_a_note_is_private_by_its_word_or_by_a_rule(shelf: Library, notes: Path) -> None:
    shelf.privacy.set(OWNER, "notes", ["own.md"])
    shelf.privacy.set(OWNER, "notes", [])
    assert "own.md" not in seen(shelf)
    shelf.privacy.set(OWNER, "notes", ["own.md"])
    (notes / "own.md").write_text("# Own\n\nNo word of mine any more.\n", "utf-8")
    index(shelf, "notes")
    assert "own.md" not in seen(shelf)
    shelf.privacy.set(OWNER, "notes", [])
    assert "own.md" in seen(shelf)


@pytest.mark.posix
def test_both_marks_stay_while_a_file_cannot_be_read(shelf: Library, notes: Path) -> None:
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    for name in ("tea.md", "own.md"):
        (notes / name).write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(shelf, "notes")
    states = {document.path: document.state for document in shelf.documents.all(OWNER, "notes")}
    assert states["tea.md"] == states["own.md"] == "failed"
    assert not {"tea.md", "own.md"} & seen(shelf)
    shelf.privacy.set(OWNER, "notes", [])
    assert seen(shelf) & {"tea.md", "own.md"} == {"tea.md"}


def test_a_private_file_without_text_is_marked_by_rule_alone(shelf: Library, notes: Path) -> None:
    shelf.privacy.set(OWNER, "notes", ["own.md"])
    (notes / "own.md").write_bytes(b"\x00\x01\x02" * 50)
    index(shelf, "notes")
    document = next(each for each in shelf.documents.all(OWNER, "notes") if each.path == "own.md")
    assert (document.state, document.private_by) == ("skipped", ("rule",))


def test_no_file_is_read_and_every_cache_is_met_with_a_new_generation(shelf: Library, notes: Path) -> None:
    before = shelf.stores.generations(OWNER, ["notes"])
    for path in notes.rglob("*.md"):
        path.unlink()
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    assert "tea.md" not in seen(shelf)
    assert shelf.stores.generations(OWNER, ["notes"]) != before


# --- where the rules are kept -----------------------------------------------------------


def test_rules_go_along_with_a_rename_an_export_and_an_import(shelf: Library, tmp_path: Path) -> None:
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    shelf.stores.rename(OWNER, "notes", "sea")
    assert tuple(shelf.privacy.report(OWNER, "sea").rules) == ("tea.md",)
    shelf.stores.export(OWNER, "sea", tmp_path)
    shelf.stores.delete(OWNER, "sea")
    shelf.stores.import_file(OWNER, tmp_path / "sea.commonplace", "notes")
    assert tuple(shelf.privacy.report(OWNER, "notes").rules) == ("tea.md",)
    assert not {"tea.md", "own.md"} & seen(shelf)


def test_a_store_that_knows_of_no_rules_has_none(shelf: Library) -> None:
    store = store_of(shelf, "notes")
    with store.read() as db:
        assert db.execute("SELECT 1 FROM meta WHERE key = 'private_rules'").fetchone() is None
    store.close()
    assert tuple(shelf.privacy.report(OWNER, "notes").rules) == ()


def faults(library: Library) -> dict[str, tuple[str, ...]]:
    return {each.check: each.examples for each in library.upkeep.verify(OWNER, "notes").findings}


def test_marks_that_the_rules_contradict_are_found_and_mended(shelf: Library) -> None:
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    store = store_of(shelf, "notes")
    with store.write() as db:
        db.execute("UPDATE documents SET private = 0 WHERE display = 'tea.md'")
    store.close()
    assert faults(shelf) == {"private": ("tea.md",)}
    shelf.upkeep.repair(OWNER, "notes")
    assert faults(shelf) == {}
    assert "tea.md" not in seen(shelf)


@pytest.mark.parametrize("written", ["", "tea.md", "{}", "[1]", '["/etc"]', "[" * 100_000])
def test_rules_that_cannot_be_read_hide_everything_until_they_are_repaired(
    shelf: Library, written: str
) -> None:
    shelf.privacy.set(OWNER, "notes", ["tea.md"])
    before = seen(shelf)
    store = store_of(shelf, "notes")
    with store.write() as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'private_rules'", (written,))
        privacy.apply(db)
    store.close()
    assert {"values", "decisions"} <= set(faults(shelf))
    assert seen(shelf) == set()
    shelf.upkeep.repair(OWNER, "notes")
    assert tuple(shelf.privacy.report(OWNER, "notes").rules) == ("tea.md",)
    assert seen(shelf) == before


# --- other machines ---------------------------------------------------------------------


def test_texts_that_become_private_are_not_sent_to_an_embedder_elsewhere(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule is made while a run embeds: what it has not sent it does not send."""
    sent: list[str] = []
    plain = Hashing.embed_documents

    def embed(self: Hashing, texts: list[str]) -> object:
        sent.extend(texts)
        if any("Monday" in text or "tea" in text.lower() for text in texts):
            library.privacy.set(OWNER, "notes", ["*.md"])
        return plain(self, texts)

    monkeypatch.setattr(Hashing, "server", "http://models.example", raising=False)
    monkeypatch.setattr(Hashing, "embed_documents", embed)
    write(notes, {f"{n}.md": f"The secret {n}.\n" for n in range(40)} | {"z/tea.md": "Tea.\n"})
    library.create_store(OWNER, "notes", "hashing")
    job = index(library, "notes", notes)
    secrets = [text for text in sent if "secret" in text]
    assert len(secrets) < 40
    assert "Not sent to models.example: " in job.message
    assert library.stores.info(OWNER, "notes").withheld == 40 - len(secrets)
    assert library.privacy.set(OWNER, "notes", []).due
    library.jobs.run(OWNER, "notes")
    assert library.stores.info(OWNER, "notes").withheld == 0
    assert len([text for text in sent if "secret" in text]) == 40


@pytest.fixture
def sea(library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with copies in an index on another machine."""
    write(notes, NOTES)
    index(library, "sea", notes)
    store = store_of(library, "sea")
    with store.decide() as db:
        db.execute("INSERT INTO meta VALUES ('remote', 's3vectors://far/away')")
        rows.queue_all(db)
        rows.settle_rows(db, [row[0] for row in db.execute("SELECT id FROM outbox").fetchall()], {})
    yield store
    store.close()


def entries(store: Store, *, private: bool) -> dict[str, str]:
    """What is to be done about which document."""
    with store.read() as db:
        found = rows.entries(db, 0, rows.newest_row(db), 100, private=private)
        paths = dict(
            db.execute("SELECT c.key, d.display FROM chunks c JOIN documents d ON d.id = c.document_id")
        )
    return {paths[entry.key]: entry.action for entry in found}


def test_copies_elsewhere_are_removed_and_sent_again(library: Library, sea: Store) -> None:
    assert entries(sea, private=False) == {}
    assert library.privacy.set(OWNER, "sea", ["tea.md"]).due
    assert entries(sea, private=False) == {"tea.md": "delete"}
    with sea.read() as db:
        assert len(rows.gone(db, private=False)) == 1
        assert rows.gone(db, private=True) == []
    assert library.jobs.requested(OWNER, "sea")
    library.privacy.set(OWNER, "sea", [])
    assert entries(sea, private=False) == {"tea.md": "put"}


def test_one_that_waits_for_its_vector_is_removed_there_only_if_it_may_not_leave(
    library: Library, sea: Store
) -> None:
    library.privacy.set(OWNER, "sea", ["tea.md"])
    with sea.write() as db:
        waiting = "SELECT embed_hash FROM chunks WHERE path = 'tea.md'"
        db.execute(f"INSERT INTO queue (hash) {waiting}")
        db.execute(f"DELETE FROM embeddings WHERE hash IN ({waiting})")
    assert entries(sea, private=True) == {}
    assert entries(sea, private=False) == {"tea.md": "delete"}
