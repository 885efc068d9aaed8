"""How many of the documents that match a query have each type, tag, folder and year."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from posixpath import dirname

from rag_core.store import find
from rag_core.text import tags
from rag_core.types import Facets, Query

MOST = 20_000
"""So many matching documents are counted."""

KINDS = ("type", "tag", "folder", "store", "year")
"""Each is a key of the query language, but ``year``, which is ``date:`` there."""


def facets(
    db: sqlite3.Connection, store: str, query: Query, allowed: find.Eligible, fitting: Collection[int]
) -> Facets:
    """Each value with its number of documents in one store, of the first `MOST` that match: of those which
    hold every word of the query in one passage, and of the documents ``fitting`` it; without words of all
    that are ``allowed``. A folder counts the documents below it, and a tag those of the tags below it; ``""``
    is the folder of files at the root."""
    matching, values = _matching(query, allowed)
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    spelled: list[str] = []
    sql = f"""WITH matched (id) AS MATERIALIZED (
                  SELECT * FROM ({matching}) UNION SELECT value FROM json_each(?) LIMIT {MOST}),
              of (file_type, year, folder) AS MATERIALIZED (
                  SELECT file_type, substr(date, 1, 4), folder FROM documents WHERE id IN matched)
              SELECT 'type', file_type, count(*), NULL FROM of GROUP BY 2
              UNION ALL SELECT 'year', year, count(*), NULL FROM of WHERE year <> '' GROUP BY 2
              UNION ALL SELECT 'folder', folder, count(*), NULL FROM of GROUP BY 2
              UNION ALL SELECT 'tag', folded, count(*), min(tag) FROM tags
                  WHERE document_id IN matched GROUP BY 2"""
    for kind, value, count, spelling in db.execute(sql, (*values, json.dumps(list(fitting)))):
        found[kind][value] += count
        if kind == "type":
            found["store"][store] += count
        for above in _above(value) if kind == "folder" else ():
            found[kind][above] += count
        spelled += [spelling] if spelling else []
    found["tag"] = Counter(tags.named(found["tag"], spelled))
    return joined([{kind: dict(counts) for kind, counts in found.items()}])


def _matching(query: Query, allowed: find.Eligible) -> tuple[str, tuple[object, ...]]:
    """SQL of the documents, and its values."""
    joins = "JOIN documents d ON d.id = c.document_id"
    if not query.text:
        return f"SELECT DISTINCT d.id FROM chunks c {joins} WHERE {allowed.sql}", allowed.values
    numbers = [each for each in query.numbers if each.wholes]
    spelled = {unit for each in numbers for unit in (*each.parts, *each.wholes)}
    words = [*([unit] for unit in query.forms if unit not in spelled), *(each.wholes for each in numbers)]
    every = " AND ".join(f"({find.match_any(units)})" for units in words)
    sql = f"""SELECT DISTINCT c.document_id FROM chunks c {joins}
              WHERE c.id IN (SELECT rowid FROM words WHERE words MATCH ?) AND {allowed.sql}"""
    return sql, (every, *allowed.values)


def _above(folder: str) -> Iterable[str]:
    while folder := dirname(folder):
        yield folder


def joined(some: Iterable[Facets]) -> Facets:
    """The facets of several stores as one, the commonest values first."""
    total: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    for each in some:
        for kind, counts in each.items():
            total[kind].update(counts)
    total["tag"] = Counter(tags.joined(total["tag"].items()))
    return {k: dict(sorted(v.items(), key=lambda item: (-item[1], item[0]))) for k, v in total.items()}
