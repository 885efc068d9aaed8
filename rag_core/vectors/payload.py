"""What remote indexes can filter by, and what of a filter they are asked: the same for all of them.

The local check decides; a remote filter only spares the way. So every condition is wider than the
filter or the same, and a filter that has no such condition is left to the check.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from rag_core.extract import type_of_suffix
from rag_core.store.documents import name_key
from rag_core.types import Filters
from rag_core.vectors import Metadata
from rag_core.vectors.records import whole

UNFILTERED = "unfiltered"
"""The key that lists which other keys had no room in a record. Such a record fits every condition on them."""

MAY_BE_UNFILTERED = ("date",)
"""What ``metadata`` lists there itself: an index with room for everything need not ask for more."""

NO_DATE = 0
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_WILD = re.compile(r"[*?]")


@dataclass(frozen=True, slots=True)
class Condition:
    """The value of ``key``, or one of its values, is any of ``values``; or not below, or below, the one."""

    key: str
    test: Literal["any", "from", "below"]
    values: tuple[str | int, ...]
    is_list: bool = False


def metadata(
    path: str,
    *,
    file_type: str,
    folded_tags: Iterable[str],
    date: str,
    private: bool,
    anchor_type: str = "",
    anchor_ref: str = "",
) -> Metadata:
    """What can be asked of a chunk at ``path`` (the document's, as shown).

    ``folded_tags`` come with their parents, as the store keeps them; ``date`` is an ISO day or "".
    A key without a value is left out. Letter case is folded here and in the conditions alike.
    """
    values: dict[str, str | int | bool | tuple[str, ...]] = {
        "file_type": file_type,
        "folder": name_key(posixpath.dirname(path)),
        "folders": _prefixes(path),
        "names": _names(path),
        "private": private,
    }
    if tags := tuple(sorted(set(folded_tags))):
        values["tags"] = tags
    if anchor_type in ("page", "slide"):
        values["page"] = anchor_ref
    if (day := _number(date)) is None:
        values[UNFILTERED] = ("date",)
    else:
        values["date"] = day
    return values


def conditions(filters: Filters) -> list[Condition]:
    """Conditions that all hold for whatever fits ``filters``. Their values are whole characters, as records
    are kept."""
    return [
        replace(each, values=tuple(whole(v) if isinstance(v, str) else v for v in each.values))
        for each in _conditions(filters)
    ]


def affordable(filters: Filters, most: int) -> list[Condition]:
    """As many of these conditions as an index takes that takes ``most`` alternatives in one filter, those
    with the fewest first, each with one more for a record that cannot be asked. The rest is left to the
    local check."""
    found = []
    room = most
    for condition in sorted(conditions(filters), key=lambda condition: len(condition.values)):
        if len(condition.values) < room:
            room -= len(condition.values) + 1
            found.append(condition)
    return found


def _conditions(filters: Filters) -> list[Condition]:
    found = []
    if filters.types:
        found.append(
            Condition("file_type", "any", tuple(type_of_suffix(f".{t}") or t for t in filters.types))
        )
    if filters.tags:
        found.append(Condition("tags", "any", tuple(name_key(tag) for tag in filters.tags), is_list=True))
    if filters.paths:
        found += _path_conditions(filters.paths)
    if filters.files:
        last = tuple(name_key(posixpath.basename(file)) for file in filters.files)
        found.append(Condition("names", "any", last, is_list=True))
    if filters.pages:
        found.append(Condition("page", "any", filters.pages))
    if filters.after is not None and (day := _number(filters.after)) is not None:
        found.append(Condition("date", "from", (day,)))
    if filters.before is not None and (day := _number(filters.before)) is not None:
        found.append(Condition("date", "below", (day,)))
    return found


def _prefixes(path: str) -> tuple[str, ...]:
    """The path and every folder above it, shortest first."""
    parts = path.split("/")
    return tuple(dict.fromkeys(name_key("/".join(parts[:depth])) for depth in range(1, len(parts) + 1)))


def _names(path: str) -> tuple[str, ...]:
    name = posixpath.basename(path)
    return tuple(dict.fromkeys((name_key(name), name_key(posixpath.splitext(name)[0]))))


def _path_conditions(paths: Iterable[str]) -> list[Condition]:
    """One condition for all alternatives, none when one of them is too wide for any."""
    folders = [_literal(path) for path in paths]
    if folders == [""] and not any(_WILD.search(path) for path in paths):
        return [Condition("folder", "any", ("",))]
    if "" in folders:
        return []
    return [Condition("folders", "any", tuple(name_key(folder) for folder in folders), is_list=True)]


def _literal(path: str) -> str:
    """The leading segments of a path filter that hold no wildcard."""
    if "*" not in path:
        return path.strip("/")
    return path[: _WILD.search(path).start()].rpartition("/")[0]  # type: ignore[union-attr]


def _number(day: str) -> int | None:
    """A day as a number in the order of days; a document without one comes before all."""
    if not day:
        return NO_DATE
    match = _DAY.fullmatch(day)
    return int("".join(match.groups())) if match else None
