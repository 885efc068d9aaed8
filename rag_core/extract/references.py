"""Collections of references (BibTeX) → each reference under its title."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_core.extract.building import one_line
from rag_core.files.slices import Sliced, find_all
from rag_core.text import bibtex
from rag_core.text.inline import without_marks
from rag_core.text.other_markup import marks_of_language
from rag_core.types import Segment

_LONGEST_LINE = 300  # maximum bytes of the line that begins a reference
_BEGINS = re.compile(
    rb"^[ \t]*@(?!(?i:string|preamble|comment)\b)[A-Za-z]{1,40}[ \t]*[{(]"
    rb"[ \t]*[^\s,{}()=\x00-\x1f]{1,200}[ \t]*,",
    re.M,
)
_BEGINS_IN_TEXT = re.compile(_BEGINS.pattern.decode("ascii"), re.M)
_KEY = re.compile(
    r"[ \t]*@(?!(?i:string|preamble|comment)\b)[A-Za-z]{1,40}[ \t]*[{(][ \t]*([^\s,{}()=\x00-\x1f]{1,200})"
)
_DIRECTIVE = re.compile(r"^[ \t]*@(?:string|preamble|comment)[ \t]*[{(]", re.M | re.I)
_BRACKET = re.compile(r"[{}()]")
_LONGEST_TITLE = 1000


def reference_spans(data: Sliced) -> Iterator[tuple[int, int]]:
    """Yield the start and end offset of each reference. If there is text before the first one, its offsets
    come first, unless it only has abbreviations and comments for BibTeX."""
    starts = [place for place, _ in find_all(data, _BEGINS, _LONGEST_LINE)]
    if starts and _without_directives(data[: starts[0]].decode("utf-8", "replace")).strip():
        starts.insert(0, 0)
    yield from zip(starts, [*starts[1:], len(data)], strict=False)


def citation_key(reference: str) -> str:
    """Return the key by which a reference is cited, or '' if it has none."""
    match = _KEY.match(reference)
    return match[1] if match else ""


def reference_segments(text: str) -> tuple[Segment, ...]:
    """Return a segment for each reference, under its title, or under its key if it has no title."""
    starts = [match.start() for match in _BEGINS_IN_TEXT.finditer(text)]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    found: list[Segment] = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        title = _title(text[start:end]) or citation_key(text[start:end])
        anchor = ("heading", title) if title else ("text", "")
        found.append(Segment(start, end, (title,) if title else (), *anchor))
    return tuple(segment for segment in found if segment.end > segment.start)


def _without_directives(text: str) -> str:
    """Return ``text`` without ``@string{…}``, ``@preamble{…}`` and ``@comment{…}``."""
    pieces, place = list[str](), 0
    while directive := _DIRECTIVE.search(text, place):
        pieces.append(text[place : directive.start()])
        opening, depth, place = directive[0][-1], 1, len(text)
        closing = {"{": "}", "(": ")"}[opening]
        for bracket in _BRACKET.finditer(text, directive.end()):
            depth += (bracket[0] == opening) - (bracket[0] == closing)
            if not depth:
                place = bracket.end()
                break
    return "".join(pieces) + text[place:]


def _title(reference: str) -> str:
    """Return the title of a reference without the braces that protect capitals, or '' if it has none."""
    for entry in bibtex.bib_entries(reference):
        for field in entry.fields:
            if field.name == "title":
                value = reference[field.start : min(field.end, field.start + _LONGEST_TITLE)]
                value = without_marks(value, marks_of_language(value, "bibtex"))
                return one_line(value.replace("{", "").replace("}", ""))
    return ""
