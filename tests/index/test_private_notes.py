"""Notes that do not say for certain whether they are private: kept from guests, and listed for the owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.command import Run
from tests.support.trees import write

GUEST = Viewer("ada@example.org", stores=frozenset({"notes"}))
NOTES = {
    "plain.md": "---\ntitle: Plain\n---\nThe kettle.\n",
    "own.md": "---\nprivate: true\n---\nMy own word.\n",
    "twice.md": "---\nprivate: true\nprivate: false\n---\nThe harbour.\n",
    "hugo.txt": "+++\nprivate = true\n+++\nThe anchor.\n",
}
UNSURE = ["hugo.txt", "twice.md"]


@pytest.fixture
def shelf(library: Library, notes: Path) -> Library:
    write(notes, NOTES)
    index(library, "notes", notes)
    return library


def test_a_guest_meets_no_note_that_may_be_private(shelf: Library) -> None:
    assert [document.path for document in shelf.documents.all(GUEST, "notes")] == ["plain.md"]


def test_the_owner_is_told_which_notes_and_why(shelf: Library, notes: Path) -> None:
    found = shelf.privacy.report(OWNER, "notes")
    assert (found.by_note, list(found.unsure)) == (3, UNSURE)
    assert "It is TOML." in found.unsure["hugo.txt"]
    assert "It has the key 'private' more than once." in found.unsure["twice.md"]
    assert found.unsure["twice.md"] in shelf.documents.get(OWNER, "notes", "twice.md").warnings

    (notes / "twice.md").write_text("---\nprivate: true\n---\nThe harbour.\n", "utf-8")
    index(shelf, "notes")
    assert list(shelf.privacy.report(OWNER, "notes").unsure) == ["hugo.txt"]


def test_a_run_that_reads_such_notes_says_so_once(library: Library, notes: Path) -> None:
    write(notes, NOTES)
    said = index(library, "notes", notes).message
    assert said.count("do not say for certain whether they are private") == 1
    assert "certain" not in index(library, "notes").message


def test_the_command_line_lists_them(run: Run, notes: Path) -> None:
    write(notes, NOTES | {f"n{number}.md": "---\nprivate: maybe\n---\n" for number in range(20)})
    run("store", "create", "notes", "--embedder", "hashing")
    run("index", "**/*", "--root", notes)
    shown = run("store", "private", "notes").out
    assert "  hugo.txt: It is private to be safe: " in shown
    assert len(run("store", "private", "notes", "--json").json["private_unsure"]) == 22
    assert "It is private to be safe: " in run("show", "twice.md", "--store", "notes").out
