"""A document counts for words that it holds anywhere, not only in its best passage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import stores_of

GUEST = Viewer("friend@example.com", stores=frozenset({"trips", "books"}))


def filler(words: int, about: str) -> str:
    return " ".join(
        f"Sentence {n} is about {about} and the slow work of the season." for n in range(words // 10)
    )


def trip(first: str, second: str, apart: int) -> str:
    """A note whose two words stand in passages far from each other."""
    return f"# Trip\n\nWe met {first}.\n\n{filler(apart, 'rivers')}\n\n## Later\n\nThen came the {second}.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    notes = {"trips/trip.md": trip("Ferdinand", "glacier", 900)}
    for number in range(8):
        notes[f"trips/ferdinand {number}.md"] = f"Letters {number}: Ferdinand wrote, Ferdinand called."
        notes[f"trips/ice {number}.md"] = f"Notes {number}: the glacier is blue, the glacier is old."
    notes["trips/hidden.md"] = "---\nprivate: true\n---\n" + trip("Xaver", "moraine", 900)
    notes["trips/xaver.md"] = "Xaver is a name."
    notes["trips/moraine.md"] = "A moraine is a heap of stones."
    notes["books/novel.md"] = "# Novel\n\n" + "\n\n".join(
        f"## Chapter {n}\n\n{filler(400, 'boats')} {'The kestrel flew.' if n == 3 else ''}"
        f"{'A tuba played.' if n == 60 else ''}"
        for n in range(80)
    )
    notes["books/birds.md"] = "The kestrel is a bird."
    notes["books/music.md"] = "The tuba is loud."
    with stores_of(tmp_path_factory.mktemp("spread"), notes) as opened:
        yield opened


@pytest.mark.parametrize("query", ["Ferdinand glacier", "glacier Ferdinand", "ferdinand glaciers"])
def test_the_only_note_with_both_words_comes_first(library: Library, query: str) -> None:
    first = library.search(OWNER, query, ["trips"], mode="lexical", group="document").hits[0]
    assert Path(first.document.path).name == "trip.md"
    assert first.relevant
    assert "elsewhere in it" in " ".join(first.reasons)


def test_the_only_note_with_both_words_fits_beside_its_meaning(library: Library) -> None:
    hits = library.search(OWNER, "Ferdinand glacier", ["trips"], mode="hybrid", top_k=30).hits
    assert "trip.md" in {hit.document.path for hit in hits if hit.relevant}


@pytest.mark.parametrize("words", [300, 900, 2500, 6000])
def test_a_long_note_is_found_by_words_that_it_alone_has(tmp_path: Path, words: int) -> None:
    notes = {"trips/trip.md": trip("Ferdinand", "glacier", words)}
    for number in range(8):
        notes[f"trips/ferdinand {number}.md"] = f"Letters {number}: Ferdinand wrote, Ferdinand called."
        notes[f"trips/ice {number}.md"] = f"Notes {number}: the glacier is blue, the glacier is old."
    with stores_of(tmp_path, notes) as library:
        first = library.search(OWNER, "Ferdinand glacier", mode="lexical", group="document").hits[0]
    assert (first.document.path, first.relevant) == ("trip.md", True)


def test_a_passage_with_both_words_comes_before_a_note_that_has_them_apart(tmp_path: Path) -> None:
    notes = {
        "trips/apart.md": trip("Ferdinand", "glacier", 900),
        "trips/together.md": "Ferdinand stood on the glacier.",
    }
    with stores_of(tmp_path, notes) as library:
        hits = library.search(OWNER, "Ferdinand glacier", mode="lexical", group="document").hits
    assert [Path(hit.document.path).stem for hit in hits] == ["together", "apart"]


def test_a_private_note_does_not_count_for_a_guest(library: Library) -> None:
    paths = [
        hit.document.path for hit in library.search(GUEST, "Xaver moraine", ["trips"], mode="lexical").hits
    ]
    assert sorted(paths) == ["moraine.md", "xaver.md"]
    first = library.search(OWNER, "Xaver moraine", ["trips"], mode="lexical").hits[0]
    assert first.document.path == "hidden.md"


def test_filters_hold_for_what_is_added(library: Library) -> None:
    hits = library.search(OWNER, "Ferdinand glacier -file:trip.md", ["trips"], mode="lexical").hits
    assert "trip.md" not in {hit.document.path for hit in hits}


def test_words_far_apart_in_a_book_do_not_make_it_fit_better_than_its_passages(library: Library) -> None:
    hits = library.search(OWNER, "kestrel tuba", ["books"], mode="lexical", group="document").hits
    assert {hit.document.path for hit in hits[:2]} == {"birds.md", "music.md"}
