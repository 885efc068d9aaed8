"""Reads from a store for a search: the condition for what may be found, the filters of queries, and the rows
of hits.

``Eligible`` is the only place where filters, phrases, exclusions and the viewer become SQL. Every query joins
``chunks c`` with ``documents d`` under this condition, so no private or filtered document is counted or
shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date as day_of
from datetime import timedelta
from itertools import chain
from posixpath import basename, splitext
from typing import Any, NamedTuple

from rag_core.errors import InvalidInput, StoreError
from rag_core.extract import type_of_suffix
from rag_core.store import properties
from rag_core.store.connection import rows_at_once
from rag_core.store.file import ACTIVE, Store
from rag_core.store.sources import LEFT_OUT
from rag_core.system import slashed_text
from rag_core.text.days import DAY_EXAMPLES, span
from rag_core.text.words import (
    SPACED_WORD,
    alternatives,
    clusters,
    is_unspaced,
    name_key,
    split_words,
    units,
    well_formed,
)
from rag_core.types import Filters, Phrase, Query, Sort, Viewer

HIDDEN = "SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE d.private"
"""SQL for the ids of all private chunks."""

_NAMES = " || char(1) || ".join(f"c.{column}" for column in ("title", "headings", "tags", "path"))
_HOLDS = f"(has_phrase({_NAMES}, ?) OR shows_phrase(c.text, d.file_type, ?))"
# "+c.id" keeps SQLite from starting with this condition: it would visit every match for every key.
_HAS_WORDS = "+c.id IN (SELECT rowid FROM words WHERE words MATCH ?)"
_HAS_ANYWHERE = (
    "+c.id IN (SELECT rowid FROM words WHERE words MATCH ? UNION ALL"
    " SELECT rowid FROM furniture_words WHERE furniture_words MATCH ?)"
)

_Condition = tuple[str, tuple[Any, ...]]  # SQL on ``c`` (chunks) and ``d`` (documents), and its bound values


@dataclass(frozen=True, slots=True)
class Filter:
    """A kind of filter in queries, such as ``type:``."""

    field: str  #: The field of `Filters` that holds its values.
    keys: tuple[str, ...]  #: Its names in a query, the main name first.
    sql: Callable[[tuple[str, ...]], _Condition]  #: Returns the condition for some values.
    #: Converts a typed value to the stored form. Raises InvalidInput for a value that cannot be used.
    clean: Callable[[str], str] = str
    #: Words for the notice that no document matches a value, such as ``has the tag``; '' for no notice.
    lacks: str = ""
    facet: str = ""  #: The kind of facet with its values; '' if there is none.
    is_day: bool = False  #: Whether it takes a single value, a day.
    #: Groups the values. A document must match one value of each group. By default there is one group.
    apart: Callable[[tuple[str, ...]], Sequence[tuple[str, ...]]] = lambda values: (values,)


def _one_of(sql: str, compared: Callable[[str], str] = str) -> Callable[[tuple[str, ...]], _Condition]:
    """Return a function that builds a condition for some values. It puts a ``?`` for each value into the
    ``{}`` of ``sql``. The values are converted by ``compared``."""
    return lambda values: (sql.format(", ".join("?" * len(values))), tuple(map(compared, values)))


_types = _one_of("d.file_type IN ({})", lambda name: type_of_suffix(f".{name}") or name)
_tags = _one_of("d.id IN (SELECT document_id FROM tags WHERE folded IN ({}))", name_key)
_files = _one_of("d.id IN (SELECT document_id FROM names WHERE kind = 0 AND key IN ({}))", name_key)
_pages = _one_of("c.anchor_type IN ('page', 'slide') AND c.anchor_ref IN ({})")


def _escaped(text: str) -> str:
    """Escape the wildcards in ``text`` for LIKE."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _worded(text: str) -> Callable[[tuple[str, ...]], _Condition]:
    """Return a function that builds a condition for some values: the SQL expression ``text`` must contain the
    words of at least one value."""

    def holds(values: tuple[str, ...]) -> _Condition:
        parts: list[str] = []
        bound: list[str] = []
        for value in values:
            found = units(split_words(value))
            if match := " AND ".join(f"({match_any([unit])})" for unit in found):
                aside = " AND ".join(f"({match_any([unit], '')})" for unit in found)
                parts.append(f"{_HAS_ANYWHERE} AND has_phrase({text}, ?)")
                bound += match, aside, value
            else:
                parts.append(f"has_phrase({text}, ?)")
                bound.append(value)
        return " OR ".join(parts), tuple(bound)

    return holds


def _places(values: tuple[str, ...]) -> _Condition:
    place = "c.anchor_ref <> '' AND has_phrase(c.anchor_type || ' ' || c.anchor_ref, ?)"
    return " OR ".join([place] * len(values)), values


def _symbols(values: tuple[str, ...]) -> _Condition:
    module = "replace(replace(replace(d.display, '/__init__.py', ''), '.py', ''), '/', '.')"
    ends = " OR ".join([f"'.' || {module} || '.' || c.anchor_ref LIKE '%.' || ? ESCAPE '\\'"] * len(values))
    return f"c.anchor_type = 'definition' AND ({ends})", tuple(map(_escaped, values))


def _paths(values: tuple[str, ...]) -> _Condition:
    conditions: list[str] = []
    bound: list[str] = []
    for value in map(slashed_text, values):
        path = value.strip("/")
        if "*" in value:
            conditions.append("lower(d.display) GLOB lower(?)")
            bound.append(value.replace("[", "[[]"))
        elif not path:
            conditions.append("d.folder = ''")
        else:
            below = f"{_escaped(path)}/%"
            conditions.append("d.display = ? COLLATE NOCASE OR d.display LIKE ? ESCAPE '\\'")
            bound += path, below
    return " OR ".join(conditions), tuple(bound)


def _dates(values: tuple[str, ...]) -> _Condition:
    spans = [span(value) or ("", "") for value in values]
    return " OR ".join(["d.date >= ? AND d.date < ?"] * len(spans)), tuple(chain.from_iterable(spans))


def _days(value: str) -> str:
    """Convert a day, month or year to its first and last day: ``2025-03-01..2025-03-31``. Raises
    InvalidInput."""
    if (found := span(value)) is None:
        raise InvalidInput(f"{value!r} is not a date.", f"Write {DAY_EXAMPLES}.")
    last = day_of.fromisoformat(found[1]) - timedelta(1)
    return f"{found[0]}..{last.isoformat()}"


FILTERS = (
    Filter(
        "types", ("type", "file_type"), _types, lambda value: value.lower().removeprefix("."),
        lacks="is of the type", facet="type",
    ),
    Filter(
        "tags", ("tag", "tags"), _tags, lambda value: value.lstrip("#").strip("/"),
        lacks="has the tag", facet="tag",
    ),
    Filter("paths", ("path", "folder"), _paths, lacks="is in a folder called", facet="folder"),
    Filter("files", ("file", "source_file", "file_path"), _files, lacks="is called"),
    Filter("titles", ("title",), _worded("c.title"), lacks="has the title"),
    Filter("headings", ("heading",), _worded("c.headings"), lacks="has the heading"),
    Filter("pages", ("page", "slide"), _pages, lacks="has a page or slide"),
    Filter("places", ("place",), _places, lacks="has a place called"),
    Filter("symbols", ("symbol",), _symbols, lacks="defines"),
    Filter(
        "properties", ("property",), properties.condition, properties.cleaned,
        lacks="has the property", apart=properties.by_key,
    ),
    Filter("dates", ("date",), _dates, _days, lacks="is dated"),
    Filter("since", (), lambda time: ("d.indexed_at >= ?", time), is_day=True),
    Filter("after", ("after",), lambda day: ("d.date >= ?", day), is_day=True),
    Filter("before", ("before",), lambda day: ("d.date < ?", day), is_day=True),
)  # fmt: skip
"""All kinds of filters. To add one, add a field to `types.Filters` and a row here, before the filters of
days, which stay last.

The query language, ``--filter``, REST and MCP then know it. A control on the pages also needs
`ui.search.filters` and `ui.frame.search_state`.
"""


@dataclass(frozen=True, slots=True)
class Eligible:
    """A condition on the chunks that a search may find."""

    sql: str  #: Condition on ``c`` (chunks) and ``d`` (documents).
    values: tuple[Any, ...]  #: The bound values of ``sql``.
    viewer: Viewer  #: The person who searches.
    narrows: bool  #: Whether it excludes something that ``viewer`` may see.


def eligible(query: Query, viewer: Viewer) -> Eligible:
    """Return the condition for the chunks that ``viewer`` may find with the filters and phrases of
    ``query``."""
    conditions: list[_Condition] = []
    for sign, filters in (("", query.filters), ("", query.beside), ("NOT ", query.excluded)):
        conditions += _filtered(sign, filters)
    for sign, phrases in (("", query.phrases), ("NOT ", query.without)):
        for phrase in phrases:
            sql, values = _phrased(phrase, inflected=bool(sign))
            conditions.append((f"{sign}({sql})", values))
    condition = f"d.private < {LEFT_OUT}" if viewer.is_owner else "NOT d.private"
    bound: list[Any] = []
    for sql, values in conditions:
        condition += f" AND ({sql})"
        bound += values
    return Eligible(condition, tuple(bound), viewer, bool(conditions))


def _filtered(sign: str, filters: Filters) -> list[_Condition]:
    """Return a condition for each filter that is set. Each begins with ``sign``, which is '' or 'NOT '."""
    conditions: list[_Condition] = []
    for kind in FILTERS:
        value = getattr(filters, kind.field)
        for group in kind.apart((value,) if kind.is_day else value) if value else ():
            sql, values = kind.sql(group)
            conditions.append((f"{sign}({sql})", values))
    return conditions


def _phrased(phrase: Phrase, *, inflected: bool) -> _Condition:
    """Return the condition for passages that contain a phrase exactly. If ``inflected``, a single word also
    matches in other forms."""
    match = " AND ".join([match_any([unit]) for unit in phrase.units])
    if inflected and SPACED_WORD.fullmatch(phrase.text):
        return _HAS_WORDS, (match,)
    if not match:
        return _HOLDS, (phrase.text, phrase.text)
    aside = " AND ".join([match_any([unit], "") for unit in phrase.units])
    return f"{_HAS_ANYWHERE} AND {_HOLDS}", (match, aside, phrase.text, phrase.text)


def visible(viewer: Viewer) -> Eligible:
    """Return the condition for everything that ``viewer`` may see."""
    return eligible(Query("", ""), viewer)


def sees_all(db: sqlite3.Connection, viewer: Viewer) -> bool:
    """Whether ``viewer`` may see every document, so that counts over the whole store can be used."""
    return viewer.is_owner or db.execute("SELECT 1 FROM documents WHERE private LIMIT 1").fetchone() is None


def takes_all(db: sqlite3.Connection, allowed: Eligible) -> bool:
    """Whether every passage of the store is eligible."""
    if allowed.narrows or not sees_all(db, allowed.viewer):
        return False
    left_out = db.execute(f"SELECT 1 FROM documents WHERE private >= {LEFT_OUT} LIMIT 1")
    return left_out.fetchone() is None


def match_any(some: Iterable[str], further: str = "{title_terms terms} : ") -> str:
    """Return an FTS5 expression for passages with at least one of the units ``some``.

    FTS5's tokenizer does not find units in scripts without spaces. They are looked for in the columns of
    ``further``, a column filter of FTS5; '' is for tables without these columns.
    """
    terms: list[str] = []
    for unit in chain.from_iterable(map(alternatives, some)):
        is_further = not unit.isascii() and is_unspaced(unit)
        columns = further if is_further else ""
        star = "*" if is_further and len(clusters(unit)) == 1 else ""
        terms.append(f'{columns}"{unit}"{star}')
    return " OR ".join(terms)


_FIRST = "coalesce(min(CASE WHEN c.kept IS NOT '[]' THEN c.id END), min(c.id))"
"""SQL for the id of a document's first passage that is not only furniture, or else of its first passage."""


_CALLED = "d.id IN (SELECT document_id FROM names WHERE key = ?)"

_IN_ORDER: Mapping[Sort, str] = {
    "best": "d.date DESC, d.display",
    "newest": "d.date DESC, d.display",
    "oldest": "d.date = '', d.date, d.display",
    "name": "name_order(d.title), d.display",
}


def first_chunks(db: sqlite3.Connection, allowed: Eligible, limit: int, name: str) -> list[int]:
    """Return the id of the first chunk of each eligible document called ``name`` (as `name_key` returns it),
    at most ``limit``, shortest paths first."""
    sql = f"""SELECT {_FIRST} FROM chunks c JOIN documents d ON d.id = c.document_id
              WHERE {_CALLED} AND {allowed.sql} GROUP BY d.id ORDER BY length(d.display) LIMIT {limit:d}"""
    return [chunk_id for (chunk_id,) in db.execute(sql, (name, *allowed.values))]


def first_of_all(
    db: sqlite3.Connection, allowed: Eligible, limit: int, sort: Sort, name: str = ""
) -> list[int]:
    """Return the id of the first chunk of each eligible document, at most ``limit``, ordered by ``sort``.
    With *best*, documents called ``name`` come first, then the newest."""
    order, values = _IN_ORDER[sort], allowed.values
    if sort == "best" and name:
        order, values = f"{_CALLED} DESC, {order}", (*values, name)
    sql = f"""SELECT {_FIRST} FROM chunks c JOIN documents d ON d.id = c.document_id
              WHERE {allowed.sql} GROUP BY d.id ORDER BY {order} LIMIT {limit:d}"""
    return [chunk_id for (chunk_id,) in db.execute(sql, values)]


def begun_names(db: sqlite3.Connection, allowed: Eligible, name: str, limit: int) -> dict[int, float]:
    """Return the first chunks of eligible documents with a name that begins with ``name``, at most ``limit``,
    shortest names first. The result maps chunk ids to the length of ``name`` divided by the length of the
    whole name."""
    sql = f"""WITH found AS (
                  SELECT d.id, min(length(n.key)) AS length
                  FROM names n JOIN documents d ON d.id = n.document_id
                  JOIN chunks c ON c.document_id = d.id AND c.chunk_index = 0
                  WHERE n.key > ? AND n.key < ? AND {allowed.sql}
                  GROUP BY d.id ORDER BY length, d.display LIMIT ?)
              SELECT {_FIRST}, ? * 1.0 / length FROM found JOIN documents d ON d.id = found.id
              JOIN chunks c ON c.document_id = d.id WHERE {allowed.sql} GROUP BY d.id"""
    values = (name, f"{name}\U0010ffff", *allowed.values, limit, len(name), *allowed.values)
    return dict(db.execute(sql, values).fetchall())


def waiting_texts(db: sqlite3.Connection, viewer: Viewer) -> int:
    """Return the number of texts visible to ``viewer`` that searches cannot find by meaning yet. During a
    switch, texts with a vector of the old embedder do not count."""
    if db.execute("SELECT 1 FROM queue LIMIT 1").fetchone() is None:
        return 0
    waits = "attempts >= 0"
    if db.execute("SELECT 1 FROM meta WHERE key = 'next_identity_id'").fetchone():
        found = f"SELECT 1 FROM embeddings e WHERE e.hash = q.hash AND e.identity_id = {ACTIVE}"
        waits += f" AND NOT EXISTS ({found})"
    total = int(db.execute(f"SELECT count(*) FROM queue q WHERE {waits}").fetchone()[0])
    if not total or sees_all(db, viewer):
        return total
    sql = f"""SELECT count(DISTINCT q.id) FROM queue q JOIN chunks c ON c.embed_hash = q.hash
              WHERE c.id IN ({HIDDEN}) AND {waits} AND NOT EXISTS (
                  SELECT 1 FROM chunks seen WHERE seen.embed_hash = q.hash AND seen.id NOT IN ({HIDDEN}))"""
    return total - int(db.execute(sql).fetchone()[0])


def few(db: sqlite3.Connection, allowed: Eligible, limit: int) -> list[int] | None:
    """Return the ids of the eligible chunks if there are at most ``limit``, else None."""
    sql = f"SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE {allowed.sql} LIMIT ?"
    rows = rows_at_once(db, ["id"], sql, (*allowed.values, limit + 1))
    return [chunk_id for (chunk_id,) in rows] if len(rows) <= limit else None


class Unmatched(NamedTuple):
    """The filters of a query that no document matches."""

    #: Each filter with its value. The filters ``after`` and ``before`` count as one, with the value ''.
    values: Sequence[tuple[Filter, str]] = ()
    together: bool = False  #: Whether no document matches all of the filters together.


def unmatched(stores: Iterable[Store], query: Query, viewer: Viewer) -> Unmatched:
    """Return the filters of ``query`` that match nothing visible to ``viewer`` in any of ``stores``. Stores
    that cannot be read are left out. Patterns and the root folder are never reported."""
    values: dict[tuple[int, str], Query] = {}
    for filters in (query.filters, query.beside):
        for index, kind in enumerate(FILTERS):
            for value in getattr(filters, kind.field) if kind.lacks else ():
                if kind.field != "paths" or not ("*" in value or not value.strip("/")):
                    alone = Filters(**{kind.field: (value,)})  # type: ignore[arg-type]
                    values[index, value] = Query("", "", filters=alone)
        days = Filters(after=filters.after, before=filters.before)
        if days != Filters():
            values[len(FILTERS) - 1, ""] = Query("", "", filters=days)
    narrowed = replace(query, phrases=(), without=())
    together = eligible(narrowed, viewer).narrows
    for store in stores:
        with suppress(StoreError), store.read() as db:
            for key in [key for key, alone in values.items() if _matches(db, alone, viewer)]:
                del values[key]
            together = together and not _matches(db, narrowed, viewer)
    return Unmatched([(FILTERS[index], value) for index, value in values], together)


def _matches(db: sqlite3.Connection, query: Query, viewer: Viewer) -> bool:
    return few(db, eligible(query, viewer), 0) is None


def file_names(db: sqlite3.Connection, viewer: Viewer, limit: int) -> list[str]:
    """Return the names, without folders, of at most ``limit`` newest files that ``viewer`` may see."""
    allowed = visible(viewer)
    sql = f"""SELECT d.display FROM documents d WHERE {allowed.sql} AND d.state = 'indexed' AND d.part = ''
              ORDER BY d.date DESC, d.display LIMIT ?"""
    return list(dict.fromkeys(basename(row[0]) for row in db.execute(sql, (*allowed.values, limit))))


def skipped_count(db: sqlite3.Connection, suffix: str) -> int:
    """Return the number of skipped files whose names end in ``suffix``, such as ``.pdf``. For the owner
    only."""
    sql = """SELECT count(*) FROM documents
             WHERE state = 'skipped' AND part = '' AND lower(substr(display, ?)) = lower(?)"""
    return int(db.execute(sql, (-len(suffix), well_formed(suffix))).fetchone()[0])


def chunk_ids(db: sqlite3.Connection, keys: Sequence[str], allowed: Eligible) -> dict[str, int]:
    """Return the ids of the eligible chunks among ``keys``: key → id."""
    sql = f"""SELECT c.key, c.id FROM json_each(?) wanted CROSS JOIN chunks c ON c.key = wanted.value
              JOIN documents d ON d.id = c.document_id WHERE {allowed.sql}"""
    return dict(rows_at_once(db, ["key", "id"], sql, (json.dumps(list(keys)), *allowed.values)))


def chunks(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, sqlite3.Row]:
    """Return the rows of the chunks ``ids``, by id. The caller must have checked the ids for the viewer."""
    sql = "SELECT * FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    rows = db.execute(sql, (json.dumps(list(ids)),)).fetchall()
    return {row["id"]: row for row in rows}


def headings(chunk: sqlite3.Row, file_type: str) -> tuple[tuple[str, ...], str]:
    """Return the headings above a chunk, first as a tuple, then in one line. In Python files they begin with
    the module: the name of the file, or of the folder for ``__init__.py``."""
    path: tuple[str, ...] = tuple(json.loads(chunk["heading_path"]))
    if file_type != "python":
        return path, chunk["headings"]
    path = (basename(splitext(chunk["path"])[0].removesuffix("/__init__")), *path)
    return path, " > ".join(path)


def chunks_around(db: sqlite3.Connection, key: str, allowed: Eligible, around: int) -> list[sqlite3.Row]:
    """Return the chunk ``key``, and up to ``around`` chunks before and after it, in reading order. Chunks
    that are not eligible are left out."""
    sql = f"""SELECT c.*, d.file_type FROM chunks c JOIN documents d ON d.id = c.document_id
              JOIN chunks here ON here.document_id = c.document_id AND here.key = ?
              WHERE c.chunk_index BETWEEN here.chunk_index - ? AND here.chunk_index + ? AND {allowed.sql}
              ORDER BY c.chunk_index"""
    return db.execute(sql, (well_formed(key), around, around, *allowed.values)).fetchall()


def has_anchor(db: sqlite3.Connection, document_id: int, anchor: tuple[str, str] | None) -> bool:
    """Whether a document has a passage at ``anchor``: (type, reference), such as ``("page", "12")``. False if
    ``anchor`` is None."""
    sql = "SELECT 1 FROM chunks WHERE document_id = ? AND (anchor_type, anchor_ref) = (?, ?) LIMIT 1"
    return anchor is not None and db.execute(sql, (document_id, *anchor)).fetchone() is not None
