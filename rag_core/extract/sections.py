"""Headings → the sections between them, with the path that leads to each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rag_core.types import Segment


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: the offset of its first line, its level (1 is outermost) and its plain text."""

    start: int
    level: int
    text: str


def sections(
    headings: Iterable[Heading], start: int, end: int, *, marked: bool = False
) -> tuple[Segment, ...]:
    """One segment from each heading to the next, and one for what stands before the first; ``marked`` ones
    keep the levels of their headings.

    ``start`` and ``end`` bound the body; a part of nothing but the space around it is left out
    by the chunker, an empty one here.
    """
    found: list[Segment] = []
    stack: list[Heading] = []
    begin = start
    for heading in headings:
        _close(found, begin, heading.start, stack, marked)
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        begin = heading.start
    _close(found, begin, end, stack, marked)
    return tuple(found)


def _close(found: list[Segment], begin: int, end: int, stack: list[Heading], marked: bool) -> None:
    if begin < end:
        path = tuple(heading.text for heading in stack)
        levels = tuple(heading.level for heading in stack) if marked else ()
        anchor = ("heading", path[-1]) if path else ("text", "")
        found.append(Segment(begin, end, path, *anchor, levels))
