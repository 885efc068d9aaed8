"""Whether a passage contains a quote word for word.

Allowed differences are white space, the kind of quote marks and dashes, the marks of Markdown in either text,
the case of the first letter, and the punctuation at both ends.

An ellipsis may replace text between parts of at least two words, or of four characters in a script without
spaces. A quote may not begin or end inside a word or number of the passage.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from rag_core.ask.quotes import SIGNS
from rag_core.replies import QuoteSpan
from rag_core.text.inline import Mark
from rag_core.text.shown import marks_of
from rag_core.text.words import is_unspaced

_LIKE = {  # the character that a character is compared as
    **dict.fromkeys(SIGNS | {"`"}, "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # invisible
    "…": "...",
    "|": " ",
}
_HYPHENS = "-‐‑"
_ENDS = ".,;:!?…。，、；：！？' "
_ELLIPSIS = re.compile(r"(?<!\s)\s*(?:[\[(]\s*)?(?:\.\.\.+|(?:\. ){2,}\.)\s*[\])]?\s*")
_LEAST_WORDS = 2

_STRAY = re.compile(
    r"((?<![^\W_])[*_]{1,3}|[*_]{1,3}(?![^\W_])|~~|==|`{1,3}|</?[A-Za-z][\w-]*(?:\s[^<>\n]{0,100})?/?>)"
)
"""Emphasis marks of which a quote contains only one end, and tags of any name."""
_DIVIDED = re.compile(r"(?<=[^\W\d_])(-\n[ \t]*)(?=[^\W\d_])")
"""The hyphen and line break inside a word that a line break divides."""


class Held:
    """A passage, prepared for finding many quotes in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = _folded(text)
        self._bare = _folded(text, _marks_of(text))

    def find(self, quote: str) -> QuoteSpan | None:
        """Return the span of the quote in the passage; None if it is not there. ``quote`` has no quote
        marks."""
        plain = _folded(quote)[0].strip(_ENDS)
        bare = _folded(quote, _marks_of(quote, self._text))[0].strip(_ENDS)
        return self._find(plain, *self._plain) or self._find(bare, *self._bare)

    def _find(self, wanted: str, form: str, places: Sequence[int]) -> QuoteSpan | None:
        if whole := next(self._places(wanted, form, places, 0), None):
            return places[whole[0]], places[whole[1] - 1] + 1
        split = [piece.strip(_ENDS) for piece in _ELLIPSIS.split(wanted)]
        pieces = [piece for piece in split if piece]
        # Two characters of a script without spaces are a word.
        words = [max(len(piece.split()), sum(map(is_unspaced, piece)) // 2) for piece in pieces]
        if len(split) < 2 or not pieces or (len(pieces) > 1 and min(words) < _LEAST_WORDS):
            return None
        pieces_found: list[QuoteSpan] = []
        for piece in pieces:
            place = next(self._places(piece, form, places, pieces_found[-1][1] if pieces_found else 0), None)
            if place is None:
                return None
            pieces_found.append(place)
        return places[pieces_found[0][0]], places[pieces_found[-1][1] - 1] + 1

    def _places(self, wanted: str, form: str, places: Sequence[int], start: int) -> Iterator[QuoteSpan]:
        """Return the spans in ``form``, from ``start`` on, of ``wanted`` as whole words. The first letter may
        be upper or lower case."""
        if not any(char.isalnum() for char in wanted):
            return
        spans: list[QuoteSpan] = []
        for spelling in dict.fromkeys((wanted, wanted[0].swapcase() + wanted[1:])):
            position = form.find(spelling, start) if len(spelling) == len(wanted) else -1
            while position >= 0:
                spans.append((position, position + len(spelling)))
                position = form.find(spelling, position + 1)
        for begin, end in sorted(spans):
            sides = (begin, begin - 1), (end - 1, end)
            if all(self._ends_word(form, places, inner, outer) for inner, outer in sides):
                yield begin, end

    def _ends_word(self, form: str, places: Sequence[int], inner: int, outer: int) -> bool:
        """Whether a word or number ends between a quote's outermost character ``inner`` and its neighbour
        ``outer`` (offsets in ``form``)."""
        if not 0 <= outer < len(form):
            return True
        char, beside, sign = form[inner], form[outer], self._text[places[outer]]
        beyond = 2 * outer - inner
        further = form[beyond] if 0 <= beyond < len(form) else ""
        is_joined = char.isalnum() and beside.isalnum() and not (is_unspaced(char) or is_unspaced(beside))
        if is_joined or (char.isdigit() and beside in ".," and further.isdigit()):
            return False
        if char.isdigit():  # a number without its sign is a different number
            return outer > inner or sign not in "-−" or further.isalnum()
        return not (char.isalpha() and sign in _HYPHENS and further.isalpha())


def _folded(text: str, instead: Mapping[int, str] = MappingProxyType({})) -> tuple[str, list[int]]:
    """Normalize ``text`` for comparison. Characters at the offsets in ``instead`` are replaced. Return the
    result and, for each of its characters, the offset in ``text``."""
    chars: list[str] = []
    places: list[int] = []
    for position, cluster in _clusters(text):
        for sign in instead.get(position, (cluster,)):
            for char in " " if sign.isspace() else _LIKE.get(sign, sign):
                if char in " '" and (chars[-1:] == [char] or (char == " " and not chars)):
                    continue
                chars.append(char)
                places.append(position)
    return "".join(chars), places


def _marks_of(text: str, held: str | None = None) -> dict[int, str]:
    """Return the replacement of each character of Markdown syntax, by its offset. The first character of a
    mark gets the shown text, and the others get ''.

    In a quote, syntax that contains words counts only if the passage ``held`` has the same syntax. Otherwise
    a model could hide additions in it.
    """
    instead: dict[int, str] = {}
    marks = [mark._replace(shown="") if mark.kind == "line" else mark for mark in marks_of(text, "markdown")]
    for pattern in (_STRAY, _DIVIDED):
        marks += [Mark(*match.span(1)) for match in pattern.finditer(text)]
    for mark in marks:
        written = text[mark.start : mark.end]
        if held is None or mark.shown or written in held or not any(map(str.isalnum, written)):
            instead |= dict.fromkeys(range(mark.start, mark.end), "")
            instead[mark.start] = mark.shown
    return {at: shown for at, shown in instead.items() if text[at] != "|"}  # a cell ends where a word ends


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """Return each character with its offset. A letter and its combining marks are composed into one
    character."""
    if unicodedata.is_normalized("NFC", text):
        yield from enumerate(text)
        return
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or not (
            unicodedata.combining(text[position]) or "\u1160" <= text[position] <= "\u11ff"
        ):
            yield start, unicodedata.normalize("NFC", text[start:position])
            start = position
