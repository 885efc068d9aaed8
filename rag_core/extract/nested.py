"""JSON and YAML → whole entries with the path to each, such as ``services › svc2 › ports``. An entry is split
into its inner entries only if it does not fit into a passage."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rag_core.extract.building import one_line
from rag_core.types import Segment

_FITS = 400
"""Maximum characters in a passage of JSON or YAML, for an embedder that reads 256 tokens."""
_LARGE = 200  # an entry with at least this many characters does not share its passage
_DEEPEST = 12
_NAMES = ("name", "id", "title", "key", "label")
_LONGEST_NAME = 80

_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_ITEM = re.compile(r"-(?:[ \t]+|(?=\r?$))")
_KEY = re.compile(r"(\"[^\"\n]*\"|'[^'\n]*'|[^\s#:\-?\[\]{}&*!|>%@`,\"'][^:\n]*|-[^\s#:\-][^:\n]*):(?=\s|$)")
_BLOCK_SCALAR = re.compile(r"[ \t]*(?:[&!][^\s]+[ \t]+)?[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$")
_SPACES = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class NestedEntry:
    """An entry of a file. ``name`` is its key, or the name of an item of a list. An entry without a name has
    ''."""

    start: int
    end: int
    name: str
    begin: int  #: Offset of its content.


Children = Callable[[NestedEntry], list[NestedEntry]]
"""Returns the entries in an entry, in order, or [] for a value."""


def entries_of_json(text: str) -> tuple[Segment, ...]:
    """Return the entries of a JSON document, or () if the text is not JSON."""
    first = _skip(text, 0)
    try:
        _, end = _DECODER.raw_decode(text, first)
    except (ValueError, RecursionError):
        return ()
    if _skip(text, end) != len(text):
        return ()
    return _segments(text, NestedEntry(0, len(text), "", first), lambda entry: _json_children(text, entry))


def yaml_segments(text: str) -> tuple[Segment, ...]:
    """Return the entries of YAML, found by their indentation. Nothing is loaded."""
    marks = list(_marks(text))
    ends = _ends(marks, len(text))
    place_of = {mark.start: place for place, mark in enumerate(marks)}

    def children(entry: NestedEntry) -> list[NestedEntry]:
        place = place_of[entry.begin] + 1 if entry.begin >= 0 else 0
        found: list[NestedEntry] = []
        while place < len(marks) and marks[place].start < entry.end:
            mark = marks[place]
            found.append(NestedEntry(mark.line, ends[place], mark.name, mark.start))
            place = max(place + 1, ends_at[ends[place]])
        return found

    ends_at = {len(text): len(marks)} | {mark.line: place for place, mark in reversed([*enumerate(marks)])}
    whole = Segment(0, len(text))
    return _segments(text, NestedEntry(0, len(text), "", -1), children) or ((whole,) if text else ())


# --- what is cut ------------------------------------------------------------------------


def _segments(text: str, whole: NestedEntry, children: Children) -> tuple[Segment, ...]:
    """Split ``whole`` into the largest entries that fit. Small neighbours share a segment."""
    pieces = list(_pieces(whole, children))
    if not pieces:
        return ()
    starts = _with_comments(text, [0, *(entry.start for entry, _ in pieces[1:])])
    spans = list(pairwise([*starts, whole.end]))
    segments: list[Segment] = []
    held: list[int] = []
    for place, (start, end) in enumerate(spans):
        fits = held and pieces[held[0]][1] == pieces[place][1] and end - spans[held[0]][0] <= _FITS
        last = spans[held[-1]] if held else (0, 0)
        if held and not (fits and end - start < _LARGE and last[1] - last[0] < _LARGE):
            segments.append(_segment(pieces, spans, held))
            held = []
        held.append(place)
    return (*segments, _segment(pieces, spans, held))


def _segment(
    pieces: list[tuple[NestedEntry, tuple[str, ...]]], spans: list[tuple[int, int]], held: list[int]
) -> Segment:
    entry, above = pieces[held[0]]
    own = (entry.name,) if len(held) == 1 and entry.name else ()
    path = tuple(map(one_line, (*above, *own)))
    return Segment(spans[held[0]][0], spans[held[-1]][1], path, "key", one_line(entry.name))


def _pieces(whole: NestedEntry, children: Children) -> Iterator[tuple[NestedEntry, tuple[str, ...]]]:
    """Yield the entries that fit or have no inner entries, each with the names above it. Each begins where
    the previous one ends. Text before the first inner entry belongs to that entry."""
    todo: list[tuple[NestedEntry, tuple[str, ...]]] = [(inner, ()) for inner in reversed(children(whole))]
    while todo:
        entry, above = todo.pop()
        inner = children(entry) if entry.end - entry.start > _FITS and len(above) < _DEEPEST else []
        if not inner:
            yield entry, above
            continue
        path = (*above, entry.name) if entry.name else above
        first, *others = inner
        todo += [(each, path) for each in reversed(others)]
        todo.append((NestedEntry(entry.start, first.end, first.name, first.begin), path))


def _with_comments(text: str, starts: list[int]) -> list[int]:
    """Return the starts of entries, moved to the comment lines directly above them that are not indented
    more."""
    moved = starts[:1]
    for start in starts[1:]:
        begin = start
        depth = _skip_spaces(text, start) - start
        while begin > moved[-1] + 1:
            line = text.rfind("\n", moved[-1], begin - 1) + 1
            if line <= moved[-1] or not text.startswith(("#", "//"), first := _skip_spaces(text, line)):
                break
            if first - line > depth:
                break
            begin = line
        moved.append(begin)
    return moved


# --- JSON -------------------------------------------------------------------------------


def _json_children(text: str, entry: NestedEntry) -> list[NestedEntry]:
    """Return the keys of an object or the items of a list, found by the standard library's scanner."""
    opening = text[entry.begin : entry.begin + 1]
    if opening not in ("{", "["):
        return []
    found: list[NestedEntry] = []
    place = _skip(text, entry.begin + 1)
    while text[place] not in "}]":
        start, name = place, ""
        if opening == "{":
            name, colon = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, colon) + 1)
        begin = place
        value, end = _DECODER.raw_decode(text, begin)
        found.append(NestedEntry(start, end, str(name) or _name_of(value), begin))
        place = _skip(text, end)
        place = _skip(text, place + (text[place] == ","))
    return found


def _name_of(value: Any) -> str:
    """Return the name of an item of a list, or '' if it has none."""
    if isinstance(value, dict):
        for key in _NAMES:
            if isinstance(value.get(key), str) and value[key].strip():
                return str(value[key])[:_LONGEST_NAME]
    return ""


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _skip_spaces(text: str, place: int) -> int:
    match = _SPACES.match(text, place)
    return match.end() if match else place


# --- YAML -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mark:
    """A key, or an item of a list."""

    line: int  #: Offset of its line if it is the first on the line, otherwise its own offset.
    start: int
    #: Twice its column, plus one for an item, because an item may stand below the first letter of its key.
    depth: int
    name: str


def _marks(text: str) -> Iterator[_Mark]:
    scalar = -1  # the indentation of a key whose text continues below it
    for match in _LINE.finditer(text):
        line, offset = match[0].rstrip("\r\n"), match.start()
        body = line.lstrip(" ")
        column = len(line) - len(body)
        if not body or body[0] == "#" or (scalar >= 0 and column > scalar):
            continue
        scalar, first = -1, True
        while item := _ITEM.match(body):
            name = _item_name(body[item.end() :])
            yield _Mark(offset if first else offset + column, offset + column, 2 * column + 1, name)
            column, body, first = column + item.end(), body[item.end() :], False
        if key := _KEY.match(body):
            name = key[1].strip("\"' ")[:_LONGEST_NAME]
            yield _Mark(offset if first else offset + column, offset + column, 2 * column, name)
            if _BLOCK_SCALAR.match(body, key.end()):
                scalar = column


def _item_name(body: str) -> str:
    """Return the name of an item whose first key is its name."""
    key = _KEY.match(body)
    if key and key[1].strip("\"'") in _NAMES:
        return body[key.end() :].strip(" \t\"'")[:_LONGEST_NAME]
    return ""


def _ends(marks: list[_Mark], length: int) -> list[int]:
    """Return the end of each key or item: the next one that is not indented more."""
    ends = [length] * len(marks)
    outer: list[int] = []
    for place, mark in enumerate(marks):
        while outer and marks[outer[-1]].depth >= mark.depth:
            ends[outer.pop()] = mark.line
        outer.append(place)
    return ends
