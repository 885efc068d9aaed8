"""The order of what was found by words and by meaning, with scores that mean the same for every query.

Two numbers are computed for each passage. The *value* orders the passages of one query:

    value = similarity + 0.2 · coverage² + 0.22 · words + 0.2 · title + 0.15 · named

*Coverage* is the share of the query's information (the sum of its words' IDF) that the passage holds; it
counts less where all words together say little. *Words* is 2b / (1 + b), where b is the passage's BM25 over
the best one's: having the words says more than having most of them. *Title* is the F1 of the query's and the
title's words, for titles that hold most of the query. *Named* is 1 if one of the three best passages names
the document. By words alone the value is b + 0.2 · title + 0.15 · named. A passage without a vector gets the
similarity that passages with such words have, mostly those of the same query; the more of them there are,
the more words count.

The *signal* is absolute and decides what fits: similarity + 0.6 · BM25 / its upper bound, (k1 + 1) · Σ IDF;
−0.1 for a passage with only one of several words, which makes part of its similarity.
The score is a logistic curve of it, raised to the best score behind it. Documents that are called as the
query come first, then those whose name begins with it (unless it is one word that passages hold), then the
others by value, last what cannot fit. The few passages with every word of the query fit, however
far they are in meaning: a rare word says little to a model. Words that neither a passage nor the embedder's
vocabulary has may be made up: the more of them, the more similarity it takes. For a query that is only a
number, a date or a code, no passage without it fits. Base64 and minified code never fit. The weights are
those of decision 4. Pure functions.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import chain
from operator import attrgetter, itemgetter
from typing import NamedTuple

from rag_core.text.numbers import Span
from rag_core.text.words import (
    SPACED_WORD,
    alternatives,
    is_in_a_word,
    query_words,
    split_words,
    stem,
    units,
)
from rag_core.types import Forms, Mode, Number, Query

RELEVANT = 0.5
_NEARLY = 0.49  # the score at most of what does not fit
_K1, _B = 1.2, 0.75  # BM25's, as in SQLite's FTS5
_BM25_BOUND = _K1 + 1  # what BM25 of one word tends to, as a multiple of its weight
_MOST_COUNTED = 20  # of one word; further ones hardly change BM25
FEW_HOLDERS = 20
"""At most so many passages with every word of a query fit for that: a reader can look through them."""
ITS_NAME = "its name"
_BEGINS_NAME = "the beginning of its name"
_PHRASE, _PHRASES, _EVERY = "the exact phrase", "the exact phrases", "every word"
_WORD_HELD, _DATE_HELD, _NUMBER_HELD = "the word", "the date", "the number"
_NAMED_THERE = "named in a top result"
TELLS_OF_WORDS = frozenset((_PHRASE, _PHRASES, _EVERY, _WORD_HELD, _DATE_HELD, _NUMBER_HELD))
"""All reasons that say which words a passage holds."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A curve from a signal to the chance that it is relevant: 0.5 at ``middle``."""

    middle: float
    slope: float

    def __call__(self, value: float) -> float:
        """The chance, 0 to 1."""
        return 1 / (1 + math.exp(min(50.0, self.slope * (self.middle - value))))


# For minilm, with benchmarks/nonsense.py: at most 3 % of nonsense lies above the middle of hybrid mode and
# 97 % of the paraphrases. Other embedders borrow it.
CURVES: Mapping[Mode, Logistic] = {
    "hybrid": Logistic(0.355, 7.0),
    "vector": Logistic(0.36, 10.0),
    "lexical": Logistic(0.28, 7.0),
}
"""How signals are read as relevance, by mode. A passage without a vector is read as by words alone."""

_COVERAGE, _WORDS, _TITLE, _NAMED = 0.2, 0.22, 0.2, 0.15  # in the value
_WORDS_ALONE = 0.25  # in the value, times the share of the passages by words that have no vector
_TELLING = 3  # passages whose names of other documents count
_BEGUN = 0.4  # in place of the title's, for a name that begins with the whole query
_SIGNAL_WORDS, _SIGNAL_ONE = 0.6, -0.1  # one word of several may well mean something else
_MADE_UP = 0.3  # off the signal, times the share of the words that may be made up
_NOWHERE = 8.0  # information of a word that nothing holds in 1,500 passages; in fewer it says less
_CLEAR = 4.0  # a query with less information is mostly words that nearly every passage has
_NEARLY_NAMED = 0.99  # a title with forms of the same words
_MOST_OF_QUERY = 0.7  # what a title must hold: one name of a question says little
_LEXICAL_COVERAGE = 0.3  # in the signal by words alone, the rest is BM25
_YEAR = 365.0  # days in which what is new counts half
_ABOVE_GUESSES = 3  # tiers
_CLOSE, _RELATED = 0.45, 0.36  # similarities of minilm


class Found(NamedTuple):
    """A candidate for the list of hits."""

    chunk_id: int
    text: str  #: What is ranked: folded, with title, headings, tags and terms.
    title: str = ""
    is_named: bool = False  #: Whether the query is its document's name.
    begun: float = 0.0  #: The share of a name of its document that the query begins, 0 to 1.
    by_words: bool = False  #: Whether the index of words gave it.
    similarity: float | None = None  #: The cosine to the query; None if it is not known.
    is_data: bool = False  #: Whether it is data, such as base64.
    date: str = ""  #: Its document's; ISO 8601.


class Ranked(NamedTuple):
    """A candidate in its place: ``score`` 0 to 1, never rising down the list; ``bm25`` where words count."""

    found: Found
    score: float
    reasons: tuple[str, ...]
    bm25: float | None = None


class _Weighed(NamedTuple):
    """What a query's words make of a candidate: the units it holds, BM25, coverage and title, 0 to 1."""

    held: frozenset[str]
    bm25: float
    coverage: float
    title: float


def rank(
    found: Sequence[Found], query: Query, idf: Mapping[str, float], mode: Mode, recency: float = 0.0,
    real: Set[str] = frozenset(),
) -> list[Ranked]:  # fmt: skip
    """The candidates, best first; each holds every phrase of the query. ``idf`` weighs the units,
    ``recency`` (0 to 1) what is newer; the embedder's vocabulary has the ``real`` words."""
    words = {word: {*units} for word, units in query.typed if idf.keys() >= {*units}}
    numbers = [each for each in query.numbers if idf.keys() >= {*each.wholes, *each.parts}]
    weighed = _weigh(found, query, numbers, idf)
    values = _values(found, weighed, sum(idf.values()), mode)
    named_there = _named_there(found, weighed, values) if mode != "vector" else frozenset[int]()
    asked = frozenset(idf)
    held = Counter(map(attrgetter("held"), weighed))
    may_lift = bool(asked) and mode != "vector" and not query.corrected
    guessed = frozenset("|".join(others) for _, others in query.corrected)
    is_lifted = may_lift and (bool(query.phrases) or held[asked] <= FEW_HOLDERS)
    parts = {*chain.from_iterable(map(attrgetter("parts"), numbers))}
    # A query of nothing but numbers: one is as near as another to a model.
    must_hold = mode == "hybrid" and bool(numbers) and parts.issuperset(chain(*words.values()))
    held_words = {present: _words_held(query, words, present) for present in held}
    known = frozenset(chain(*held))
    less = _MADE_UP * _made_up(words, known, idf, real)
    may_begin = len(words) > 1 or not known or query.completed  # one that passages hold is looked for itself
    newness = _newness(found) if recency else [0.0] * len(found)
    placed: list[tuple[int, float, str, int, float, int]] = []
    for at, (item, each) in enumerate(zip(found, weighed, strict=True)):
        chance = _chance(item, _without(each, guessed, idf), idf, mode, less)
        is_excluded = item.is_data or (must_hold and not each.held)
        has_title = each.title == 1.0 and query.stop_words <= {*split_words(item.title)}
        is_named = not is_excluded and (item.is_named or (has_title and not query.completed))
        begins = not is_excluded and bool(may_begin) and item.begun > 0
        has_all = is_lifted and each.held == asked
        by_name = (is_named or begins) and not guessed  # by what was typed
        fits = not is_excluded and (by_name or has_all or chance >= RELEVANT)
        score = (
            1.0 if is_named and by_name else chance if fits == (chance >= RELEVANT) else (fits + chance) / 2
        )
        score = score if fits else min(score, _NEARLY)
        value = values[at] + _NAMED * (at in named_there) + recency * newness[at]
        tier = 3 if is_named else 2 if begins else int(not is_excluded)
        placed.append(
            (tier + _ABOVE_GUESSES * (fits and bool(guessed)), value, item.date, -item.chunk_id, score, at)
        )
    telling = named_there if any(item[4] >= RELEVANT for item in placed) else ()
    ranked: list[Ranked] = []
    least = 0.0
    for tier, _, _, _, score, at in sorted(placed):  # from the last one: no score is lower than one behind it
        least = max(least, score)
        item, each = found[at], weighed[at]
        name = {3: ITS_NAME, 2: _BEGINS_NAME}.get(tier - _ABOVE_GUESSES * (tier > 3), "")
        reasons = _reasons(item, name, held_words[each.held], at in telling)
        ranked.append(Ranked(item, least, reasons, each.bm25 if each.bm25 and mode != "vector" else None))
    return ranked[::-1]


def _made_up(
    words: Mapping[str, set[str]], known: frozenset[str], idf: Mapping[str, float], real: Set[str]
) -> float:
    """The share of the words that nothing holds and that are not ``real``, 0 to 1; one weighs less where
    there is little text."""
    weight = 0.0
    for word, parts in words.items():
        if word not in real and known.isdisjoint(parts):
            weight += min(1.0, max(map(idf.__getitem__, parts)) / _NOWHERE)
    return weight / max(1, len(words))


def _newness(found: Sequence[Found]) -> list[float]:
    """1 for the newest of the candidates, and half as much for each year that another one is older."""
    days = [date.fromisoformat(item.date[:10]).toordinal() if item.date else 0 for item in found]
    return [2 ** ((day - max(days)) / _YEAR) for day in days]


def _weigh(
    found: Sequence[Found], query: Query, numbers: Sequence[Number], idf: Mapping[str, float]
) -> list[_Weighed]:
    total = sum(idf.values())
    average = sum(map(len, map(attrgetter("text"), found))) / max(1, len(found))
    titles: dict[str, float] = {}
    weighed: list[_Weighed] = []
    for item in found:
        counts = occurrences(item.text, query.forms, numbers) if total else {}
        norm = _K1 * (1 - _B + _B * len(item.text) / average)
        bm25 = coverage = 0.0
        for unit, count in counts.items():
            coverage += idf.get(unit, 0.0) / total
            bm25 += idf.get(unit, 0.0) * count * (_K1 + 1) / (count + norm)
        if counts and item.title not in titles:
            titles[item.title] = _title(item.title, query.forms, idf, total)
        title = titles[item.title] if counts else 0.0
        weighed.append(_Weighed(frozenset(counts).intersection(idf), bm25, coverage, title))
    return weighed


def _title(title: str, forms: Mapping[str, Forms], idf: Mapping[str, float], total: float) -> float:
    """The F1 of a query's information and a (folded) title's words but numbers, 1 only if these are the same;
    0 if the title lacks most of the query."""
    held = [unit for unit in idf if places(title, forms[unit])]
    asked = sum(map(idf.__getitem__, held)) / total
    words = units(query_words(title)) if asked >= _MOST_OF_QUERY else []
    words = [word for word in words if not word.isdecimal()] or words  # 2026-03-14 weekly review
    if not words:
        return 0.0
    if len(held) == len(idf) and {*words} <= {*chain.from_iterable(map(alternatives, held))}:
        return 1.0
    said = sum(any(places(word, forms[unit]) for unit in held) for word in words) / len(words)
    return min(_NEARLY_NAMED, 2 * asked * said / (asked + said))


def _stand_in(bm25: float, coverage: float) -> float:
    """The similarity of a passage without a vector: least squares from BM25 (over the best or its bound)
    and coverage on seven judged sets."""
    return 0.17 + 0.35 * bm25 + 0.06 * coverage


def _values(found: Sequence[Found], weighed: Sequence[_Weighed], total: float, mode: Mode) -> list[float]:
    """What orders each candidate among those for the same query, but for who names it."""
    if mode == "vector":
        return [item.similarity or 0.0 for item in found]
    best = max(map(attrgetter("bm25"), weighed), default=0.0) or 1.0
    shift, missing = _without_vector(found, weighed, best)
    values: list[float] = []
    for item, each in zip(found, weighed, strict=True):
        relative = each.bm25 / best
        value = max(_TITLE * each.title, _BEGUN * 2 * item.begun / (1 + item.begun))
        if mode == "lexical":
            values.append(relative + value)
            continue
        value += _COVERAGE * min(1.0, total / _CLEAR) * each.coverage**2
        value += _WORDS * 2 * relative / (1 + relative) + _WORDS_ALONE * missing * relative
        if item.similarity is not None:
            value += item.similarity
        elif not item.is_data:
            value += _stand_in(relative, each.coverage) + shift
        values.append(value)
    return values


def _without_vector(found: Sequence[Found], weighed: Sequence[_Weighed], best: float) -> tuple[float, float]:
    """Of the passages found by words: how much nearer than the stand-in those with a vector are (the best by
    words count most), and the share of those without one."""
    shift, weights = 0.0, 1.0  # one passage as the stand-in says
    lacking = count = 0
    for item, each in zip(found, weighed, strict=True):
        if not item.by_words or item.is_data:
            continue
        count += 1
        if item.similarity is None:
            lacking += 1
        else:
            relative = each.bm25 / best
            shift += relative**2 * (item.similarity - _stand_in(relative, each.coverage))
            weights += relative**2
    return shift / weights, lacking / max(1, count)


def _named_there(
    found: Sequence[Found], weighed: Sequence[_Weighed], values: Sequence[float]
) -> frozenset[int]:
    """The candidates (by place) whose documents a better one of the best passages names. A passage with the
    query in its title is itself what is looked for, and names nothing better."""
    best = nlargest(_TELLING, zip(values, weighed, found, strict=True), key=itemgetter(0))
    named: set[int] = set()
    for at, item in enumerate(found):
        for value, each, other in best:
            is_telling = value > values[at] and not each.title and other.title != item.title
            if is_telling and item.title and item.title in other.text:
                title = re.escape(item.title)
                in_a_link = rf"\[\[{title}[]|#]"
                if re.search(rf"(?<!\w){title}(?!\w)" if " " in title else in_a_link, other.text):
                    named.add(at)
                    break
    return frozenset(named)


def _chance(
    item: Found, weighed: _Weighed, idf: Mapping[str, float], mode: Mode, less: float
) -> float:  # fmt: skip
    """The chance that a candidate is relevant, whatever else was found; ``less`` is taken off its signal."""
    total = sum(idf.values())
    bm25 = weighed.bm25 / (_BM25_BOUND * total) if total else 0.0
    if mode == "vector":
        return CURVES[mode](item.similarity or 0.0)
    if mode == "lexical":
        return CURVES[mode](_LEXICAL_COVERAGE * weighed.coverage + (1 - _LEXICAL_COVERAGE) * bm25)
    similarity = _stand_in(bm25, weighed.coverage) if item.similarity is None else item.similarity
    weight = _SIGNAL_ONE if len(weighed.held) == 1 < len(idf) else _SIGNAL_WORDS
    return CURVES[mode](similarity + weight * bm25 - less)


def _without(weighed: _Weighed, guessed: frozenset[str], idf: Mapping[str, float]) -> _Weighed:
    """``weighed`` as if the candidate did not hold the units ``guessed``, which stand for words that no
    passage has. They order what is found, but nothing fits because of them."""
    if guessed.isdisjoint(weighed.held):
        return weighed
    held = weighed.held - guessed
    share = sum(map(idf.__getitem__, held)) / (sum(map(idf.__getitem__, weighed.held)) or 1.0)
    return _Weighed(held, weighed.bm25 * share, weighed.coverage * share, weighed.title * share)


def places(text: str, forms: Forms) -> list[Span]:
    """The (start, end) of each word of ``text`` (folded) that is one of ``forms``, in order."""
    if forms.kind == "any":
        return sorted({place for each in forms.others for place in places(text, each)})
    found: list[Span] = []
    at = text.find(forms.beginning)
    while at >= 0:
        end = at + len(forms.beginning)
        if forms.kind == "pair":
            found.append((at, end))
        elif not is_in_a_word(text[at - 1 : at]):
            if forms.kind == "name":
                if not (text[end : end + 1] == "_" or is_in_a_word(text[end : end + 1])):
                    found.append((at, end))
            elif word := SPACED_WORD.match(text, at):
                is_longer = forms.is_open and word[0].startswith(forms.whole)
                if is_longer or stem(word[0]) == forms.stem:
                    found.append(word.span())
        at = text.find(forms.beginning, at + 1)
    return found


def occurrences(text: str, wanted: Mapping[str, Forms], numbers: Sequence[Number]) -> dict[str, int]:
    """How often ``text`` (folded) holds each of the units ``wanted`` that it holds. The parts of one of the
    ``numbers`` count all where it stands, however written, and none elsewhere: there they belong to
    others."""
    counts: dict[str, int] = {}
    for unit, forms in wanted.items():
        if forms.beginning in text and (found := places(text, forms)):
            counts[unit] = min(len(found), _MOST_COUNTED)
    for number in numbers:
        in_a_row = r"(?<!\w)" + r"\W?".join(number.parts) + r"(?!\w)"  # with at most a sign between
        if not counts.keys().isdisjoint(number.wholes) or (not number.month and re.search(in_a_row, text)):
            for part in (*number.wholes, *number.parts):
                counts.setdefault(part, 1)
        else:
            for part in number.parts:
                counts.pop(part, None)
    return counts


def _reasons(found: Found, name: str, words: str, named_there: bool) -> tuple[str, ...]:
    """Why this passage was found, in a few words for people: what the query says of its ``name``, and its
    ``words``, of `_words_held`."""
    reasons = [name] if name else []
    if words and not (reasons and words not in TELLS_OF_WORDS):  # a title that matches holds every word
        reasons.append(words)
    elif found.by_words:
        reasons.append("similar words")
    if found.similarity is not None and found.similarity >= _CLOSE:
        reasons.append("close in meaning")
    elif found.similarity is not None and found.similarity >= _RELATED:
        reasons.append("related in meaning")
    if named_there:
        reasons.append(_NAMED_THERE)
    return tuple(reasons) or ("distantly related",)


def _words_held(query: Query, words: Mapping[str, set[str]], present: frozenset[str]) -> str:
    """Which words a passage with the units ``present`` holds; '' where it holds no part of any."""
    if query.phrases and not query.loose:
        return _PHRASE if len(query.phrases) == 1 else _PHRASES
    held: list[str] = []
    lacking: list[str] = []
    for word, its_units in words.items():
        (held if present >= its_units else lacking).append(word)
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
