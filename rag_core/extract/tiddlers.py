"""Reads what a note of TiddlyWiki (a tiddler) says of itself: title, tags, date."""

from __future__ import annotations

import re
from typing import NamedTuple

from rag_core.text.days import first_in_name

_FIELD = re.compile(r"([^\s:]{1,80}):[ \t]*([^\r\n]*)\r?\n?")
_TAG = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]|([^\s\[\]]+)")


class Tiddler(NamedTuple):
    """The fields of a tiddler."""

    body: int  #: Offset of its text.
    title: str
    tags: tuple[str, ...]
    date: str | None  #: The ISO date on which it was made.


def fields_of(text: str) -> Tiddler:
    """Return the fields at the beginning of a ``.tid`` file. Missing ones are empty; the date is then
    None."""
    values: dict[str, str] = {}
    place = 0
    while match := _FIELD.match(text, place):
        values[match[1].lower()] = match[2].strip()
        place = match.end()
    tags = tuple(words or word for words, word in _TAG.findall(values.get("tags", "")))
    created = values.get("created", "")
    day = first_in_name(f"{created[:4]}-{created[4:6]}-{created[6:8]}") if created.isdigit() else None
    return Tiddler(place, values.get("title", ""), tags, day)
