"""YAML front matter: find it, read it without trusting it, and take what a note says of itself.

Values are built from libyaml's flat event stream, not by a loader: tags are never acted on,
nesting cannot exhaust the C stack (``compose`` crashes the process there), aliases are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
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
    """What stands between the fences. ``body`` is the offset behind the closing fence;
    ``readable`` is False where the block must stay searchable as text. ``unsure`` tells the owner why the
    note is private where it does not say so for certain.
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
    return unique(_strings(_value(values, "aliases", "alias"), re.compile(",")))


def tags(values: dict[str, Any]) -> tuple[str, ...]:
    """Tags and keywords: a list, or a string with commas or spaces; without ``#``."""
    found = [
        tag.lstrip("#")
        for key in ("tags", "tag", "keywords")
        for tag in _strings(_value(values, key), re.compile(r"[,\s]"))
    ]
    return unique(found)


def words(values: dict[str, Any]) -> str:
    """What else it says, to be found by words: each name with its values, as far as `_MOST_WORDS` go."""
    said = (" ".join([_text(key), *_leaves(value)]) for key, value in _others(values))
    return " ".join(said)[:_MOST_WORDS].strip()


def properties(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The same to be read: each name with its value, but not the document's date, up to `_MOST_WORDS`."""
    left, found = _MOST_WORDS, list[tuple[str, str]]()
    dated = next((key for key, _ in _dates(values)), None)
    for key, value in _others(values):
        name, said = _text(key), _said(value)
        if said and key.strip().lower() != dated and len(name) + len(said) <= left:
            left -= len(name) + len(said)
            found.append((name, said))
    return tuple(found)


def _others(values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key, value) for key, value in values.items() if key.strip().lower() not in _KNOWN_KEYS)


def _said(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{_text(key)}: {_said(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(filter(None, map(_said, value)))
        case _:
            return _text(value)


def _leaves(value: Any) -> Iterator[str]:
    """The texts in a value, in their order."""
    match value:
        case dict():
            for key, inner in value.items():
                yield _text(key)
                yield from _leaves(inner)
        case list():
            for inner in value:
                yield from _leaves(inner)
        case _:
            yield _text(value)


def document_date(values: dict[str, Any]) -> str | None:
    """The first valid one of date, date created, created and updated, as YYYY-MM-DD."""
    return next((day for _, day in _dates(values)), None)


def _dates(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The names under which a date of the document stands, folded, and the dates."""
    for key in _DATE_KEYS:
        match = _DATE.match(_text(_value(values, key)).strip())
        if match and (found := _iso_date(match)):
            yield key, found


def _mapping(block: str) -> dict[str, Any]:
    try:
        value = _Builder().build(yaml.parse(block, Loader=_LOADER))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark else ""
        raise _RefusedError(f"it is not valid YAML{where}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _RefusedError("it is not a list of names and values")
    return value


class _Builder:
    """Events → plain values, iteratively, with bounds on depth and on what aliases unfold to."""

    def __init__(self) -> None:
        self._open: list[_Container] = []
        self._root: Any = None
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._is_begun = False

    def build(self, events: Iterator[yaml.Event]) -> Any:
        for event in events:
            match event:
                case yaml.ScalarEvent():
                    self._add(_scalar(event), 1 + len(event.value) // 100, event.anchor)
                case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                    self._enter(
                        _Container(isinstance(event, yaml.MappingStartEvent), event.anchor, self._nodes)
                    )
                case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                    container = self._open.pop()
                    self._add(container.value(), 1, container.anchor, container.nodes_before)
                case yaml.AliasEvent():
                    self._add(*self._anchored(event.anchor), None)
                case yaml.DocumentStartEvent():
                    self._begin()
        return self._root

    def _begin(self) -> None:
        if self._is_begun:
            raise _RefusedError("it holds more than one YAML document")
        self._is_begun = True

    def _enter(self, container: _Container) -> None:
        if len(self._open) >= _MAX_DEPTH:
            raise _RefusedError(f"it is nested more than {_MAX_DEPTH} levels deep")
        self._open.append(container)

    def _add(self, value: Any, nodes: int, anchor: str | None, nodes_before: int | None = None) -> None:
        before = self._nodes if nodes_before is None else nodes_before
        self._nodes += nodes
        if self._nodes > _MAX_NODES:
            raise _RefusedError(f"it unfolds to more than {_MAX_NODES} values")
        if anchor:
            self._anchors[anchor] = (value, self._nodes - before)
        if self._open:
            self._open[-1].items.append(value)
        else:
            self._root = value

    def _anchored(self, anchor: str | None) -> tuple[Any, int]:
        if anchor is None or anchor not in self._anchors:
            raise _RefusedError(f"nothing is called {anchor!r} before it is used")
        return self._anchors[anchor]


@dataclass(slots=True)
class _Container:
    is_mapping: bool
    anchor: str | None
    nodes_before: int
    items: list[Any] = field(default_factory=list)

    def value(self) -> Any:
        if not self.is_mapping:
            return self.items
        names = [_said(key) for key in self.items[::2]]
        if twice := private.said_twice(names):
            raise _RefusedError(f"it has the key {twice!r} more than once")
        return dict(zip(names, self.items[1::2], strict=True))


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
    if match and match.end() == len(raw):
        return _iso_date(match) or raw
    if _TIME.match(raw):
        try:
            return datetime.fromisoformat(raw).isoformat()
        except ValueError:
            return raw
    return raw


def _iso_date(match: re.Match[str]) -> str | None:
    try:
        return date(*map(int, match.groups())).isoformat()
    except ValueError:
        return None


def _value(values: dict[str, Any], *keys: str) -> Any:
    folded = {key.strip().lower(): value for key, value in values.items()}
    return next((folded[key] for key in keys if folded.get(key) is not None), None)


def _text(value: Any) -> str:
    """A value as its author wrote it; containers are no text (a key made of one gets its repr)."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)


def _strings(value: Any, separator: re.Pattern[str]) -> list[str]:
    if isinstance(value, list):
        parts = [_text(item) for item in value if not isinstance(item, list | dict)]
    elif isinstance(value, dict):
        parts = []
    else:
        parts = separator.split(_text(value))
    return [part.strip() for part in parts if part.strip()]


def unique(names: list[str]) -> tuple[str, ...]:
    """``names`` without repetitions that differ at most in case; the first spelling stays."""
    seen: dict[str, str] = {}
    for name in names:
        if name:
            seen.setdefault(name.casefold(), name)
    return tuple(seen.values())
