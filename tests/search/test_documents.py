"""What can be read beside a search: the passages around a hit, facets, and the list of documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import NotFound
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index

SECTIONS = [
    "Wake at dawn and walk.",
    "Work until noon on the essay.",
    "Eat.",
    "Sleep when the owls call out.",
]


@pytest.fixture
def diary(library: Library, notes: Path) -> Library:
    parts = [
        f"## Part {number}\n\n{text} {'Filler words follow. ' * 4}" for number, text in enumerate(SECTIONS)
    ]
    (notes / "day.md").write_text("# Day\n\n" + "\n\n".join(parts), "utf-8")
    (notes / "other.md").write_text("---\ntags: [Calm, place/sea]\n---\n# Other\n\nThe sea.", "utf-8")
    (notes / "sub").mkdir()
    (notes / "sub" / "code.py").write_text("def walk():\n    return 'owls'\n", "utf-8")
    (notes / "sub" / "more.md").write_text("#calm and #place/hill\n", "utf-8")
    index(library, "diary", notes)
    return library


def key_of(library: Library, query: str) -> str:
    return library.search(OWNER, query, mode="lexical").hits[0].key


# --- neighbours -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("around", "parts"), [(0, "1"), (1, "012"), (20, "0123")], ids=["the hit alone", "one each", "the ends"]
)
def test_neighbours_stand_around_the_hit_in_reading_order(diary: Library, around: int, parts: str) -> None:
    found = diary.documents.neighbours(OWNER, "diary", key_of(diary, "essay noon"), around)
    assert [each.heading_path[-1] for each in found] == [f"Part {number}" for number in parts]
    assert [each.is_hit for each in found] == [number == "1" for number in parts]
    assert [each.start_line for each in found] == sorted(each.start_line for each in found)


def test_passage_that_changed_is_gone_and_says_to_search_again(diary: Library, notes: Path) -> None:
    key = key_of(diary, "essay noon")
    (notes / "day.md").write_text("# Day\n\nNothing else.", "utf-8")
    index(diary, "diary", notes)
    with pytest.raises(NotFound) as error:
        diary.documents.neighbours(OWNER, "diary", key)
    assert "Search again" in error.value.suggestion


# --- facets -----------------------------------------------------------------------------


def test_facets_count_documents_most_first(diary: Library) -> None:
    facets = diary.documents.facets(OWNER, ["diary"])
    assert list(facets["type"].items()) == [("markdown", 3), ("python", 1)]
    assert facets["folder"] == {"": 2, "sub": 2}


def test_tag_is_counted_once_in_any_case_and_with_those_below_it(diary: Library) -> None:
    found = diary.documents.facets(OWNER, ["diary"])["tag"]
    assert list(found.items()) == [("Calm", 2), ("place", 2), ("place/hill", 1), ("place/sea", 1)]


@pytest.mark.parametrize("kind", ["type", "tag", "path"])
def test_every_facet_value_is_a_filter_that_finds_its_count(diary: Library, kind: str) -> None:
    facets = diary.documents.facets(OWNER)["folder" if kind == "path" else kind]
    assert facets
    for value, count in facets.items():
        assert len(diary.search(OWNER, f'{kind}:"{value}"', top_k=50).hits) == count


# --- documents --------------------------------------------------------------------------


def test_documents_are_listed_by_path_with_what_was_read(diary: Library, notes: Path) -> None:
    documents = diary.documents.all(OWNER, "diary")
    assert [each.path for each in documents] == ["day.md", "other.md", "sub/code.py", "sub/more.md"]
    other = documents[1]
    assert (other.title, other.tags, other.file_type) == ("Other", ("Calm", "place/sea"), "markdown")
    assert (other.state, other.chunks, other.root) == ("indexed", 1, str(notes))
    assert other.size == (notes / "other.md").stat().st_size
