"""Decides which part of a passage is embedded.

From a row of a table the cells with words are embedded, then the names of the columns. From a chat only the
messages are. Dates, amounts and senders would make short texts alike (decision 41).
"""

from __future__ import annotations

import re

_OF_TABLES = frozenset({"row", "rows"})  # anchor types
CHAT = "chat"
"""The anchor type for messages of a chat."""

_BETWEEN_CELLS = re.compile(r'([,;\t|"\n]+)')
_WORD = re.compile(r"[^\W\d_]{2}")
_WHO = re.compile(r"^\d\d:\d\d (?:[^:\n]{1,80}: )?", re.M)


def embedded_text(prefix: str, text: str, anchor_type: str) -> str:
    """Return the text of a passage that is embedded.

    Args:
        prefix: The title and headings; for a table the names of its columns.
        text: The passage without its furniture, the parts that a template or a program wrote.
        anchor_type: The kind of its place in the document, such as ``page``.

    """
    if anchor_type in _OF_TABLES:
        return "\n".join(filter(None, (_words_of_cells(text), prefix)))
    if anchor_type == CHAT:
        return _WHO.sub("", text)
    return "\n".join(filter(None, (prefix, text)))


def _words_of_cells(text: str) -> str:
    """Return the cells that contain words, or the whole text if no cell does.

    Never of more tokens than the text: a comma stands only where the text has a sign between two cells.
    """
    kept = ""
    between = ""
    for part in _BETWEEN_CELLS.split(text):
        if _BETWEEN_CELLS.match(part):
            between += part
        elif _WORD.search(part):
            joint = ", " if between.strip() else "\n"
            kept += joint + part.strip() if kept else part.strip()
            between = ""
    return kept or text
