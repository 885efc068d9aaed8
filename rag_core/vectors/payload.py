"""The fields of a chunk in remote indexes, and the filters on them, the same for all indexes. The local check
decides. A remote filter only saves hits that the check would drop, so it never leaves out more."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from rag_core.extract import type_of_suffix
from rag_core.text.words import name_key, well_formed
from rag_core.types import Filters, Vectors
from rag_core.vectors import Metadata, VectorRecord, unit

UNFILTERED = "unfiltered"
"""The key that lists the fields that had no room in a record. The record then meets every condition on
them."""

MAY_BE_UNFILTERED = frozenset({"date"})
"""The fields that ``metadata`` itself may list as unfiltered. An index with room for all fields need not
consider others."""

TEXT, DOC = "text", "doc"
"""The keys for the data that rebuilds a chunk, for an index without a separate place for it."""

Value = str | int | bool | list[str]

NO_DATE = 0
_DIGITS = 9  # of a number in a unit vector, more than float32 distinguishes
_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_WILD = re.compile(r"[*?]")


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
    """Return the fields of a chunk's record that filters compare, without empty values. Text is case-folded,
    as in conditions.

    Args:
        path: The document's path as it is shown.
        file_type: The document's type, such as ``markdown``.
        folded_tags: The document's tags with their parents, folded as in the store.
        date: An ISO day, or ''.
        private: Whether only the owner may see the document.
        anchor_type: The kind of place of the chunk, such as ``page``.
        anchor_ref: The name or number of that place, such as ``12``.

    """
    parts = path.split("/")
    folders = (name_key("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))
    names = name_key(parts[-1]), name_key(posixpath.splitext(parts[-1])[0])
    values: dict[str, str | int | bool | tuple[str, ...]] = {
        "file_type": file_type,
        "folder": name_key(posixpath.dirname(path)),
        "folders": tuple(dict.fromkeys(folders)),
        "names": tuple(dict.fromkeys(names)),
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


class Condition(NamedTuple):
    """A test of one field in the metadata of a record."""

    key: str
    #: *any*: the field is or has one of ``values``. *from*: it is at least ``values[0]``. *below*: it is
    #: below ``values[0]``.
    test: Literal["any", "from", "below"]
    values: tuple[str | int, ...]
    is_list: bool = False  #: Whether the field is a list.


def conditions(filters: Filters) -> list[Condition]:
    """Return conditions that every record matching ``filters`` meets. Other records may meet them, too."""
    found: list[Condition] = []
    if filters.types:
        types = tuple(type_of_suffix(f".{each}") or each for each in filters.types)
        found.append(Condition("file_type", "any", types))
    if filters.tags:
        found.append(Condition("tags", "any", tuple(map(name_key, filters.tags)), is_list=True))
    if filters.paths:
        found += _path_conditions(filters.paths)
    if filters.files:
        last = tuple(name_key(posixpath.basename(file)) for file in filters.files)
        found.append(Condition("names", "any", last, is_list=True))
    if filters.pages:
        found.append(Condition("page", "any", filters.pages))
    tests: tuple[tuple[Literal["from", "below"], str | None], ...]
    tests = ("from", filters.after), ("below", filters.before)
    for test, given in tests:
        if given and (day := _number(given)) is not None:
            found.append(Condition("date", test, (day,)))
    return [
        each._replace(values=tuple(well_formed(v) if isinstance(v, str) else v for v in each.values))
        for each in found
    ]


def filter_objects(
    filters: Filters, most: int, contains: str, unfiltered: frozenset[str] | None = None
) -> dict[str, Any] | None:
    """Return ``filters`` as a JSON object for the index's search; None if no condition is left.

    Args:
        filters: The conditions. If they have more than ``most`` values together, those with most values are
            left out.
        most: The maximum number of values that the service accepts in one query.
        contains: The operator that tests whether a list has a value.
        unfiltered: Keys that a record may lack because their values did not fit; None for every key.

    """
    asked = []
    for each in sorted(conditions(filters), key=lambda condition: len(condition.values)):
        if len(each.values) >= most:
            continue
        most -= len(each.values) + 1
        alternatives: list[dict[str, Any]] = [{each.key: {"$in": [*each.values]}}]
        if each.test != "any":
            alternatives = [{each.key: {"$gte" if each.test == "from" else "$lt": each.values[0]}}]
        elif each.is_list:
            alternatives = [{each.key: {contains: value}} for value in each.values]
        if unfiltered is None or each.key in unfiltered:
            alternatives.append({UNFILTERED: {contains: each.key}})
        asked.append({"$or": alternatives} if len(alternatives) > 1 else alternatives[0])
    return {"$and": asked} if len(asked) > 1 else asked[0] if asked else None


def _path_conditions(paths: Iterable[str]) -> list[Condition]:
    """Return at most one condition, which covers all paths; nothing if a path can match anything. Of a path
    with a wildcard, only the folders before the wildcard are compared."""
    folders = [
        path[: wild.start()].rpartition("/")[0]
        if "*" in path and (wild := _WILD.search(path))
        else path.strip("/")
        for path in paths
    ]
    if folders == [""] and not any(_WILD.search(path) for path in paths):
        return [Condition("folder", "any", ("",))]
    if "" in folders:
        return []
    return [Condition("folders", "any", tuple(map(name_key, folders)), is_list=True)]


def _number(day: str) -> int | None:
    """Convert an ISO day to a number that sorts by date, and '' to NO_DATE, which sorts first. Return None
    for other text."""
    if not day:
        return NO_DATE
    match = _DAY.fullmatch(day)
    return int("".join(match.groups())) if match else None


def document(record: VectorRecord) -> str:
    """Return the JSON text of the ``doc`` of a record."""
    return well_formed(json.dumps(record.doc, ensure_ascii=False, separators=(",", ":")))


def values(metadata: Metadata) -> dict[str, Value]:
    """Convert ``metadata`` for storage. Tuples become lists, and lone surrogates are replaced."""
    kept: dict[str, Value] = {}
    for key, value in metadata.items():
        text = well_formed(value) if isinstance(value, str) else value
        kept[key] = [*map(well_formed, text)] if isinstance(text, tuple) else text
    return kept


def short_numbers(vector: Vectors) -> list[float]:
    """Round the numbers of a unit vector, so that their text is short."""
    return list(np.round(vector.astype(np.float64), _DIGITS).tolist())


def rebuilt(key: str, vector: Any, text: str, doc: str, kept: Mapping[str, Any]) -> VectorRecord:
    """Rebuild a record from what a service returns: ``doc`` is the JSON text of its ``doc``, ``kept`` its
    metadata. Lists become tuples, and floats become whole numbers, because some services change them."""
    found = {
        name: tuple(value) if isinstance(value, list) else int(value) if isinstance(value, float) else value
        for name, value in kept.items()
    }
    return VectorRecord(key, np.array(vector, np.float32), text, json.loads(doc), found)


def reason_against(vector: Vectors, dimension: int) -> str:
    """Return why an index of ``dimension`` would refuse ``vector``; ``""`` if it would accept the vector."""
    if vector.shape != (dimension,):
        return f"Its vector has the shape {vector.shape} instead of ({dimension},)."
    if not np.isfinite(vector).all():
        return "Its vector holds a value that is not a number."
    if not np.any(unit(vector)):
        return "Its vector has only zeros."
    return ""
