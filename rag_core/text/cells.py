"""Marks the ends of table cells. A phrase does not continue from one cell into the next, because readers see
each cell as a separate text."""

from __future__ import annotations

import re
from collections.abc import Sequence

END_OF_CELL = "\0"
"""The character that marks the end of a cell where phrases are compared. A phrase holds white space, not
this."""

_GRIDS = frozenset({"csv", "tsv", "sheet"})
"""File types that consist of a table."""
_WITH_ROWS = frozenset({"ebook", "evernote", "html", "mail", "markdown", "notebook", "slides", "word"})
"""Types whose tables have their rows as lines, with bars between the cells."""
_OF_CSV = re.compile(r'(?:(?<=[,;|\t\n])|\A)[ ]?"(?:[^"]|"")*+"?|(?<=")[,;|][ ]*|[\t\n]')
"""A quoted cell, or what ends one. Where nothing is quoted, a comma with a space may be in a cell as well."""
_RULE = frozenset("-:| ")
_LINE = re.compile("[^\n]+")


def cells_apart(text: str, file_type: str) -> str:
    """Return a passage with `END_OF_CELL` in place of white space that ends a table cell. The length stays
    the same."""
    if file_type == "csv":
        return _OF_CSV.sub(lambda match: _end(match[0]), text)
    if file_type in _GRIDS:
        return text.replace("\t", END_OF_CELL).replace("\n", END_OF_CELL)
    if file_type in _WITH_ROWS and " | " in text:
        lines = [match for match in _LINE.finditer(text) if match[0].strip()]
        bars = [0, *[_bars(line[0]) for line in lines], 0]
        marked = [*text]
        for number, line in enumerate(lines, 1):
            if _is_row(line[0], bars[number - 1 : number + 2]):
                for place in {line.start() - 1, line.end()}.intersection(range(len(text))):
                    marked[place] = END_OF_CELL
        return "".join(marked)
    return text


def cells_of_grid_apart(text: str, file_type: str) -> str:
    """Return what `cells_apart` does of a passage of CSV and the like, before its quotes are left out; any
    other passage as it is, as its rows are told by how they are shown."""
    return cells_apart(text, file_type) if file_type in _GRIDS else text


def _bars(line: str) -> int:
    """The number of bars between the cells of a line; -1 for the rule below a header."""
    if "|" in line and _RULE.issuperset(line):
        return -1
    return line.count(" | ")


def _is_row(line: str, bars: Sequence[int]) -> bool:
    """Whether a line is a row of a table. ``bars`` are its own and those of the lines around it: text may
    have bars in one line, as in commands."""
    before, own, after = bars
    return line.lstrip().startswith("|") or (own != 0 and (before in (own, -1) or after in (own, -1)))


def _end(found: str) -> str:
    """What stands for a match of `_OF_CSV`: a quoted cell as it is, else the end of a cell."""
    if found[0] in ",;|\t\n":
        return found[:-1].replace(" ", END_OF_CELL) + END_OF_CELL
    return found
