"""The best passages by BM25 are nearly the same, whether every match is scored or only some of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.search.query import parse
from rag_core.store import Store, find, lexical
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.stored import store_of

pytestmark = pytest.mark.thorough

GUEST = Viewer("guest", stores=frozenset({"zoo"}))
ANIMALS = "otter badger heron adder newt stoat raven tench bison ibex".split()
QUERIES = [
    *("otter", "otter word1", "word1 word2 word77", "rare3", "rare3 otter badger word5", "nothing here"),
    *("otter badger heron", "rare1 rare2 rare3 otter", "水獭 otter word4", "水獭在河里游泳 rare3"),
    *("水獭在河里 otter", "getOtterName word9 otter"),
]


@pytest.fixture
def store(library: Library, notes: Path) -> Iterator[Store]:
    """Some animals are in nearly every passage, other words in few."""
    chance = random.Random(1)
    for number in range(12):
        sections = []
        for _ in range(40):
            common = chance.choices(ANIMALS, [2**-n for n in range(10)], k=20)
            others = [f"word{int(chance.paretovariate(0.5)) % 300}" for _ in range(8)]
            odd = chance.choice(
                ["", "", "", f"rare{chance.randrange(6)}", *["水獭在河里游泳"] * 3, "getOtterName"]
            )
            words = [*common, *others, odd]
            chance.shuffle(words)
            sections.append(f"## Part {len(sections)}\n\n{' '.join(words)}\n")
        private = "---\nprivate: true\n---\n" if number % 3 == 0 else ""
        (notes / f"{number}.md").write_text(f"{private}# Note {number}\n\n" + "\n".join(sections), "utf-8")
    index(library, "zoo", notes)
    opened = store_of(library, "zoo")
    yield opened
    opened.close()


@pytest.mark.parametrize("viewer", [OWNER, GUEST], ids=["owner", "guest"])
@pytest.mark.parametrize("filters", ["", " path:*1*", ' "otter badger"'])
def test_the_ten_best_are_those_of_scoring_every_match_and_the_others_nearly(
    store: Store, monkeypatch: pytest.MonkeyPatch, viewer: Viewer, filters: str
) -> None:
    for text, limit in product(QUERIES, (1, 10, 100)):
        query = parse(text + filters)
        allowed = find.eligible(query, viewer)
        with store.read() as db:
            monkeypatch.setattr(lexical, "FEW", 10**9)
            every = lexical.by_words(db, [*query.terms.forms], allowed, limit)
            monkeypatch.setattr(lexical, "FEW", 0)
            some = lexical.by_words(db, [*query.terms.forms], allowed, limit)
        scores, all_scores = [score for _, score in some], [score for _, score in every]
        assert scores[:10] == pytest.approx(all_scores[:10]), text
        assert len(dict(some)) == len(some) == len(every)
        assert sum(scores) >= 0.99 * sum(all_scores), text
        last = all_scores[:10][-1] if every else 0
        above = {chunk for chunk, score in every if score > last + 1e-9}
        assert above <= set(dict(some)), text


def test_common_words_alone_are_not_scored_when_rare_words_suffice(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "FEW", 0)
    statements: list[str] = []
    with store.read() as db:
        db.set_trace_callback(statements.append)
        found = lexical.by_words(db, ("rare1", "otter"), find.eligible(parse("x"), OWNER), 3)
        db.set_trace_callback(None)
        holders = {row[0] for row in db.execute("SELECT rowid FROM words WHERE words MATCH 'rare1'")}
    assert {chunk for chunk, _ in found} <= holders
    assert any("more (id, score)" in sql for sql in statements)


def test_a_guest_is_given_scores_and_no_raw_bm25(store: Store, library: Library) -> None:
    owners, guests = (library.search(viewer, "rare1", ["zoo"], mode="lexical") for viewer in (OWNER, GUEST))
    assert owners.hits[0].bm25
    assert guests.hits[0].score > 0
    assert {hit.bm25 for hit in guests.hits} == {None}
