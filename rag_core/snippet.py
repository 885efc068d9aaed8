"""Which words of a passage to highlight, and which stretch of it to show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from rag_core.words import SPACED, STOP_WORDS, bigrams, clusters, fold, is_unspaced

Span = tuple[int, int]
SNIPPET_LENGTH = 320
MAX_SPANS = 200


def highlight(text: str, words: Iterable[str], phrases: Iterable[str] = ()) -> tuple[Span, ...]:
    """The (start, end) of every place in ``text`` where a query word occurs, ordered, disjoint.

    A word (folded, as from query_words) also matches as the beginning of a longer one
    (``index`` in *indexing*), the way the stemmed index finds it; unspaced words match by
    their pairs of characters.
    """
    pattern = _pattern(tuple(words), tuple(phrases))
    if pattern is None:
        return ()
    folded, places = _fold_in_place(text)
    spans: list[Span] = []
    for match in pattern.finditer(folded):
        start, end = places[match.start()][0], places[match.end() - 1][1]
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif len(spans) < MAX_SPANS:
            spans.append((start, end))
    return tuple(spans)


def _fold_in_place(text: str) -> tuple[str, list[Span]]:
    """``text`` folded, and for each character of that the span in ``text`` it came from."""
    if text.isascii():
        return text.lower(), [(i, i + 1) for i in range(len(text))]
    folded: list[str] = []
    places: list[Span] = []
    start = 0
    for cluster in clusters(text):
        end = start + len(cluster)
        folded.append(_fold_cluster(cluster))
        places += [(start, end)] * len(folded[-1])
        start = end
    return "".join(folded), places


_fold_cluster = lru_cache(maxsize=4096)(fold)


@lru_cache(maxsize=64)
def _pattern(words: tuple[str, ...], phrases: tuple[str, ...]) -> re.Pattern[str] | None:
    spoken = [r"\s+".join(map(re.escape, fold(phrase).split())) for phrase in phrases]
    spoken += [part for word in words for part in _alternatives(word)]
    return re.compile("|".join(sorted(spoken, key=len, reverse=True))) if spoken else None


def _alternatives(word: str) -> list[str]:
    if is_unspaced(word):
        pairs = bigrams(word) if len(word) > 1 else []
        return [re.escape(part) for part in dict.fromkeys((word, *pairs))]
    if len(word) < 3 or word in STOP_WORDS:
        return [rf"(?<!{SPACED}){re.escape(word)}(?!{SPACED})"]
    return [rf"(?<!{SPACED}){re.escape(stem(word))}{SPACED}*"]


@lru_cache(maxsize=1024)
def stem(word: str) -> str:
    """A beginning that the inflections of an English word share; short words stay whole."""
    for ending in (
        "ations",
        "ation",
        "ings",
        "ing",
        "ies",
        "ied",
        "ers",
        "ed",
        "es",
        "er",
        "ly",
        "s",
        "e",
        "y",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def best_window(text: str, spans: tuple[Span, ...], length: int = SNIPPET_LENGTH) -> Span:
    """The stretch of about ``length`` characters with most highlights, cut at words."""
    if len(text) <= length:
        return (0, len(text))
    start = _densest(spans, length)
    start = _word_start(text, max(0, min(start, len(text) - length)))
    end = min(len(text), start + length)
    while end < len(text) and end > start + length - 20 and not text[end].isspace():
        end -= 1
    return (start, end)


def _densest(spans: tuple[Span, ...], length: int) -> int:
    """Where to start so that most highlights are inside; a little before the first of them."""
    best, best_count, last = 0, 0, 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last < len(spans) and spans[last][1] <= start - length // 6 + length:
            last += 1
        if last - first > best_count:
            best, best_count = start - length // 6, last - first
    return max(0, best)


def _word_start(text: str, position: int) -> int:
    for step in range(20):
        if position - step <= 0:
            return 0
        if text[position - step - 1].isspace():
            return position - step
    return position
