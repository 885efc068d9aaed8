"""Suggestions for a few typed letters: documents and tags whose names begin so, and the files that changed
last."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from rag_core.store import find
from rag_core.store.documents import ids
from rag_core.text.words import name_key, well_formed
from rag_core.types import Named, Viewer

_BEHIND = chr(0x10FFFF)  # sorts after every character of a name
_NAMES_A_DOCUMENT = 8  # title, aliases, and every end of the path
_NEWEST = 200  # more than needed, because some hold no text
_COLUMNS = "d.display || iif(d.part = '', '', '#' || d.part), d.title, d.date"


def _readable(viewer: Viewer) -> str:
    allowed = find.visible(viewer)
    return f"{allowed.sql} AND d.state = 'indexed' AND EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id)"


def titled(db: sqlite3.Connection, store: str, beginning: str, viewer: Viewer, limit: int) -> list[Named]:
    """Return at most ``limit`` documents whose title, alias or file name begins with ``beginning``, sorted by
    that name."""
    key = name_key(well_formed(beginning))
    sql = f"""SELECT {_COLUMNS} FROM names n CROSS JOIN documents d ON d.id = n.document_id
              WHERE n.key >= ? AND n.key < ? AND {_readable(viewer)} ORDER BY n.key LIMIT ?"""
    rows = db.execute(sql, (key, key + _BEHIND, limit * _NAMES_A_DOCUMENT))
    return list(dict.fromkeys(Named(store, *row) for row in rows))[:limit]


def tags(db: sqlite3.Connection, beginning: str, viewer: Viewer) -> dict[str, int]:
    """Return the tags that begin with ``beginning``: tag → number of documents."""
    key = name_key(well_formed(beginning)).lstrip("#")
    sql = f"""SELECT coalesce(min(t.tag), t.folded), count(*)
              FROM tags t JOIN documents d ON d.id = t.document_id
              WHERE t.folded >= ? AND t.folded < ? AND {_readable(viewer)} GROUP BY t.folded"""
    return dict(db.execute(sql, (key, key + _BEHIND)).fetchall())


def changed(db: sqlite3.Connection, store: str, viewer: Viewer, limit: int) -> list[tuple[int, Named]]:
    """Return the ``limit`` files that changed last, newest first, each with the time of the change in
    nanoseconds."""
    # First the newest, then those with text: checking every document takes three times as long.
    sql = f"""SELECT d.mtime_ns, {_COLUMNS} FROM documents d
              WHERE d.id IN (
                  SELECT d.id FROM documents d WHERE d.part = '' AND {find.visible(viewer).sql}
                  ORDER BY d.mtime_ns DESC LIMIT {_NEWEST})
              AND {_readable(viewer)} ORDER BY d.mtime_ns DESC LIMIT ?"""
    return [(row[0], Named(store, *row[1:])) for row in db.execute(sql, (limit,))]


def of_paths(db: sqlite3.Connection, store: str, paths: Sequence[str], viewer: Viewer) -> dict[str, Named]:
    """Return the documents at ``paths``, by path. Paths without a document are left out."""
    sql = f"""SELECT {_COLUMNS} FROM documents d
              WHERE d.id IN (SELECT value FROM json_each(?)) AND {_readable(viewer)}"""
    known = [number for path in paths for number in ids(db, path)]
    return {row[0]: Named(store, *row) for row in db.execute(sql, (json.dumps(known),))}
