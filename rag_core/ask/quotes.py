"""The quotes in what a model says: which quote marks open one, and where it is closed.

A mark may be written as one of the characters below, doubled (``""``), as HTML (``&quot;``, ``<q>``),
as LaTeX (two backticks) or with a backslash before it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from rag_core.ask.citations import FENCED, next_citation

LONGEST_QUOTE = 2000
_MOST_MARKS = 64  # in one quote: many quotes that are never closed would take quadratic time

_CLOSERS = {
    '"': '"”', "“": "”“", "”": "”“", "„": "“”‟", "‟": "”", "″": "″", "＂": "＂", "❝": "❞", "〝": "〞〟",
    "«": "»", "»": "«»", "‹": "›", "›": "‹›", "❮": "❯",
    "「": "」", "『": "』", "｢": "｣", "﹁": "﹂", "﹃": "﹄", "《": "》", "〈": "〉",
    "‘": "’‘", "’": "’", "'": "'", "‚": "‘’", "‛": "’", "❛": "❜", "＇": "＇", "´": "´", "`": '"”',
}  # fmt: skip
"""Marks that open → those that close."""
_OTHER_CLOSERS = {"“": '"', "”": '"', "„": '"', "‟": '"'}
"""Those that close where none of the others does in that line: the marks of a quote may be of two kinds."""
_SINGLE = frozenset("‘’'‚‛❛＇´")
_CLOSES_TOO = frozenset("”’»›")  # these open only behind a space
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
class Mark:
    """A quote mark between ``start`` and ``end``: ``count`` times the character ``sign``, and the characters
    ``before`` and ``after`` it. A *weak* one may be an apostrophe: it opens only what is closed."""

    start: int
    end: int
    sign: str
    count: int
    weak: bool
    before: str
    after: str

    @property
    def closes(self) -> bool:
        """Whether a quote may end with it."""
        return self.sign in _CLOSE

    @property
    def ends_word(self) -> bool:
        """Whether it stands right behind a word."""
        return not self.before.isspace() and not self.after.isalnum()


def mark_at(text: str, at: int) -> Mark | None:
    """The quote mark that begins at ``at``, with those of the same kind right behind it."""
    if text[at] not in _FIRST or not (match := _MARK.match(text, at)) or not (sign := _sign(match[0])):
        return None
    weak = sign in _SINGLE or match[0] in ("``", ",,")
    end, count = match.end(), len(match[0]) if match[1] else 1
    while not match[1] and (more := _MARK.match(text, end)) and _sign(more[0]) == sign:
        end, count = more.end(), count + 1
    return Mark(at, end, sign, count, weak, text[max(0, at - 1) : at], text[end : end + 1])


def _sign(written: str) -> str:
    """The character that a mark stands for; empty when it is none."""
    if written[0] in SIGNS:
        return written[0]
    written = written.removeprefix("\\")
    if written.startswith("<"):
        return "”" if written[1] == "/" else "“"
    sign = html.unescape(written)
    return sign if sign in SIGNS else {"``": "`", ",,": "„"}.get(written, "")


def _marks(text: str, start: int, end: int) -> Iterator[Mark]:
    while match := _MARK.search(text, start, end):
        mark = mark_at(text, match.start())
        start = mark.end if mark else match.end()
        if mark:
            yield mark


def opening(text: str, at: int) -> Mark | None:
    """The quote mark at ``at`` if a quote may begin with it: no apostrophe, and no empty quote."""
    mark = mark_at(text, at)
    if mark is None or mark.sign not in _CLOSERS or not mark.after:
        return None
    before, after = mark.before, mark.after
    is_empty = mark.count > 1 and (after.isspace() or after in ".,;:!?)]}")
    is_apostrophe = mark.weak and (before.isalnum() or before in (")", "]") or after.isspace())
    is_closing = mark.sign in _CLOSES_TOO and before.strip(" \n(")
    return None if is_empty or is_apostrophe or is_closing else mark


def closing(text: str, mark: Mark) -> Mark | None:
    """What closes the quote that ``mark`` opens, in the same paragraph."""
    end = min(_reach(text, mark), mark.end + LONGEST_QUOTE)
    if mark.before.isdigit():
        return _closing_behind_digit(text, mark, end)
    close = _first_of(_CLOSERS[mark.sign], text, mark, end)
    line = text.find("\n", mark.end, close.start if close else end)
    if close and line < 0:
        return close
    return _first_of(_OTHER_CLOSERS.get(mark.sign, ""), text, mark, end if line < 0 else line) or close


def is_decided(text: str, mark: Mark, close: Mark | None) -> bool:
    """Whether nothing that may follow ``text`` changes that ``close`` is what closes ``mark``, or nothing."""
    if _reach(text, mark) < len(text):
        return True
    if mark.before.isdigit():
        return _next_closer(text, mark, len(text)) is not None
    return close is not None and (close.sign in _CLOSERS[mark.sign] or "\n" in text[mark.end :])


def _reach(text: str, mark: Mark) -> int:
    """How far a quote may go: to the end of its paragraph, behind a digit to that of its line."""
    match = _BLANK_LINE.search(text, mark.end)
    paragraph = match.start() if match else len(text)
    line = text.find("\n", mark.end) if mark.before.isdigit() else -1
    return paragraph if line < 0 else line


def _first_of(closers: str, text: str, mark: Mark, end: int) -> Mark | None:
    """The first mark with which one of ``closers`` closes all that was opened: quotes may hold quotes."""
    opened = dict.fromkeys(closers, mark.count)
    for each in islice(_marks(text, mark.end, end), _MOST_MARKS) if closers else ():
        for closer in closers:
            opened[closer] += _opens_inside(each, mark, closer)
            if opened[closer] <= 0:
                return each
    return None


def _opens_inside(each: Mark, mark: Mark, closer: str) -> int:
    """How many quotes a mark opens inside the one of ``mark``; below 0: how many it closes."""
    if mark.weak:
        times = {(closer, closer): each.count, ("'", '"'): each.count // 2}  # '' is LaTeX's for "
        return -times.get((each.sign, closer), 0) if each.ends_word else 0
    leads = (not each.before or each.before.isspace() or each.before in "([{") and each.after.isalnum()
    is_opener = each.sign == mark.sign and (mark.sign != closer or leads)
    if is_opener or (each.sign, closer) == ("“", "”"):
        return each.count
    return -each.count if each.sign == closer else 0


def _next_closer(text: str, mark: Mark, end: int) -> Mark | None:
    return next((each for each in _marks(text, mark.end, end) if each.sign in _CLOSERS[mark.sign]), None)


def _closing_behind_digit(text: str, mark: Mark, end: int) -> Mark | None:
    """The next mark, unless it opens a quote of its own or is one of inches like this: 5" and 3", 5"x3"."""
    close = _next_closer(text, mark, end)
    if close is None or not close.ends_word:
        return None
    inner = text[mark.end : close.start]
    is_inches = close.before.isdigit() and (inner[:1].isspace() or not re.search(r"\s", inner))
    return None if is_inches or inner[-1:] in ("(", "[", "{") else close


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quoted span, marks included; what stands inside is ``text[first:last]``."""

    start: int
    end: int
    first: int
    last: int


def quotes(text: str) -> Iterator[Quoted]:
    """The quoted spans of a statement, in order, but for those in a fenced block of code.

    A mark that is never closed quotes up to the next number, or the end.
    """
    at = 0
    while at < len(text):
        if text[at] == "`" and (fenced := FENCED.match(text, at)):
            at = fenced.end()
            continue
        mark = opening(text, at)
        close = closing(text, mark) if mark else None
        if mark and close:
            quoted = Quoted(mark.start, close.end, mark.end, close.start)
        elif mark and not (mark.weak or mark.before.isdigit()):  # no apostrophe, nor the inches of 5"
            end = max(next_citation(text, mark.end), mark.end)
            quoted = Quoted(mark.start, end, mark.end, end)
        else:
            mark = mark_at(text, at)
            at = mark.end if mark else at + 1
            continue
        yield quoted
        at = quoted.end
