"""The number of a value is what the filter by it gives, in results as the answer counts them."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Answer, Facets, Filters, Mode
from tests.conftest import stores_of

STATES = ("open", "waiting", "done")
FIELDS = {"type": "types", "tag": "tags", "folder": "paths"}


def note(chance: random.Random, number: int) -> str:
    """A note of two passages with some of three words, of differing length and front matter."""
    said = [" ".join(chance.choices(["heron", "reeds", "lake", "wall", "rain"], k=12)) for _ in range(2)]
    front = f"---\nstatus: {chance.choice(STATES)}\ntags: [bird/{chance.choice('ab')}]\n---\n"
    return f"{front}# Note {number}\n\n## One\n\n{said[0]} {number}.\n\n## Two\n\n{said[1]} and {number}.\n"


@pytest.fixture(scope="module", params=[40, 250], ids=["whole list", "list that goes on"])
def pond(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    chance = random.Random(11)
    files = {f"pond/{chance.choice('xy')}/{n}.md": note(chance, n) for n in range(request.param)}
    files["pond/x/copy.md"] = files["pond/y/copy.md"] = note(chance, 1000)
    with stores_of(tmp_path_factory.mktemp("facets"), files) as opened:
        yield opened


def clicked(library: Library, query: str, mode: Mode, least: float, filters: Filters) -> Answer:
    return library.search(
        OWNER, query, mode=mode, min_score=least, filters=filters, group="document", facets=True
    )


def by_filter(answer: Answer) -> Iterator[tuple[Filters, int]]:
    """Each value that was counted, as a filter, with its number."""
    counts, properties = answer.facets, answer.properties
    assert counts is not None
    assert properties is not None
    for kind, field in FIELDS.items():
        for value, count in counts[kind].items():
            yield Filters(**{field: (value,)}), count  # type: ignore[arg-type]
    for name, values in properties.items():
        for value, count in values.items():
            yield Filters(properties=(f"{name}:={value}",)), count


# By meaning a score may be raised to that of a result behind it, which a filter may leave out: of 16 results
# at 90 % one value then gives 12 in place of 13.
@pytest.mark.parametrize(
    ("query", "mode", "least"),
    [
        ("heron reeds", "lexical", 0.0),
        ("heron reeds", "lexical", 0.9),
        ("heron reeds", "hybrid", 0.7),
        ("lake", "lexical", 0.7),
        ("type:md", "hybrid", 0.0),
    ],
)
def test_a_number_is_what_the_filter_gives(pond: Library, query: str, least: float, mode: Mode) -> None:
    free = clicked(pond, query, mode, least, Filters())
    numbers = list(by_filter(free))
    assert len(numbers) >= 8 or not free.fitting
    for filters, count in numbers:
        narrowed = clicked(pond, query, mode, least, filters)
        if free.counts_more:
            assert count <= narrowed.fitting, filters
        elif free.fits_more:  # without words, where copies are one result only as far as the list is read
            assert 0 <= count - narrowed.fitting <= 1 or narrowed.fits_more, filters
        elif not narrowed.fits_more:
            assert count == narrowed.fitting, filters


def test_what_was_counted_of_one_type_is_what_fits(pond: Library) -> None:
    for least in (0.0, 0.7, 0.9):
        answer = clicked(pond, "heron reeds", "lexical", least, Filters())
        facets: Facets = answer.facets or {}
        assert facets["type"] == ({"markdown": answer.fitting} if answer.fitting else {})
