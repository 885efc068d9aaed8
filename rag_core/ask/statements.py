"""Cutting what a model says into statements, while it is still being said.

A statement ends behind a sentence, with the numbers ``[n]`` that follow it, or with its line. Inside
quote marks nothing ends.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rag_core.ask.citations import end_of_citations
from rag_core.ask.code import CODE
from rag_core.ask.marks import closing, is_decided, mark_at, opening

LONGEST = 2000
"""A statement of more characters is cut."""

_STOPS = ".!?…。！？"
_WIDE_STOPS = "。！？"  # a sentence ends behind these without a space
_PLAIN = re.compile(r"[\w ]+")
_UNFINISHED = re.compile(
    r"(?:[\[【［][^\]】］\n]{0,60}|&[\#\w]{0,6}|</?(?:[qb][^<>\n]{0,112})?|\\|,|`)$", re.IGNORECASE
)
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st vs e.g i.e approx ca nr no fig vol p pp jr sr inc ltd z.b bzw u.a d.h usw vgl etc"
    " jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})[ \t]+|>[ \t]*)*\s*")

Ending = int | Literal["open", "goes on"]
"""Where a statement ends; *open* when that depends on what follows, *goes on* when not here."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The next place to look at, and whether a sentence may end there."""

    at: int
    may_end: bool = False


def lead_of(text: str) -> int:
    """How long the white space and the mark of a list or block quote at the beginning of ``text`` are."""
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
        if plain := _PLAIN.match(text, at, start + LONGEST):
            at = plain.end()
            continue
        step = _step(text, at, final=final)
        if step is None:
            return _cut(text, start) if len(text) - start >= LONGEST else None
        at = step.at
        if step.may_end and (end := _end_behind(text, start, at, final=final)) != "goes on":
            return None if end == "open" else end
    return len(text) if final else None


def _step(text: str, at: int, *, final: bool) -> _Step | None:
    """The next step; None in a quote or code that is still open."""
    if text[at] == "`":
        if code := CODE.match(text, at):
            return _Step(code.end())
        if not final and "\n" not in text[at:]:
            return None
    if mark := opening(text, at):
        close = closing(text, mark)
        if not (final or is_decided(text, mark, close)):
            return None
        return _Step(close.end, may_end=text[close.start - 1] in _STOPS) if close else _Step(mark.end)
    if mark := mark_at(text, at):
        return _Step(mark.end)
    end = at
    while end < len(text) and text[end] in _STOPS:
        end += 1
    return _Step(end, may_end=True) if end > at else _Step(at + 1)


def _end_behind(text: str, start: int, at: int, *, final: bool) -> Ending:
    """The end of the statement whose sentence may end at ``at``."""
    uncited = _behind_marks(text, at)
    cited = end_of_citations(text, uncited)
    if cited == len(text):
        return cited if final else "open"
    rest = text[cited:]
    following = rest.lstrip(" \t")
    if not final and (not following or _UNFINISHED.match(following)):
        return "open"
    if cited > uncited or text[at - 1] in _WIDE_STOPS or following[:1] in ("\n", ""):
        return cited
    if following is rest or following[0].islower() or _is_abbreviation(text[start:at]):
        return "goes on"
    return cited


def _behind_marks(text: str, at: int) -> int:
    """Behind the brackets, emphasis and quotes that end with the sentence at ``at``."""
    while at < len(text):
        mark = mark_at(text, at)
        if mark and mark.closes:
            at = mark.end
        elif text[at] in "*_)]":
            at += 1
        else:
            break
    return at


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
