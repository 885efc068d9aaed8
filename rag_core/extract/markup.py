"""Turns headings into sections, and finds the headings of light markup, such as reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag_core.extract.building import one_line
from rag_core.text.inline import without_marks
from rag_core.text.markup import disjoint
from rag_core.text.other_markup import marks_of_language
from rag_core.types import Segment

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_ROLE = re.compile(r"(?<![\w:.-]):[\w:.-]+:`([^`<>]*)(?:<[^`<>]*>)?`")
_MARKS = re.compile(r"``?|\*\*?|\|")
_LONGEST = 1000  # maximum number of characters of a heading that are examined


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: the offset of its first line, its level (1 is outermost) and its plain text."""

    start: int
    level: int
    text: str


def sections(
    headings: Iterable[Heading], start: int, end: int, *, marked: bool = False
) -> tuple[Segment, ...]:
    """Return one segment from each heading to the next, and one for the text before the first heading,
    between the offsets ``start`` and ``end``. With ``marked``, segments keep the levels of their headings."""
    segments: list[Segment] = []
    stack: list[Heading] = []
    begin = start
    for heading in (*headings, Heading(end, 1, "")):
        if begin < heading.start:
            path = tuple(above.text for above in stack)
            levels = tuple(above.level for above in stack) if marked else ()
            anchor, name = ("heading", path[-1]) if path else ("text", "")
            segments.append(Segment(begin, heading.start, path, anchor, name, levels))
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        begin = heading.start
    return tuple(segments)


_HEADINGS = {
    "asciidoc": r"^(={1,6})[ \t]+(\S[^\n]*)",
    "man": r"^\.(SH|SS|Sh|Ss)[ \t]+(\S[^\n]*)",
    "texinfo": r"^@(top|title|chapter|unnumbered|appendix|section|unnumberedsec|appendixsec|subsection|"
    r"unnumberedsubsec|appendixsubsec|subsubsection)[ \t]+(\S[^\n]*)",
    "textile": r"^(h[1-6])(?:\([^()\n]{0,100}\)|\{[^{}\n]{0,100}\}|[<>=]){0,5}\.[ \t]+(\S[^\n]*)",
    "tiddlywiki": r"^(!{1,6})[ \t]*([^!\s][^\n]*)",
    "typst": r"^[ \t]*(={1,6})[ \t]+(\S[^\n]*)",
    "wiki": r"^[ \t]*(={1,6})([^=\n]{1,300})=+[ \t]*$",
}
_PATTERNS = {kind: re.compile(pattern, re.M) for kind, pattern in _HEADINGS.items()}
WITH_HEADINGS = frozenset(_HEADINGS)
"""The types whose headings `headings_of` finds."""
_LEVELS = {"SH": 2, "Sh": 2, "SS": 3, "Ss": 3, "top": 1, "title": 1}
_SIGN_OF_LEVEL = "=!"
_TOP_OF_DOKUWIKI = 5
"""Number of signs of a first heading that show that more signs are a higher level, as in DokuWiki and Zim."""


def headings_of(text: str, kind: str) -> list[Heading]:
    """Return the headings of a text of one of the types `WITH_HEADINGS`."""
    found = [(match.start(), match[1], match[2]) for match in _PATTERNS[kind].finditer(text)]
    is_reversed = kind == "wiki" and bool(found) and len(found[0][1]) >= _TOP_OF_DOKUWIKI
    headings: list[Heading] = []
    for start, sign, written in found:
        name = written[:_LONGEST].strip('" \t')
        plain = one_line(without_marks(name, [*disjoint(marks_of_language(name, kind))]))
        level = 7 - len(sign) if is_reversed else _level(sign)
        headings.append(Heading(start, level, plain))
    return headings


def _level(sign: str) -> int:
    """Return the level of a heading with this sign or command."""
    if sign[0] in _SIGN_OF_LEVEL:
        return len(sign)
    if sign[-1].isdigit():
        return int(sign[-1])
    return _LEVELS.get(sign, 2 + ("sec" in sign) + sign.count("sub"))


def rst_segments(text: str) -> tuple[Segment, ...]:
    """Return the sections of reStructuredText. Kinds of adornment get their levels in the order in which they
    appear."""
    lines = text.split("\n")
    levels: dict[tuple[str, bool], int] = {}
    headings: list[Heading] = []
    offset = 0
    for number, line in enumerate(lines):
        adorned = _rst_heading(lines, number)
        if adorned:
            begin = offset - (len(lines[number - 1]) + 1 if adorned[1] else 0)
            level = levels.setdefault(adorned, len(levels) + 1)
            plain = _MARKS.sub("", _ROLE.sub(lambda role: role[1].rstrip(), line[:_LONGEST]))
            headings.append(Heading(begin, level, one_line(plain)))
        offset += len(line) + 1
    return sections(headings, 0, len(text))


def _rst_heading(lines: list[str], number: int) -> tuple[str, bool] | None:
    """Return (adornment character, overlined) if line ``number`` is the title of a section, otherwise
    None."""
    line = lines[number].rstrip()
    under = _adornment(lines, number + 1)
    if not under or not line or _adornment(lines, number):
        return None
    over = _adornment(lines, number - 1)
    if over:
        fits = over == under and len(over) >= min(4, len(line.strip()))
        return (over[0], True) if fits else None
    is_first = number == 0 or not lines[number - 1].strip()
    fits = len(under) >= len(line) or len(under) >= 4
    return (under[0], False) if is_first and fits and not line[0].isspace() else None


def _adornment(lines: list[str], number: int) -> str:
    if not 0 <= number < len(lines):
        return ""
    line = lines[number].rstrip()
    return line if len(line) > 1 and _ADORNMENT.fullmatch(line) else ""
