"""The syntax of Markdown: its lines, and the characters in them that a reader does not see.

Only this module and `rag_core.text.inline`, which reads a paragraph, know that syntax.

Four modules use them: `rag_core.text.shown` for text that is compared with phrases and quotes,
`rag_core.search.shown` for result cards, `rag_core.extract.markdown` for headings and links, and
`ui.reader.note_parser` for the page of a note.

Offsets refer to the source. Every step takes time linear in its length.
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
"""The beginning of a callout. Its kind is in the first group."""
TASK = re.compile(r"\[([ xX])\] ")
FOOTNOTE_TEXT = re.compile(r"\[\^([^\[\]\s]+)\]:[ \t]*")
"""The beginning of the text of a footnote."""
COMMENT = re.compile(r"%%.*?%%", re.S)

# A search is several times as fast if each branch of the pattern begins with one of a few characters.
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
# A rule, the underline of a heading, the line below the head of a table, or the destination of a link.
_NOTHING = re.compile(r"[-=*_|:+ \t]*\Z|[ \t]*\[(?!\^)[^\]\n]+\]:[ \t]")
_GOES_ON = {"text": ("text",), "item": ("text",), "quote": ("quote", "text")}
"""Kind of a line that begins a paragraph → kinds of lines that continue it."""
_KINDS: tuple[Literal["heading", "item", "quote"], ...] = ("heading", "item", "quote")
_HIDDEN = "\0"
_NO_LINE_END = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


class Opaque(NamedTuple):
    """A span without markup: code, or a comment. An *open comment* is never closed."""

    kind: OpaqueKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a note."""

    kind: LineKind
    start: int
    first: int  #: Offset where its text begins, after the signs of its kind.
    end: int  #: Offset where its text ends, before white space.


def fence(line: str) -> re.Match[str] | None:
    """Return a match if a line may open or close a block of code, otherwise None. Its groups are the signs
    and the text after them."""
    return _FENCE.match(line)


def opaque(text: str) -> list[Opaque]:
    """Return the blocks of code, the code spans within one line, and the comments of a note, in order."""
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
    """The lines of a passage of a note, and the parts that a reader does not see."""

    lines: tuple[Line, ...]
    marks: tuple[Mark, ...]  #: In order and disjoint, without the signs that begin lines.


def read_markup(text: str, kept: Sequence[Span] = ()) -> Markup:
    """Read a passage of a note. Comments that overlap one of the spans ``kept`` count as text."""
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
    """Return the comments and the front matter of a note, except those that overlap one of the spans
    ``kept``."""
    comments = [(place.start, place.end) for place in stretches if place.kind.endswith("comment")]
    if front := _FRONT_MATTER.match(text):
        comments.append(front.span())
    return [(start, end) for start, end in comments if not any(a < end and start < b for a, b in kept)]


def disjoint(marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield marks in the order of their starts. A mark that overlaps one before it is left out."""
    place = 0
    for mark in sorted(marks, key=lambda mark: (mark.start, -mark.end)):
        if mark.start >= place:
            yield mark
            place = mark.end


def _masked(text: str, spans: Sequence[Span], sign: str) -> str:
    """Return ``text`` with each character in ``spans`` replaced by ``sign``. Line ends stay."""
    parts: list[str] = []
    place = 0
    for start, end in sorted(spans):
        start = max(start, place)
        if start < end:
            parts += text[place:start], _NO_LINE_END.sub(sign, text[start:end])
            place = end
    return "".join([*parts, text[place:]])


def _lines(text: str, fences: Sequence[Span]) -> Iterator[Line]:
    """Yield the lines of a text without comments."""
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
    """Return a line outside code."""
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
    """Yield the marks inside paragraphs. The signs that begin lines must be masked in ``text``."""
    number = 0
    while number < len(lines):
        begun, number = lines[number], number + 1
        if begun.kind in ("code", "nothing"):
            continue
        end = begun.end
        while number < len(lines) and lines[number].kind in _GOES_ON.get(begun.kind, ()):
            end, number = lines[number].end, number + 1
        yield from inline_marks(text, begun.first, end)
