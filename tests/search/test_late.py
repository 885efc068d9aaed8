"""The first hits of a question in other words than theirs are compared with it token by token."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.models.built_in import BUILT_IN, BuiltInEmbedder
from rag_core.models.built_in_install import install
from rag_core.search import late
from rag_core.search.weigh import RELEVANT
from rag_core.types import OWNER, Hit
from tests.conftest import index, stores_of
from tests.support.packed_model import packed_model
from tests.support.trees import write

NOTES = {f"notes/{name}.md": f"A note about {name} in the garden." for name in "abcdefgh"}


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> list[Hit]:
    with stores_of(tmp_path_factory.mktemp("late"), NOTES) as library:
        return [*library.search(OWNER, "note garden", mode="lexical").hits]


def scored(hits: Sequence[Hit], shares: Sequence[float | None], scores: Sequence[float]) -> list[Hit]:
    return [
        replace(hit, score=score, relevant=score >= RELEVANT, words_share=share)
        for hit, share, score in zip(hits, shares, scores, strict=False)
    ]


def nearest_is(number: int) -> late.Nearness:
    return lambda passages: [float(place == number) for place in range(len(passages))]


def names(hits: Sequence[Hit]) -> str:
    return "".join(Path(hit.document.path).stem for hit in hits)


@pytest.mark.parametrize(
    ("shares", "nearest", "expected"),
    [
        ([0.0, 0.3, 0.0, 1.0, 0.0, 0.0], 2, "20134567"),
        ([0.0, 0.3, 0.0, 1.0, 0.0, 0.0], 1, "10234567"),
        ([0.0, 0.3, 0.0, 1.0, 0.0, 0.0], 3, "01234567"),  # too far behind
        ([0.0, 0.5, 0.0, 0.0, 0.0, 0.0], 2, "01234567"),  # words say enough
        ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1, "01234567"),  # its name
        ([0.0, 0.0, None, None, None, None], 1, "10234567"),
        ([0.0, None, None, None, None, None], 0, "01234567"),  # the others cannot fit
    ],
)
def test_what_is_nearer_moves_up_where_words_say_little(
    hits: list[Hit], shares: list[float | None], nearest: int, expected: str
) -> None:
    given = scored(hits, [*shares, 0.0, 0.0], [0.6, 0.55, 0.5, 0.45, 0.4, 0.3, 0.2, 0.1])
    reordered = late.looked_at(given, nearest_is(nearest))
    assert names(reordered) == names([hits[int(place)] for place in expected])


@pytest.mark.parametrize("seed", range(20))
def test_scores_never_rise_down_the_list_and_nothing_is_lost(hits: list[Hit], seed: int) -> None:
    chance = random.Random(seed)
    scores = sorted((chance.random() for _ in hits), reverse=True)
    given = scored(hits, [0.0] * len(hits), scores)
    reordered = late.looked_at(given, lambda passages: [chance.random() for _ in passages])
    assert sorted(names(reordered)) == sorted(names(given))
    assert [hit.score for hit in reordered] == sorted([hit.score for hit in reordered], reverse=True)
    assert max(hit.score for hit in reordered) == given[0].score
    assert all(hit.relevant == (hit.score >= RELEVANT) for hit in reordered)
    assert names(reordered[late.LOOKED_AT :]) == names(given[late.LOOKED_AT :])


@pytest.fixture
def embedded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The notes, embedded by a tiny model in the place of a built-in one."""
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    install(row, tmp_path / "models", tmp_path / "source")
    write(tmp_path, NOTES)
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    opened.create_store(OWNER, "notes", row.name)
    index(opened, "notes", tmp_path / "notes")
    yield opened
    opened.close()


def test_every_page_of_a_list_has_one_order(embedded: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Sequence[str]] = []

    def nearness(_: BuiltInEmbedder, __: str, passages: Sequence[str]) -> list[float]:
        compared.append(passages)
        return [float(number) for number in range(len(passages))]

    before = names(embedded.search(OWNER, "somewhere outdoors", mode="vector", top_k=8).hits)
    monkeypatch.setattr(BuiltInEmbedder, "nearness", nearness)
    whole = names(embedded.search(OWNER, "somewhere outdoors", top_k=8).hits)
    first = late.LOOKED_AT
    assert whole == before[:first][::-1] + before[first:]
    for top_k, offset in ((1, 0), (3, 0), (3, 3)):
        page = embedded.search(OWNER, "somewhere outdoors", top_k=top_k, offset=offset).hits
        assert names(page) == whole[offset : offset + top_k]
    assert {len(passages) for passages in compared} == {first}
    compared.clear()
    embedded.search(OWNER, "a note in the garden")
    embedded.search(OWNER, "somewhere outdoors", mode="vector")
    embedded.search(OWNER, "somewhere outdoors", sort="name")
    assert not compared
