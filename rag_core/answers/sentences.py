"""Cutting what a model says into statements, while it is still being said; quote marks and numbers in it.

A statement ends behind a sentence, with the numbers ``[n]`` that follow it, or with its line. Inside
quote marks nothing ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 2000
"""A statement of more characters is cut."""

_CLOSERS = {
    '"': '"”', "“": "”“", "„": "“”‟", "”": "”", "«": "»", "»": "«", "‹": "›", "›": "‹",
    "「": "」", "『": "』", "＂": "＂", "‘": "’", "'": "'",
}  # fmt: skip
"""Marks that open → those that close, the usual one first."""
_SINGLE = "‘'"
_TURNED = "”»›"  # these open only behind a space
_STOPS = ".!?…。！？"
_WIDE_STOPS = "。！？"
_AFTER = "*_)]”’»›」』)\"'"
_UNFINISHED = re.compile(r"[\[【［][^\]】］\n]{0,60}$")
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st vs e.g i.e approx ca nr no fig vol p pp jr sr inc ltd z.b bzw u.a d.h usw vgl etc"
    " jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6}|>)[ \t]+)*\s*")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_NUMBERS = re.compile(
    r"[ \t]?[\[【［]\s*(?:\^|(?:passages?|sources?|refs?|references?|notes?|citations?|nos?\.?|#)\s*:?\s*)?"
    r"(\d+(?:\s*(?:,|;|-|–|and|&|/)\s*\d+)*)\s*(?:†[^\]】］\n]{0,40})?[\]】］]",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_MOST = 1000
_GOES_ON = -1


@dataclass(frozen=True, slots=True)
class Citation:
    """``[1, 3]`` in a text, the space before it included."""

    start: int
    end: int
    numbers: tuple[int, ...]

    def within(self, start: int, end: int) -> bool:
        """Whether it stands between ``start`` and ``end``."""
        return start <= self.start and self.end <= end


@dataclass(frozen=True, slots=True)
class Quoted:
    """A quoted span, marks included; what stands inside is ``text[first:last]``."""

    start: int
    end: int
    first: int
    last: int


# --- statements -------------------------------------------------------------------------


def lead_of(text: str) -> int:
    """How long the white space and the mark of a list at the beginning of ``text`` are."""
    match = _LEAD.match(text)
    return match.end() if match else 0


def next_end(text: str, start: int, *, final: bool) -> int | None:
    """Where the statement that begins at ``start`` ends; None as long as that is open.

    ``final`` says that nothing follows any more.
    """
    at = start + lead_of(text[start : start + LONGEST])
    if at >= len(text):
        return len(text) if final and at > start else None
    while at < len(text):
        if at - start >= LONGEST:
            return _cut(text, start)
        if text[at] == "\n":
            return at
        step = _step(text, at, final=final)
        if step is None:
            return _cut(text, start) if len(text) - start >= LONGEST else None
        at, may_end = step
        if may_end and (end := _end_behind(text, start, at, final=final)) != _GOES_ON:
            return end
    return len(text) if final else None


def _step(text: str, at: int, *, final: bool) -> tuple[int, bool] | None:
    """Where to look next, and whether a sentence may end there; None in a quote that is still open."""
    if text[at] == "`" and (code := _CODE.match(text, at)):
        return code.end(), False
    if text[at] in _CLOSERS and opens(text, at):
        close = closing(text, at)
        if close is not None:
            return close + 1, text[close - 1] in _STOPS
        return (at + 1, False) if final or _paragraph_ended(text, at) else None
    end = at
    while end < len(text) and text[end] in _STOPS:
        end += 1
    return (end, True) if end > at else (at + 1, False)


def _end_behind(text: str, start: int, at: int, *, final: bool) -> int | None:
    """The end of the statement whose sentence may end at ``at``, or `_GOES_ON`; None while open."""
    bare = at
    while at < len(text) and text[at] in _AFTER and not text[at - 1].isspace():
        at += 1
    cited = at
    while match := _citation(text, cited):
        cited = match.end()
    if cited == len(text):
        return cited if final else None
    rest = text[cited:]
    following = rest.lstrip(" \t")
    if not final and (not following or _UNFINISHED.match(following)):
        return None
    if cited > at or text[bare - 1] in _WIDE_STOPS:
        return cited
    if following[:1] in ("\n", ""):
        return cited
    if following is rest or following[0].islower() or _is_abbreviation(text[start:bare]):
        return _GOES_ON
    return cited


def _citation(text: str, at: int) -> re.Match[str] | None:
    while at < len(text) and text[at] in " \t":
        at += 1
    return _NUMBERS.match(text, at)


def _is_abbreviation(before: str) -> bool:
    *_, word = before.rsplit(maxsplit=1) or [""]  # not all words: there may be hundreds, and as many stops
    word = word.lstrip("(\"'“„")
    if not word.endswith(".") or word.endswith(".."):
        return False
    word = word[:-1]
    short = word.isdigit() and len(word) < 3
    return short or (len(word) == 1 and word.isalpha()) or word.casefold() in _ABBREVIATIONS


def _cut(text: str, start: int) -> int:
    space = text.rfind(" ", start + LONGEST // 2, start + LONGEST)
    return space if space > 0 else start + LONGEST


# --- quotes -----------------------------------------------------------------------------


def quotes(text: str) -> Iterator[Quoted]:
    """The quoted spans of a statement, in order. A mark that is never closed quotes up to the next number,
    or the end."""
    at = 0
    while at < len(text):
        if text[at] == "`" and (code := _CODE.match(text, at)):
            at = code.end()
            continue
        if text[at] not in _CLOSERS or not opens(text, at):
            at += 1
            continue
        close = closing(text, at)
        if close is not None:
            yield Quoted(at, close + 1, at + 1, close)
            at = close + 1
        elif text[at] in _SINGLE:
            at += 1
        else:
            number = _NUMBERS.search(text, at)
            end = number.start() if number else len(text)
            yield Quoted(at, end, at + 1, end)
            at = max(end, at + 1)


def opens(text: str, at: int) -> bool:
    """Whether a quote mark is one that opens: not that of 5", and no apostrophe."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if text[at] in _SINGLE:
        return not (before.isalnum() or before in (")", "]")) and after.strip() != ""
    if text[at] in _TURNED:
        return not before.strip(" \n(") and after != ""
    return not before.isdigit() and after != ""


def closing(text: str, at: int) -> int | None:
    """Where the quote that opens at ``at`` is closed, in the same paragraph."""
    end = min(_paragraph_end(text, at), at + LONGEST)
    found = (_closed_by(closer, text, at, end) for closer in _CLOSERS[text[at]])
    return next((place for place in found if place is not None), None)


def _closed_by(closer: str, text: str, at: int, end: int) -> int | None:
    nested = 0
    last = text.rfind(closer, at + 1, end)  # many marks and no end would take a walk each
    for place in range(at + 1, last + 1):
        if text[place] == closer:
            if text[at] in _SINGLE and not _closes_single(text, place):
                continue
            if not nested:
                return place
            nested -= 1
        elif text[place] == text[at] or (closer == "”" and text[place] == "“"):
            nested += 1
    return None


def _closes_single(text: str, at: int) -> bool:
    return not text[at - 1].isspace() and not text[at + 1 : at + 2].isalnum()


def _paragraph_end(text: str, at: int) -> int:
    match = _BLANK_LINE.search(text, at)
    return match.start() if match else len(text)


def _paragraph_ended(text: str, at: int) -> bool:
    return _paragraph_end(text, at) < len(text)


# --- numbers ----------------------------------------------------------------------------


def citations(text: str) -> list[Citation]:
    """The numbers of passages in a text, but for those in code."""
    code = [match.span() for match in _CODE.finditer(text)]
    return [
        Citation(*match.span(), _numbers(match[1]))
        for match in _NUMBERS.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
    ]


def _numbers(written: str) -> tuple[int, ...]:
    """``1, 3-5`` → 1, 3, 4, 5; what is too long to be one is 0, which no passage is."""
    found: list[int] = []
    for part in re.split(r"\s*(?:,|;|and|&|/)\s*", written, flags=re.IGNORECASE):
        first, *last = [int(each) if len(each) < 7 else 0 for each in re.split(r"\s*[-–]\s*", part)]
        between = range(first, min(last[-1], first + _MOST) + 1) if last else ()
        found += between or [first, *last]
    return tuple(dict.fromkeys(found))
