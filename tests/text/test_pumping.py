"""Every pattern that sees a query, a note or an answer is linear: one that is not holds the interpreter, and
with it the app, for minutes.

Each pattern is tried on texts made of a piece of itself, many times over. Its steps are counted, not its
seconds, so a slow computer changes nothing; and the text doubles once, so what holds for 1,600 characters
holds for 150,000: a linear pattern takes twice the steps, a quadratic one four times.
"""

from __future__ import annotations

import math
import random
import re
from typing import Any

import pytest

from rag_core.errors import InvalidInput
from rag_core.search.query import parse
from rag_core.text.phrases import exact
from rag_core.text.words import split_words, typed_words
from tests.text.backtracking import Counter, TooManySteps
from tests.text.pumping import patterns, pumps

PATTERNS = patterns()
FEW = 12  # steps a character; a pattern that takes fewer is linear on this text
MANY = 1500  # more than a pattern takes that repeats a piece up to 200 times
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


def growth(pattern: re.Pattern[Any], everywhere: bool, pump: tuple[str, str], size: int) -> float:
    """How many times the steps on ``size`` characters are taken on twice as many."""
    before, unit = pump
    texts = [before + unit * (length // len(unit) + 1) + "\x01" for length in (size, 2 * size)]
    counts = [steps(Counter(pattern), text, everywhere=everywhere, most=MANY * len(text)) for text in texts]
    return counts[1] / counts[0] if counts[0] and counts[1] else math.inf


def quadratic_on(pattern: re.Pattern[Any], everywhere: bool) -> tuple[str, str] | None:
    """The first pump on which a pattern's steps grow faster than the text; None for a linear pattern."""
    counter = Counter(pattern)
    for pump in pumps(pattern):
        before, unit = pump
        text = before + unit * (300 // len(unit) + 1) + "\x01"
        if steps(counter, text, everywhere=everywhere, most=FEW * len(text)) is not None:
            continue
        if growth(pattern, everywhere, pump, 150) > 2.2 and growth(pattern, everywhere, pump, 800) > 2.9:
            return pump
        counter = Counter(pattern)
    return None


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_takes_steps_in_proportion_to_the_text(name: str) -> None:
    assert quadratic_on(*PATTERNS[name]) is None


@pytest.mark.parametrize("phrase", ["error budget", "don't panic", "a-b c-d", "《a》 (b) [c]"])
def test_the_pattern_that_a_phrase_makes_is_linear(phrase: str) -> None:
    assert quadratic_on(exact(phrase).pattern, True) is None


def test_every_kind_of_pattern_is_collected() -> None:
    names = PATTERNS.keys()
    assert len(names) > 200
    assert "rag_core.text.words._SNAKE" in names
    assert "rag_core.text.words.clusters" in names, "a method of a pattern"
    assert any(name.startswith("ui.reader.code_view._readers") for name in names), (
        "those that a function makes"
    )
    assert "rag_core.text.phrases._pattern" in names, "one that a function makes of words"
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
def test_a_text_of_90000_letters_is_cut_into_words(unit: str) -> None:
    """With a quadratic pattern this takes minutes, not milliseconds."""
    text = unit * (90_000 // len(unit.encode()))
    with pytest.raises(InvalidInput):
        parse(text)
    parse(text[:5_000])
    assert "".join(split_words(text)) or unit == "_"
    typed_words(text)
