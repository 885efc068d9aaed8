"""Results as documents: each once, where its best passage stands, and what is counted of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.search.fold import shingles
from rag_core.types import OWNER, Filters, Mode, Viewer
from tests.conftest import index
from tests.search.test_paging import MODES, note
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"wide", "notes"}))
QUERY = "amber grove"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A store of some 500 passages in 40 notes, with passages that are the same in many of them."""
    folder = tmp_path_factory.mktemp("folding")
    chance = random.Random(7)
    (folder / "wide").mkdir()
    for number in range(40):
        text = note(chance, 13, private=number % 4 == 0)
        (folder / "wide" / f"{number}.md").write_text(text, "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "wide", folder / "wide")
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("viewer", [OWNER, GUEST], ids=["owner", "guest"])
def test_a_document_stands_where_its_best_passage_does(wide: Library, viewer: Viewer, mode: Mode) -> None:
    passages = wide.search(viewer, QUERY, top_k=100, mode=mode)
    documents = wide.search(viewer, QUERY, top_k=20, mode=mode, group="document")
    order = {hit.key: hit.rank for hit in passages.hits}
    assert [hit.rank for hit in documents.hits] == list(range(1, len(documents.hits) + 1))
    ranks = [order[hit.key] for hit in documents.hits]
    assert ranks == sorted(ranks)
    assert len({hit.document.id for hit in documents.hits}) == len(documents.hits)
    shown: set[str] = set()
    for hit in passages.hits[: ranks[-1]]:
        shown |= {hit.document.path, *hit.copies}
    assert shown == {path for hit in documents.hits for path in (hit.document.path, *hit.copies)} & shown


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [3, 10])
def test_pages_of_documents_together_are_the_one_big_page(wide: Library, mode: Mode, size: int) -> None:
    whole = wide.search(OWNER, QUERY, top_k=30, mode=mode, group="document")
    parts = [
        hit
        for offset in range(0, 30, size)
        for hit in wide.search(OWNER, QUERY, top_k=size, offset=offset, mode=mode, group="document").hits
    ]
    assert [(hit.rank, hit.key, hit.score) for hit in parts] == [
        (hit.rank, hit.key, hit.score) for hit in whole.hits
    ]


def test_nearly_equal_notes_are_one_result_with_its_other_places(library: Library, notes: Path) -> None:
    long = " ".join(f"word{number} of the harbour" for number in range(40))
    write(
        notes,
        {
            "a.md": f"# Harbour\n\n{long}\n",
            "b.md": f"# Harbour\n\n{long}!\n",
            "old/a.md": f"# Harbour\n\n{long.replace('word20', 'other')}\n",
            "c.md": "# Boats\n\nA harbour has boats.\n",
        },
    )
    index(library, "notes", notes)
    found = library.search(OWNER, "harbour", group="document")
    places = {frozenset((hit.document.path, *hit.copies)) for hit in found.hits}
    assert places == {frozenset({"a.md", "b.md", "old/a.md"}), frozenset({"c.md"})}
    assert found.fitting == 2
    assert len(library.search(OWNER, "harbour").hits) > 4


def test_a_document_says_how_many_others_fit_and_gives_them(library: Library, notes: Path) -> None:
    said = "was full of boats that had come from far, with sails of every colour, and it rained a little"
    parts = "".join(f"## Part {number}\n\nThe harbour {said} in {number}.\n\n" for number in range(5))
    write(notes, {"a.md": f"# Log\n\n{parts}## Else\n\nNothing of it.\n", "b.md": "# B\n\nA harbour.\n"})
    index(library, "notes", notes)
    hits = library.search(OWNER, "harbour", mode="lexical", group="document").hits
    log = next(hit for hit in hits if hit.document.path == "a.md")
    others = library.searching.others(OWNER, "harbour", log, mode="lexical")
    assert log.more == 4 == len(others)
    assert log.key not in {hit.key for hit in others}
    assert {hit.document.path for hit in others} == {"a.md"}
    assert [hit.more for hit in hits if hit.document.path == "b.md"] == [0]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Green tea, please.", "green TEA please", True),
        ("Green tea", "Black tea", False),
        ("机器学习的方法", "机器学习的方法。", True),
        ("", "", False),
    ],
)
def test_what_counts_as_the_same_text(one: str, other: str, alike: bool) -> None:
    assert bool(shingles(one) and shingles(one) == shingles(other)) is alike


# --- facets -----------------------------------------------------------------------------


@pytest.fixture
def shelf(library: Library, notes: Path) -> Library:
    write(
        notes,
        {
            "top.md": "---\ntags: [boat/sail]\ndate: 2024-05-01\n---\n# Top\n\nA harbour.\n",
            "sea/one.md": "---\ntags: [boat]\ndate: 2025-05-01\n---\n# One\n\nA harbour wall.\n",
            "sea/deep/two.txt": "The harbour is deep.\n",
            "sea/closed.md": "---\nprivate: true\ntags: [boat]\n---\n# Closed\n\nA harbour.\n",
            "land.md": "# Land\n\nNothing but gardens.\n",
        },
    )
    index(library, "notes", notes)
    return library


def test_facets_count_what_matches_for_each_viewer(shelf: Library) -> None:
    found = shelf.search(OWNER, "harbour", mode="lexical", facets=True).facets
    assert found is not None
    assert found["type"] == {"markdown": 3, "text": 1}
    assert found["tag"] == {"boat": 3, "boat/sail": 1}
    assert found["folder"] == {"sea": 3, "": 1, "sea/deep": 1}
    assert found["store"] == {"notes": 4}
    assert found["year"]["2024"] == 1
    guest = shelf.search(GUEST, "harbour", mode="lexical", facets=True).facets
    assert guest is not None
    assert guest["tag"] == {"boat": 2, "boat/sail": 1}
    assert guest["store"] == {"notes": 3}
    assert shelf.search(OWNER, "harbour").facets is None


def test_a_guest_gets_tags_as_spelled_in_documents_that_they_see(library: Library, notes: Path) -> None:
    write(
        notes,
        {
            "open.md": "---\ntags: [boat]\n---\n# Open\n\nA harbour.\n",
            "closed.md": "---\nprivate: true\ntags: [BOAT]\n---\n# Closed\n\nA harbour.\n",
        },
    )
    index(library, "notes", notes)
    for _ in range(2):
        assert library.search(OWNER, "harbour", facets=True).facets["tag"] == {"BOAT": 2}  # type: ignore[index]
        assert library.search(GUEST, "harbour", facets=True).facets["tag"] == {"boat": 1}  # type: ignore[index]


@pytest.mark.parametrize("query", ["harbour", "type:markdown", "harbour wall", "-gardens", '"a harbour"'])
def test_a_facet_as_a_filter_gives_as_many_documents(shelf: Library, query: str) -> None:
    found = shelf.search(OWNER, query, mode="lexical", facets=True).facets
    assert found is not None
    fields = {"type": "types", "tag": "tags", "folder": "paths"}
    for kind, field in fields.items():
        for value, count in found[kind].items():
            filters = Filters(**{field: (value,)})  # type: ignore[arg-type]
            narrowed = shelf.search(
                OWNER, query, mode="lexical", filters=filters, group="document", facets=True
            )
            assert narrowed.facets is not None
            assert narrowed.facets["store"] == {"notes": count}
