"""Marks the ends of table cells. A phrase does not continue from one cell into the next, because readers see
each cell as a separate text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_core.text.drawn_tables import reading_order

END_OF_CELL = "\0"
"""The character that replaces white space at the end of a cell. It is no white space itself, so no phrase
continues over it."""

_GRIDS = frozenset({"csv", "tsv", "sheet"})
"""File types that consist of a table."""
_OF_TEX = re.compile(r"(?P<cell>&)|(?P<row>\\\\|\\tabularnewline(?![A-Za-z]))|(?P<gap>\n[ \t]*(?=\n))|\\&")
"""What ends a cell, a row or a paragraph of LaTeX, or an escaped sign."""
_WITH_ROWS = frozenset({"ebook", "evernote", "html", "mail", "markdown", "notebook", "slides", "word"})
"""Types whose tables have their rows as lines, with bars between the cells."""
_OF_CSV = re.compile(r'(?:(?<=[,;|\t\n])|\A)[ ]?"(?:[^"]|"")*+"?|(?<=")[,;|][ ]*|[\t\n]')
"""A quoted cell, or what ends one. Where nothing is quoted, a comma with a space may be in a cell as well."""
_RULE = frozenset("-:| ")
_LINE = re.compile("[^\n]+")


def cells_apart(text: str, file_type: str) -> str:
    """Return a passage with `END_OF_CELL` in place of what ends a table cell. The length stays the same."""
    marked = [*rows_apart(cells_of_source_apart(text, file_type), file_type)]
    for part in reading_order(text, file_type):
        for place in (part.start - 1, part.end) if part.before else ():
            if text[place : place + 1].isspace():
                marked[place] = END_OF_CELL
    return "".join(marked)


def cells_of_source_apart(text: str, file_type: str) -> str:
    """Do what `cells_apart` does for the formats whose source separates cells by signs, such as the quotes of
    CSV and the ``&`` of LaTeX. Any other passage is returned unchanged."""
    if file_type == "csv":
        return _OF_CSV.sub(lambda match: _end(match[0]), text)
    if file_type in _GRIDS:
        return text.replace("\t", END_OF_CELL).replace("\n", END_OF_CELL)
    return _cells_of_tex_apart(text) if file_type == "latex" and "&" in text else text


def rows_apart(text: str, file_type: str) -> str:
    """Do what `cells_apart` does for the ends of rows, in the formats whose tables are stored as lines with
    bars between the cells. Any other passage is returned unchanged."""
    if file_type not in _WITH_ROWS or " | " not in text:
        return text
    lines = [match for match in _LINE.finditer(text) if match[0].strip()]
    bars = [0, *[_bars(line[0]) for line in lines], 0]
    marked = [*text]
    for number, line in enumerate(lines, 1):
        if _is_row(line[0], bars[number - 1 : number + 2]):
            for place in {line.start() - 1, line.end()}.intersection(range(len(text))):
                marked[place] = END_OF_CELL
    return "".join(marked)


def _cells_of_tex_apart(text: str) -> str:
    """Mark the ends of cells, and of rows with several cells. The sign of the latter is elsewhere a line
    break."""
    marked = [*text]
    is_row = False
    for match in _OF_TEX.finditer(text):
        if match["cell"] or (match["row"] and is_row):
            marked[match.start() : match.end()] = END_OF_CELL * len(match[0])
        if match.lastgroup:
            is_row = match.lastgroup == "cell"
    return "".join(marked)


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
