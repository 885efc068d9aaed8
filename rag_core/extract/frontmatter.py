"""YAML front matter: finds it, reads it without trusting it, and returns a note's properties.

Values are built from libyaml's events, not by a loader. So tags are never acted on, aliases are limited, and
nesting cannot exhaust the C stack (``compose`` would crash the process).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from rag_core.extract import private
from rag_core.text.numbers import first_day
from rag_core.types import KNOWN_KEYS

if TYPE_CHECKING:
    import yaml

LIMIT = 64_000
"""Maximum number of characters of front matter that are read."""

_TITLE_LIMIT = 500
_MAX_DEPTH = 32
_MAX_NODES = 20_000

_OPEN = re.compile(r"---[ \t]*(?:\r\n|\n|\r)")
_CLOSE = re.compile(r"(?:(?<=\n)|(?<=\r))(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_INT = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"-?\d{1,15}\.\d{1,15}")
_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?=$|[T\s])")
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?[Tt ]+\d\d:\d\d")
_CONSTANTS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_MOST_WORDS = 1000  # maximum number of characters
_LONGEST_DAY = 40  # maximum number of characters
_DATE_KEYS = ("date", "date created", "created", "updated")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties of a note."""

    body: int = 0  #: Offset after the closing fence; 0 if there is no block, or if it is too long.
    readable: bool = True  #: False if the text before ``body`` could not be read and stays searchable.
    #: The properties; empty if the block could not be read.
    values: dict[str, Any] = field(default_factory=dict)
    private: bool = False  #: Whether the note counts as private.
    warning: str = ""  #: Sentence with the reason why the block was kept as text; '' if it was read.
    #: Sentences with the reason why the privacy of the note is uncertain; '' if it is certain.
    unsure: str = ""


class _RefusedError(ValueError):
    """Raised if a block is not YAML, or YAML of a kind that people do not write by hand."""


def read_frontmatter(text: str) -> FrontMatter:
    """Return the front matter at the very start of ``text``. It is empty if there is none."""
    opening = _OPEN.match(text)
    closing = _CLOSE.search(text, opening.end()) if opening else None
    if not opening or not closing:
        claim = private.of_beginning(text)
        return FrontMatter(private=claim.private, unsure=claim.unsure)
    import yaml  # only now: it is slow to import

    block, end = text[opening.end() : closing.start()], closing.end()
    try:
        if end > LIMIT:
            end = 0
            raise _RefusedError(f"It is longer than {LIMIT} characters.")
        values = _document(block) or {}
        if not isinstance(values, dict):
            raise _RefusedError("It is not a list of names and values.")
    except _RefusedError as error:
        why = str(error)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f"It is not valid YAML in line {mark.line + 2}." if mark else "It is not valid YAML."
    else:
        claim = private.of_values(values)
        return FrontMatter(end, True, values, claim.private, unsure=claim.unsure)
    claim = private.of_unreadable(block, why)
    warning = f"The front matter was kept as text. {why}"
    return FrontMatter(end, not end, {}, claim.private, warning, claim.unsure)


def title(values: dict[str, Any]) -> str:
    """Return the title in the front matter, or ''."""
    value = _value(values, "title")
    return "" if isinstance(value, list | dict) else " ".join(_said(value).split())[:_TITLE_LIMIT]


def aliases_in(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the aliases of the note. They may be a list, or a string with commas."""
    return unique(_strings(_value(values, "aliases", "alias"), ","))


def ids_in(values: dict[str, Any]) -> tuple[str, ...]:
    """Return the values of ``id`` and ``uid``, which also serve as names of the note."""
    return unique((_said(_value(values, "id")), _said(_value(values, "uid"))))


def tags_in(values: dict[str, Any]) -> list[str]:
    """Return tags and keywords without ``#``. They may be a list, or a string with commas or spaces."""
    found: list[str] = []
    for key in ("tags", "tag", "keywords"):
        found += _strings(_value(values, key), r"[,\s]", "#")
    return found


def words(values: dict[str, Any]) -> str:
    """Return the names and values of all properties except title, aliases, tags and privacy as searchable
    words, at most `_MOST_WORDS` characters."""
    found: list[str] = []
    for key, value in values.items():
        if key.strip().lower() not in KNOWN_KEYS:
            found += [key, *_leaves(value)]
    return " ".join(found)[:_MOST_WORDS].strip()


def properties(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return all properties except title, aliases, tags, privacy and the document's date, as (name, value).
    Those beyond `_MOST_WORDS` characters are left out."""
    left, found = _MOST_WORDS, list[tuple[str, str]]()
    shown_elsewhere = {*KNOWN_KEYS, dated(values)[0]}
    for key, value in values.items():
        said = _said(value)
        if said and key.strip().lower() not in shown_elsewhere and len(key) + len(said) <= left:
            left -= len(key) + len(said)
            found.append((key, said))
    return tuple(found)


def dated(values: dict[str, Any]) -> tuple[str, str | None]:
    """Return the name of the first of date, date created, created and updated with a valid day, then that day
    as YYYY-MM-DD. Returns ('', None) if there is none."""
    for key in _DATE_KEYS:
        said = _said(_value(values, key)).strip()
        if match := _DATE.match(said):
            with suppress(ValueError):
                return key, date(*map(int, match.groups())).isoformat()
        if day := first_day(said[:_LONGEST_DAY], whole=True):
            return key, day.isoformat()
    return "", None


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return ``names`` without empty ones and without repetitions in another case. The first spelling is
    kept."""
    seen: dict[str, str] = {}
    for name in filter(None, names):
        seen.setdefault(name.casefold(), name)
    return tuple(seen.values())


def _value(values: dict[str, Any], *keys: str) -> Any:
    """Return the value of the first of ``keys`` that has one, in upper or lower case."""
    folded = dict(zip(map(str.lower, map(str.strip, values)), values.values(), strict=True))
    for key in keys:
        if folded.get(key) is not None:
            return folded[key]
    return None


def _strings(value: Any, separator: str, mark: str = "") -> list[str]:
    """Return the scalars of a list, or the parts of a single scalar, without a leading ``mark``. A mapping
    gives none."""
    if isinstance(value, dict):
        return []
    texts: list[str] = []
    for part in value if isinstance(value, list) else re.split(separator, _said(value)):
        text = "" if isinstance(part, list | dict) else _said(part).strip().lstrip(mark)
        texts += [text] if text else []
    return texts


def _said(value: Any) -> str:
    """Return a scalar as its author wrote it, or a list or mapping in one line."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_said(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, value)))
    said = "" if value is None else str(value)
    return said.lower() if isinstance(value, bool) else said


def _leaves(value: Any) -> list[str]:
    """Return the texts in a value, in order."""
    if not isinstance(value, dict | list):
        return [_said(value)]
    inner = chain(*value.items()) if isinstance(value, dict) else value
    return [text for each in inner for text in _leaves(each)]


# --- YAML -------------------------------------------------------------------------------


def _document(block: str) -> Any:
    """Return the value of a block. Its depth and the size of unfolded aliases are limited."""
    import yaml

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    anchors: dict[str | None, tuple[Any, int]] = {}  # name → its value and its number of nodes
    outer: list[tuple[yaml.CollectionStartEvent, int, list[Any]]] = []  # the open collections
    items: list[Any] = []
    nodes = documents = 0
    for event in yaml.parse(block, Loader=loader):
        before = nodes
        anchor = getattr(event, "anchor", None)
        match event:
            case yaml.CollectionStartEvent():
                outer.append((event, nodes, items))
                items = []
            case yaml.CollectionEndEvent():
                opened, before, around = outer.pop()
                around.append(items if isinstance(opened, yaml.SequenceStartEvent) else _named(items))
                items, anchor = around, opened.anchor
                nodes += 1
            case yaml.ScalarEvent():
                items.append(_scalar(event))
                nodes += 1 + len(event.value) // 100
            case yaml.AliasEvent():
                if anchor not in anchors:
                    raise _RefusedError(f"The alias *{anchor} is used before an anchor &{anchor} is set.")
                value, size = anchors[anchor]
                items.append(value)
                nodes += size
            case yaml.DocumentStartEvent():
                documents += 1
        if len(outer) > _MAX_DEPTH or nodes > _MAX_NODES or documents > 1:
            raise _RefusedError(
                f"It is nested more than {_MAX_DEPTH} levels deep, unfolds to more than {_MAX_NODES} values,"
                " or holds more than one YAML document."
            )
        if anchor and nodes > before:
            anchors[anchor] = items[-1], nodes - before
    return items[0] if items else {}


def _named(items: list[Any]) -> dict[str, Any]:
    names = list(map(_said, items[::2]))
    keys = list(map(str.lower, map(str.strip, names)))
    for key in private.PRIVATE_KEYS:
        if keys.count(key) > 1:
            raise _RefusedError(f"It has the key {key!r} more than once.")
    return dict(zip(names, items[1::2], strict=True))


def _scalar(event: yaml.ScalarEvent) -> Any:
    """Return a scalar as YAML 1.2 defines it. It becomes a number only if the number is written the same way
    again. ``2024-3-5`` and ``2024-03-05 10:20`` become ISO 8601."""
    raw: str = event.value.replace("\0", "")
    if event.style:
        return raw
    if raw.lower() in _CONSTANTS:
        return _CONSTANTS[raw.lower()]
    if _INT.fullmatch(raw):
        return int(raw) if str(int(raw)) == raw else raw
    if _FLOAT.fullmatch(raw):
        return float(raw) if str(float(raw)) == raw else raw
    with suppress(ValueError):
        if (day := _DATE.match(raw)) and day.end() == len(raw):
            return date(*map(int, day.groups())).isoformat()
        if _TIME.match(raw):
            return datetime.fromisoformat(raw).isoformat()
    return raw
