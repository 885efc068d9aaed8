"""What an embedder reads of a passage.

Of a row of a table these are its words, then the names of the columns; of a chat what was said. Dates,
amounts and who wrote made short texts alike: with a passage for each row, seven of seven questions in other
words are nearest to the row that answers them, and with groups of twenty rows as they stand one; of a chat
five of six, and with names three (`benchmarks/mixed.py`, decision 41).
"""

from __future__ import annotations

import re

_OF_TABLES = frozenset({"row", "rows"})  # anchor types
CHAT = "chat"
"""The anchor type of messages of a chat."""

_CELL = re.compile(r"[^,;\t|\"\n]+")
_WORD = re.compile(r"[^\W\d_]{2}")
_WHO = re.compile(r"^\d\d:\d\d (?:[^:\n]{1,80}: )?", re.M)


def embedded_text(prefix: str, text: str, anchor_type: str) -> str:
    """Return the text that an embedder gets for a passage.

    Args:
        prefix: The title and headings; of a table the names of its columns.
        text: The passage without its furniture.
        anchor_type: What part of the document it is.

    """
    if anchor_type in _OF_TABLES:
        return "\n".join(filter(None, (_words_of_cells(text), prefix)))
    if anchor_type == CHAT:
        return _WHO.sub("", text)
    return "\n".join(filter(None, (prefix, text)))


def _words_of_cells(text: str) -> str:
    """The cells that hold words; all of a text without any."""
    cells = [cell.strip() for cell in _CELL.findall(text)]
    return ", ".join(cell for cell in cells if _WORD.search(cell)) or text
