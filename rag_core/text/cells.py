"""Where a cell of a table ends. A phrase does not go on from one cell to the next: to a reader each is a text
of its own."""

from __future__ import annotations

import re

END_OF_CELL = "\0"
"""What stands for the end of a cell where phrases are compared: no white space."""

_GRIDS = frozenset({"csv", "tsv", "sheet"})
"""Types that are nothing but a table."""
_WITH_ROWS = frozenset({"ebook", "evernote", "html", "mail", "markdown", "notebook", "slides", "word"})
"""Types whose tables have their rows as lines, with bars between the cells."""
_OF_CSV = re.compile(r'(?:(?<=[,;|\t\n])|\A)[ ]?"(?:[^"]|"")*+"?|[,;|][ ]+|\n')
_QUOTED = re.compile(r'"(?:[^"\n]|"")*+"')
_SEPARATORS = ",;|"
_LOOKED_AT = 20  # lines


def cells_apart(text: str, file_type: str) -> str:
    """Return a passage of a document of this type, in as many characters, with `END_OF_CELL` for white space
    that ends a cell of a table."""
    if file_type == "csv":
        separator = _separator(text)
        return _OF_CSV.sub(lambda match: _end(match[0], separator), text)
    if file_type in _GRIDS:
        return text.replace("\t", END_OF_CELL).replace("\n", END_OF_CELL)
    if file_type in _WITH_ROWS and " | " in text:
        lines = text.split("\n")
        are_rows = [" | " in line for line in lines]
        pieces = [lines[0]]
        for number, line in enumerate(lines[1:], 1):
            pieces += END_OF_CELL if are_rows[number - 1] or are_rows[number] else "\n", line
        return "".join(pieces)
    return text


def _end(found: str, separator: str) -> str:
    if found == "\n" or found[0] == separator:
        return found[:-1].replace(" ", END_OF_CELL) + END_OF_CELL
    return found


def _separator(text: str) -> str:
    """The sign that is in every line of a table, as often as any other."""
    lines = [_QUOTED.sub("", line) for line in text.split("\n", _LOOKED_AT)[:_LOOKED_AT] if line]
    return max(_SEPARATORS, key=lambda sign: min((line.count(sign) for line in lines), default=0))
