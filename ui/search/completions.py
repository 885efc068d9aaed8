"""The possible values of a filter while a person types it: kinds, tags, folders, stores and days, with
counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

from rag_core.text.days import WORDS, span
from ui.frame.search_state import TOP_FOLDER, Choices
from ui.search.search_box import Completion

_DAYS: Final = ("date", "after", "before")
_MOST: Final = 8
_TYPED: Final = re.compile(
    r'(?:^|\s)-?(?:(date|after|before):((?:(?:this|last|past|\d+)\s)?[^\s"]*)'
    r'|(type|file_type|tags?|path|folder|store):("[^"]*|[^\s"]*))$',
    re.IGNORECASE,
)
_NAMES: Final = {"file_type": "type", "tags": "tag", "folder": "path"}
_NEAR: Final = ("today", "yesterday", "this week", "last week", "this month", "last month", "last 7 days")


@dataclass(frozen=True, slots=True)
class Typed:
    """A filter at the end of the typed text."""

    key: str  #: One of type, tag, path, store, date, after, before.
    value: str  #: The typed part of its value, for comparison regardless of case (`str.casefold`).
    before: str  #: The text before the value, which ends with the key: ``tea tag:``.

    @property
    def rest(self) -> str:
        """The typed text without the filter."""
        return self.before.rstrip().rpartition(" ")[0]


def typed(text: str) -> Typed | None:
    """Return the filter at the end of ``text`` if its value may be incomplete, else None."""
    match = _TYPED.search(text)
    if match is None:
        return None
    day, days, key, value = match.groups()
    name, start = (day or key).lower(), match.start(2 if day else 4)
    value = days if day else value
    value = value.lstrip('"#') if name.startswith("tag") else value.lstrip('"')
    return Typed(_NAMES.get(name, name), value.casefold(), text[:start])


def completions(
    half: Typed, offered: Choices, stores: Mapping[str, int], today: date
) -> tuple[Completion, ...]:
    """Return values for the filter: first those that begin with the typed text, then those that contain it,
    each most frequent first. For a filter by date, return days. ``stores`` maps names to document counts."""
    if half.key in _DAYS:
        return tuple(_days(half, offered.years, today))
    counts = {
        "type": offered.types,
        "tag": offered.tags,
        "path": offered.folders,
        "store": stores,
    }[half.key]
    values = [value for value in counts if half.value in value.casefold() and value != TOP_FOLDER]
    values.sort(key=lambda value: (not value.casefold().startswith(half.value), -counts[value]))
    return tuple(
        Completion(value, f"{counts[value]:,}", f"{half.before}{_quoted(value)} ") for value in values[:_MOST]
    )


def is_half(half: Typed, offered: Choices, stores: Iterable[str]) -> bool:
    """Whether the value cannot be used for a search yet, because it is empty, not a date, or the beginning of
    a longer value."""
    if half.key in _DAYS:
        return span(half.value) is None
    known = {"type": offered.types, "tag": offered.tags, "path": offered.folders, "store": stores}[half.key]
    values = [value.casefold() for value in known]
    begins = any(value.startswith(half.value) for value in values)
    is_whole = any(f"{value}/".startswith(f"{half.value.rstrip('/')}/") for value in values)
    return not half.value or (begins and not is_whole)


def _days(half: Typed, years: Mapping[str, int], today: date) -> list[Completion]:
    """Return completions for dates: words with their days, years of documents, and months. In a range they
    complete its end."""
    first, dots, begun = half.value.rpartition("..")
    months = [f"{today.year}-{month:02}" for month in range(today.month, 0, -1)]
    named = sorted(years, reverse=True)
    if begun[:4] in years:
        months = [f"{begun[:4]}-{month:02}" for month in range(1, 13)]
    values = [value for value in (*_NEAR, *named, *months) if value.startswith(begun)]
    if dots:
        values = [value for value in values if " " not in value and _follows(value, first, today)]
    offered = []
    for value in values[:_MOST]:
        days = span(value, today)
        beside = f"{years[value]:,}" if value in years else _said(days[0], days[1]) if days else ""
        offered.append(Completion(value, beside, f"{half.before}{first}{dots}{_written(value)} "))
    return offered


def _follows(value: str, first: str, today: date) -> bool:
    """Whether a date can end a range that begins with ``first``."""
    begin, end = span(first, today), span(value, today)
    return bool(begin and end and begin[0] < end[1])


def _said(first: str, behind: str) -> str:
    """Return the days from ``first`` to the day before ``behind``, in short."""
    last = date.fromordinal(date.fromisoformat(behind).toordinal() - 1).isoformat()
    return first if first == last else f"{first} – {last}"


def _written(value: str) -> str:
    return value if " " not in value or re.fullmatch(WORDS, value) else f'"{value}"'


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"\s", value) else value
