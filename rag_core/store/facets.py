"""Counts the documents that match a query, by type, tag, folder and year."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_core.store import find, lexical
from rag_core.store.connection import kept, rows_at_once
from rag_core.text import tags
from rag_core.types import Facets, Query, Viewer

_MOST = 20_000
"""Maximum number of matching documents that a search counts."""

_KINDS = ("type", "tag", "folder", "store", "year")
"""The kinds of facets. Each is a key of the query language, except ``year``, which is written ``date:``."""

MOST_PROPERTIES, MOST_VALUES = 8, 20
"""Maximum number of properties that a search counts, and of values of each property."""

_SCANS = 8  # chunks that can be scanned in the time that one look-up by id takes
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Column:
    """The values of one kind of facet. ``places`` and ``numbers`` form pairs of a document and a value."""

    values: tuple[str, ...]
    places: _Numbers  #: Index of the document in `_Documents.ids`.
    numbers: _Numbers  #: Index of the value in ``values``.


@dataclass(frozen=True, slots=True)
class _Properties:
    """The property values of all documents. Filters ignore case, so ``Open`` and ``open`` are two spellings
    of one value."""

    ids: _Numbers  #: Document ids, one entry for each spelling in the document.
    numbers: _Numbers  #: Index of the spelling for each entry of ``ids``.
    spellings: tuple[tuple[str, str], ...]  #: (name, value) as written.
    value_of: _Numbers  #: Index of the value for each spelling.
    key_of: _Numbers  #: Index of the key for each value.


@dataclass(frozen=True, slots=True)
class _Documents:
    """All documents with the values that facets count."""

    ids: _Numbers  #: Document ids in ascending order.
    columns: dict[str, _Column]  #: Values by kind; ``written`` holds tags as spelled in documents.


def of_all(db: sqlite3.Connection, store: str, viewer: Viewer) -> Facets:
    """Count the documents that ``viewer`` may see in one store, for each type, tag, folder and year: kind →
    value → number."""
    ids = matching(db, Query("", ""), find.visible(viewer), most=-1)
    return count_values(db, store, dict(zip(ids, ids, strict=True)))


def matching(db: sqlite3.Connection, query: Query, allowed: find.Eligible, most: int = _MOST) -> list[int]:
    """Return the ids of at most ``most`` documents (-1: all) that are ``allowed`` and have every word of the
    query in one passage. A query without words matches all documents."""
    sql, values = _matching(db, query, allowed)
    sql = f"SELECT json_group_array(id) FROM ({sql} LIMIT {most})"
    return list(json.loads(db.execute(sql, values).fetchone()[0]))


def count_values(db: sqlite3.Connection, store: str, result_of: Mapping[int, int]) -> Facets:
    """Count the results in one store, for each type, tag, folder and year: kind → value → number, most
    frequent first.

    ``result_of`` maps document ids to result numbers. Copies of one document have the same number and count
    once. A folder includes the documents in its subfolders, and a tag those of its nested tags. ``''`` is the
    root folder.
    """
    documents = kept(db, _documents)
    results = _results(documents.ids, result_of)
    facets: Facets = {"store": {store: len({*result_of.values()})} if result_of else {}}
    for kind, column in documents.columns.items():
        counts = _distinct(results[column.places], column.numbers, len(column.values))
        facets[kind] = {column.values[number]: int(counts[number]) for number in np.flatnonzero(counts)}
    facets["tag"] = tags.named(facets["tag"], facets.pop("written"))
    return joined_facets([facets])


def at_least(fitting: Facets, matching: Facets) -> Facets:
    """Return a lower bound of each count: the number of ranked results with the value, as counted in
    ``fitting``. Values that only ``matching`` has, which counts all documents with the words of the query,
    get 0."""
    further: Facets = {kind: dict.fromkeys(values, 0) for kind, values in matching.items()}
    return {kind: further.get(kind, {}) | fitting.get(kind, {}) for kind in (further | fitting)}


def _results(ids: _Numbers, result_of: Mapping[int, int]) -> _Numbers:
    """Return the result number of each document, or -1 if it has none."""
    if not result_of:
        return np.full(len(ids), -1, np.int64)
    documents = np.array(sorted(result_of), np.int64)
    numbers = np.array([result_of[number] for number in documents.tolist()], np.int64)
    index = np.minimum(np.searchsorted(documents, ids), len(documents) - 1)
    return np.where(documents[index] == ids, numbers[index], -1)


def _distinct(results: _Numbers, numbers: _Numbers, size: int) -> _Numbers:
    """Return the number of distinct results for each of ``size`` values."""
    is_result = results >= 0
    pairs = np.unique(results[is_result] * size + numbers[is_result])
    return np.bincount(pairs % size, minlength=size) if size else np.zeros(0, np.int64)


def _matching(db: sqlite3.Connection, query: Query, allowed: find.Eligible) -> tuple[str, tuple[object, ...]]:
    """Return SQL for the ids of the matching documents, then the values to bind."""
    is_all = find.takes_all(db, allowed)
    sql = f"""SELECT DISTINCT c.document_id AS id FROM chunks c JOIN documents d ON d.id = c.document_id
              WHERE {allowed.sql}"""
    if not query.text:
        every_document = (
            "SELECT id FROM documents d WHERE EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id)"
        )
        return (every_document, ()) if is_all else (sql, allowed.values)
    every = _match_every(query)
    if is_all:  # reads only the index, because rows of chunks are large and scattered
        return (
            """SELECT DISTINCT c.document_id AS id FROM words
               CROSS JOIN chunks c INDEXED BY chunks_documents ON c.id = words.rowid WHERE words MATCH ?""",
            (every,),
        )
    rarest = min(lexical.holders(db, list(query.terms.forms)).values(), default=0)
    is_many = rarest * _SCANS > kept(db, lexical.chunk_count)  # then scanning all chunks is faster
    chunk = "+c.id" if is_many else "c.id"
    return f"{sql} AND {chunk} IN (SELECT rowid FROM words WHERE words MATCH ?)", (*allowed.values, every)


def _match_every(query: Query) -> str:
    """Return an FTS5 expression for passages that have every word of a query, in any of its forms."""
    numbers = [number for number in query.terms.numbers if number.wholes]
    spelled = {unit for number in numbers for unit in (*number.parts, *number.wholes)}
    words = [
        *([unit] for unit in query.terms.forms if unit not in spelled),
        *(number.wholes for number in numbers),
    ]
    return " AND ".join(f"({find.match_any(units)})" for units in words)


def _documents(db: sqlite3.Connection) -> _Documents:
    sql = "SELECT id, file_type, substr(date, 1, 4), folder FROM documents ORDER BY id"
    rows = rows_at_once(db, ["id", "file_type", "year", "folder"], sql, ())
    place = {row[0]: position for position, row in enumerate(rows)}
    tagged = rows_at_once(db, ["id", "folded", "tag"], "SELECT document_id, folded, tag FROM tags", ())
    columns = {
        "type": _column((place[number], kind) for number, kind, _, _ in rows),
        "tag": _column((place[number], tag) for number, tag, _ in tagged),
        "written": _column((place[number], tag) for number, _, tag in tagged if tag),
        "folder": _column(
            (place[number], folder) for number, _, _, own in rows for folder in tags.above(own)
        ),
        "year": _column((place[number], year) for number, _, year, _ in rows if year),
    }
    return _Documents(np.array([*place], np.int64), columns)


def _column(pairs: Iterable[tuple[int, str]]) -> _Column:
    values: dict[str, int] = {}
    numbered = [(position, values.setdefault(value, len(values))) for position, value in pairs]
    both = np.array(numbered, np.int64).reshape(-1, 2)
    return _Column(tuple(values), both[:, 0], both[:, 1])


def joined_facets(some: Iterable[Facets]) -> Facets:
    """Add up the facets of several stores. The most frequent values come first."""
    total: dict[str, Counter[str]] = {kind: Counter() for kind in _KINDS}
    for facets in some:
        for kind, counts in facets.items():
            total[kind].update(counts)
    total["tag"] = Counter(tags.joined_counts(total["tag"].items()))
    return {k: dict(sorted(v.items(), key=lambda item: (-item[1], item[0]))) for k, v in total.items()}


def count_properties(db: sqlite3.Connection, result_of: Mapping[int, int]) -> Facets:
    """Count the results by property: name → value as written → number, most frequent first. ``result_of``
    maps document ids to result numbers. Properties are left out if they have many values with one result
    each, such as addresses."""
    known = kept(db, _properties)
    results = _results(known.ids, result_of)
    counts = _distinct(results, known.value_of[known.numbers], len(known.key_of))
    spelled = _distinct(results, known.numbers, len(known.spellings))
    held = np.flatnonzero(counts)
    of_key = np.bincount(known.key_of[held], weights=counts[held])
    distinct = np.bincount(known.key_of[held], minlength=len(of_key))
    of_key[(distinct > MOST_VALUES) & (of_key == distinct)] = 0
    facets: Facets = {}
    for key in np.argsort(-of_key, kind="stable")[:MOST_PROPERTIES]:
        if not of_key[key]:
            break
        numbers = held[known.key_of[held] == key]
        commonest = numbers[np.argsort(-counts[numbers], kind="stable")[:MOST_VALUES]].tolist()
        _add_values(facets, known, {number: int(counts[number]) for number in commonest}, spelled)
    return facets


def _add_values(facets: Facets, known: _Properties, counts: Mapping[int, int], spelled: _Numbers) -> None:
    """Add the values of one property and their ``counts`` to ``facets``. Each value gets its most frequent
    spelling. The property gets the name that is written with the first value."""
    shown = [known.spellings[_commonest_spelling(known, number, spelled)] for number in counts]
    values = facets.setdefault(shown[0][0], {})
    for count, (_, written) in zip(counts.values(), shown, strict=True):
        values[written] = values.get(written, 0) + count


def _commonest_spelling(known: _Properties, value: int, counts: _Numbers) -> int:
    """Return the index of the most frequent spelling of a value. ``counts`` holds the number of results of
    each spelling."""
    spellings = np.flatnonzero(known.value_of == value)
    return int(spellings[np.argmax(counts[spellings])])


def _properties(db: sqlite3.Connection) -> _Properties:
    columns = ["id", "key", "value", "name", "written"]
    sql = "SELECT document_id, key, value, name, written FROM properties"
    keys: dict[str, int] = {}
    values: dict[tuple[str, str], int] = {}
    spellings: dict[tuple[str, str, int], int] = {}
    ids: list[int] = []
    numbers: list[int] = []
    for document, key, value, name, written in rows_at_once(db, columns, sql, ()):
        keys.setdefault(key, len(keys))
        spelling = name, written, values.setdefault((key, value), len(values))
        ids.append(document)
        numbers.append(spellings.setdefault(spelling, len(spellings)))
    return _Properties(
        np.array(ids, np.int64),
        np.array(numbers, np.int64),
        tuple((name, written) for name, written, _ in spellings),
        np.array([value for _, _, value in spellings], np.int64),
        np.array([keys[key] for key, _ in values], np.int64),
    )


def joined_properties(some: Iterable[Facets]) -> Facets:
    """Add up the properties of several stores. The most frequent properties and values come first."""
    total: dict[str, Counter[str]] = {}
    for facets in some:
        for name, values in facets.items():
            total.setdefault(name, Counter()).update(values)
    commonest = sorted(total, key=lambda name: -total[name].total())[:MOST_PROPERTIES]
    return {name: dict(total[name].most_common(MOST_VALUES)) for name in commonest}


def property_names(db: sqlite3.Connection, viewer: Viewer) -> dict[str, str]:
    """Return the properties of documents that ``viewer`` may see, most frequent first: key, as filters
    compare it → name as written."""
    return kept(db, _all_names if viewer.is_owner else _public_names)


def _all_names(db: sqlite3.Connection) -> dict[str, str]:
    sql = "SELECT key, max(name) FROM properties GROUP BY key ORDER BY count(DISTINCT document_id) DESC, key"
    return dict(db.execute(sql).fetchall())


def _public_names(db: sqlite3.Connection) -> dict[str, str]:
    sql = """SELECT p.key, max(p.name) FROM properties p JOIN documents d ON d.id = p.document_id
             WHERE NOT d.private GROUP BY p.key ORDER BY count(DISTINCT d.id) DESC, p.key"""
    return dict(db.execute(sql).fetchall())


def property_values(db: sqlite3.Connection, key: str, viewer: Viewer, most: int) -> list[str]:
    """Return at most ``most`` values of a property as written, most frequent first."""
    sql = f"""SELECT min(p.written) FROM properties p JOIN documents d ON d.id = p.document_id
              WHERE p.key = ? AND {find.visible(viewer).sql}
              GROUP BY p.value ORDER BY count(*) DESC LIMIT ?"""
    return [written for (written,) in db.execute(sql, (key, most))]
