"""Highlights and snippets of a passage, and its markup that is not shown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rag_core.text.cells import cells_apart, cells_of_source_apart, rows_apart
from rag_core.text.furniture import between
from rag_core.text.inline import Mark, instead
from rag_core.text.markup import read_markup
from rag_core.text.numbers import MONTHS, Span, numbers
from rag_core.text.shown import shown
from rag_core.text.stop_words import ENGLISH
from rag_core.text.words import alternatives, fold, forms_of, stem, stretches, word_places
from rag_core.types import Forms, Phrase

SNIPPET_LENGTH = 320
"""Characters of a snippet."""
MAX_SPANS = 200
"""Maximum number of highlights in a text."""
_DIGIT = re.compile(r"\d")
_UMLAUT = re.compile("(?<=[aou])e")  # ä, ö and ü may be written as ae, oe, ue
_A_WORD = 20  # characters by which a snippet may be longer or shorter, so that it ends with a word


def highlight(
    text: str, words: Iterable[str], phrases: Sequence[Phrase] = (), file_type: str = ""
) -> tuple[Span, ...]:
    """Return the (start, end) of every match of a query's words and phrases in ``text``, in order.

    A word also matches its inflections (``index`` in *indexing*), as in the stemmed index. A phrase also
    matches text that looks like the phrase once a document of ``file_type`` is shown without markup.
    """
    folded, origins = _fold_in_place(cells_apart(text, file_type) if phrases else text)
    asked = _sought(tuple(words))
    places_held: list[Span] = []
    for forms in asked.values():
        places_held += word_places(folded, forms)
    if not MONTHS.isdisjoint(asked) or _DIGIT.search(" ".join(asked)):
        places_held += _numbers_held(folded, asked)
    for phrase in phrases:
        places_held += [match.span() for match in phrase.pattern.finditer(folded)]
    marked = [(origins[first][0], origins[last - 1][1]) for first, last in places_held]
    if phrases and file_type:
        marked += _phrases_shown(text, phrases, file_type)
    return _united(marked)


def _united(marked: Iterable[Span]) -> tuple[Span, ...]:
    """Return the first spans, in order. Touching spans are joined."""
    spans: list[Span] = []
    for start, end in sorted(marked):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif len(spans) < MAX_SPANS:
            spans.append((start, end))
    return tuple(spans)


def _phrases_shown(text: str, phrases: Sequence[Phrase], file_type: str) -> list[Span]:
    """Return the spans of ``text`` that are shown as one of the phrases."""
    as_shown = shown(cells_of_source_apart(text, file_type), file_type)
    if as_shown.text == text:
        return []
    folded, origins = _fold_in_place(rows_apart(as_shown.text, file_type))
    spans: list[Span] = []
    for phrase in phrases:
        for match in phrase.pattern.finditer(folded):
            start, end = origins[match.start()][0], origins[match.end() - 1][1]
            spans.append(as_shown.source_span(start, end))
    return spans


def _numbers_held(folded: str, asked: Mapping[str, Forms]) -> list[Span]:
    """Return the spans of numbers and dates in the query, in any notation."""
    held: list[Span] = []
    for number in numbers(folded):
        names_month = number.month in asked and number.month not in number.parts
        if names_month or not asked.keys().isdisjoint(number.wholes):
            held.append(number.span)
    return held


@lru_cache(maxsize=64)
def _sought(units: tuple[str, ...]) -> Mapping[str, Forms]:
    """Return the forms of each word of a query. Stop words, and spellings with an umlaut (*ü* for *ue*),
    match only themselves."""
    words = dict.fromkeys([word for unit in units for word in alternatives(unit)])
    whole = {_UMLAUT.sub("", word) for word in words} - words.keys() | ENGLISH & words.keys()
    sought = {word: forms_of(word) for word in words}
    for word in whole:
        sought[word] = Forms(word, beginning=word, kind="name")
    return sought


def _fold_in_place(text: str) -> tuple[str, list[Span]]:
    """Return the folded text, and for each of its characters the span in ``text`` that it came from."""
    folded: list[str] = []
    places: list[Span] = []
    start = 0
    for stretch in [text] if text.isascii() else stretches(text):
        end = start + len(stretch)
        if stretch.isascii():
            folded.append(stretch.lower())
            places += zip(range(start, end), range(start + 1, end + 1), strict=True)
        else:
            folded.append(_fold(stretch))
            places += [(start, end)] * len(folded[-1])
        start = end
    return "".join(folded), places


_fold = lru_cache(maxsize=4096)(fold)


def best_window(
    text: str, spans: tuple[Span, ...], length: int = SNIPPET_LENGTH, hidden: Sequence[Span] = ()
) -> Span:
    """Return the span of about ``length`` characters with the most telling highlights, cut between words.
    ``hidden`` spans do not count towards the length."""
    if hidden:
        return _window_around(text, apart(spans, hidden), length, hidden)
    if len(text) <= length + _A_WORD:
        return (0, len(text))
    start = max(0, min(_richest(text, spans, length), len(text) - length))
    backwards = range(start, start - _A_WORD, -1)
    starts = (index for index in backwards if index <= 0 or text[index - 1].isspace())
    start = max(0, next(starts, start))
    end = start + length
    if len(text) <= end + _A_WORD:
        return (start, len(text))
    marked = max((last for _, last in spans if last <= end), default=0)
    ends = (index for index in range(end, max(end - _A_WORD, marked) - 1, -1) if text[index].isspace())
    return (start, next(ends, end))


def _window_around(text: str, spans: Sequence[Span], length: int, hidden: Sequence[Span]) -> Span:
    is_shown = bytearray(b"\1" * len(text))
    for start, end in hidden:
        is_shown[start:end] = bytes(end - start)
    shown = [index for index in range(len(text)) if is_shown[index]]
    place_of = {index: place for place, index in enumerate(shown)}
    moved = tuple((place_of[start], place_of[end - 1] + 1) for start, end in spans)
    first, last = best_window("".join([text[index] for index in shown]), moved, length)
    return (shown[first] if first else 0, shown[last - 1] + 1 if last < len(shown) else len(text))


def _richest(text: str, spans: Sequence[Span], length: int) -> int:
    """Return the start of the part with the most different highlights, a little before the first of them. A
    phrase counts as its words. A word that is rare in ``text`` counts up to double."""
    marked = _stems(text, spans)
    weights: dict[str, float] = {}
    for words, count in Counter(marked).items():
        weights[words] = (1 + 1 / count) * len(words.split())
    best, most, last = 0, (0.0, 0), 0
    for first, (start, _) in enumerate(spans):
        last = max(last, first)
        while last < len(spans) and spans[last][1] <= start - length // 6 + length:
            last += 1
        weight = sum(weights[words] for words in {*marked[first:last]})
        value = round(weight, 6), last - first
        if value > most:
            best, most = start - length // 6, value
    return max(0, best)


def _stems(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the stemmed text of each span, so that forms of one word are equal."""
    return [" ".join([stem(word) for word in text[start:end].casefold().split()]) for start, end in spans]


# --- markup ---------------------------------------------------------------------------


def left_out_spans(
    text: str, file_type: str, spans: Sequence[Span] = (), furniture: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """Return the (start, end) of the parts of a passage that are not shown, in order. The result is empty if
    nothing else would be left.

    These parts are tags, comments and character references of Markdown, unless one of the ``spans`` begins or
    ends in them. The ``furniture`` (repeated text, such as footers) is also left out, unless only it contains
    the spans.
    """
    tags: list[Span] = []
    if file_type == "markdown" and ("<" in text or "&" in text):
        marks = [
            mark
            for mark in read_markup(text, spans).marks
            if mark.kind != "sign" and text[mark.start] in "<&"
        ]
        tags = holding_none([(mark.start, mark.end) for mark in marks], spans)
        if not "".join(part for part, _ in pieces(text, (), hidden=tags)).strip():
            tags = []
    if furniture:
        shown = between(furniture, len(text))
        has_words = any(first <= start < last for start, _ in spans for first, last in shown)
        if (has_words or not spans) and any(text[start:end].strip() for start, end in shown):
            return tuple(sorted([*furniture, *apart(tags, furniture)]))
    return tuple(tags)


def apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return the ``spans`` that overlap none of ``others``."""
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in others)]


def holding_none(hidden: Iterable[Span], spans: Sequence[Span]) -> list[Span]:
    """Return the ``hidden`` spans in which none of ``spans`` begins or ends."""
    return [
        (start, end)
        for start, end in hidden
        if not any(a < end and start < b and not (a <= start and end <= b) for a, b in spans)
    ]


def pieces(
    text: str,
    spans: Iterable[Span],
    window: Span | None = None,
    hidden: Iterable[Span] = (),
) -> Iterator[tuple[str, bool]]:
    """Cut the ``window`` of ``text`` (default: all) into pieces, each with whether it is one of ``spans``.
    ``hidden`` spans are left out. A tag between words becomes a space, and a character reference becomes its
    character."""
    marks = [Mark(start, end, instead(text[start:end])) for start, end in hidden]
    return shown_pieces(text, spans, window or (0, len(text)), marks)


def shown_pieces(
    text: str, spans: Iterable[Span], window: Span, marks: Iterable[Mark]
) -> Iterator[tuple[str, bool]]:
    """Cut the ``window`` of ``text`` into pieces, each with whether it is one of ``spans``. Each of the
    ``marks`` is replaced by its shown text."""
    spans = sorted(spans)
    position, end = window
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.end <= position or mark.start >= end:
            continue
        yield from _pieces(text, position, max(mark.start, position), spans)
        if mark.start >= position and mark.shown:
            yield mark.shown, any(first <= mark.start and mark.end <= last for first, last in spans)
        position = min(mark.end, end)
    yield from _pieces(text, position, end, spans)


def _pieces(text: str, start: int, end: int, spans: Iterable[Span]) -> Iterator[tuple[str, bool]]:
    for first, last in spans:
        first, last = max(first, start), min(last, end)
        if first < last:
            if start < first:
                yield text[start:first], False
            yield text[first:last], True
            start = last
    if start < end:
        yield text[start:end], False
