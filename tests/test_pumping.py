"""Every pattern that sees a query, a note or an answer is linear: one that is not holds the interpreter, and
with it the app, for minutes.

Each pattern is tried on texts made of a piece of itself, many times over. Its steps are counted, not its
seconds, so a slow computer changes nothing; and the text doubles once, so what holds for 1,600 characters
holds for 150,000: a linear pattern takes twice the steps, a quadratic one four times.
"""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from rag_core.search.query import parse
from rag_core.text.words import split_words, typed_words
from tests.backtracking import Counter, TooManySteps
from tests.pumping import patterns, pumps

PATTERNS = patterns()
FEW = 12  # steps a character; a pattern that takes fewer is linear on this text
LETTERS = "aA0 _-\n\t[]()<>!`*|#:.,'\"/=&;eés\u0301日"


def steps(counter: Counter, text: str, *, everywhere: bool, most: int) -> int | None:
    """The steps on a text, or None above ``most``."""
    counter.steps, counter.limit = 0, most
    try:
        if everywhere:
            counter.spans(text)
        else:
            counter.match(text)
    except TooManySteps:
        return None
    return counter.steps


def quadratic_on(pattern: re.Pattern[Any], everywhere: bool) -> list[tuple[str, str]]:
    """The pumps on which a pattern's steps grow faster than the text."""
    found: list[tuple[str, str]] = []
    counter = Counter(pattern)
    for before, unit in pumps(pattern):

        def pumped(size: int, before: str = before, unit: str = unit) -> str:
            return before + unit * (size // len(unit) + 1) + "\x01"

        if steps(counter, pumped(300), everywhere=everywhere, most=300 * FEW) is not None:
            continue
        half = steps(Counter(pattern), pumped(800), everywhere=everywhere, most=800 * 1500)
        whole = steps(Counter(pattern), pumped(1600), everywhere=everywhere, most=1600 * 1500)
        if half is None or whole is None or whole > 2.9 * half:
            found.append((before, unit))
        counter = Counter(pattern)
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_steps_in_proportion_to_the_text(name: str) -> None:
    assert quadratic_on(*PATTERNS[name]) == []


def test_every_kind_of_pattern_is_collected() -> None:
    names = PATTERNS.keys()
    assert len(names) > 200
    assert "rag_core.text.words._SNAKE" in names
    assert "rag_core.text.words.clusters" in names, "a method of a pattern"
    assert "rag_core.extract.markdown._CLEANINGS[1]" in names, "one in a tuple"
    assert any(name.startswith("ui.code_view._readers") for name in names), "those that a function makes"
    assert "rag_core.text.words._pattern" in names, "one that a function makes of words"
    assert any(name.startswith("rag_core.ask.citations:") for name in names), "one where it is used"


@pytest.mark.parametrize(
    "quadratic",
    [
        "[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+",
        r"\s+\Z",
        "<!--.*?-->",
        "x(a+)+y",
        r"\(\s*(\w*)\s*\)",
        r"(`+)(.+?)\1",
    ],
)
def test_a_quadratic_pattern_is_noticed(quadratic: str) -> None:
    assert quadratic_on(re.compile(quadratic, re.S), True)


@pytest.mark.parametrize(
    "name", [name for name, (each, _) in PATTERNS.items() if isinstance(each.pattern, str)]
)
def test_the_counter_matches_what_re_matches(name: str) -> None:
    pattern, _ = PATTERNS[name]
    counter = Counter(pattern)
    chance = random.Random(name)
    pieces = [unit for _, unit in pumps(pattern) if len(unit) < 12]
    for _ in range(20):
        text = "".join(chance.choice(chance.choice((LETTERS, pieces))) for _ in range(25))
        assert counter.spans(text) == [match.span() for match in pattern.finditer(text)], text


@pytest.mark.parametrize(
    "unit", ["a", "A", "0", "a_", "_", "aB", "1-", "é", "价", "ا", "a\u0301", "'s ", "1."]
)
def test_a_query_of_90000_letters_is_read(unit: str) -> None:
    """With a quadratic pattern this takes minutes, not milliseconds."""
    text = unit * (90_000 // len(unit.encode()))
    assert parse(text).raw == text
    assert "".join(split_words(text)) or unit == "_"
    typed_words(text)
