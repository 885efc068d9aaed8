"""The quoted spans of what a model says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rag_core.ask.citations import next_citation
from rag_core.ask.code import FENCED
from rag_core.ask.marks import closing, mark_at, must_be_closed, opening


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
        elif quoted := _quoted(text, at):
            yield quoted
            at = quoted.end
        else:
            mark = mark_at(text, at)
            at = mark.end if mark else at + 1


def _quoted(text: str, at: int) -> Quoted | None:
    """The quote that begins at ``at``."""
    mark = opening(text, at)
    if mark is None:
        return None
    if close := closing(text, mark):
        return Quoted(mark.start, close.end, mark.end, close.start)
    if must_be_closed(text, mark):
        return None
    end = max(next_citation(text, mark.end), mark.end)
    return Quoted(mark.start, end, mark.end, end)
