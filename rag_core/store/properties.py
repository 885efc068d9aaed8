"""The properties of documents: the fields of front matter except title and tags, and the sender and
recipients of mails.

They are copied from each document's metadata into a table. Values are compared by their words:
``author:jane`` matches a value that contains *jane*, and ``author:=jane`` a value without other words.
Numbers and days are also stored as such, for ranges.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rag_core.text.days import span
from rag_core.text.words import fold, is_unspaced, well_formed
from rag_core.types import KNOWN_KEYS

TABLE = """
CREATE TABLE properties (                -- of documents, from their metadata
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL,                  -- its name, for comparison
    value TEXT NOT NULL,                -- its words, for comparison, with a space before and after each
    name TEXT NOT NULL, written TEXT NOT NULL,  -- both as written
    number REAL, day TEXT,              -- where the value is one
    PRIMARY KEY (document_id, key, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX properties_by_key ON properties (key, value, number, day);
"""

_OF_DOCUMENT = {*KNOWN_KEYS, "date"}  # fields with filters of their own
_MOST = 100  # maximum number of values of one document
_LONGEST = 200  # maximum characters of one value
_LONGEST_NAME = 60
_SIGNS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_DAY = re.compile(r"(\d{4}-\d\d)(-\d\d)?(?:[T ].*)?")
_COMPARED = re.compile(r"(>=|<=|>|<)\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"(.*?)\.\.(.*)", re.DOTALL)

_Condition = tuple[str, tuple[Any, ...]]


class Property(NamedTuple):
    """A row of the table ``properties``, without the document's id."""

    key: str  #: The name, for comparison.
    value: str  #: The words of the value, for comparison.
    name: str  #: The name as written.
    written: str  #: The value as written.
    number: float | None  #: The value as a number; None if it is none.
    day: str | None  #: The value as an ISO day; None if it is none.


def key_of(name: str) -> str:
    """Normalize the name of a property for comparison: ``Due date``, ``due_date`` and ``due-date`` become
    equal."""
    return re.sub(r"[\s_-]+", "-", fold(name).strip())


def property_rows(metadata: Mapping[str, Any], file_type: str, title: str) -> list[Property]:
    """Return the properties of a document, each value once. A mail's title is its property *subject*."""
    rows: dict[tuple[str, str], Property] = {}
    metadata = {**metadata, "subject": title} if file_type == "mail" else metadata
    for name, value in metadata.items():
        if name.strip().lower() in _OF_DOCUMENT:
            continue
        for inner, leaf in _leaves(name.strip(), value):
            row = _row(inner, leaf)
            if row.key and row.value and len(row.name) <= _LONGEST_NAME and len(rows) < _MOST:
                rows.setdefault((row.key, row.value), row)
    return list(rows.values())


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the single values inside a value, each with its name. The name is ``a.b`` for the value ``b`` in
    a mapping ``a``."""
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from _leaves(f"{name}.{inner}", item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(name, item)
    elif value is not None:
        yield name, value


def _row(name: str, value: Any) -> Property:
    written = str(value).lower() if isinstance(value, bool) else str(value)
    written = " ".join(well_formed(written).strip().removeprefix("[[").removesuffix("]]").split())[:_LONGEST]
    day = _DAY.fullmatch(written)
    first = f"{day[1]}{day[2] or '-01'}" if day else None
    number = float(written) if _NUMBER.fullmatch(written) else None
    return Property(key_of(well_formed(name)), _words(written), well_formed(name), written, number, first)


def _words(text: str) -> str:
    """Return the words of a value between spaces (`` open ``). If the value has no words, it is returned
    itself."""
    words = _SIGNS.sub(" ", fold(text)).strip()
    return f" {words} " if words else text.strip()


def put_properties(db: sqlite3.Connection, document_id: int, rows: Sequence[Property]) -> None:
    """Replace the properties of a document."""
    db.execute("DELETE FROM properties WHERE document_id = ?", (document_id,))
    db.executemany(f"INSERT INTO properties VALUES ({document_id:d}, ?, ?, ?, ?, ?, ?)", rows)


def put_all(db: sqlite3.Connection) -> None:
    """Write the properties of every document again, from its stored metadata."""
    sql = "SELECT id, metadata, file_type, title FROM documents WHERE metadata <> '{}' OR file_type = 'mail'"
    for document_id, metadata, file_type, title in db.execute(sql).fetchall():
        put_properties(db, document_id, property_rows(json.loads(metadata), file_type, title))


# --- filters -----------------------------------------------------------------------------


def cleaned(value: str) -> str:
    """Return a filter, typed as ``name:value``, as filters store it. A name alone gets the value ``*``, which
    means any value."""
    name, _, wanted = value.partition(":")
    return f"{key_of(name)}:{wanted.strip() or '*'}"


def by_key(values: Sequence[str]) -> list[tuple[str, ...]]:
    """Group filters by property. The values of one property are alternatives."""
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(value.partition(":")[0], []).append(value)
    return [tuple(group) for group in groups.values()]


def condition(values: Sequence[str]) -> _Condition:
    """Return SQL on ``d`` for documents with at least one of some values of a property, then the values to
    bind. ``values`` must be `cleaned` and of the same property."""
    bound: list[Any] = [values[0].partition(":")[0]]
    alternatives: list[str] = []
    for value in values:
        sql, wanted = _fits(value.partition(":")[2])
        alternatives.append(f"({sql})")
        bound += wanted
    fits = " OR ".join(alternatives)
    return f"d.id IN (SELECT p.document_id FROM properties p WHERE p.key = ? AND ({fits}))", tuple(bound)


def _fits(wanted: str) -> _Condition:
    """Return the condition on ``p`` for a wanted value: ``open``, ``=open``, ``>3``, ``2..4`` or ``*``."""
    if compared := _COMPARED.fullmatch(wanted):
        return _compares(((compared[1], compared[2]),))
    if between := _RANGE.fullmatch(wanted):
        return _compares(((">=", between[1]), ("<=", between[2])))
    if wanted == "*":
        return "1", ()
    if wanted.startswith("=") and wanted != "=":
        return "p.value = ?", (_words(wanted[1:]),)
    return _holds(wanted)


def _holds(wanted: str) -> _Condition:
    """Return the condition for values that contain the words of ``wanted``, equal it as a number, or lie in
    it as a day, month or year."""
    words = _words(wanted)
    parts = ["(p.number IS NULL AND instr(p.value, ?))"]
    values: list[Any] = [words.strip() if is_unspaced(words.strip()) else words]
    if _NUMBER.fullmatch(wanted.strip()):
        parts.append("p.number = ?")
        values.append(float(wanted))
    if days := span(wanted):
        parts.append("(p.day >= ? AND p.day < ?)")
        values += days
    return " OR ".join(parts), tuple(values)


def _compares(bounds: Sequence[tuple[str, str]]) -> _Condition:
    """Return the condition for values within ``bounds``. These are pairs of an operator and a value, either
    all numbers or all days. An empty bound is ignored."""
    asked = [(sign, text.strip()) for sign, text in bounds if text.strip()]
    if not asked:
        return "1", ()
    parts: list[str] = []
    bound: list[Any] = []
    if all(_NUMBER.fullmatch(text) for _, text in asked):
        parts.append(" AND ".join(f"p.number {sign} ?" for sign, _ in asked))
        bound += [float(text) for _, text in asked]
    days = [(sign, span(text)) for sign, text in asked]
    if all(day for _, day in days):
        parts.append(" AND ".join(f"p.day {'>=' if sign in ('>', '>=') else '<'} ?" for sign, _ in days))
        bound += [day[sign in (">", "<=")] for sign, day in days if day]
    return " OR ".join(f"({part})" for part in parts) or "0", tuple(bound)
