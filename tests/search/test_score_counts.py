"""How many results each minimum of the score would leave."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Group
from tests.conftest import Run, stores_of
from tests.support.assistant import Assistant
from tests.support.rest import serving_rest

RAIN = "Rain " * 40
FILES = {
    f"{store}/{n}.md": f"# Note {n}\n\n## One\n\n{'heron ' * n} in the reeds.\n\n## Two\n\n{RAIN} {n}\n"
    for store in ("lake", "pond")
    for n in range(12)
}
QUERY = "heron reeds"


@pytest.fixture(scope="module")
def birds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("scores"), FILES) as opened:
        yield opened


def counted(scores: list[float]) -> tuple[int, ...]:
    return tuple(sum(score >= tenth / 10 for score in scores) for tenth in range(11))


@pytest.mark.parametrize("group", ["none", "document"])
def test_all_that_was_weighed_is_counted_on_every_page(birds: Library, group: Group) -> None:
    whole = birds.search(OWNER, QUERY, top_k=200, group=group)
    expected = counted([hit.score for hit in whole.hits])
    assert expected[0] > expected[5] > 0
    assert whole.score_counts == expected
    for offset in (0, 4):
        page = birds.search(OWNER, QUERY, top_k=3, offset=offset, group=group)
        assert page.score_counts == expected


@pytest.mark.parametrize("group", ["none", "document"])
@pytest.mark.parametrize("tenth", [2, 5, 8])
def test_a_minimum_leaves_as_many_as_were_counted(birds: Library, group: Group, tenth: int) -> None:
    free = birds.search(OWNER, QUERY, top_k=200, group=group)
    left = birds.search(OWNER, QUERY, top_k=200, group=group, min_score=tenth / 10)
    assert len(left.hits) == free.score_counts[tenth]
    assert left.score_counts == free.score_counts


def test_nothing_found_counts_nothing(birds: Library) -> None:
    assert birds.search(OWNER, "tag:none").score_counts == (0,) * 11


def test_every_face_counts_and_takes_a_minimum(birds: Library, run: Run, mcp_owner: Assistant) -> None:
    free = birds.search(OWNER, QUERY, top_k=200)
    with serving_rest(birds, OWNER) as rest:
        answer = rest.post("/search", {"query": QUERY, "min_score": 0.5, "top_k": 200}).json
    assert answer["score_counts"] == [*free.score_counts]
    assert answer["total_results"] == free.score_counts[5]
    found = mcp_owner.data("search", query="harbour", min_score=0.5)
    assert found["total_results"] == min(5, found["score_counts"][5])
    assert all(each["score"] >= 0.5 for each in found["results"])
    assert "min_score" in mcp_owner.error("search", query="harbour", min_score=2)
    shown = run("query", "harbour", "--min-score", "0.5", "--json").out
    assert json.loads(shown)["score_counts"][0] >= len(json.loads(shown)["results"])
