"""Which words of a passage to highlight, and which stretch of it to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from rag_core.words import (
    STOP_WORDS,
    Span,
    bigrams,
    fold,
    is_unspaced,
    phrase_places,
    spaced_words,
    stretches,
)

SNIPPET_LENGTH = 320
MAX_SPANS = 200


def highlight(text: str, words: Iterable[str], phrases: Iterable[str] = ()) -> tuple[Span, ...]:
    """The (start, end) of every place in ``text`` where a query word occurs, ordered, disjoint.

    A word (folded, as from query_words) also matches as the beginning of a longer one
    (``index`` in *indexing*), the way the stemmed index finds it; unspaced words match by
    their pairs of characters.
    """
    folded, places = _fold_in_place(text)
    found = list(_word_places(folded, tuple(words)))
    found += [place for phrase in phrases for place in phrase_places(folded, fold(phrase))]
    spans: list[Span] = []
    for first, behind in sorted(found):
        start, end = places[first][0], places[behind - 1][1]
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif len(spans) < MAX_SPANS:
            spans.append((start, end))
    return tuple(spans)


def _word_places(text: str, words: Sequence[str]) -> Iterator[Span]:
    runs = [word for word in words if is_unspaced(word)]
    whole = {word for word in words if len(word) < 3 or word in STOP_WORDS}
    beginnings = tuple(stem(word) for word in words if word not in whole and word not in runs)
    for word, place in spaced_words(text):
        if word in whole or word.startswith(beginnings):
            yield place
    for part in dict.fromkeys(pair for run in runs for pair in bigrams(run)):
        at = text.find(part)
        while at >= 0:
            yield at, at + len(part)
            at = text.find(part, at + 1)


def _fold_in_place(text: str) -> tuple[str, list[Span]]:
    """``text`` folded, and for each character of that the span in ``text`` it came from."""
    folded: list[str] = []
    places: list[Span] = []
    start = 0
    for stretch in stretches(text):
        end = start + len(stretch)
        if stretch.isascii():
            folded.append(stretch.lower())
            places += [(at, at + 1) for at in range(start, end)]
        else:
            folded.append(_fold(stretch))
            places += [(start, end)] * len(folded[-1])
        start = end
    return "".join(folded), places


_fold = lru_cache(maxsize=4096)(fold)


_ENDINGS = "ations ation ings ing ies ied ers ed es er ly s e y".split()
_DOUBLING = ("ing", "ings", "ed", "er", "ers")


@lru_cache(maxsize=1024)
def stem(word: str) -> str:
    """A beginning that the inflections of an English word share: ``stop`` for stopped, ``bug`` for bugs."""
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= (3 if ending == "s" else 4):
            doubled = ending in _DOUBLING and rest[-1] == rest[-2] and rest[-1] not in "aeiouflsz"
            return rest[:-1] if doubled else rest
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
