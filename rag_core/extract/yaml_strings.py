"""Finds the strings in quotes in YAML, because only these have escapes. Comments, blocks of text (``|`` and
``>``) and text without quotes have none, even if quotes are in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_GAP = re.compile(r"\s++")
_TOKEN = re.compile(
    r"(?P<block>(?<!\S)[|>][-+\d]{0,2}[ \t]*+(?:#[^\n]*+)?(?=[\r\n]|\Z))"
    r"|(?P<string>\"(?:[^\"\\\n]|\\[^\n]|\\?\n(?=\s))*+(?P<end>\"(?=[ \t]*+(?:[\r\n#:,\]}]|\Z)))?)"
    r"|(?P<single>'(?:[^'\n]|'')*+'(?=[ \t]*+(?:[\r\n#:,\]}]|\Z)))|'(?:[^'\n]|'')*+'?"
    r"|(?<!\S)#[^\n]*+|\{\{[^{}\n]*+\}\}|(?:---|[-?])(?=\s)|(?P<beside>[:,]|[&!*]\S*+)"
    r"|(?P<opens>[\[{])|(?P<closes>[\]}])"
)
_PLAIN = re.compile(r"\S(?:[^\n:#]|:(?!\s)|(?<!\s)#)*+")
_PLAIN_IN_LIST = re.compile(r"\S(?:[^\n:#,\[\]{}]|:(?!\s)|(?<!\s)#)*+")
"""Text without quotes, up to what ends it; a comma or a bracket does in ``[…]`` and ``{…}`` only."""
_LINE = re.compile(r"\n([ ]*+)(?=\S)")


def escaped_strings(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each string in quotes that is a whole key or value.

    Strings in single quotes count only if they are on one line. If a string does not end where YAML requires
    it, neither the string nor the rest of its line counts.
    """
    place = begun = indent = depth = 0
    parent = -1  # the column of the entry to which a block of text would belong
    while place < len(text):
        if gap := _GAP.match(text, place):
            place = gap.end()
            if "\n" in gap[0]:
                begun, indent = place, len(gap[0]) - gap[0].rfind("\n") - 1
                parent = indent - 1
            continue
        token = _TOKEN.match(text, place) or (_PLAIN_IN_LIST if depth else _PLAIN).match(text, place)
        assert token is not None  # noqa: S101 - anything but a gap is text
        kind, start, place = token.lastgroup, place, token.end()
        is_whole = kind == "single" or bool(kind == "string" and token["end"])
        if kind == "block":
            place = _end_of_block(text, place, parent)
        elif is_whole and _least_indent(text, start, place) >= indent + (start > begun):
            yield start, place
        elif kind == "string":
            place = (text.find("\n", start) + 1 or len(text) + 1) - 1
        elif kind in ("opens", "closes"):
            depth = max(0, depth + (1 if kind == "opens" else -1))
        if kind != "beside":
            parent = indent + start - begun


def _end_of_block(text: str, place: int, parent: int) -> int:
    lines = _LINE.finditer(text, place)
    return next((line.start() for line in lines if len(line[1]) <= parent), len(text))


def _least_indent(text: str, start: int, end: int) -> int:
    """The indentation of the line that is indented least of those in which a string goes on."""
    return min((len(line[1]) for line in _LINE.finditer(text, start, end)), default=len(text))
