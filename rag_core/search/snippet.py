"""Highlights and snippets of a passage, and the markup in it that is not shown."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from rag_core.text.furniture import between
from rag_core.text.numbers import MONTHS, Span, numbers
from rag_core.text.stop_words import ENGLISH
from rag_core.text.words import alternatives, fold, forms_of, stem, stretches, word_places
from rag_core.types import Forms, Phrase

SNIPPET_LENGTH = 320
"""Characters of a snippet."""
MAX_SPANS = 200
"""The most highlights of a text."""
_DIGIT = re.compile(r"\d")
_UMLAUT = re.compile("(?<=[aou])e")  # as ä, ö and ü may be written: ae, oe, ue
_A_WORD = 20  # characters by which an excerpt may be longer or shorter, to end with a word


def highlight(text: str, words: Iterable[str], phrases: Iterable[Phrase] = ()) -> tuple[Span, ...]:
    """Return the (start, end) of every match of a query's words and phrases in ``text``, ordered and
    disjoint. A word also matches its inflections (``index`` in *indexing*), as in the stemmed index."""
    folded, origins = _fold_in_place(text)
    asked = _sought(tuple(words))
    places_held: list[Span] = []
    for forms in asked.values():
        places_held += word_places(folded, forms)
    if not MONTHS.isdisjoint(asked) or _DIGIT.search(" ".join(asked)):
        places_held += _numbers_held(folded, asked)
    for phrase in phrases:
        places_held += [match.span() for match in phrase.pattern.finditer(folded)]
    spans: list[Span] = []
    for first, last in sorted(places_held):
        start, end = origins[first][0], origins[last - 1][1]
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        elif len(spans) < MAX_SPANS:
            spans.append((start, end))
    return tuple(spans)


def _numbers_held(folded: str, asked: Mapping[str, Forms]) -> list[Span]:
    """Return the spans of numbers and dates that the query asks for, in any notation."""
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
    """Return the span of about ``length`` characters with the most telling highlights, cut between words;
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
    """Return where the stretch with the most different highlights starts, a little before them. A phrase
    counts as its words. A word that is rare in ``text`` counts up to double."""
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

_WITH_TAGS = frozenset({"markdown", "html"})
_INLINE = (
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong"
    " sub sup time tt u var wbr"
).replace(" ", "|")
_BLOCKS = (
    "address article aside blockquote br caption center col colgroup dd details div dl dt figcaption figure"
    " footer h1 h2 h3 h4 h5 h6 header hr img li main nav ol p picture pre section source summary table tbody"
    " td tfoot th thead tr ul video"
).replace(" ", "|")
_VALUE = r"""[^<>"']|"[^"<]*"|'[^'<]*'"""
_TAG = rf"<!--(?:(?!<!--).)*?-->|</?(?:{_INLINE}|{_BLOCKS})(?:\s(?:{_VALUE})*)?/?>"
_REFERENCE = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_MARKUP = re.compile(f"{_TAG}|(?-i:{_REFERENCE})", re.I | re.S)
_JOINS = re.compile(rf"</?(?:{_INLINE})\b", re.I)
_CODE = re.compile(
    r"^[ \t>]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:^[ \t>]*(?P=fence)|\Z)"
    r"|(?<!`)(?P<run>`++)[^\n]+?(?<!`)(?P=run)(?!`)",  # a run whole, or many of them take minutes
    re.M,
)


def left_out_spans(
    text: str, file_type: str, spans: Sequence[Span] = (), furniture: Sequence[Span] = ()
) -> tuple[Span, ...]:
    """Return the (start, end) of the parts of a passage that are not shown, in order; empty if nothing else
    would be left.

    These are tags, comments and character references of Markdown and HTML, unless they are in code or contain
    one of the ``spans``; and the ``furniture``, unless only that contains the spans.
    """
    tags: list[Span] = []
    if file_type in _WITH_TAGS and ("<" in text or "&" in text):
        code = [match.span() for match in _CODE.finditer(text)] if file_type == "markdown" else []
        tags = apart((match.span() for match in _MARKUP.finditer(text)), (*code, *spans))
        if not "".join(part for part, _ in pieces(text, (), hidden=tags)).strip():
            tags = []
    if furniture:
        shown = between(furniture, len(text))
        has_words = any(first <= start < last for start, _ in spans for first, last in shown)
        if (has_words or not spans) and any(text[start:end].strip() for start, end in shown):
            return tuple(sorted([*furniture, *apart(tags, furniture)]))
    return tuple(tags)


def apart(spans: Iterable[Span], others: Sequence[Span]) -> list[Span]:
    """Return those of ``spans`` that overlap none of ``others``."""
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in others)]


def pieces(
    text: str,
    spans: Iterable[Span],
    window: Span | None = None,
    hidden: Sequence[Span] = (),
) -> Iterator[tuple[str, bool]]:
    """Cut the ``window`` of ``text`` (default: all) into pieces, each with whether it is one of ``spans``.
    ``hidden`` spans are left out; a tag between words becomes a space, a character reference its
    character."""
    position, end = window or (0, len(text))
    cuts = [(*span, True) for span in spans] + [(*span, False) for span in hidden]
    for first, last, is_marked in sorted(cuts):
        first, last = max(first, position), min(last, end)
        if first < last:
            yield text[position:first], False
            yield (text[first:last], True) if is_marked else (instead(text[first:last]), False)
            position = last
    yield text[position:end], False


def instead(markup: str) -> str:
    """Return the replacement for markup that is not shown: a space for a tag between words, the character for
    a character reference, else ''."""
    if markup.startswith("&"):
        return html.unescape(markup)
    return "" if markup.startswith("<!--") or _JOINS.match(markup) else " "
