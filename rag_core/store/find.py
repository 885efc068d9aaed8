"""Reading for a search: who may be found, passages by words, and the rows behind a hit.

``Eligible`` is the one place where filters, phrases, exclusions and the viewer become SQL.
Every read joins ``chunks c`` with ``documents d`` under it, so that a private document or a
filtered one can never be ranked, counted, folded or shown.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from posixpath import basename, splitext
from typing import Any

from rag_core.extract import frontmatter, type_of_suffix
from rag_core.store import bm25, counts, shared_bm25
from rag_core.store.documents import name_key, storable
from rag_core.store.embeddings import lacking, lacking_count
from rag_core.store.rows import rows_at_once
from rag_core.store.shared_bm25 import HIDDEN
from rag_core.text import tags
from rag_core.text.words import fold as fold_words
from rag_core.text.words import is_spaced_word, match_all, match_any, spaced_words, units
from rag_core.types import DATA, Document, Filters, PrivateBy, Query, Viewer

_EVERYTHING = "1"
_LEAST_BEGINNING = 4  # letters; what begins with fewer is mostly something else
_MOST_BEGINNINGS = 3  # each goes through all words of the index that begin so
_MOST_LESS = 4  # letters by which a stem is shorter than a beginning of its words
_BEGUN = 100  # chunks that may have a longer word, for each
_MARGIN = 4  # times as many are scored anew for a guest, whose best are not quite the best of all


@dataclass(frozen=True, slots=True)
class Eligible:
    """A condition on ``c`` (chunks) and ``d`` (documents) with its bound values."""

    sql: str
    values: tuple[Any, ...]
    viewer: Viewer

    @property
    def narrows(self) -> bool:
        """Whether anything at all is left out."""
        return self.sql != visible(self.viewer).sql


def eligible(query: Query, viewer: Viewer) -> Eligible:
    """What ``viewer`` may be shown for ``query``."""
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if not viewer.is_owner:
        parts.append(("NOT d.private", ()))
    parts += _filter_conditions(query.filters) + _filter_conditions(query.beside)
    parts += [(f"NOT ({sql})", values) for sql, values in _filter_conditions(query.excluded)]
    parts += [_must_hold(phrase) for phrase in query.phrases]
    parts += [_must_lack(phrase) for phrase in query.without]
    condition = " AND ".join(f"({sql})" for sql, _ in parts) or _EVERYTHING
    return Eligible(condition, tuple(value for _, values in parts for value in values), viewer)


def visible(viewer: Viewer) -> Eligible:
    """What ``viewer`` may see at all."""
    return eligible(Query("", "", ()), viewer)


def _filter_conditions(filters: Filters) -> list[tuple[str, tuple[Any, ...]]]:
    parts: list[tuple[str, tuple[Any, ...]]] = []
    if filters.types:
        types = tuple(type_of_suffix(f".{name}") or name for name in filters.types)  # a suffix names its type
        parts.append((f"d.file_type IN ({_marks(types)})", types))
    if filters.tags:
        parts.append(
            (
                f"d.id IN (SELECT document_id FROM tags WHERE folded IN ({_marks(filters.tags)}))",
                tuple(name_key(tag) for tag in filters.tags),
            )
        )
    if filters.paths:
        conditions = [_path_condition(path) for path in filters.paths]
        parts.append(
            (" OR ".join(sql for sql, _ in conditions), tuple(v for _, vs in conditions for v in vs))
        )
    if filters.files:
        names = tuple(name_key(file) for file in filters.files)
        known = f"SELECT document_id FROM names WHERE kind = 0 AND key IN ({_marks(names)})"
        parts.append((f"d.id IN ({known})", names))
    if filters.pages:
        parts.append(
            (
                f"c.anchor_type IN ('page', 'slide') AND c.anchor_ref IN ({_marks(filters.pages)})",
                filters.pages,
            )
        )
    if filters.after is not None:
        parts.append(("d.date >= ?", (filters.after,)))
    if filters.before is not None:
        parts.append(("d.date < ?", (filters.before,)))
    return parts


def _path_condition(path: str) -> tuple[str, tuple[Any, ...]]:
    if "*" in path:
        return "lower(d.display) GLOB lower(?)", (path.replace("[", "[[]"),)
    path = path.strip("/")
    if not path:
        return "d.folder = ''", ()
    below = path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "/%"
    return "d.display = ? COLLATE NOCASE OR d.display LIKE ? ESCAPE '\\'", (path, below)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


_ALL_TEXT = " || char(1) || ".join(f"c.{column}" for column in ("title", "headings", "tags", "path", "text"))


def _must_hold(phrase: str) -> tuple[str, tuple[Any, ...]]:
    exact = f"has_phrase({_ALL_TEXT}, ?)"
    match = match_all(phrase)
    if not match:
        return exact, (phrase,)
    # +c.id: a filter, never the planner's way in, which would meet every match for every key.
    return f"+c.id IN (SELECT rowid FROM words WHERE words MATCH ?) AND {exact}", (match, phrase)


def _must_lack(phrase: str) -> tuple[str, tuple[Any, ...]]:
    """A single word is left out with its inflections, as it would be found; anything else exactly."""
    if is_spaced_word(phrase):
        return "+c.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)", (match_all(phrase),)
    sql, values = _must_hold(phrase)
    return f"NOT ({sql})", values


# --- passages by words ------------------------------------------------------------------


def by_words(
    db: sqlite3.Connection, words: Sequence[str], allowed: Eligible, limit: int
) -> list[tuple[int, float]]:
    """The ``limit`` best chunks with any of ``words``: (chunk id, BM25, higher is better)."""
    if _sees_all(db, allowed.viewer):
        condition = allowed.sql if allowed.narrows else _EVERYTHING
        return bm25.best(db, words, condition, allowed.values, limit)
    found = bm25.best(db, words, allowed.sql, allowed.values, limit * _MARGIN)
    if not found:
        return []
    seen, holders = frequencies(db, units(words), allowed.viewer)
    scores = shared_bm25.scores(db, words, [chunk_id for chunk_id, _ in found], seen, holders)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:limit]


def by_beginnings(db: sqlite3.Connection, words: Iterable[str], allowed: Eligible) -> list[int]:
    """Chunks with a word that begins with one of ``words``, which stand nowhere; a few for each."""
    asked = (w for w in words if len(w) >= _LEAST_BEGINNING and w.isalpha() and is_spaced_word(w))
    return [i for word in islice(asked, _MOST_BEGINNINGS) for i in _begun(db, word, allowed)]


def _begun(db: sqlite3.Connection, word: str, allowed: Eligible) -> list[int]:
    """The index has stems: that of *universities*, which begins with *universi*, is *univers*. So a little
    less is looked for, and what is found is compared with the word."""
    sql = f"""SELECT c.id FROM words JOIN chunks c ON c.id = words.rowid
              JOIN documents d ON d.id = c.document_id WHERE words MATCH ? AND {allowed.sql} LIMIT {_BEGUN}"""
    for length in range(len(word), max(len(word) - _MOST_LESS, _LEAST_BEGINNING) - 1, -1):
        rows = db.execute(sql, (f"- path : ({match_any([word[:length]])} *)", *allowed.values)).fetchall()
        texts = judged_texts(db, [row[0] for row in rows])
        if found := [
            i for i, text in texts.items() if any(w.startswith(word) for w, _ in spaced_words(text))
        ]:
            return found
    return []


def by_filters(db: sqlite3.Connection, allowed: Eligible, limit: int) -> list[int]:
    """The first chunk of each eligible document, newest documents first."""
    rows = db.execute(
        f"""SELECT min(c.id) FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {allowed.sql} GROUP BY d.id ORDER BY d.date DESC, d.display LIMIT ?""",
        (*allowed.values, limit),
    )
    return [row[0] for row in rows]


def has_eligible(db: sqlite3.Connection, path: str, allowed: Eligible) -> bool:
    """Whether any passage of the document called ``path`` is eligible."""
    sql = f"""SELECT 1 FROM chunks c JOIN documents d ON d.id = c.document_id
              WHERE d.display = ? AND {allowed.sql} LIMIT 1"""
    return db.execute(sql, (path, *allowed.values)).fetchone() is not None


def by_name(db: sqlite3.Connection, name: str, allowed: Eligible, limit: int = 5) -> list[int]:
    """The first chunk of each eligible document that is called ``name``: its title, an alias,
    its file name or its path."""
    rows = db.execute(
        f"""SELECT min(c.id) FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE d.id IN (SELECT document_id FROM names WHERE key = ?) AND {allowed.sql}
            GROUP BY d.id ORDER BY length(d.display) LIMIT {limit:d}""",
        (name_key(name), *allowed.values),
    )
    return [row[0] for row in rows]


def frequencies(db: sqlite3.Connection, units: Sequence[str], viewer: Viewer) -> tuple[int, dict[str, int]]:
    """The number of chunks that ``viewer`` may see, and in how many of them each unit (a word or
    a pair) occurs: a score must not tell whether a private note holds a word."""
    total, holders = counts.count(db, "SELECT 1 FROM chunks"), counts.holders(db, units)
    if _sees_all(db, viewer):
        return total, holders
    hidden = counts.holders(db, units, f"+words.rowid IN ({HIDDEN})")
    seen = {unit: held - hidden[unit] for unit, held in holders.items()}
    return total - counts.count(db, HIDDEN), seen


def waiting(db: sqlite3.Connection, viewer: Viewer) -> int:
    """How many texts that ``viewer`` may see wait for the embedder."""
    count = lacking_count(db)
    if not count or _sees_all(db, viewer):
        return count
    row = db.execute(
        f"""SELECT count(DISTINCT q.id) FROM queue q JOIN chunks c ON c.embed_hash = q.hash
            WHERE c.id IN ({HIDDEN}) AND attempts >= 0 AND {lacking(db)} AND NOT EXISTS (
                SELECT 1 FROM chunks seen WHERE seen.embed_hash = q.hash AND seen.id NOT IN ({HIDDEN}))"""
    ).fetchone()
    return count - int(row[0])


def _sees_all(db: sqlite3.Connection, viewer: Viewer) -> bool:
    """Whether nothing is hidden from ``viewer``: what is counted of all is then theirs, too."""
    return viewer.is_owner or db.execute("SELECT 1 FROM documents WHERE private LIMIT 1").fetchone() is None


def few(db: sqlite3.Connection, allowed: Eligible, limit: int) -> list[int] | None:
    """The eligible chunks when there are at most ``limit``, else None."""
    sql = f"SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE {allowed.sql} LIMIT ?"
    found = rows_at_once(db, ["id"], sql, (*allowed.values, limit + 1))
    return [chunk_id for (chunk_id,) in found] if len(found) <= limit else None


def unknown(db: sqlite3.Connection, filters: Filters, viewer: Viewer) -> list[tuple[str, str]]:
    """The types, tags, paths, files and pages among ``filters``, as (facet, value), that nothing ``viewer``
    may see has. A pattern or the root among the paths may well hold nothing."""
    asked = [("types", value, Filters(types=(value,))) for value in filters.types]
    asked += [("tags", value, Filters(tags=(value,))) for value in filters.tags]
    named = [value for value in filters.paths if value.strip("/") and "*" not in value]
    asked += [("folders", value, Filters(paths=(value,))) for value in named]
    asked += [("files", value, Filters(files=(value,))) for value in filters.files]
    asked += [("pages", value, Filters(pages=(value,))) for value in filters.pages]
    nothing = Query("", "", ())
    return [
        (facet, value)
        for facet, value, alone in asked
        if few(db, eligible(replace(nothing, filters=alone), viewer), 0) is not None
    ]


def file_names(db: sqlite3.Connection, viewer: Viewer, limit: int) -> list[str]:
    """What the newest files are called that ``viewer`` may see, without their folders."""
    allowed = visible(viewer)
    rows = db.execute(
        f"""SELECT d.display FROM documents d WHERE {allowed.sql} AND d.state = 'indexed'
            ORDER BY d.date DESC, d.display LIMIT ?""",
        (*allowed.values, limit),
    )
    return list(dict.fromkeys(row[0].rpartition("/")[2] for row in rows))


def skipped_count(db: sqlite3.Connection, suffix: str) -> int:
    """How many files were skipped whose names end in ``suffix``, such as ``.pdf``; for the owner alone."""
    sql = "SELECT count(*) FROM documents WHERE state = 'skipped' AND lower(substr(display, ?)) = lower(?)"
    return int(db.execute(sql, (-len(suffix), storable(suffix))).fetchone()[0])


# --- rows -------------------------------------------------------------------------------


def chunk_ids(db: sqlite3.Connection, keys: Sequence[str], allowed: Eligible) -> dict[str, int]:
    """The ids of those chunks among ``keys`` that are eligible."""
    sql = f"""SELECT c.key, c.id FROM json_each(?) wanted CROSS JOIN chunks c ON c.key = wanted.value
              JOIN documents d ON d.id = c.document_id WHERE {allowed.sql}"""
    return dict(rows_at_once(db, ["key", "id"], sql, (json.dumps(list(keys)), *allowed.values)))


def chunks(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, sqlite3.Row]:
    """The rows of ``ids``, which an Eligible has let through already."""
    rows = db.execute(
        "SELECT * FROM chunks WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    return {row["id"]: row for row in rows}


def identities(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, str]:
    """What tells the passages of ``ids`` apart: their text, or the key of one without text."""
    sql = """SELECT id, CASE text WHEN '' THEN key ELSE text END FROM chunks
             WHERE id IN (SELECT value FROM json_each(?))"""
    return dict(rows_at_once(db, ["id", "text"], sql, (json.dumps(list(ids)),)))


def judged_texts(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, str]:
    """All searchable words of the chunks ``ids`` but their folders and suffixes, folded."""
    sql = """SELECT id, title || ' ' || headings || ' ' || tags || ' ' || text || ' ' || title_terms
                 || ' ' || terms, path FROM chunks WHERE id IN (SELECT value FROM json_each(?))"""
    found = rows_at_once(db, ["id", "words", "path"], sql, (json.dumps(list(ids)),))
    return {chunk_id: fold_words(f"{words} {splitext(basename(path))[0]}") for chunk_id, words, path in found}


def data(db: sqlite3.Connection, ids: Iterable[int]) -> set[int]:
    """Those chunks among ``ids`` that are for machines alone."""
    sql = "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?)) AND anchor_type = ?"
    return {row[0] for row in db.execute(sql, (json.dumps(list(ids)), DATA))}


def neighbours(db: sqlite3.Connection, key: str, allowed: Eligible, around: int) -> list[sqlite3.Row]:
    """The chunk called ``key`` and up to ``around`` before and behind it, in reading order."""
    return db.execute(
        f"""SELECT c.* FROM chunks c JOIN documents d ON d.id = c.document_id
            JOIN chunks here ON here.document_id = c.document_id AND here.key = ?
            WHERE c.chunk_index BETWEEN here.chunk_index - ? AND here.chunk_index + ? AND {allowed.sql}
            ORDER BY c.chunk_index""",
        (storable(key), around, around, *allowed.values),
    ).fetchall()


# Only what is needed: the rest of a document's row, which is most of it, is on pages of its own. Most
# documents have no tags, and to make an empty array takes as long as all the rest.
_DOCUMENT = """SELECT d.id, d.path, d.display, d.folder, d.file_type, d.title, d.date, d.date_from, d.private,
    d.state, d.reason, d.size, d.mtime_ns, d.ctime_ns, d.inode, d.file_hash, d.indexed_at, s.root,
    (SELECT count(*) FROM chunks WHERE document_id = d.id) AS chunk_count,
    CASE WHEN EXISTS (SELECT 1 FROM tags WHERE document_id = d.id) THEN
        (SELECT json_group_array(tag) FROM tags WHERE document_id = d.id AND tag IS NOT NULL)
    ELSE '[]' END AS tag_list
    FROM documents d JOIN sources s ON s.id = d.source_id"""


def documents(
    db: sqlite3.Connection, store: str, viewer: Viewer, ids: Iterable[int] | None = None
) -> list[Document]:
    """Documents by path: all that ``viewer`` may see, or those among ``ids``. For the owner that is
    every file; for others what has text, which may be the last good one of a file that failed."""
    return as_documents(document_rows(db, viewer, ids), store, viewer)


def document_rows(
    db: sqlite3.Connection, viewer: Viewer, ids: Iterable[int] | None = None
) -> list[sqlite3.Row]:
    """The rows of what ``documents`` gives, each with the ``root`` of its source."""
    condition, values = ("1", ()) if viewer.is_owner else ("NOT d.private AND chunk_count > 0", ())
    if ids is not None:
        condition += " AND d.id IN (SELECT value FROM json_each(?))"
        values = (json.dumps(list(ids)),)  # type: ignore[assignment]
    return db.execute(f"{_DOCUMENT} WHERE {condition} ORDER BY d.display", values).fetchall()


def stat_rows(db: sqlite3.Connection, ids: Iterable[int] | None = None) -> list[sqlite3.Row]:
    """What `freshness` compares with the disk, of every document or of ``ids``: its place, and its file as it
    was read."""
    among = "" if ids is None else " WHERE d.id IN (SELECT value FROM json_each(?))"
    return db.execute(
        f"""SELECT d.id, s.root, d.path, d.size, d.mtime_ns, d.ctime_ns, d.inode, d.state
            FROM documents d JOIN sources s ON s.id = d.source_id{among}""",
        () if ids is None else (json.dumps(list(ids)),),
    ).fetchall()


def as_documents(
    rows: Iterable[sqlite3.Row], store: str, viewer: Viewer, states: Mapping[int, str] | None = None
) -> list[Document]:
    """The documents of ``document_rows``; ``states`` are other states than the store remembers, by id."""
    known = states or {}
    return [_document(store, row, viewer, known.get(row["id"], row["state"])) for row in rows]


def _document(store: str, row: sqlite3.Row, viewer: Viewer, state: str) -> Document:
    # By place: to look up twenty names in each of 20,000 rows takes longer than to read them.
    (
        number, path, display, folder, file_type, title, date, date_from, private, _,
        reason, size, _, _, _, file_hash, indexed_at, root, chunks, tags,
    ) = row  # fmt: skip
    if not viewer.is_owner:
        state, reason, size, file_hash, indexed_at, root = "indexed", "", 0, "", "", b""
    return Document(
        store=store,
        id=number,
        path=display,
        folder=folder,
        file_type=file_type,
        title=title,
        tags=() if tags == _NO_TAGS else tuple(json.loads(tags)),
        date=date,
        private=bool(private),
        state=state,
        reason=reason,
        chunks=chunks,
        size=size,
        file_hash=file_hash,
        indexed_at=indexed_at,
        root=root.decode("utf-8", "backslashreplace"),
        path_in_source=path.decode("utf-8", "backslashreplace"),
        private_by=_PRIVATE_BY[private & 3],
        date_from=date_from,
    )


_NO_TAGS = "[]"
_PRIVATE_BY: tuple[tuple[PrivateBy, ...], ...] = ((), ("note",), ("rule",), ("note", "rule"))


def aliases(db: sqlite3.Connection, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The other names of documents, by id."""
    rows = db.execute(
        "SELECT id, metadata FROM documents WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {row[0]: frontmatter.aliases(json.loads(row[1])) for row in rows}


def facets(db: sqlite3.Connection, viewer: Viewer) -> dict[str, dict[str, int]]:
    """How many documents have each type, each tag or one below it, and each folder: ``{"types", "tags",
    "folders"}``."""
    allowed = visible(viewer)
    found = f"SELECT d.id FROM documents d WHERE {allowed.sql} AND d.state = 'indexed'"
    statements = {
        "types": f"SELECT file_type, count(*) FROM documents WHERE id IN ({found}) GROUP BY 1",
        "tags": f"SELECT folded, count(*), min(tag) FROM tags WHERE document_id IN ({found}) GROUP BY 1",
        "folders": f"SELECT folder, count(*) FROM documents WHERE id IN ({found}) GROUP BY 1",
    }
    rows = {
        name: db.execute(f"{sql} ORDER BY 2 DESC, 1", allowed.values).fetchall()
        for name, sql in statements.items()
    }
    counts = {name: {row[0]: row[1] for row in found} for name, found in rows.items()}
    return counts | {"tags": tags.named(counts["tags"], (row[2] for row in rows["tags"] if row[2]))}
