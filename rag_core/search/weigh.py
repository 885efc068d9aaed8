"""The third stage of a search: give each candidate its place, a score and the reasons for it. Pure functions.

Two numbers are computed for each passage. The *value* orders the passages of one query:

    value = similarity + 0.2 · coverage² + 0.22 · coverage · words + 0.2 · title + 0.15 · named

*Coverage* is the share of the query's information (the sum of its words' IDF) in the passage. Its square
counts less if all words together say little. *Words* is 2b / (1 + b), where b is the passage's BM25 divided
by the best one. It is multiplied by the coverage, as one shared word says little, and counts less if no
passage has half of the query. *Title* is the F1 of the query's and the title's words, for titles with most of
the query. *Named* is 1 if one of the three best passages names the document. By words alone the value is b +
0.2 · title + 0.15 · named. Code loses 0.05 for missing words of a question of several words. A passage
without a vector gets the similarity of passages with such words, mostly of the same query; the more of them
there are, the more words count. A rarer word only in other passages of its document counts three quarters,
and less in a document of more than four passages. If few documents have every word, they get 0.3 more, by
words alone 0.8, and twice that if no passage has all words. For a query of codes alone, a passage with the
codes as typed gets 0.5.

The *signal* is absolute and decides what fits: similarity + 0.6 · BM25 / its upper bound, (k1 + 1) · Σ IDF.
It loses 0.1 for a passage with only one of several words. The score is a logistic curve of the signal, raised
to the best score of the passages that follow. Documents with the query as their name come first, then those
whose name begins with it (unless it is one word that passages contain), then the others by value, and last
those that cannot fit. If few passages have every word of the query, they fit, as a rare word says little to a
model. Similarities count less in a store whose passages are near to questions that nothing answers, as many
short ones are. A passage with nothing embedded, such as furniture, fits only with every word as typed. Words
that neither a passage nor the embedder's vocabulary has may be made up: the more of them, the more similarity
is needed. For a query of only a number, a date or a code, a passage without it never fits. Base64 and
minified code never fit. The weights are those of decision 4.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nlargest
from typing import NamedTuple

from rag_core.search import reasons
from rag_core.search.curves import CURVES, with_newness
from rag_core.store.document_words import TOGETHER
from rag_core.store.questions import HIGHEST, on_scale
from rag_core.text.numbers import held_whole
from rag_core.text.words import alternatives, occurrences, query_words, split_words, units, word_places
from rag_core.types import Mode, Number, Query

RELEVANT = 0.5
_NEARLY = 0.49  # maximum score of a passage that does not fit
_K1, _B = 1.2, 0.75  # BM25's, as in SQLite's FTS5
_BM25_BOUND = _K1 + 1  # limit of one word's BM25, as a multiple of its weight
FEW_HOLDERS = 20
"""If at most this many passages have every word of a query, they fit for that reason: a reader can look
through them."""

_COVERAGE, _WORDS, _TITLE, _NAMED = 0.2, 0.22, 0.2, 0.15  # in the value
_HALF = 0.5  # of a query: if no passage covers it, words count less
_CODE = -0.05  # in the value, times the share of a question that is missing in code
_QUESTION = 3  # minimum words of a query that may be a question
_WORDS_ALONE = 0.25  # in the value, times the share of passages found by words that have no vector
_TELLING = 3  # number of passages whose names of other documents count
_BEGUN = 0.4  # instead of the title's, for a name that begins with the whole query
_SIGNAL_WORDS, _SIGNAL_ONE = 0.6, -0.1  # one word of several may well mean something else
_MADE_UP = 0.3  # off the signal, times the square of the share of the words that may be made up
_NOWHERE = 8.0  # information of a word that is missing in 1,500 passages; in fewer it says less
_CLEAR = 4.0  # a query with less information is mostly words that nearly every passage has
_NEARLY_NAMED = 0.99  # a title with forms of the same words
_MOST_OF_QUERY = 0.7  # share of the query that a title must have: one name of a question says little
_EVERY_WORD: Mapping[Mode, float] = {"hybrid": 0.3, "lexical": 0.8, "vector": 0.0}
"""In the value, for a document with all of several words of the query, if few documents have them all."""
_AS_TYPED = 0.5  # in the value, for a passage with a code as typed: parts in a row are only a near match
_ELSEWHERE = 0.75  # of a word's information, in a document of up to four passages
_LEXICAL_COVERAGE = 0.3  # in the signal by words alone; the rest is BM25


class Candidate(NamedTuple):
    """A passage that may become a hit."""

    chunk_id: int
    text: str  #: The text that is weighed: folded, with title, headings, tags and terms.
    title: str = ""
    is_named: bool = False  #: Whether the query is its document's name.
    begun: float = 0.0  #: The share of its document's name that the query is the beginning of, 0 to 1.
    by_words: bool = False  #: Whether it was found by words.
    similarity: float | None = None  #: The cosine to the query; None if unknown.
    is_data: bool = False  #: Whether it is data, such as base64.
    is_silent: bool = False  #: Whether nothing in it is embedded, because it is furniture or only a name.
    is_code: bool = False  #: Whether its document is code.
    date: str = ""  #: The date of its document; ISO 8601.
    #: Rarer units anywhere in its document, if they are far apart and this passage has most of them.
    of_document: frozenset[str] = frozenset()
    length: int = 1  #: Number of passages of its document; 1 if ``of_document`` is empty.


class Weighed(NamedTuple):
    """A candidate after weighing, with its score and the reasons to show it."""

    candidate: Candidate
    score: float  #: From 0 to 1, never rising down the list.
    reasons: tuple[str, ...]
    bm25: float | None = None  #: BM25 of the passage; None if words do not count.
    words_share: float | None = 1.0  #: Share of the query's words in it or its document.


@dataclass(frozen=True, slots=True)
class _Asked:
    """The query, with the values needed to compare candidates with it."""

    query: Query
    mode: Mode
    idf: Mapping[str, float]  #: The information of each unit of the query.
    total: float  #: The information of the whole query.
    words: Mapping[str, set[str]]  #: The words as typed, each with its units.
    numbers: Sequence[Number]
    highest: float  #: The similarity that most passages stay below if nothing answers.


class _Match(NamedTuple):
    """A candidate, with how well its words match the query."""

    candidate: Candidate
    held: frozenset[str]  #: The units in the passage.
    elsewhere: frozenset[str]  #: The units that are only in other passages of its document.
    bm25: float
    coverage: float  #: The share of the query's information that the passage contains, 0 to 1.
    title: float  #: How well its title matches the query, 0 to 1.


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules that decide whether a candidate fits, the same for all candidates of a query."""

    asked: _Asked
    guessed: frozenset[str]  #: Units that replace misspelled words: nothing fits because of them.
    made_up: float  #: Subtracted from each signal for words that may be made up.
    lifts: bool  #: Whether a passage with every word fits.
    only_apart: bool  #: Whether every word is in documents, but not all in one passage.
    needs_number: bool  #: Whether only a passage with the number fits.
    may_begin: bool  #: Whether a name that begins with the query counts as named.


class _Place(NamedTuple):
    """The sort key of a candidate; the greatest comes first."""

    is_guess: bool  #: Whether it fits a query whose words were corrected.
    #: 0 if it cannot fit, 1 for most, 2 if its name begins with the query, 3 if its name is the query.
    tier: int
    value: float
    date: str
    age: int  #: Negative: of two equal passages, the one that was read first comes first.
    score: float  #: From 0 to 1, without regard to other candidates.
    position: int  #: The index of its match.


def weigh(
    candidates: Sequence[Candidate],
    query: Query,
    idf: Mapping[str, float],
    mode: Mode,
    recency: float = 0.0,
    real: Set[str] = frozenset(),
    highest: float = HIGHEST,
) -> list[Weighed]:
    """Order the candidates, best first. Each candidate already contains every phrase of the query.

    Args:
        candidates: The passages of `gather`.
        query: The interpreted query.
        idf: The IDF of each unit of the query; a unit is a word, or two Chinese characters.
        mode: What counts: words, meaning or both.
        recency: How much newer documents are preferred, 0 to 1.
        real: The words that the embedder's vocabulary has.
        highest: The similarity that passages rarely exceed if nothing answers the query.

    """
    asked = _asked(query, idf, mode, highest)
    matches = _matches(candidates, asked)
    values = _values(matches, asked)
    named = _named_by_others(matches, values) if mode != "vector" else frozenset[int]()
    if recency:
        values = with_newness(values, candidates, recency)
    rules = _rules(matches, asked, real)
    places: list[_Place] = []
    for index, match in enumerate(matches):
        values[index] += _bonus(match, rules) + (_NAMED if index in named else 0.0)
        places.append(_place(index, match, values[index], rules))
    return _in_order(places, matches, named, asked)


def _bonus(match: _Match, rules: _Rules) -> float:
    """Return what is added to a candidate's value if it has all words, or all codes as typed."""
    asked, bonus, text = rules.asked, 0.0, match.candidate.text
    if rules.lifts and len(asked.words) > 1 and _has_every_word(match, asked):
        bonus += _EVERY_WORD[asked.mode] * (2 if rules.only_apart else 1)
    is_as_typed = bool(asked.words) and all(_is_code(word) and word.lower() in text for word in asked.words)
    return bonus + (_AS_TYPED if is_as_typed and asked.mode != "vector" else 0.0)


def all_alike(candidates: Sequence[Candidate], query: Query) -> list[Weighed]:
    """Return the candidates of a query without words, in their present order. All of them fit, with score
    1."""
    reason = "holds it exactly" if query.phrases else "matches the filters"
    return [Weighed(candidate, 1.0, (reason,)) for candidate in candidates]


def _asked(query: Query, idf: Mapping[str, float], mode: Mode, highest: float) -> _Asked:
    words = {word: {*its_units} for word, its_units in query.terms.typed if idf.keys() >= {*its_units}}
    numbers = [number for number in query.terms.numbers if idf.keys() >= {*number.wholes, *number.parts}]
    return _Asked(query, mode, idf, sum(idf.values()), words, numbers, highest)


def _in_order(
    places: Sequence[_Place], matches: Sequence[_Match], named: Set[int], asked: _Asked
) -> list[Weighed]:
    """Return the candidates, best first, with their reasons. Scores never rise down the list."""
    anything_fits = any(place.score >= RELEVANT for place in places)
    words_held: dict[tuple[frozenset[str], frozenset[str]], str] = {}
    weighed: list[Weighed] = []
    score = 0.0
    for place in sorted(places):  # from the last to the first
        match = matches[place.position]
        score = max(score, place.score)
        key = match.held, match.elsewhere
        if key not in words_held:
            words_held[key] = reasons.words_held(asked.query, asked.words, *key)
        told = reasons.of_passage(
            place.tier,
            words_held[key],
            match.candidate.similarity,
            by_words=match.candidate.by_words,
            is_named_there=anything_fits and place.position in named,
        )
        bm25 = (match.bm25 or None) if asked.mode != "vector" else None
        share = _words_share(match, asked) if place.tier == 1 else 1.0 if place.tier else None
        weighed.append(Weighed(match.candidate, score, told, bm25, share))
    return weighed[::-1]


def _words_share(match: _Match, asked: _Asked) -> float:
    held = match.held | match.elsewhere
    return len([word for word, units in asked.words.items() if units <= held]) / max(1, len(asked.words))


# --- what the words make of a candidate --------------------------------------------------


def _matches(candidates: Sequence[Candidate], asked: _Asked) -> list[_Match]:
    average = sum([len(candidate.text) for candidate in candidates]) / max(1, len(candidates))
    titles: dict[str, float] = {}
    matches: list[_Match] = []
    forms, numbers = asked.query.terms.forms, asked.numbers
    # Where a passage has the code itself, its parts with spaces between are other words: odd 022 x.
    in_one_piece = held_whole(numbers, [candidate.text for candidate in candidates])
    for candidate in candidates:
        counts = occurrences(candidate.text, forms, numbers, in_one_piece) if asked.total else {}
        if counts and candidate.title not in titles:
            titles[candidate.title] = _title(candidate.title, asked)
        title = titles[candidate.title] if counts else 0.0
        matches.append(_match(candidate, counts, len(candidate.text) / average, title, asked))
    return matches


def _match(
    candidate: Candidate, counts: Mapping[str, int], length: float, title: float, asked: _Asked
) -> _Match:
    """Measure a candidate by its ``counts`` of units. ``length`` is relative to the average. A unit only in
    other passages of its document counts in part, and less the more passages there are."""
    norm = _K1 * (1 - _B + _B * length)
    bm25 = coverage = 0.0
    for unit, count in counts.items():
        information = asked.idf.get(unit, 0.0)
        coverage += information / asked.total
        bm25 += information * count * (_K1 + 1) / (count + norm)
    held = frozenset(counts).intersection(asked.idf)
    elsewhere = candidate.of_document - held if held else frozenset()
    if elsewhere:
        information = sum([asked.idf[unit] for unit in elsewhere]) * _ELSEWHERE
        information /= max(1.0, math.log2(candidate.length) / 2)
        coverage += information / asked.total
        bm25 += information
    return _Match(candidate, held, elsewhere, bm25, coverage, title)


def _title(title: str, asked: _Asked) -> float:
    """Return how well a (folded) title matches the query, 0 to 1: F1 over their words without numbers.

    1 only if both have the same words; 0 if the title lacks most of the query.
    """
    forms = asked.query.terms.forms
    held = [unit for unit in asked.idf if word_places(title, forms[unit])]
    recall = sum([asked.idf[unit] for unit in held]) / asked.total
    words = units(query_words(title)) if recall >= _MOST_OF_QUERY else []
    words = [word for word in words if not word.isdecimal()] or words  # 2026-03-14 weekly review
    if not words:
        return 0.0
    if len(held) == len(asked.idf) and {*words} <= {word for unit in held for word in alternatives(unit)}:
        return 1.0
    asked_words = [word for word in words if any(word_places(word, forms[unit]) for unit in held)]
    precision = len(asked_words) / len(words)
    return min(_NEARLY_NAMED, 2 * recall * precision / (recall + precision))


# --- the value: the order among candidates of one query ----------------------------------


def _stand_in(bm25: float, coverage: float) -> float:
    """Estimate the similarity of a passage without a vector from its BM25 (divided by the best or its bound)
    and coverage. The weights are least squares on seven judged sets."""
    return 0.17 + 0.35 * bm25 + 0.06 * coverage


def _values(matches: Sequence[_Match], asked: _Asked) -> list[float]:
    """Return the ordering value of each candidate, without the bonus for documents that better passages
    name."""
    if asked.mode == "vector":
        return [match.candidate.similarity or 0.0 for match in matches]
    best = max([match.bm25 for match in matches], default=0.0) or 1.0
    words = _WORDS * min(1.0, max([match.coverage for match in matches], default=0.0) / _HALF)
    is_hybrid = asked.mode == "hybrid"
    shift, missing = _without_vector(matches, best) if is_hybrid else (0.0, 0.0)
    code = _CODE if len(asked.words) >= _QUESTION else 0.0
    values: list[float] = []
    for match in matches:
        candidate, relative = match.candidate, match.bm25 / best
        value = max(_TITLE * match.title, _BEGUN * 2 * candidate.begun / (1 + candidate.begun))
        if not is_hybrid:
            values.append(relative + value)
            continue
        value += _COVERAGE * min(1.0, asked.total / _CLEAR) * match.coverage**2
        value += words * match.coverage * 2 * relative / (1 + relative) + _WORDS_ALONE * missing * relative
        if candidate.is_code:
            value += code * (1 - match.coverage)
        if candidate.similarity is not None:
            value += candidate.similarity
        elif not candidate.is_data:
            value += _stand_in(relative, match.coverage) + shift
        values.append(value)
    return values


def _without_vector(matches: Sequence[_Match], best: float) -> tuple[float, float]:
    """Return two numbers about the passages that words found: a correction, and the share of them that has
    no vector.

    `_stand_in` assumes a similarity for a passage without a vector. The correction is by how much the known
    similarities exceed what it would assume for them, on average; the best matches by words count most."""
    shift, weights = 0.0, 1.0  # one passage as the stand-in says
    lacking = count = 0
    for match in matches:
        candidate = match.candidate
        if not candidate.by_words or candidate.is_data:
            continue
        count += 1
        if candidate.similarity is None:
            lacking += 1
        else:
            relative = match.bm25 / best
            shift += relative**2 * (candidate.similarity - _stand_in(relative, match.coverage))
            weights += relative**2
    return shift / weights, lacking / max(1, count)


def _named_by_others(matches: Sequence[_Match], values: Sequence[float]) -> frozenset[int]:
    """Return the positions of candidates whose document is named by a better passage among the best ones.

    A passage whose own title contains the query is itself the target, so the documents that it names do not
    count.
    """
    named: set[int] = set()
    for telling in nlargest(_TELLING, range(len(matches)), key=lambda index: values[index]):
        if matches[telling].title:
            continue
        for index, match in enumerate(matches):
            is_better = values[telling] > values[index]
            if is_better and _names(matches[telling].candidate, match.candidate.title):
                named.add(index)
    return frozenset(named)


def _names(passage: Candidate, title: str) -> bool:
    """Whether a passage names the document ``title``: by its title, if that has several words, or by a
    link."""
    if not title or passage.title == title or title not in passage.text:
        return False
    escaped = re.escape(title)
    in_a_link = rf"\[\[{escaped}[]|#]"
    return re.search(rf"(?<!\w){escaped}(?!\w)" if " " in title else in_a_link, passage.text) is not None


# --- the signal: whether a candidate fits ------------------------------------------------


def _rules(matches: Sequence[_Match], asked: _Asked, real: Set[str]) -> _Rules:
    query = asked.query
    holders: Counter[frozenset[str]] = Counter()
    present: set[str] = set()
    guessed: set[str] = set()
    for _, others in query.terms.corrected:
        guessed.add("|".join(others))
    for match in matches:
        holders[_held_together(match)] += 1
        present |= match.held
    lifts = bool(asked.idf) and asked.mode != "vector" and not query.terms.corrected
    return _Rules(
        asked=asked,
        guessed=frozenset(guessed),
        made_up=_MADE_UP * _made_up(asked, present, real) ** 2,  # one of several may be a rare one
        lifts=lifts and (bool(query.phrases) or holders[frozenset(asked.idf)] <= FEW_HOLDERS),
        only_apart=all(len(match.held) < len(asked.idf) for match in matches),
        # A query of nothing but numbers: one is as near as another to a model.
        needs_number=asked.mode == "hybrid" and bool(asked.numbers) and _is_numbers(asked),
        # One word that passages hold is looked for itself.
        may_begin=len(asked.words) > 1 or not present or bool(query.terms.completed),
    )


def _is_code(word: str) -> bool:
    return any(map(str.isdecimal, word)) and any(map(str.isalpha, word))


def _is_numbers(asked: _Asked) -> bool:
    """Whether the query consists only of numbers, dates and codes."""
    parts = {part for number in asked.numbers for part in number.parts}
    return all(its_units <= parts for its_units in asked.words.values())


def _made_up(asked: _Asked, present: Set[str], real: Set[str]) -> float:
    """Return the share, 0 to 1, of the query's words that no passage has and that are not in ``real``. A word
    weighs less in a store with little text."""
    weight = 0.0
    for word, its_units in asked.words.items():
        if word not in real and present.isdisjoint(its_units):
            weight += min(1.0, max(asked.idf[unit] for unit in its_units) / _NOWHERE)
    return weight / max(1, len(asked.words))


def _place(position: int, match: _Match, value: float, rules: _Rules) -> _Place:
    candidate, query = match.candidate, rules.asked.query
    chance = _chance(_without_guesses(match, rules) if rules.guessed else match, rules)
    order = value, candidate.date, -candidate.chunk_id
    if candidate.is_data or (rules.needs_number and not match.held):
        return _Place(False, 0, *order, min(chance / 2 if chance >= RELEVANT else chance, _NEARLY), position)
    has_title = match.title == 1.0 and query.terms.stop_words <= {*split_words(candidate.title)}
    is_named = candidate.is_named or (has_title and not query.terms.completed)
    begins = rules.may_begin and candidate.begun > 0
    by_name = (is_named or begins) and not rules.guessed  # by what was typed
    fits = by_name or chance >= RELEVANT
    if rules.lifts and _has_every_word(match, rules.asked):
        fits = True
    if is_named and by_name:
        score = 1.0
    elif fits:
        score = chance if chance >= RELEVANT else (1 + chance) / 2
    else:
        score = min(chance, _NEARLY)
    tier = 3 if is_named else 2 if begins else 1
    return _Place(fits and bool(rules.guessed), tier, *order, score, position)


def _held_together(match: _Match) -> frozenset[str]:
    """Return the units of a candidate, with the units of its whole document if the document is short."""
    return match.held | match.elsewhere if match.candidate.length <= TOGETHER else match.held


def _has_every_word(match: _Match, asked: _Asked) -> bool:
    return len(_held_together(match)) == len(asked.idf)


def _chance(match: _Match, rules: _Rules) -> float:
    """Return the probability, 0 to 1, that a candidate is relevant. It does not depend on other
    candidates."""
    asked, curve = rules.asked, CURVES[rules.asked.mode]
    similarity = match.candidate.similarity
    if similarity is not None:
        similarity = on_scale(similarity, asked.highest)
    if asked.mode == "vector":
        return curve(similarity or 0.0)
    bm25 = match.bm25 / (_BM25_BOUND * asked.total) if asked.total else 0.0
    if asked.mode == "lexical":
        return curve(_LEXICAL_COVERAGE * match.coverage + (1 - _LEXICAL_COVERAGE) * bm25)
    if similarity is None:
        similarity = _stand_in(bm25, match.coverage)
    weight = _SIGNAL_ONE if len(_held_together(match)) == 1 < len(asked.idf) else _SIGNAL_WORDS
    chance = curve(similarity + weight * bm25 - rules.made_up)
    if match.candidate.is_silent and not _has_every_word(match, asked):
        return min(chance, _NEARLY)
    return chance


def _without_guesses(match: _Match, rules: _Rules) -> _Match:
    """Return the match without corrections of misspelled words. Corrections may order candidates, but must
    not be the reason why a candidate fits."""
    if rules.guessed.isdisjoint(match.held):
        return match
    idf, held = rules.asked.idf, match.held - rules.guessed
    share = sum(idf[unit] for unit in held) / (sum(idf[unit] for unit in match.held) or 1.0)
    bm25, coverage, title = match.bm25 * share, match.coverage * share, match.title * share
    return _Match(match.candidate, held, match.elsewhere - rules.guessed, bm25, coverage, title)
