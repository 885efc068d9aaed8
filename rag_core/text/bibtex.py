"""Finds the fields of references in BibTeX, however their lines are broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENTRY = re.compile(r"^[ \t]*@[A-Za-z]{1,40}[ \t]*[{(][ \t]*(?:[^\s,{}()=\"]{1,200}[ \t]*,)?", re.M)
_NAME = re.compile(r"[\s,]*+([A-Za-z][\w:-]{0,40})\s*+=\s*+")
_SIGN = re.compile(r'[{}"]')
_BARE = re.compile(r"[^,{}()\"#\n]*+")
_JOINED = re.compile(r"\s*+#\s*+")
"""The sign between two pieces of a value, such as the name of a string and a text."""
_ENTRY_END = re.compile(r"[\s,]*+[})]?")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a reference."""

    name: str  #: The name in lower case, such as ``title``.
    start: int  #: Where its value begins in the text, after the braces or the quote.
    end: int  #: Where its value ends.


@dataclass(frozen=True, slots=True)
class BibEntry:
    """A reference in a text."""

    start: int  #: Where its line begins.
    end: int  #: Where its last field ends, with the brace after it.
    fields: tuple[Field, ...]


def bib_entries(text: str) -> Iterator[BibEntry]:
    """Yield the references in ``text``, in order. A damaged reference ends where it cannot be read."""
    place = 0
    while head := _ENTRY.search(text, place):
        place = head.end()
        fields: list[Field] = []
        while name := _NAME.match(text, place):
            start, end, place = _value(text, name.end())
            while joined := _JOINED.match(text, place):
                end, place = _value(text, joined.end())[1:]
            fields.append(Field(name[1].lower(), start, end))
        if closing := _ENTRY_END.match(text, place):
            place = closing.end()
        yield BibEntry(head.start(), place, tuple(fields))


def _value(text: str, start: int) -> tuple[int, int, int]:
    """Return where the value begins and ends that is written at ``start``, and where its field ends."""
    opening = text[start : start + 1]
    if opening not in ("{", '"'):
        bare = _BARE.match(text, start)
        end = bare.end() if bare else start
        return start, end, end
    depth = 0
    for sign in _SIGN.finditer(text, start + 1):
        place = sign.start()
        if not depth and sign[0] == ("}" if opening == "{" else '"'):
            begin = start + 1
            while text.startswith("{", begin) and text.startswith("}", place - 1) and begin < place - 1:
                begin, place = begin + 1, place - 1
            return begin, place, sign.end()
        depth = max(0, depth + {"{": 1, "}": -1}.get(sign[0], 0))
    return start + 1, len(text), len(text)
