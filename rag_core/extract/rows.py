"""Tables as text → segments of whole rows, each under the names of the columns."""

from __future__ import annotations

import csv
import re

from rag_core.types import Segment

_ROWS = 50
_SIZE = 700
_NAMES_LIMIT = 150
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_NUMBER = re.compile(r"[-+]?[\d.,]+%?")


def segments(text: str, delimiter: str) -> tuple[Segment, ...]:
    """Groups of rows: at most 50, closed early when they get long. ``anchor_ref`` is ``2-51``:
    records counted from 1, the names of the columns being the first.
    """
    ends, header = _rows(text, delimiter)
    path = (header,) if header else ()
    found: list[Segment] = []
    begin, first = 0, 1 + bool(header)
    for number, end in enumerate(ends, 1):
        is_last = number == len(ends)
        if is_last or (number >= first and (number - first >= _ROWS - 1 or ends[number] - begin > _SIZE)):
            stop = len(text) if is_last else end
            if stop > begin:
                found.append(Segment(begin, stop, path, "rows", f"{min(first, number)}-{number}"))
            begin, first = stop, number + 1
    return tuple(found)


def _rows(text: str, delimiter: str) -> tuple[list[int], str]:
    """The offset behind each record, a quoted line break inside one included, and the header."""
    line_ends = [match.end() for match in _LINE.finditer(text) if match.end() > match.start()]
    lines = (text[begin:end] for begin, end in zip([0, *line_ends], line_ends, strict=False))
    reader = csv.reader(lines, delimiter=delimiter)
    ends: list[int] = []
    header = ""
    try:
        for row in reader:
            if not ends:
                header = _header(row)
            ends.append(line_ends[reader.line_num - 1])
    except csv.Error:
        return line_ends, header
    return ends, header


def _header(row: list[str]) -> str:
    """The names of the columns, if the first row is not plainly data."""
    cells = [" ".join(cell.split()) for cell in row]
    if len(cells) < 2 or any(not cell or _NUMBER.fullmatch(cell) for cell in cells):
        return ""
    return ", ".join(cells)[:_NAMES_LIMIT]
