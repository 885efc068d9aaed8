"""YAML front matter: find it, read it without trusting it, and take what a note says of itself.

Values are built from libyaml's events, not by a loader: tags are never acted on, nesting cannot exhaust
the C stack (``compose`` crashes the process there), and aliases are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain, takewhile
from typing import Any

import yaml

from rag_core.extract import private

LIMIT = 64_000
"""Characters of front matter that are read at most."""

_TITLE_LIMIT = 500
_MAX_DEPTH = 32
_MAX_NODES = 20_000
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

_OPEN = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSE = re.compile(r"(?:(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_INT = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"-?\d{1,15}\.\d{1,15}")
_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?=$|[T\s])")
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?[Tt ]+\d\d:\d\d")
_CONSTANTS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_KNOWN_KEYS = frozenset("title aliases alias tags tag keywords private".split())
_MOST_WORDS = 1000  # characters
_DATE_KEYS = ("date", "date created", "created", "updated")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties of a note. ``body`` is the offset after the closing fence. ``readable`` is False where
    the block must stay searchable as text. ``unsure`` says why a note is private that may not be meant so.
    """

    body: int = 0
    readable: bool = True
    values: dict[str, Any] = field(default_factory=dict)
    private: bool = False
    warning: str = ""
    unsure: str = ""


class _RefusedError(ValueError):
    """Not YAML, or YAML that nobody writes by hand."""


def read(text: str) -> FrontMatter:
    """The front matter at the very start of ``text``; an empty one when there is none."""
    opening = _OPEN.match(text)
    closing = _CLOSE.search(text, opening.end()) if opening else None
    if not opening or not closing:
        claim = private.of_beginning(text)
        return FrontMatter(private=claim.private, unsure=claim.unsure)
    block = text[opening.end() : closing.start()]
    if closing.end() > LIMIT:
        return _as_text(block, f"it is longer than {LIMIT} characters")
    try:
        values = _mapping(block)
    except _RefusedError as error:
        return _as_text(block, str(error), closing.end())
    claim = private.of_values(values)
    return FrontMatter(closing.end(), True, values, claim.private, unsure=claim.unsure)


def _as_text(block: str, why: str, end: int = 0) -> FrontMatter:
    claim = private.of_unreadable(block, why)
    warning = f"The front matter was kept as text: {why}."
    return FrontMatter(end, not end, {}, claim.private, warning, claim.unsure)


def title(values: dict[str, Any]) -> str:
    """The title the front matter gives, or an empty string."""
    value = _value(values, "title")
    return "" if isinstance(value, list | dict) else " ".join(_text(value).split())[:_TITLE_LIMIT]


def aliases(values: dict[str, Any]) -> tuple[str, ...]:
    """Other names of the note: a list, or a string with commas."""
    return unique(_strings(_value(values, "aliases", "alias"), ","))


def tags(values: dict[str, Any]) -> tuple[str, ...]:
    """Tags and keywords: a list, or a string with commas or spaces; without ``#``."""
    found = (_strings(_value(values, key), r"[,\s]") for key in ("tags", "tag", "keywords"))
    return unique([tag.lstrip("#") for each in found for tag in each])


def words(values: dict[str, Any]) -> str:
    """The other properties as searchable words: names and values, at most `_MOST_WORDS` characters."""
    said = (" ".join([key, *_leaves(value)]) for key, value in _others(values))
    return " ".join(said)[:_MOST_WORDS].strip()


def properties(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The other properties as names and values, without the document's date; `_MOST_WORDS` characters."""
    left, found = _MOST_WORDS, list[tuple[str, str]]()
    dated = next((key for key, _ in _dates(values)), None)
    for key, value in _others(values):
        said = _said(value)
        if said and key.strip().lower() != dated and len(key) + len(said) <= left:
            left -= len(key) + len(said)
            found.append((key, said))
    return tuple(found)


def _others(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in values.items() if key.strip().lower() not in _KNOWN_KEYS)


def _said(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key}: {_said(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(filter(None, map(_said, value)))
        case _:
            return _text(value)


def _leaves(value: Any) -> list[str]:
    """The texts in a value, in their order."""
    if not isinstance(value, dict | list):
        return [_text(value)]
    inner = chain(*value.items()) if isinstance(value, dict) else value
    return [text for each in inner for text in _leaves(each)]


def document_date(values: dict[str, Any]) -> str | None:
    """The first valid one of date, date created, created and updated, as YYYY-MM-DD."""
    return next((day for _, day in _dates(values)), None)


def _dates(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The valid dates of the document with their lower-case names, the most important first."""
    for key in _DATE_KEYS:
        if match := _DATE.match(_text(_value(values, key)).strip()):
            with suppress(ValueError):
                yield key, date(*map(int, match.groups())).isoformat()


def _mapping(block: str) -> dict[str, Any]:
    try:
        value = _Reader(block).document()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark else ""
        raise _RefusedError(f"it is not valid YAML{where}") from None
    if not isinstance(value, dict | None):
        raise _RefusedError("it is not a list of names and values")
    return value or {}


class _Reader:
    """Reads events into plain values, with bounds on depth and on what aliases unfold to."""

    def __init__(self, block: str) -> None:
        self._events: Iterator[yaml.Event] = yaml.parse(block, Loader=_LOADER)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0

    def document(self) -> Any:
        """The value of the only document, or None if there is none."""
        value, documents = None, 0
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                value = self._value(event, 0)
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise _RefusedError("it holds more than one YAML document")
        return value

    def _value(self, event: Any, depth: int) -> Any:
        before = self._nodes
        match event:
            case yaml.AliasEvent():
                return self._anchored(event.anchor)
            case yaml.ScalarEvent():
                value = _scalar(event)
                self._count(1 + len(event.value) // 100)
            case _ if depth == _MAX_DEPTH:
                raise _RefusedError(f"it is nested more than {_MAX_DEPTH} levels deep")
            case _:
                inner = takewhile(lambda each: not isinstance(each, yaml.CollectionEndEvent), self._events)
                items = [self._value(each, depth + 1) for each in inner]
                value = items if isinstance(event, yaml.SequenceStartEvent) else _named(items)
                self._count(1)
        if event.anchor:
            self._anchors[event.anchor] = value, self._nodes - before
        return value

    def _anchored(self, anchor: str | None) -> Any:
        if not anchor or anchor not in self._anchors:
            raise _RefusedError(f"nothing is called {anchor!r} before it is used")
        value, nodes = self._anchors[anchor]
        self._count(nodes)
        return value

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > _MAX_NODES:
            raise _RefusedError(f"it unfolds to more than {_MAX_NODES} values")


def _named(items: list[Any]) -> dict[str, Any]:
    """A mapping of names and values that follow each other."""
    names = [_said(key) for key in items[::2]]
    if twice := private.said_twice(names):
        raise _RefusedError(f"it has the key {twice!r} more than once")
    return dict(zip(names, items[1::2], strict=True))


def _scalar(event: yaml.ScalarEvent) -> Any:
    """YAML 1.2 values. Numbers only where writing them out again gives the same text."""
    raw: str = event.value.replace("\0", "")
    if event.style:
        return raw
    if raw.lower() in _CONSTANTS:
        return _CONSTANTS[raw.lower()]
    if _INT.fullmatch(raw):
        return int(raw) if str(int(raw)) == raw else raw
    if _FLOAT.fullmatch(raw):
        return float(raw) if str(float(raw)) == raw else raw
    return _iso(raw) if raw[:4].isdecimal() else raw


def _iso(raw: str) -> str:
    """``2024-3-5`` and ``2024-03-05 10:20`` as ISO 8601, everything else as it is."""
    match = _DATE.match(raw)
    with suppress(ValueError):
        if match and match.end() == len(raw):
            return date(*map(int, match.groups())).isoformat()
        if _TIME.match(raw):
            return datetime.fromisoformat(raw).isoformat()
    return raw


def _value(values: dict[str, Any], *keys: str) -> Any:
    folded = {key.strip().lower(): value for key, value in values.items()}
    return next((folded[key] for key in keys if folded.get(key) is not None), None)


def _text(value: Any) -> str:
    """A scalar as its author wrote it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _strings(value: Any, separator: str) -> list[str]:
    """The scalars of a list, or the parts of one; a mapping has none."""
    if isinstance(value, dict):
        return []
    parts = value if isinstance(value, list) else re.split(separator, _text(value))
    texts = (_text(part).strip() for part in parts if not isinstance(part, list | dict))
    return list(filter(None, texts))


def unique(names: list[str]) -> tuple[str, ...]:
    """``names`` without empty ones and without repetitions in another case; the first spelling stays."""
    seen: dict[str, str] = {}
    for name in filter(None, names):
        seen.setdefault(name.casefold(), name)
    return tuple(seen.values())
