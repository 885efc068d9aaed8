"""Results by date and by name: what fits comes first, in one list over all pages and stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Answer, Group, Hit, Sort, Viewer
from tests.conftest import Run, index, stores_of
from tests.support.assistant import Assistant
from tests.support.rest import serving_rest
from tests.support.trees import write

DATED = {
    "Week 10": "2024-05-01", "week 2": "2026-02-01", "Äpfel": "2025-03-15", "Zebra": "2023-01-01",
    "Boat": "2025-03-14", "Attic": "2022-07-07",
}  # fmt: skip
FILES = {
    f"{store}/{number}.md": f"---\ntitle: {title}\ndate: {day}\n---\nThe ferry crosses the fjord. {number}\n"
    for number, (title, day) in enumerate(DATED.items())
    for store in [("one", "two")[number % 2]]
}
FILES |= {f"one/far{n}.md": f"---\ndate: 2027-01-0{n}\n---\nTaxes are due in spring.\n" for n in (1, 2, 3)}
BY_DATE = ["week 2", "Äpfel", "Boat", "Week 10", "Zebra", "Attic"]
BY_NAME = ["Äpfel", "Attic", "Boat", "week 2", "Week 10", "Zebra"]
GUEST = Viewer("friend@example.com", stores=frozenset({"one", "two"}))


@pytest.fixture(scope="module")
def ferry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("sorting"), FILES) as opened:
        yield opened


def titles(hits: Sequence[Hit]) -> list[str]:
    return [hit.document.title for hit in hits]


def paged(library: Library, query: str, size: int, **wish: object) -> list[Hit]:
    hits: list[Hit] = []
    while True:
        page = library.search(OWNER, query, top_k=size, offset=len(hits), **wish)  # type: ignore[arg-type]
        hits += page.hits
        if not (page.has_more or page.unshown):
            return hits


@pytest.mark.parametrize("group", ["none", "document"])
@pytest.mark.parametrize("viewer", [OWNER, GUEST], ids=["owner", "guest"])
@pytest.mark.parametrize(("sort", "order"), [("newest", BY_DATE), ("name", BY_NAME)])
def test_what_fits_is_sorted_over_all_stores_and_near_misses_follow(
    ferry: Library, viewer: Viewer, sort: Sort, order: list[str], group: Group
) -> None:
    best = ferry.search(viewer, "ferry fjord", group=group)
    found = ferry.search(viewer, "ferry fjord", sort=sort, group=group)
    assert (best.sort, found.sort) == ("best", sort)
    assert titles([hit for hit in found.hits if hit.relevant]) == order
    assert [hit.relevant for hit in found.hits] == sorted((hit.relevant for hit in found.hits), reverse=True)
    assert {hit.key for hit in found.hits} == {hit.key for hit in best.hits}
    assert [hit.rank for hit in found.hits] == [*range(1, len(found.hits) + 1)]
    misses = [hit.score for hit in found.hits if not hit.relevant]
    assert misses == sorted(misses, reverse=True)
    assert misses


def test_oldest_first(ferry: Library) -> None:
    found = ferry.search(OWNER, "ferry fjord", sort="oldest")
    fitting = [hit for hit in found.hits if hit.relevant]
    assert [hit.document.date for hit in fitting] == sorted(DATED.values())


@pytest.mark.parametrize("sort", ["newest", "oldest", "name"])
@pytest.mark.parametrize("query", ["ferry fjord", "type:markdown", "path:one", "-ferry type:md"])
def test_pages_are_parts_of_one_list(ferry: Library, query: str, sort: Sort) -> None:
    whole = ferry.search(OWNER, query, top_k=100, sort=sort)
    for size in (1, 2, 4):
        assert [hit.key for hit in paged(ferry, query, size, sort=sort)] == [hit.key for hit in whole.hits]


@pytest.mark.parametrize(
    ("sort", "order"), [("newest", BY_DATE), ("oldest", BY_DATE[::-1]), ("name", BY_NAME)]
)
def test_filters_alone_are_sorted_too(ferry: Library, sort: Sort, order: list[str]) -> None:
    found = ferry.search(OWNER, "before:2027", sort=sort, top_k=3)
    days = [DATED[title] for title in order]
    assert [DATED[title] for title in titles(found.hits)] == days[:3]
    assert sort != "name" or titles(found.hits) == order[:3]


def test_what_fits_is_sorted_however_much_it_is(library: Library, notes: Path) -> None:
    """More passages than the first look at a store brings."""
    days = [f"20{year:02}-01-{day:02}" for year in range(10, 25) for day in range(1, 29)]
    text = "---\ndate: {day}\n---\n# Log {day}\n\nThe heron stood in the reeds. {n}\n"
    write(notes, {f"{day}.md": text.format(day=day, n=n) for n, day in enumerate(days)})
    index(library, "s", notes)
    found = library.search(OWNER, "heron reeds", sort="oldest", top_k=30, mode="lexical")
    assert [hit.document.date for hit in found.hits] == sorted(days)[:30]
    further = library.search(OWNER, "heron reeds", sort="oldest", top_k=30, offset=390, mode="lexical")
    assert [hit.document.date for hit in further.hits] == sorted(days)[390:420]


def by_json(answer: dict[str, object]) -> list[str]:
    results = answer["results"]
    assert isinstance(results, list)
    return [each["file_path"] for each in results]


def test_rest_sorts_and_refuses_an_unknown_order(ferry: Library) -> None:
    newest = paths(ferry.search(OWNER, "ferry fjord", sort="newest"))
    with serving_rest(ferry, OWNER) as rest:
        answer = rest.post("/search", {"query": "ferry fjord", "sort": "newest"}).json
        assert (answer["sort"], by_json(answer)) == ("newest", newest)
        refused = rest.post("/search", {"query": "ferry", "sort": "sideways"})
    assert refused.status == 400
    assert refused.error.startswith("sort: ")


def paths(answer: Answer) -> list[str]:
    return [hit.document.path for hit in answer.hits]


def test_the_command_line_sorts(run: Run, library: Library, notes: Path) -> None:
    write(
        notes,
        {
            "old.md": "---\ndate: 2020-01-01\n---\nfjord\n",
            "new.md": "---\ndate: 2021-01-01\n---\nfjord here\n",
        },
    )
    index(library, "s", notes)
    assert by_json(run("query", "fjord", "--sort", "oldest", "--json").json) == ["old.md", "new.md"]
    assert by_json(run("query", "fjord", "--sort", "newest", "--json").json) == ["new.md", "old.md"]
    assert run("query", "fjord", "--sort", "sideways").status == 2


def test_an_assistant_sorts(mcp_owner: Assistant) -> None:
    found = mcp_owner.data("search", query="harbour", sort="name", store="sea")
    fitting = [each["metadata"]["title"] for each in found["results"] if each["relevant"]]
    assert fitting == sorted(fitting)
    assert found["sort"] == "name"
    assert "sort" in mcp_owner.error("search", query="harbour", sort="sideways")
