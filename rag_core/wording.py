"""Numbers in words, the same in the terminal and in the browser."""

from __future__ import annotations

from collections.abc import Mapping

from rag_core.types import Answer, Diagnosis


def plural(count: int, noun: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def outcome(name: str) -> str:
    """What became of a file, for people: a store forgets files, and nothing here deletes one."""
    return "forgotten" if name == "deleted" else name


def outcomes(counts: Mapping[str, int], *, bold: bool = False) -> list[str]:
    """How many files have each outcome: ``3 added``, or ``**3** added``. None that no file has."""
    mark = "**" if bold else ""
    return [f"{mark}{count:,}{mark} {outcome(name)}" for name, count in counts.items() if count]


def skips(count: int) -> str:
    """How many files are chosen although their names promise no text."""
    return f"{plural(count, 'file')} of these will probably be skipped, going by their names."


def size(count: int) -> str:
    """A number of bytes for people: ``1.2 MB``."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def duration(seconds: float) -> str:
    """Seconds for people: ``45 s``, ``3 min``, ``1 h 5 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def ranked(found: Diagnosis) -> str:
    """Which place a file has for the query that was asked."""
    if found.rank is None:
        return f"For {found.query!r} it is not among the first 1,000 passages."
    return (
        f"For {found.query!r} its best passage is number {found.rank:,}, with a score of {found.score:.2f}."
    )


def lines(start: int, end: int) -> str:
    """Line numbers as they stand behind a path: ``35``, ``35-40``."""
    return str(start) if start == end else f"{start}-{end}"


def found(answer: Answer) -> str:
    """How many passages an answer holds, how long that took, and how many of them fit."""
    took = f"in {answer.query_time_ms:.0f} ms"
    if not answer.hits:
        return f"Nothing more {took}" if answer.offset else f"Nothing found {took}"
    first, last = answer.hits[0].rank, answer.hits[-1].rank
    if not answer.offset and not answer.has_more:
        return f"{plural(last, 'passage')} {took}. {_fit(answer)}"
    shown = f"Passage {first:,}" if first == last else f"Passages {first:,} to {last:,}"
    return f"{shown} {took}. {_fit(answer)}"


def _fit(answer: Answer) -> str:
    fit = sum(hit.relevant for hit in answer.hits)
    near = len(answer.hits) - fit
    fits, misses = "fits" if fit == 1 else "fit", "is a near miss" if near == 1 else "are near misses"
    if fit and near:
        return f"{fit:,} {fits}, {near:,} {misses}."
    return f"{'It' if fit + near == 1 else 'All'} {fits if fit else misses}."
