"""Finds tables that are drawn with lines of signs, and the order in which people read their cells.

Two kinds are known, as in reStructuredText: a grid of ``+---+`` and ``|``, and columns below ``====  ====``.
The text of a cell may go on in the next line, between the other cells of its row.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from rag_core.text.numbers import Span

_WITH_DRAWN_TABLES = frozenset({"markdown", "rst", "text"})
_HAS_TABLE = re.compile(r"^[ \t>]*(?:\+[-=]|=+[ ]+=)", re.M)
_GRID = re.compile(r"[ \t]*\+(?:[-=]+\+)+[ \t]*")
_RULE = re.compile(r"[ ]*=+(?:[ ]+=+)+[ ]*")
_BELOW_SPAN = re.compile(r"[ ]*-+(?:[ ]+-+)*[ ]*")
_RUN = re.compile("=+")
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_BARS = re.compile(r"[|+]")
_SIGNS = frozenset("-=+ ")

Cell = list[Span]
"""The lines of a cell."""


class TablePart(NamedTuple):
    """A span of the source. ``before`` is put before it when it is read, such as a bar between two cells."""

    before: str
    start: int
    end: int


def reading_order(text: str, file_type: str) -> list[TablePart]:
    """Return the spans of a passage in the order in which they are read: each cell of a drawn table as a
    whole, with bars around it. A passage without such a table is one span."""
    if file_type not in _WITH_DRAWN_TABLES or not _HAS_TABLE.search(text):
        return [TablePart("", 0, len(text))]
    lines = [match.span() for match in _LINE.finditer(text) if match[0]]
    parts: list[TablePart] = []
    place = 0
    for first, last, rows in _tables(text, lines):
        parts.append(TablePart("", place, first))
        for row in rows:
            for before, cell in zip(["\n| ", *[" | "] * len(row)], row, strict=False):
                parts += [TablePart("\n" if number else before, *span) for number, span in enumerate(cell)]
            parts.append(TablePart(" |\n", row[-1][-1][1], row[-1][-1][1]))
        place = last
    return [*parts, TablePart("", place, len(text))]


def _tables(text: str, lines: Sequence[Span]) -> Iterator[tuple[int, int, list[list[Cell]]]]:
    """Yield the start, the end and the rows of each table that has a row."""
    number = free = 0
    while number < len(lines):
        written = _written(text, lines[number])
        first, end, rows = number, number, list[list[Cell]]()
        if _GRID.fullmatch(written):
            end = _end_of_grid(text, lines, number)
            rows = _rows_of_grid(text, lines[number:end])
        elif _RULE.fullmatch(written):
            first, end = _extent_of_columns(text, lines, number, free)
            rows = _rows_of_columns(text, lines[first:end], _starts(written))
        number = max(end, number + 1)
        if rows:
            yield lines[first][0], lines[end - 1][1], rows
            free = number


def _written(text: str, line: Span) -> str:
    return text[slice(*line)].rstrip("\r\n")


# --- a grid -----------------------------------------------------------------------------


def _end_of_grid(text: str, lines: Sequence[Span], number: int) -> int:
    while number < len(lines) and text[slice(*lines[number])].lstrip()[:1] in ("+", "|"):
        number += 1
    return number


def _rows_of_grid(text: str, lines: Sequence[Span]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    group: list[Span] = []
    for line in lines:
        if _GRID.fullmatch(_written(text, line)):
            rows += _cells_of_grid(text, group)
            group = []
        else:
            group.append(line)
    return [*rows, *_cells_of_grid(text, group)]


def _cells_of_grid(text: str, lines: Sequence[Span]) -> list[list[Cell]]:
    """Return the cells between two lines of a grid, as a row. A line of signs in a column begins a cell."""
    cells: dict[int, list[Cell]] = {}
    for line, bars in zip(lines, _bars(text, lines), strict=True):
        for column, (left, right) in enumerate(pairwise([*bars, line[1]])):
            span = _stripped(text, left + 1, right)
            if _SIGNS.issuperset(text[slice(*span)]):
                cells.setdefault(column, []).extend([[]] if span[0] < span[1] else [])
            else:
                cells.setdefault(column, [])
                cells[column] = cells[column] or [[]]
                cells[column][-1].append(span)
    row = [cell for column in sorted(cells) for cell in cells[column] if cell]
    return [row] if row else []


def _bars(text: str, lines: Sequence[Span]) -> list[list[int]]:
    """Return the places of the bars between the columns in each line: all bars if every line has as many,
    otherwise those that stand below one another in all lines."""
    bars = [[start + at.start() for at in _BARS.finditer(text[start:end])] for start, end in lines]
    if len(set(map(len, bars))) < 2:
        return bars
    common = set.intersection(
        *({place - start for place in row} for (start, _), row in zip(lines, bars, strict=True))
    )
    return [
        [place for place in row if place - start in common]
        for (start, _), row in zip(lines, bars, strict=True)
    ]


# --- columns ----------------------------------------------------------------------------


def _starts(rule: str) -> list[int]:
    return [run.start() for run in _RUN.finditer(rule)]


def _extent_of_columns(text: str, lines: Sequence[Span], number: int, free: int) -> Span:
    """Return the first line of a table with a rule at ``number``, and the line after the table. The passage
    may begin or end within the table; lines before ``free`` belong to another one."""
    if _is_empty(text, lines, number + 1):
        first = number
        while first > free and not _is_empty(text, lines, first - 1):
            first -= 1
        above, rule = lines[first:number], _written(text, lines[number])
        return first if not first and _are_rows(text, above, rule) else number, number + 1
    starts, rules, empty = _starts(_written(text, lines[number])), 1, len(lines)
    for following in range(number + 1, len(lines)):
        written = _written(text, lines[following])
        if not written.strip():
            empty = min(empty, following)
        elif _RULE.fullmatch(written):
            rules += 1
            if _starts(written) != starts:
                break
            if rules == 3 or _is_empty(text, lines, following + 1):
                return number, following + 1
    return number, empty


def _are_rows(text: str, above: Sequence[Span], rule: str) -> bool:
    """Whether the lines above a rule are rows whose table began before the passage. A paragraph goes on
    across the columns, and a heading may have a rule below each of its words."""
    if len(above) == 1 and _ends(_WORD, _written(text, above[0])) == _ends(_RUN, rule):
        return False
    for line in above:
        places = _places(text, line)
        if any(not text[places[start - 1]].isspace() for start in _starts(rule)[1:] if start <= len(places)):
            return False
    return True


def _ends(pattern: re.Pattern[str], line: str) -> list[Span]:
    return [match.span() for match in pattern.finditer(line)]


def _is_empty(text: str, lines: Sequence[Span], number: int) -> bool:
    return number >= len(lines) or not text[slice(*lines[number])].strip()


def _rows_of_columns(text: str, lines: Sequence[Span], starts: Sequence[int]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for line in lines:
        written = _written(text, line)
        if _RULE.fullmatch(written) or _BELOW_SPAN.fullmatch(written):
            rows.append([])
            continue
        if not rows or written[: starts[1]].strip():
            rows.append([])
        row = rows[-1]
        row += [[] for _ in starts[len(row) :]]
        for column, span in _pieces(text, line, starts):
            row[column].append(span)
    return [cells for row in rows if (cells := [cell for cell in row if cell])]


def _pieces(text: str, line: Span, starts: Sequence[int]) -> Iterator[tuple[int, Span]]:
    """Yield the column and the span of each text in a line. A text may go over several columns."""
    places = _places(text, line)
    begin = 0
    for column, start in enumerate([*starts[1:], len(places)], 1):
        if column < len(starts) and start - 1 < len(places) and not text[places[start - 1]].isspace():
            continue
        last = places[start] if start < len(places) else line[1]
        span = _stripped(text, places[begin] if begin < len(places) else line[1], last)
        if span[0] < span[1]:
            yield bisect_left(starts, begin + 1) - 1 if begin else 0, span
        begin = start


def _places(text: str, line: Span) -> Sequence[int]:
    """Return the place in the text of each column of a line. East Asian characters are two columns wide."""
    if text[slice(*line)].isascii():
        return range(*line)
    return [
        place
        for place in range(*line)
        for _ in range(1 + (unicodedata.east_asian_width(text[place]) in ("F", "W")))
    ]


def _stripped(text: str, start: int, end: int) -> Span:
    written = text[start:end]
    return start + len(written) - len(written.lstrip()), start + len(written.rstrip())
