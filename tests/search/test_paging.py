"""Going on through the results: every page is a piece of one list."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.config import Settings
from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.types import OWNER, Answer, Hit, Mode, Viewer
from tests.conftest import index

pytestmark = pytest.mark.thorough

MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")
GUEST = Viewer("friend@example.com", stores=frozenset({"wide"}))
WORDS = "amber brook cedar dune ember fjord grove heath inlet juniper kelp larch moss nettle oak".split()


def note(chance: random.Random, sections: int, *, private: bool) -> str:
    """A note of short sections with a few of WORDS each; some of them are the same in many notes."""
    parts = ["---\nprivate: true\n---\n"] if private else []
    for number in range(sections):
        words = chance.choices(WORDS, k=chance.randint(2, 12))
        again = "The common grove of amber and oak, as in every one of these notes, again and again."
        text = again if chance.random() < 0.2 else " ".join([*words, "by the water and under the open sky"])
        parts.append(f"## Part {number}\n\n{text}\n\n")
    return "".join(parts)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A store of some 500 passages, so that a long list needs several looks, and a small one."""
    folder = tmp_path_factory.mktemp("paging")
    chance = random.Random(7)
    for store, notes, sections in (("wide", 40, 13), ("small", 5, 6)):
        (folder / store).mkdir()
        for number in range(notes):
            text = note(chance, sections, private=number % 4 == 0)
            (folder / store / f"{number}.md").write_text(text, "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    for store in ("wide", "small"):
        index(opened, store, folder / store)
    yield opened
    opened.close()


def pages(library: Library, query: str, top_k: int, viewer: Viewer = OWNER, **wish: object) -> list[Answer]:
    """All pages until one says that there is no more, not even near misses."""
    answers = [library.search(viewer, query, top_k=top_k, **wish)]
    while answers[-1].has_more or answers[-1].unshown:
        offset = answers[-1].offset + len(answers[-1].hits)
        top_k = min(top_k, 1000 - offset)
        answers.append(library.search(viewer, query, top_k=top_k, offset=offset, **wish))
    return answers


def hits(answers: list[Answer]) -> list[Hit]:
    return [hit for answer in answers for hit in answer.hits]


queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


@settings(max_examples=15, deadline=None)
@given(queries, st.sampled_from(MODES), st.integers(30, 130), st.sampled_from([OWNER, GUEST]))
def test_pages_together_are_the_one_big_page(
    library: Library, query: str, mode: Mode, top_k: int, viewer: Viewer
) -> None:
    (whole,) = pages(library, query, 1000, viewer, mode=mode)
    paged = hits(pages(library, query, top_k, viewer, mode=mode))
    assert paged == list(whole.hits)
    assert [hit.rank for hit in paged] == list(range(1, len(paged) + 1))
    assert all(before.score >= after.score for before, after in pairwise(paged))
    assert len({(hit.store, hit.content) for hit in paged}) == len(paged)


def test_list_goes_on_until_everything_was_shown(library: Library) -> None:
    """Every passage holds one of the words, so each mode comes to all of them in the end. By words only it
    leaves out those that are nothing but a line of many notes."""

    def contents(mode: Mode) -> set[str]:
        found = {hit.content for hit in hits(pages(library, "grove sky", 70, mode=mode))}
        return {content for content in found if "common grove" not in content}

    shown = [contents(mode) for mode in MODES]
    assert len(shown[0]) > 350
    assert shown[0] == shown[1] == shown[2]


def test_filters_alone_are_paged_too(library: Library) -> None:
    (whole,) = pages(library, "type:markdown", 1000)
    assert hits(pages(library, "type:markdown", 7)) == list(whole.hits)
    assert len(whole.hits) > 30


@pytest.mark.parametrize("mode", MODES)
def test_minimum_score_ends_the_list_where_it_falls_below(library: Library, mode: Mode) -> None:
    (whole,) = pages(library, "amber fjord", 1000, mode=mode)
    least = whole.hits[len(whole.hits) // 2].score
    kept = hits(pages(library, "amber fjord", 40, mode=mode, min_score=least))
    assert kept == [hit for hit in whole.hits if hit.score >= least]


def test_what_a_budget_leaves_out_comes_with_the_next_page(library: Library) -> None:
    (whole,) = pages(library, "amber fjord", 1000)
    first = library.search(OWNER, "amber fjord", top_k=1000, max_tokens=100)
    assert first.has_more
    assert 0 < len(first.hits) < 20
    rest = library.search(OWNER, "amber fjord", top_k=20, offset=len(first.hits))
    assert (*first.hits, *rest.hits) == whole.hits[: len(first.hits) + 20]


def test_last_page_says_that_there_is_no_more(library: Library) -> None:
    (whole,) = pages(library, "amber", 1000, mode="lexical")
    count = len(whole.hits)
    for top_k, more in ((count - 1, True), (count, False), (count + 1, False)):
        assert library.search(OWNER, "amber", mode="lexical", top_k=top_k).has_more is more


def test_page_behind_the_end_is_empty_and_says_so(library: Library) -> None:
    answer = library.search(OWNER, "type:markdown", offset=900)
    assert (answer.hits, answer.has_more, answer.offset) == ((), False, 900)
    assert answer.convincing


def test_convincing_is_said_of_the_whole_list_on_every_page(library: Library) -> None:
    answers = pages(library, "amber fjord", 100)
    assert not any(hit.relevant for hit in answers[-1].hits)
    assert {answer.convincing for answer in answers} == {True}


@pytest.mark.parametrize(
    "wish", [{"offset": -1}, {"offset": 991}, {"offset": 1, "top_k": 1000}, {"offset": 10**9, "top_k": 1}]
)
def test_offset_out_of_range_is_refused_with_the_bound(library: Library, wish: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match=f"offset is {wish['offset']}") as error:
        library.search(OWNER, "amber", **wish)
    assert "1,000" in error.value.suggestion


def test_deepest_page_is_answered_and_offers_no_further_one(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.search.retrieve.MAX_DEPTH", 50)
    assert library.search(OWNER, "amber sky", top_k=10, offset=30).has_more
    last = library.search(OWNER, "amber sky", top_k=10, offset=40)
    assert len(last.hits) == 10
    assert not last.has_more


# --- what is worth going on to ------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("top_k", [3, 30])
def test_the_list_goes_on_as_long_as_it_fits_and_counts_the_near_misses(
    library: Library, mode: Mode, top_k: int
) -> None:
    query = "amber fjord inlet"
    (whole,) = pages(library, query, 1000, mode=mode)
    fit = sum(hit.relevant for hit in whole.hits)
    for offset in (0, max(0, fit - top_k), fit):
        answer = library.search(OWNER, query, mode=mode, top_k=top_k, offset=offset)
        end = offset + top_k
        assert answer.has_more == (fit > end)
        if fit > end:
            assert answer.unshown == 0
        else:
            assert 0 < answer.unshown <= len(whole.hits) - end
            assert library.search(OWNER, query, mode=mode, top_k=1, offset=end).hits


def test_the_near_misses_of_a_small_store_are_counted_exactly(library: Library) -> None:
    answer = library.search(OWNER, "xylophone quantum", ["small"], top_k=4)
    assert not answer.convincing
    assert not answer.has_more
    (whole,) = pages(library, "xylophone quantum", 1000, stores=["small"])
    assert answer.unshown == len(whole.hits) - 4
    least = whole.hits[7].score
    kept = library.search(OWNER, "xylophone quantum", ["small"], top_k=4, min_score=least)
    assert kept.unshown == sum(hit.score >= least for hit in whole.hits) - 4


def test_what_filters_alone_find_all_fits(library: Library) -> None:
    answer = library.search(OWNER, "type:markdown", top_k=5)
    assert (answer.has_more, answer.unshown) == (True, 0)
