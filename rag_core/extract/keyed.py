"""Data files → their entries: those of JSON (see `nested`), records of JSON Lines, tables of TOML and INI,
and Terraform blocks. Short neighbours share a segment."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import UTC, date, datetime
from itertools import pairwise
from typing import Any

from rag_core.extract import nested
from rag_core.extract.building import one_line
from rag_core.types import Segment

_LARGE = 200
_GROUP = 600

_DATE_KEYS = "timestamp date datetime time created_at create_time created sent_at ts".split()
_SECONDS, _MILLISECONDS = range(10**8, 10**11), range(10**11, 10**14)  # since 1970, for times from 1973 on

_Entry = tuple[int, str]
"""(start, name) of a top-level entry, which extends to the next one."""

_RECORD = re.compile(r"^[ \t]*(\S)(?:.*(\S))?[ \t\r]*$", re.M)
_TABLE = re.compile(r"^\[\[?([^\[\]\n]{1,200})\]\]?[ \t]*(?:[#;].*)?\r?$", re.M)
_TOML_STRING = re.compile(r"\"\"\"|'''")
_TERRAFORM_BLOCK = re.compile(r"^(\w+)((?:[ \t]+(?:\"[^\"\n]*\"|[\w.-]+))*)[ \t]*\{", re.M)
_COMMENT_ABOVE = re.compile(r"#|//|;")


def json_segments(text: str) -> tuple[Segment, ...]:
    """Return the entries of a JSON document or the records of JSON Lines. A short text, and one that is
    neither, becomes one segment."""
    if len(text) <= _LARGE:
        return _grouped(text, [], "key")
    if records := _records(text):
        return _grouped(text, [(start, str(number)) for number, start in enumerate(records, 1)], "record")
    return nested.entries_of_json(text) or _grouped(text, [], "key")


def date_of_records(text: str) -> str | None:
    """Return the newest day in the first record and the last three of JSON Lines, as YYYY-MM-DD, or None if
    they have none."""
    starts = _records(text)
    records = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    return max(filter(None, map(_day, (*records[:1], *records[-3:]))), default=None)


def _loaded(record: str) -> Any:
    try:
        return json.loads(record)
    except (ValueError, RecursionError):
        return None


def _day(record: str) -> str | None:
    """Return the day of a record as YYYY-MM-DD, or None. It is taken from the first of the usual keys with an
    ISO date or time, or with seconds or milliseconds since 1970."""
    value = _loaded(record)
    found = {key.lower(): str(each) for key, each in value.items()} if isinstance(value, dict) else {}
    for said in [found[key] for key in _DATE_KEYS if key in found]:
        with suppress(ValueError):
            return date.fromisoformat(said[:10]).isoformat()
        with suppress(ValueError, OverflowError):
            number = int(float(said))
            if number in _MILLISECONDS:
                number //= 1000
            if number in _SECONDS:
                return datetime.fromtimestamp(number, UTC).date().isoformat()
    return None


def table_segments(text: str) -> tuple[Segment, ...]:
    """Return the ``[tables]`` of TOML and the sections of INI files."""
    quoted = [match.start() for match in _TOML_STRING.finditer(text)]
    spans = list(zip(quoted[::2], [*quoted[1::2], len(text)], strict=False))
    entries: list[_Entry] = []
    at = 0
    for match in _TABLE.finditer(text):
        while at < len(spans) and spans[at][1] < match.start():
            at += 1
        if at == len(spans) or match.start() < spans[at][0]:
            entries.append((match.start(), match[1].strip()))
    return _grouped(text, _with_comments(text, entries), "table")


def terraform_segments(text: str) -> tuple[Segment, ...]:
    """Return the top-level blocks of Terraform. The name of ``resource "a" "b" {`` is ``resource.a.b``."""
    entries = []
    for match in _TERRAFORM_BLOCK.finditer(text):
        name = ".".join([match[1], *re.findall(r"[^\s\"]+", match[2])])
        entries.append((match.start(), name))
    return _grouped(text, _with_comments(text, entries), "block", share=False)


def _records(text: str) -> list[int]:
    """Return the offsets where the records of a JSON Lines file begin, or [] for any other file.

    In a JSON Lines file, each line looks like an object or array by its first and last character. Only the
    first line is parsed, and the last may be cut off.
    """
    starts: list[int] = []
    for match in _RECORD.finditer(text):
        is_begun = starts and match[1] in "{[" and match.end() == len(text)
        is_whole = f"{match[1]}{match[2]}" in ("{}", "[]") and (starts or _loaded(match[0]) is not None)
        if not (is_whole or is_begun):
            return []
        starts.append(match.start())
    return starts if len(starts) > 1 else []


def _with_comments(text: str, entries: list[_Entry]) -> list[_Entry]:
    """Return the entries, each beginning at the comment lines directly above it."""
    commented: list[_Entry] = []
    floor = 0
    for start, name in entries:
        begin = start
        while begin > floor:
            line = text.rfind("\n", floor, begin - 1) + 1 or floor
            if line >= begin or not _COMMENT_ABOVE.match(text, line, begin):
                break
            begin = line
        commented.append((begin, name))
        floor = text.find("\n", start) + 1 or len(text)
    return commented


def _grouped(text: str, entries: list[_Entry], anchor: str, share: bool = True) -> tuple[Segment, ...]:
    """Return entries as segments. Text before the first entry belongs to it, and short neighbours share a
    segment. ``anchor_ref`` is the first entry's name; for records it is their numbers (``4``, ``4-9``). Only
    a single entry gets a heading path."""
    if not entries:
        return (Segment(0, len(text)),) if text else ()
    segments: list[Segment] = []
    groups = _groups(text, entries, share=share)
    for (begin, names), (end, _) in pairwise([*groups, (len(text), [])]):
        name = one_line(names[0])
        path = (name,) if len(names) == 1 and anchor != "record" else ()
        ref = "-".join(dict.fromkeys((names[0], names[-1]))) if anchor == "record" else name
        segments.append(Segment(begin, end, path, anchor, ref))
    return tuple(segments)


def _groups(text: str, entries: list[_Entry], *, share: bool) -> list[tuple[int, list[str]]]:
    """Return the offset where each group of entries begins, and the names of the entries in it."""
    groups: list[tuple[int, list[str]]] = []
    begin, was_large = 0, False
    for (start, name), (end, _) in pairwise([*entries, (len(text), "")]):
        is_large = end - start >= _LARGE or not share
        if not groups or was_large or is_large or end - begin > _GROUP:
            begin = start if groups else 0
            groups.append((begin, []))
        groups[-1][1].append(name)
        was_large = is_large
    return groups
