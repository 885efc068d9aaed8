"""A word is found with another ending, and in languages that write words together as a part of a longer
one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import stores_of

GERMAN = "Der Brief und die Rechnung liegen in der Mappe."


def fitting(library: Library, query: str, viewer: Viewer = OWNER) -> list[str]:
    """The names of the notes that fit."""
    hits = library.search(viewer, query, mode="lexical").hits
    return sorted(Path(hit.document.path).stem for hit in hits if hit.relevant)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Krankenversicherung", "Versicherung"),
        ("Krankenversicherungen", "Versicherung"),
        ("Krankenversicherung", "Versicherungen"),
        ("Versicherung", "Versicherungen"),
        ("Krankenkassenbeitrag", "Beitrag"),
    ],
)
def test_a_german_word_is_found_in_a_longer_one_and_with_another_ending(
    tmp_path: Path, written: str, asked: str
) -> None:
    notes = {"s/it.md": f"Die {written} kommt.", "s/other.md": GERMAN, "s/more.md": f"{GERMAN} Und mehr."}
    with stores_of(tmp_path, notes) as library:
        assert fitting(library, asked) == ["it"]
        [hit] = [hit for hit in library.search(OWNER, asked, mode="lexical").hits if hit.relevant]
    assert hit.spans


@pytest.mark.parametrize(
    "pair",
    [
        ("assurance", "assurances"),
        ("journal", "journaux"),
        ("bateau", "bateaux"),
        ("lección", "lecciones"),
        ("razón", "razones"),
        ("inscrição", "inscrições"),
        ("viagem", "viagens"),
    ],
)
def test_a_plural_finds_the_singular_and_the_other_way_round(tmp_path: Path, pair: tuple[str, str]) -> None:
    notes = {f"s/{number}.md": f"{word} 1" for number, word in enumerate(pair)}
    with stores_of(tmp_path, notes) as library:
        assert [fitting(library, word) for word in pair] == [["0", "1"]] * 2


def test_other_parts_of_a_word_are_not_found(tmp_path: Path) -> None:
    notes = {"s/a.md": "Die Unversichertenquote.", "s/b.md": "Ein Rotbeitragen.", "s/c.md": GERMAN}
    with stores_of(tmp_path, notes) as library:
        assert fitting(library, "Versicherung") == []


def test_a_store_in_english_is_searched_as_before(tmp_path: Path) -> None:
    notes = {"s/a.md": "The background of it.", "s/b.md": "The ground is wet."}
    with stores_of(tmp_path, notes) as library:
        assert fitting(library, "ground") == ["b"]


def test_a_guest_is_not_told_of_words_of_private_notes(tmp_path: Path) -> None:
    private = f"---\nprivate: true\n---\n{GERMAN} Die Krankenversicherung."
    notes = {"s/a.md": private, "s/b.md": f"{GERMAN} Die Versicherung."}
    with stores_of(tmp_path, notes) as library:
        answer = library.search(Viewer("friend", stores=frozenset({"s"})), "Versicherung", mode="lexical")
        assert fitting(library, "Versicherung") == ["a", "b"]
    assert "krankenversicherung" not in repr(answer).lower()
