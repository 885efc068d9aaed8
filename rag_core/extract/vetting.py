"""What a package says of a file, taken over only where a store can keep it.

It comes as plain JSON out of another process. Characters that no text holds are replaced one for one, so
that offsets stay true; anything else that would not hold fails the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any, get_args

from rag_core.extract.frontmatter import unique
from rag_core.text import tags
from rag_core.types import Extracted, Link, LinkType, Segment, TitleSource

MOST_TEXT = 16_000_000
"""Characters of one document: a shelf of novels."""

MOST_PARTS = 200_000
"""Segments of one document, and links."""

_MOST_NAMES = 2_000
_MOST_WARNINGS = 20
_DEEPEST = 32
_LINE = 200
_TITLE = 500
_METADATA = 64_000
_ANCHOR = re.compile(r"[a-z][a-z ]{0,19}")
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


class Wrong(Exception):
    """What cannot be kept; the message is the end of a sentence."""


def vetted(said: object, file_type: str, name: str) -> Extracted:
    """The document that ``said`` describes, of type ``file_type``; ``name`` is the file's, its title of last
    resort. Raises Wrong."""
    told = _of(dict, said, "its answer")
    text, replaced = _text(told)
    title = _line(told.get("title", ""), "the title", _TITLE)
    title_from: TitleSource = "file name"
    if title:
        title_from = _choice(told.get("title_from"), TitleSource, "title_from")
    aliases = _names(told, "aliases")
    warnings = [_line(each, "a warning", 5 * _LINE) for each in _list(told, "warnings", _MOST_WARNINGS)]
    kept, left_out = tags.bounded(_names(told, "tags", "#"))
    if left_out:
        warnings.append(left_out)
    if replaced:
        warnings.append(f"{replaced:,} characters that no text can hold were replaced.")
    return Extracted(
        text=text,
        file_type=file_type,
        encoding=_line(told.get("encoding", ""), "the encoding", _LINE),
        title=name if title_from == "file name" else title,
        title_from=title_from,
        segments=_segments(told, text),
        aliases=aliases,
        tags=kept,
        links=tuple(_link(each, len(text)) for each in _list(told, "links", MOST_PARTS)),
        date=_date(told.get("date")),
        private=_of(bool, told.get("private", False), "private"),
        metadata=_metadata(told.get("metadata", {}), aliases),
        warnings=tuple(warnings),
    )


def _text(told: Mapping[str, Any]) -> tuple[str, int]:
    text = _of(str, told.get("text"), "the text")
    if len(text) > MOST_TEXT:
        raise Wrong(f"the text has {len(text):,} characters, and {MOST_TEXT:,} are allowed")
    return _NO_CHARACTER.subn("\ufffd", text)


# --- segments and links -----------------------------------------------------------------


def _segments(told: Mapping[str, Any], text: str) -> tuple[Segment, ...]:
    """The segments in order, the empty ones left out; without any, the whole text is one."""
    found: list[Segment] = []
    end = 0
    for each in _list(told, "segments", MOST_PARTS):
        segment = _segment(_of(dict, each, "a segment"))
        if not end <= segment.start <= segment.end <= len(text):
            raise Wrong(
                f"the segment from {segment.start} to {segment.end} does not lie between the one before it,"
                f" which ends at {end}, and the end of the text at {len(text)}"
            )
        end = segment.end
        if segment.start < segment.end:
            found.append(segment)
    if not found and text.strip():
        return (Segment(0, len(text)),)
    return tuple(found)


def _segment(told: Mapping[str, Any]) -> Segment:
    headings = _list(told, "heading_path", _DEEPEST)
    anchor = _of(str, told.get("anchor_type"), "anchor_type")
    if not _ANCHOR.fullmatch(anchor):
        raise Wrong(f"{anchor[:40]!r} is no anchor_type: it takes a word or two in small letters")
    return Segment(
        _offset(told.get("start")),
        _offset(told.get("end")),
        tuple(line for each in headings if (line := _line(each, "a heading", _LINE))),
        anchor,
        _line(told.get("anchor_ref", ""), "anchor_ref", _LINE),
    )


def _link(said: object, end: int) -> Link:
    told = _of(dict, said, "a link")
    start = _offset(told.get("start"))
    if start > end:
        raise Wrong(f"a link at {start} lies behind the end of the text at {end}")
    target, heading, label = (
        _line(told.get(key, ""), f"the {key} of a link", _TITLE) for key in ("target", "heading", "label")
    )
    return Link(_choice(told.get("type"), LinkType, "the type of a link"), target, heading, label, start)


# --- single values ----------------------------------------------------------------------


def _of(kind: type[Any], value: object, what: str) -> Any:
    if type(value) is not kind:
        raise Wrong(f"{what} is of type {type(value).__name__!r}, not {kind.__name__!r}")
    return value


def _offset(value: object) -> int:
    offset: int = _of(int, value, "an offset")
    return offset


def _list(told: Mapping[str, Any], key: str, most: int) -> list[Any]:
    found: list[Any] = _of(list, told.get(key, []), key)
    if len(found) > most:
        raise Wrong(f"{key} holds {len(found):,} values, and {most:,} are allowed")
    return found


def _line(value: object, what: str, most: int) -> str:
    """A text of one line, cut where it is too long."""
    return " ".join(_NO_CHARACTER.sub("\ufffd", _of(str, value, what)).split())[:most].rstrip()


def _names(told: Mapping[str, Any], key: str, before: str = "") -> tuple[str, ...]:
    """Names, of those that differ at most in case the first; without the signs ``before`` them."""
    lines = [_line(each, f"one of the {key}", _LINE) for each in _list(told, key, _MOST_NAMES)]
    return unique([line.lstrip(before) if before else line for line in lines])


def _choice(value: object, words: Any, what: str) -> Any:
    if value not in get_args(words):
        raise Wrong(f"{what} is {str(value)[:40]!r}, not one of {', '.join(map(repr, get_args(words)))}")
    return value


def _date(value: object) -> str | None:
    if value is None:
        return None
    written: str = _of(str, value, "the date")
    try:
        is_one = date.fromisoformat(written).isoformat() == written
    except ValueError:
        is_one = False
    if not is_one:
        raise Wrong(f"the date is {written[:40]!r}, not one like '2026-03-15'")
    return written


def _metadata(value: object, aliases: tuple[str, ...]) -> dict[str, Any]:
    """What else is told of the document, with its aliases, where the page of a document looks for them."""
    found = {**_plain(_of(dict, value, "metadata"), 0)} | ({"aliases": [*aliases]} if aliases else {})
    taken = len(json.dumps(found))
    if taken > _METADATA:
        raise Wrong(f"metadata takes {taken:,} characters, and {_METADATA:,} are allowed")
    return found


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise Wrong(f"metadata is nested more than {_DEEPEST} levels deep")
    match value:
        case str():
            return _NO_CHARACTER.sub("\ufffd", value)
        case list():
            return [_plain(each, depth + 1) for each in value]
        case dict():
            return {_plain(key, depth): _plain(each, depth + 1) for key, each in value.items()}
        case _:
            return value
