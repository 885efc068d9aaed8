"""The order of what was found by words and by meaning, with scores that mean the same for every query.

One number orders the hits, and the score is a calibrated reading of it:

    value = similarity + coverage_weight · coverage + bm25_weight · bm25 / bound (+ bonus)

*Coverage* is the share of the query's information (the sum of its words' IDF) that the passage holds. BM25 is
divided by its upper bound for the query, (k1 + 1) · Σ IDF. The bonus is for a document whose name the query
is. By words alone the value is coverage_weight · coverage + (1 - coverage_weight) · bm25 / bound (+ bonus).

A passage with every word of a query that few passages hold is relevant, however far it is in meaning: a rare
word says little to a model. Of what is not relevant, a passage with a rare word of the query comes before
those with none. For a query that is only a number, a date or a code, a passage without it is not relevant.
Base64 and minified code never are. On the judged sets of benchmarks/retrieval.py this beats reciprocal rank
fusion and per-query min-max by 1.5 to 4 points of nDCG@10. Pure functions.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import compress

from rag_core.types import Forms, Mode, Number, Query

RELEVANT = 0.5
_HARDLY = 1e-6  # keeps the order of those that are lifted
_K1, _B = 1.2, 0.75  # BM25's, as in SQLite's FTS5
_BM25_BOUND = _K1 + 1  # what BM25 of one word tends to, as a multiple of its weight
_AVERAGE_LENGTH = 1000  # characters of a passage with its title, headings, tags and terms
_MOST_COUNTED = 20  # of one word; further ones hardly change BM25
_WORD = re.compile(r"[^\W_]*")
FEW_HOLDERS = 20
"""At most so many passages with every word of a query are lifted: a reader can look through them."""
ITS_NAME = "its name"
_PHRASE, _PHRASES, _EVERY = "the exact phrase", "the exact phrases", "every word"
_WORD_HELD, _DATE_HELD, _NUMBER_HELD = "the word", "the date", "the number"
TELLS_OF_WORDS = frozenset((_PHRASE, _PHRASES, _EVERY, _WORD_HELD, _DATE_HELD, _NUMBER_HELD))
"""All reasons that say which words a passage holds."""
_NAME_BONUS = 0.3  # a query that is a document's name or alias asks for that document


@dataclass(frozen=True, slots=True)
class Logistic:
    """A curve from a value to the chance that it is relevant: 0.5 at ``middle``."""

    middle: float
    slope: float

    def __call__(self, value: float) -> float:
        """The chance, 0 to 1."""
        return 1 / (1 + math.exp(min(50.0, self.slope * (self.middle - value))))


# Fitted to minilm on the judged sets: relevant passages against the best passages for queries of
# another set (benchmarks/calibration.py prints the fit). Other embedders borrow it.
CURVES: Mapping[Mode, Logistic] = {
    "hybrid": Logistic(0.45, 13.0),
    "vector": Logistic(0.36, 15.0),
    "lexical": Logistic(0.26, 15.0),
}
"""How values are read as relevance, by mode."""

_TYPICAL = 0.15  # similarity of an unrelated passage, for a vector that is still pending
_COVERAGE_WEIGHT = 0.3
_BM25_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate: its chunk id, the text that is ranked (folded, with title, headings, tags and terms),
    whether the query is its document's name, its scores, and whether it is data, such as base64."""

    chunk_id: int
    text: str
    is_named: bool = False
    bm25: float | None = None
    similarity: float | None = None
    is_data: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate in its place: ``score`` 0 to 1, never rising down the list."""

    found: Found
    score: float
    reasons: tuple[str, ...]


def information(total: int, frequencies: Mapping[str, int]) -> dict[str, float]:
    """IDF of each unit, as in BM25+ (never negative): ln(1 + (N - n + 0.5) / (n + 0.5))."""
    idf = {}
    for unit, n in frequencies.items():
        idf[unit] = math.log(1 + (total - n + 0.5) / (n + 0.5))
    return idf


def text_score(text: str, forms: Mapping[str, Forms], idf: Mapping[str, float]) -> float:
    """BM25 of a passage (folded) by its text alone, with ``idf`` as weights and an average length as norm."""
    norm = _K1 * (1 - _B + _B * len(text) / _AVERAGE_LENGTH)
    score = 0.0
    for unit, weight in idf.items():
        count, at = 0, find_word(text, forms[unit])
        while at >= 0 and count < _MOST_COUNTED:
            count, at = count + 1, find_word(text, forms[unit], at + 1)
        score += weight * count * (_K1 + 1) / (count + norm)
    return score


def rank(found: Sequence[Found], query: Query, idf: Mapping[str, float], mode: Mode) -> list[Ranked]:
    """The candidates, best first; each holds every phrase of the query. ``idf`` weighs the units."""
    words: dict[str, set[str]] = {}
    for word, units in query.typed:
        if idf.keys() >= {*units}:
            words[word] = {*units}
    numbers = [each for each in query.numbers if idf.keys() >= {*each.wholes, *each.parts}]
    held = [held_units(item.text, query.forms, numbers) for item in found]
    values = [_value(item, present, idf, mode) for item, present in zip(found, held, strict=True)]
    curve = CURVES[mode]
    if mode == "hybrid" and idf:
        if numbers and set().union(*words.values()) <= {part for each in numbers for part in each.parts}:
            # One number is as near as another to a model: no passage without any of them fits.
            for at, present in enumerate(held):
                values[at] = values[at] if present else _not_fitting(values[at], curve.middle)
        _lift(values, held, words, curve.middle, len(idf), any_number=bool(query.phrases))
    telling: dict[frozenset[str], str] = {}  # many passages hold the same units
    placed: list[tuple[float, int, Ranked]] = []
    for item, present, value in zip(found, held, values, strict=True):
        if present not in telling:
            telling[present] = _words_held(query, words, present)
        value = _not_fitting(value, curve.middle) if item.is_data else value
        ranked = Ranked(item, curve(value), _reasons(item, telling[present]))
        placed.append((-value, item.chunk_id, ranked))
    placed.sort()
    return list(map(operator.itemgetter(2), placed))


def _not_fitting(value: float, middle: float) -> float:
    """``value``, or a little less than relevance takes."""
    return min(value, middle - (2 - value) * _HARDLY)


def _lift(
    values: list[float], held: Sequence[Set[str]], words: Mapping[str, set[str]], middle: float, units: int,
    *, any_number: bool,
) -> None:  # fmt: skip
    """Put passages that hold a rare word before those that fit as little and hold no word. Make those with
    all ``units`` relevant, if they are few or ``any_number`` counts."""
    most = min(FEW_HOLDERS, len(held) // 4)
    lifted: set[int] = set()
    for word in words.values():
        has = list(map(word.issubset, held))
        if 0 < has.count(True) <= most:
            lifted.update(compress(range(len(held)), has))
    without = list(compress(values, map(operator.not_, held)))
    least = max([0.0, *filter(middle.__gt__, without)])
    for at in lifted:
        values[at] = max(values[at], least + (1 + values[at]) * _HARDLY)
    whole = list(compress(range(len(held)), map(units.__eq__, map(len, held))))
    if any_number or len(whole) <= FEW_HOLDERS:
        # A query of one word puts them before all passages without it.
        least = max([middle, *without]) if len(words) == 1 else middle
        for at in whole:
            values[at] = max(values[at], least + (1 + values[at]) * _HARDLY)


def held_units(text: str, wanted: Mapping[str, Forms], numbers: Sequence[Number]) -> frozenset[str]:
    """The units ``wanted`` that ``text`` (folded) holds. The parts of one of the ``numbers`` count all where
    it stands, however written, and none elsewhere: there they belong to other numbers."""
    held = set()
    for unit, forms in wanted.items():
        if find_word(text, forms) >= 0:
            held.add(unit)
    for number in numbers:
        in_a_row = r"(?<!\w)" + r"\W?".join(number.parts) + r"(?!\w)"  # with at most a sign between
        if not held.isdisjoint(number.wholes) or (not number.month and re.search(in_a_row, text)):
            held |= {*number.wholes, *number.parts}
        else:
            held -= {*number.parts}
    return frozenset(held)


def _value(found: Found, present: Set[str], idf: Mapping[str, float], mode: Mode) -> float:
    """The value of a candidate that holds the units ``present``."""
    total = sum(idf.values())
    coverage = sum(map(idf.__getitem__, present)) / total if total else 0.0
    bm25 = (found.bm25 or 0.0) / (_BM25_BOUND * total) if total else 0.0
    bonus = _NAME_BONUS if found.is_named else 0.0
    by_words = _COVERAGE_WEIGHT * coverage + (1 - _COVERAGE_WEIGHT) * bm25
    if mode == "lexical":
        return by_words + bonus
    if mode == "vector":
        return found.similarity if found.similarity is not None else _TYPICAL
    similarity = found.similarity if found.similarity is not None else _TYPICAL + by_words / 2
    return similarity + _COVERAGE_WEIGHT * coverage + _BM25_WEIGHT * bm25 + bonus


def _reasons(found: Found, words: str) -> tuple[str, ...]:
    """Why this passage was found, in a few words for people; ``words`` is of `_words_held`."""
    reasons = [ITS_NAME] if found.is_named else []
    if words and not (reasons and words not in TELLS_OF_WORDS):  # a title that matches holds every word
        reasons.append(words)
    elif found.bm25 is not None:
        reasons.append("similar words")
    if found.similarity is not None and found.similarity >= CURVES["hybrid"].middle:
        reasons.append("close in meaning")
    elif found.similarity is not None and found.similarity >= CURVES["vector"].middle:
        reasons.append("related in meaning")
    return tuple(reasons) or ("distantly related",)


def _words_held(query: Query, words: Mapping[str, set[str]], present: Set[str]) -> str:
    """Which words a passage with the units ``present`` holds; '' where it holds no part of any."""
    if query.phrases and not query.loose:
        return _PHRASE if len(query.phrases) == 1 else _PHRASES
    held: list[str] = []
    lacking: list[str] = []
    for word, units in words.items():
        (held if present >= units else lacking).append(word)
    if held and lacking:
        return f"{len(held)} of {len(words)} words: {_few(held)}; without {_few(lacking)}"
    if len(held) > 1:
        return _EVERY
    if held:
        number = query.numbers[0] if query.numbers and query.numbers[0].wholes else None
        return _WORD_HELD if number is None else _DATE_HELD if number.month else _NUMBER_HELD
    return "parts of words" if present else ""


def _few(words: Sequence[str]) -> str:
    return f"“{'”, “'.join(words[:4])}”" + (", …" if len(words) > 4 else "")


def find_word(text: str, forms: Forms, start: int = 0) -> int:
    """The first place from ``start`` on where one of ``forms`` begins a word of ``text`` (folded), or -1."""
    if forms.kind == "pair":
        return text.find(forms.whole, start)
    if forms.kind == "name":
        found = re.compile(rf"(?<![^\W_]){forms.whole}(?!\w)").search(text, start)
        return found.start() if found else -1
    at = text.find(forms.beginning, start)
    while at >= 0:
        if (at == 0 or not text[at - 1].isalnum()) and forms.include(_WORD.match(text, at)[0]):  # type: ignore[index]
            return at
        at = text.find(forms.beginning, at + 1)
    return -1
