"""What Markdown looks like: its lines, and the characters in them that a reader does not see.

This module and `rag_core.text.inline`, which reads inside a paragraph, are the only places that know.
`rag_core.text.shown` makes the text of it that is compared with phrases and quotes, `rag_core.search.shown`
that of cards; `rag_core.extract.markdown` reads headings and links with them, `ui.reader.note_parser` the
page of a note. Offsets are those of the source, and every step is linear in its length.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rag_core.text.inline import Mark, inline_marks
from rag_core.text.numbers import Span

OpaqueKind = Literal["fence", "code", "comment", "open comment"]
LineKind = Literal["text", "heading", "item", "quote", "row", "code", "nothing"]

_BULLETS = r"(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(rf"[ \t>]*{_BULLETS}(`{{3,}}|~{{3,}})(.*)", re.S)
CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")
"""What begins a callout: its kind stands in the first group."""
TASK = re.compile(r"\[([ xX])\] ")
FOOTNOTE_TEXT = re.compile(r"\[\^([^\[\]\s]+)\]:[ \t]*")
"""What begins the text of a footnote."""
COMMENT = re.compile(r"%%.*?%%", re.S)

# A pattern that begins with one of a few characters in each branch is searched for several times as fast.
_OPAQUE = re.compile(
    r"\n[ \t>]*(?P<fence>`{3,}|~{3,})(?s:.*?)(?:\n[ \t>]*(?P=fence)|\Z)"
    r"|`(?<!``)(?P<run>`*+)[^\n]+?(?<!`)`(?P=run)(?!`)"
    r"|<!--(?s:.*?)(?:(?P<end>-->)|\Z)"
    r"|%(?P<percent>%(?s:.*?)%%)"
)
_HAS_OPAQUE = re.compile("<!--|%%|`|~~~")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.S)
_BEGINNING = re.compile(
    rf"[ \t]*(?:(?P<quote>>[ \t>]*(?:{CALLOUT.pattern})?)"
    r"|(?P<item>(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?))?(?P<heading>\#{1,6}[ \t]+)?"
)
# A rule, the underline of a heading, the line between the head and the body of a table, where a link leads.
_NOTHING = re.compile(r"[-=*_|:+ \t]*\Z|[ \t]*\[(?!\^)[^\]\n]+\]:[ \t]")
_GOES_ON = {"text": ("text",), "item": ("text",), "quote": ("quote", "text")}
"""Which lines belong to the paragraph that a line of each kind begins."""
_KINDS: tuple[Literal["heading", "item", "quote"], ...] = ("heading", "item", "quote")
_HIDDEN = "\0"
_NO_LINE_END = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


class Opaque(NamedTuple):
    """A stretch whose characters are no markup: code, or a comment. An open one is never closed."""

    kind: OpaqueKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a note."""

    kind: LineKind
    start: int
    first: int  #: Where its text begins, after the signs of its kind.
    end: int  #: Where its text ends, before white space.


def fence(line: str) -> re.Match[str] | None:
    """Return a match if a line may open a block of code: its signs, and what follows them."""
    return _FENCE.match(line)


def opaque(text: str) -> list[Opaque]:
    """Return a note's blocks of code, code spans that end in their line, and comments, in order."""
    if not _HAS_OPAQUE.search(text):
        return []
    stretches: list[Opaque] = []
    for match in _OPAQUE.finditer(f"\n{text}"):
        kind: OpaqueKind = "code"
        if match["fence"]:
            kind = "fence"
        elif match["end"] or match["percent"]:
            kind = "comment"
        elif match[0][0] == "<":
            kind = "open comment"
        stretches.append(Opaque(kind, max(0, match.start() - (kind != "fence")), match.end() - 1))
    return stretches


@dataclass(frozen=True, slots=True)
class Markup:
    """A passage of a note: its lines, and what a reader does not see of them."""

    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]  #: In order and disjoint; the signs that begin lines are not among them.


def read_markup(text: str, kept: Sequence[Span] = ()) -> Markup:
    """Read a passage of a note; comments that overlap one of the spans ``kept`` are text."""
    stretches = opaque(text)
    comments = _comments(text, stretches, kept)
    fences = [(place.start, place.end) for place in stretches if place.kind == "fence"]
    masked = _masked(text, comments, _HIDDEN)
    lines = tuple(_lines(masked, fences))
    marks = [Mark(start, end, "", "comment") for start, end in comments]
    prefixes = [(line.start, line.first) for line in lines if line.kind not in ("code", "nothing")]
    marks += _marks(_masked(masked, prefixes, " "), lines)
    return Markup(lines, tuple(disjoint(marks)))


def _comments(text: str, stretches: Sequence[Opaque], kept: Sequence[Span]) -> list[Span]:
    """Return the comments and the front matter of a note but those that overlap one of the spans ``kept``."""
    comments = [(place.start, place.end) for place in stretches if place.kind.endswith("comment")]
    if front := _FRONT_MATTER.match(text):
        comments.append(front.span())
    return [(start, end) for start, end in comments if not any(a < end and start < b for a, b in kept)]


def disjoint(marks: Sequence[Mark]) -> Iterator[Mark]:
    """Return marks in order, of those that overlap only the first."""
    place = 0
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.start >= place:
            yield mark
            place = mark.end


def _masked(text: str, spans: Sequence[Span], sign: str) -> str:
    """Return ``text`` with ``sign`` for each character in ``spans`` but for the ends of lines."""
    parts: list[str] = []
    place = 0
    for start, end in sorted(spans):
        start = max(start, place)
        if start < end:
            parts += text[place:start], _NO_LINE_END.sub(sign, text[start:end])
            place = end
    return "".join([*parts, text[place:]])


def _lines(text: str, fences: Sequence[Span]) -> Iterator[Line]:
    """Return the lines of a text without comments."""
    place = 0
    for written in text.splitlines(keepends=True):
        start, place = place, place + len(written)
        end = start + len(written.rstrip())
        number = bisect_right(fences, start, key=lambda span: span[0]) - 1
        if number < 0 or start >= fences[number][1]:
            yield _line(text, start, end)
            continue
        first, last = fences[number]
        is_sign = start == first or (end >= last and _FENCE.match(text, start, end))
        yield Line("nothing" if is_sign else "code", start, start, end)


def _line(text: str, start: int, end: int) -> Line:
    """Return a line outside of code."""
    begun = _BEGINNING.match(text, start, end)
    if begun is None or _NOTHING.match(text, start, end) or not text[start:end].strip(_HIDDEN):
        return Line("nothing", start, end, end)
    first = begun.end()
    if text.startswith("|", first):
        return Line("row", start, first + 1, max(first + 1, end - text.endswith("|", first + 1, end)))
    for kind in _KINDS:
        if begun[kind]:
            return Line(kind, start, first, end)
    return Line("text", start, first, end)


def _marks(text: str, lines: Sequence[Line]) -> Iterator[Mark]:
    """Return the marks inside of paragraphs; the signs that begin lines are masked in ``text``."""
    number = 0
    while number < len(lines):
        begun, number = lines[number], number + 1
        if begun.kind in ("code", "nothing"):
            continue
        end = begun.end
        while number < len(lines) and lines[number].kind in _GOES_ON.get(begun.kind, ()):
            end, number = lines[number].end, number + 1
        yield from inline_marks(text, begun.first, end)
