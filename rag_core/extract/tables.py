"""CSV and TSV → groups of rows under the names of their columns. The separator and the row with the names are
recognized from the rows, not from the file's name."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise

from rag_core.types import Segment

_SEPARATORS = ",;\t|"
_LOOKED_AT = 300  # number of rows that are examined
_LEADING = 30
"""Maximum number of rows before the names of the columns. Banks write the account and the period above their
tables."""
_ROWS = 50
_ROWS_SIZE = 700
MOST_ALONE = 2_000
"""Maximum number of rows of a table whose rows are separate passages. Longer tables are split into groups."""
_WORDS = re.compile(r"[^\W\d_]{3,}+")
_LEAST_WORDS = 2  # minimum number of words in at least half of the rows
_COLUMNS_LIMIT = 600
_LONGEST_NAME = 80  # maximum characters of a column's name
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_SEPARATOR_LINE = re.compile(r"[\"']?sep=(.)[\"']?[,;\t ]*\r?\n?", re.I)
_DATA = re.compile(
    r"[-+]?[€$£]?[ ]?[\d.,'\u2019\u00a0 ]*\d[\d.,]*[ ]?[%€$£]?"
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ][\d:.,+Z-]+)?|\d{1,2}:\d\d(?::\d\d)?"
    r"|[^\s@]+@[^\s@]+|https?://.*|true|false|null|n/a",
    re.I,
)
"""A cell that is not the name of a column."""
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class _Layout:
    """The layout of a table."""

    separator: str
    header: int = -1  #: Index of the row with the names of the columns; -1 if there is none.
    columns: str = ""  #: The names of the columns.


def row_segments(text: str, usual: str) -> tuple[Segment, ...]:
    """Return the rows under the names of the columns. Each row is a segment if `stand_alone` says so;
    otherwise a segment has at most 50 rows, and fewer if they are long.

    ``anchor_ref`` is like ``2-51``, with records counted from 1. ``usual`` is the separator if the rows do
    not show another one.
    """
    layout = _layout(text, usual)
    path = (layout.columns,) if layout.columns else ()
    segments: list[Segment] = []
    ends = _row_ends(text, layout.separator)
    most = 1 if stand_alone([text[begin:end] for begin, end in pairwise([0, *ends])]) else _ROWS
    begin, first = 0, 2 + layout.header
    for number, (end, following) in enumerate(pairwise([*ends, 0]), 1):
        is_last = number == len(ends)
        is_full = number - first >= most - 1 or following - begin > _ROWS_SIZE
        if is_last or (number >= first and is_full):
            stop = len(text) if is_last else end
            if stop > begin:
                segments.append(Segment(begin, stop, path, "rows", f"{min(first, number)}-{number}"))
            begin, first = stop, number + 1
    return tuple(segments)


def stand_alone(rows: Sequence[str]) -> bool:
    """Whether each row of a table is a separate passage.

    In a table of payments or books each row has a meaning of its own, which would be lost among fifty. Rows
    of long tables, and of tables of numbers, stay together.
    """
    if len(rows) > MOST_ALONE:
        return False
    return 2 * sum(len(_WORDS.findall(row)) >= _LEAST_WORDS for row in rows) >= len(rows)


def _layout(text: str, usual: str) -> _Layout:
    """Return the separator that splits the rows most evenly, and the first row with that number of columns
    that names them."""
    declared = _SEPARATOR_LINE.match(text)
    if declared:
        usual = declared[1]
    lines = [match[0] for match in islice(_LINE.finditer(text), 4 * _LOOKED_AT) if match[0]]
    best, best_rank = _Layout(usual), (0.0, 0)
    for separator in usual if declared else usual + _SEPARATORS.replace(usual, ""):
        rows = _rows(lines, separator)
        counts = Counter(len(row) for row in rows if len(row) > 1)
        if not counts:
            continue
        columns, times = counts.most_common(1)[0]
        filled = sum(any(cell.strip() for cell in row) for row in rows)
        rank = (round(times / max(1, filled), 1), columns)
        if rank > best_rank:
            best, best_rank = _named(rows, columns, separator, bool(declared)), rank
    return best


def _rows(lines: list[str], separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    with suppress(csv.Error):  # a field is far too long: the rows before it are enough
        rows.extend(islice(csv.reader(lines, delimiter=separator), _LOOKED_AT))
    return rows


def _named(rows: Sequence[Sequence[str]], columns: int, separator: str, begin: int) -> _Layout:
    """Return the layout of a table that mostly has ``columns`` columns. Rows before index ``begin`` are
    skipped."""
    for index, row in enumerate(rows[begin:_LEADING], begin):
        cells = [" ".join(cell.split()) for cell in row]
        if len(cells) < columns or (index and sum(map(bool, cells)) < 2):
            continue
        is_header = names_columns(cells)
        names = ", ".join(cell[:_LONGEST_NAME] for cell in cells if cell)[:_COLUMNS_LIMIT]
        return _Layout(separator, index, names) if is_header else _Layout(separator)
    return _Layout(separator)


def names_columns(cells: Sequence[str]) -> bool:
    """Whether the cells are names of columns: few are empty, and none is a number, a date or an address. Two
    or more years are allowed."""
    filled = [cell for cell in cells if cell]
    years = [cell for cell in filled if _YEAR.fullmatch(cell)]
    data = [cell for cell in filled if _DATA.fullmatch(cell) and not (len(years) > 1 and cell in years)]
    has_words = len(filled) > len(years) and 2 * len(filled) >= len(cells)
    return not data and has_words and len(set(filled)) > len(filled) // 2


def _row_ends(text: str, separator: str) -> list[int]:
    """Return the offset where each row ends."""
    line_ends = [match.end() for match in _LINE.finditer(text) if match.end() > match.start()]
    lines = (text[begin:end] for begin, end in zip([0, *line_ends], line_ends, strict=False))
    reader = csv.reader(lines, delimiter=separator)
    try:
        return [line_ends[reader.line_num - 1] for _ in reader]
    except csv.Error:
        return line_ends
