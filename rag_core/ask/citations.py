"""The citations in a model's output (``[1]``, ``[1, 3]``, ``[2-4]``, ``【1】``), and its code."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCED = r"```.*?(?:```|\Z)"
FENCED = re.compile(_FENCED, re.DOTALL)
CODE = re.compile(_FENCED + r"|`[^`\n]+`", re.DOTALL)
"""Code in a model's output: between backticks in a line, or between fences of three."""

_NUMBERS = re.compile(
    r"[ \t]?[\[【［]\s*+"
    r"(?:\^|(?:passages?|sources?|refs?|references?|notes?|citations?|nos?\.?|#)\s*+(?::\s*+)?)?"
    r"(\d++(?:\s*+(?:,|;|-|–|and|&|/)\s*+\d++)*+)\s*+(?:†[^\]】］\n]{0,40})?[\]】］]",
    re.IGNORECASE,
)
_CITED = re.compile(rf"(?:[ \t]*{_NUMBERS.pattern})+", re.IGNORECASE)
_LONGEST_RANGE = 1000


@dataclass(frozen=True, slots=True)
class Citation:
    """Numbers of passages in brackets, such as ``[1, 3]``. ``start`` to ``end`` includes the space before the
    brackets."""

    start: int
    end: int
    numbers: tuple[int, ...]

    def within(self, start: int, end: int) -> bool:
        return start <= self.start and self.end <= end


def citations(text: str) -> list[Citation]:
    """Return the citations in a text, except those in code."""
    code = [match.span() for match in CODE.finditer(text)]
    return [
        Citation(*match.span(), _numbers(match[1]))
        for match in _NUMBERS.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
    ]


def end_of_citations(text: str, position: int) -> int:
    """Return the end of the citations that begin at ``position``, perhaps after spaces. Without citations,
    return ``position``."""
    match = _CITED.match(text, position)
    return match.end() if match else position


def next_citation(text: str, position: int) -> int:
    """Return the offset of the first citation at or after ``position``; the length of the text if there is
    none."""
    match = _NUMBERS.search(text, position)
    return match.start() if match else len(text)


def _numbers(written: str) -> tuple[int, ...]:
    """Return the numbers in a citation: ``1, 3-5`` → 1, 3, 4, 5. A number that is too long becomes 0, which
    no passage has."""
    numbers: list[int] = []
    for part in re.split(r"(?<!\s)\s*(?:,|;|and|&|/)\s*", written, flags=re.IGNORECASE):
        first, *last = [
            int(digits) if len(digits) < 7 else 0 for digits in re.split(r"(?<!\s)\s*[-–]\s*", part)
        ]
        between = range(first, min(last[-1], first + _LONGEST_RANGE) + 1) if last else ()
        numbers += between or [first, *last]
    return tuple(dict.fromkeys(numbers))
