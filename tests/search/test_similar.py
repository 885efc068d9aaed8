"""The documents nearest in meaning to a document, a passage or a text."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, NotFound
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"notes"}))
ROSES = "# Roses\n\nPrune the roses in early spring, and water them well.\n"
TREES = {
    "roses.md": ROSES,
    "old/roses.md": ROSES,
    "tulips.md": "# Tulips\n\nPlant tulip bulbs in autumn; they flower in spring, like [[roses]].\n",
    "hedges.md": "---\nprivate: true\n---\n# Hedges\n\nCut the hedge and the rose bushes in spring.\n",
    "tax.md": "# Tax\n\nThe declaration of income is due in July.\n\n## Garden\n\nRoses cost money.\n",
}


@pytest.fixture
def garden(library: Library, notes: Path) -> Library:
    write(notes, TREES)
    index(library, "notes", notes)
    return library


def test_the_nearest_documents_come_once_without_the_document_and_its_copies(garden: Library) -> None:
    found = garden.searching.similar(OWNER, "notes", "roses.md")
    paths = [each.document.path for each in found]
    assert sorted(paths) == ["hedges.md", "tax.md", "tulips.md"]
    assert [each.similarity for each in found] == sorted((e.similarity for e in found), reverse=True)
    assert {each.document.path for each in found if each.is_linked} == {"tulips.md"}


def test_copies_of_another_document_come_once(garden: Library) -> None:
    found = garden.searching.similar(OWNER, "notes", "tulips.md", limit=10)
    assert len([each for each in found if each.document.path.endswith("roses.md")]) == 1


def test_a_guest_sees_nothing_private_among_them(garden: Library) -> None:
    found = garden.searching.similar(GUEST, "notes", "roses.md")
    assert sorted(each.document.path for each in found) == ["tax.md", "tulips.md"]
    for wrong in ({"path": "hedges.md"}, {"key": garden.search(OWNER, "hedge").hits[0].key}):
        with pytest.raises(NotFound):
            garden.searching.similar(GUEST, "notes", **wrong)


def test_a_passage_and_a_text_are_compared_by_themselves(garden: Library) -> None:
    hit = next(h for h in garden.search(OWNER, "declaration of income").hits if h.document.path == "tax.md")
    assert all(e.document.path != "tax.md" for e in garden.searching.similar(OWNER, "notes", key=hit.key))
    first = garden.searching.similar(OWNER, "notes", text="taxes on my income")[0]
    assert first.document.path == "tax.md"
    assert "declaration" in first.content
    without = garden.searching.similar(OWNER, "notes", "tax.md", text="taxes on my income")
    assert all(each.document.path != "tax.md" for each in without)


def test_nothing_is_similar_while_nothing_is_embedded(garden: Library) -> None:
    file = garden.settings.data_dir / "stores" / "notes.db"
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM embeddings")
    assert garden.searching.similar(OWNER, "notes", "roses.md") == []


@pytest.mark.parametrize("wrong", [{}, {"path": "roses.md", "limit": 0}, {"path": "roses.md", "limit": 101}])
def test_what_cannot_be_asked_is_refused(garden: Library, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        garden.searching.similar(OWNER, "notes", **wrong)  # type: ignore[arg-type]
