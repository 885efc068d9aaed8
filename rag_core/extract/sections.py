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


def sections(headings: Iterable[Heading], start: int, end: int) -> tuple[Segment, ...]:
    """One segment from each heading to the next, and one for what stands before the first.

    ``start`` and ``end`` bound the body; a part of nothing but the space around it is left out
    by the chunker, an empty one here.
    """
    found: list[Segment] = []
    stack: list[Heading] = []
    begin, path = start, ()  # type: int, tuple[str, ...]
    for heading in headings:
        _close(found, begin, heading.start, path)
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        stack.append(heading)
        begin, path = heading.start, tuple(item.text for item in stack)
    _close(found, begin, end, path)
    return tuple(found)


def _close(found: list[Segment], begin: int, end: int, path: tuple[str, ...]) -> None:
    if begin < end:
        found.append(Segment(begin, end, path, "heading" if path else "text", path[-1] if path else ""))
