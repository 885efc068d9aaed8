"""The quotes in a model's output. A quote mark is one of the characters below, doubled (``""``), HTML
(``&quot;``, ``<q>``), LaTeX (two backticks) or escaped with a backslash."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rag_core.ask.citations import FENCED, next_citation

LONGEST_QUOTE = 2000
_MOST_MARKS = 64  # marks in one quote; without a limit, many unclosed quotes would take quadratic time

_CLOSERS = {
    '"': '"”', "“": "”“", "”": "”“", "„": "“”‟", "‟": "”", "″": "″", "＂": "＂", "❝": "❞", "〝": "〞〟",
    "«": "»", "»": "«»", "‹": "›", "›": "‹›", "❮": "❯",
    "「": "」", "『": "』", "｢": "｣", "﹁": "﹂", "﹃": "﹄", "《": "》", "〈": "〉",
    "‘": "’‘", "’": "’", "'": "'", "‚": "‘’", "‛": "’", "❛": "❜", "＇": "＇", "´": "´", "`": '"”',
}  # fmt: skip
"""Opening mark → the marks that close it."""
_OTHER_CLOSERS = {"“": '"', "”": '"', "„": '"', "‟": '"'}
"""Closing marks to try if no regular one follows in the line, because a quote may mix two kinds of marks."""
_SINGLE = frozenset("‘’'‚‛❛＇´")
_INCHES = frozenset('"″＂')
_CLOSES_TOO = frozenset("”’»›")  # they open only after a space
SIGNS = frozenset("".join((*_CLOSERS, *_CLOSERS.values()))) - {"`"}
"""Every character that is a quote mark."""
_CLOSE = frozenset("".join(_CLOSERS.values())) - frozenset("“‘")

_CHARACTERS = re.escape("".join(sorted(SIGNS)))
_MARK = re.compile(
    rf"([{_CHARACTERS}])\1*"
    rf"|\\?(?:&\#?\w{{2,6}};|</?(?:q|blockquote)(?:\s[^<>\n]{{0,100}})?>|[{_CHARACTERS}])"
    r"|(?<!`)``(?!`)|(?<!,),,(?!,)",
    re.IGNORECASE,
)
_FIRST = SIGNS | frozenset("\\&<`,")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class QuoteMark:
    """A quote mark in a text."""

    start: int
    end: int
    sign: str  #: The character.
    count: int  #: How often the character is repeated.
    weak: bool  #: Whether it may be an apostrophe, which opens a quote only if another mark closes it.
    before: str  #: The character before the mark.
    after: str  #: The character after it.

    @property
    def closes(self) -> bool:
        """Whether this mark can end a quote."""
        return self.sign in _CLOSE


def mark_at(text: str, position: int) -> QuoteMark | None:
    """Return the quote mark at ``position``, including equal marks directly after it; None if there is
    none."""
    if (
        text[position] not in _FIRST
        or not (match := _MARK.match(text, position))
        or not (sign := _sign(match[0]))
    ):
        return None
    weak = sign in _SINGLE or match[0] in ("``", ",,")
    end, count = match.end(), len(match[0]) if match[1] else 1
    while not match[1] and (more := _MARK.match(text, end)) and _sign(more[0]) == sign:
        end, count = more.end(), count + 1
    return QuoteMark(
        position, end, sign, count, weak, text[max(0, position - 1) : position], text[end : end + 1]
    )


def _sign(written: str) -> str:
    """Return the quote character of a mark such as an HTML entity; '' if the text is not a quote mark."""
    if written[0] in SIGNS:
        return written[0]
    written = written.removeprefix("\\")
    if written.startswith("<"):
        return "”" if written[1] == "/" else "“"
    sign = html.unescape(written)
    return sign if sign in SIGNS else {"``": "`", ",,": "„"}.get(written, "")


def _marks(text: str, start: int, end: int) -> Iterator[QuoteMark]:
    while match := _MARK.search(text, start, end):
        mark = mark_at(text, match.start())
        start = mark.end if mark else match.end()
        if mark:
            yield mark


def opening(text: str, position: int) -> QuoteMark | None:
    """Return the quote mark at ``position`` if it can open a quote; None for an apostrophe, an inch sign or
    an empty quote."""
    mark = mark_at(text, position)
    if mark is None or mark.sign not in _CLOSERS or not mark.after:
        return None
    before, after = mark.before, mark.after
    is_empty = mark.count > 1 and (after.isspace() or after in ".,;:!?)]}")
    is_apostrophe = mark.weak and (before.isalnum() or before in (")", "]") or after.isspace())
    is_closing = mark.sign in _CLOSES_TOO and before.strip(" \n(")
    is_inches = mark.sign in _INCHES and before.isdigit()
    return None if is_empty or is_apostrophe or is_closing or is_inches else mark


def closing(text: str, mark: QuoteMark) -> QuoteMark | None:
    """Return the mark that closes the quote opened by ``mark``, in the same paragraph; None if there is
    none."""
    paragraph = _BLANK_LINE.search(text, mark.end)
    end = min(paragraph.start() if paragraph else len(text), mark.end + LONGEST_QUOTE)
    close = _first_of(_CLOSERS[mark.sign], text, mark, end)
    line = text.find("\n", mark.end, close.start if close else end)
    if close and line < 0:
        return close
    return _first_of(_OTHER_CLOSERS.get(mark.sign, ""), text, mark, end if line < 0 else line) or close


def is_decided(text: str, mark: QuoteMark, close: QuoteMark | None) -> bool:
    """Whether ``close`` (None: no mark) stays the end of the quote at ``mark``, whatever text follows."""
    if _BLANK_LINE.search(text, mark.end):
        return True
    return close is not None and (close.sign in _CLOSERS[mark.sign] or "\n" in text[mark.end :])


def _first_of(closers: str, text: str, mark: QuoteMark, end: int) -> QuoteMark | None:
    """Return the first mark, before ``end``, at which one of ``closers`` closes the quote at ``mark`` and all
    quotes inside it; None if there is none."""
    opened = dict.fromkeys(closers, mark.count)
    for other in islice(_marks(text, mark.end, end), _MOST_MARKS) if closers else ():
        for closer in closers:
            opened[closer] += _opens_inside(other, mark, closer)
            if opened[closer] <= 0:
                return other
    return None


def _opens_inside(other: QuoteMark, mark: QuoteMark, closer: str) -> int:
    """Return the number of nested quotes that the mark ``other`` opens inside the quote of ``mark``; negative
    if it closes them."""
    if mark.weak:
        times = {(closer, closer): other.count, ("'", '"'): other.count // 2}  # '' is LaTeX's for "
        ends_word = not other.before.isspace() and not other.after.isalnum()
        return -times.get((other.sign, closer), 0) if ends_word else 0
    leads = (not other.before or other.before.isspace() or other.before in "([{") and other.after.isalnum()
    is_opener = other.sign == mark.sign and (mark.sign != closer or leads)
    if is_opener or (other.sign, closer) == ("“", "”"):
        return other.count
    return -other.count if other.sign == closer else 0


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quoted span. ``start`` to ``end`` includes the quote marks, and ``first`` to ``last`` is the text
    inside."""

    start: int
    end: int
    first: int
    last: int


def quotes(text: str) -> Iterator[Quoted]:
    """Return the quoted spans of a statement, in order, except those in a fenced code block. A quote that is
    never closed ends at the next citation, or with the text."""
    position = 0
    while position < len(text):
        if text[position] == "`" and (fenced := FENCED.match(text, position)):
            position = fenced.end()
            continue
        mark = opening(text, position)
        close = closing(text, mark) if mark else None
        if mark and (close or not mark.weak):
            last = close.start if close else max(next_citation(text, mark.end), mark.end)
            position = close.end if close else last
            yield Quoted(mark.start, position, mark.end, last)
        else:
            mark = mark_at(text, position)
            position = mark.end if mark else position + 1
