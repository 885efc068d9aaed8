"""The folders of a store, and the globs that choose their files."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, count
from pathlib import PurePath

from rag_core.files import Coverage, display, with_sep
from rag_core.store.file import now
from rag_core.types import Source

LEFT_OUT = 8
"""The bit of ``documents.private`` for a file that the owner excluded or whose folder is being removed. No
search finds such a file. The next run forgets it."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file that the owner excluded by hand."""

    source_id: int
    path: bytes  #: Its path below ``root``.
    display: str  #: Its path as shown to people.
    reason: str  #: Why it is excluded; ``By hand.`` if the owner gave no reason.
    root: str  #: The folder of its source.

    @property
    def whole_path(self) -> bytes:
        """The absolute path of the file."""
        return with_sep(os.fsencode(self.root)) + self.path


def all_sources(db: sqlite3.Connection) -> list[Source]:
    """Return every source, oldest first."""
    return list(map(_source, db.execute("SELECT * FROM sources ORDER BY id")))


def source_of(db: sqlite3.Connection, document_id: int) -> Source:
    """Return the source of a document, which must exist."""
    sql = "SELECT s.* FROM sources s JOIN documents d ON d.source_id = s.id WHERE d.id = ?"
    return _source(db.execute(sql, (document_id,)).fetchone())


def by_id(db: sqlite3.Connection, source_id: int) -> Source:
    """Return the source with this id, which must exist."""
    return _source(db.execute("SELECT * FROM sources WHERE id = ?", (source_id,)).fetchone())


def current_source(db: sqlite3.Connection, source: Source) -> Source:
    """Read a source again from the store. If it no longer exists, it is returned unchanged."""
    return next((known for known in all_sources(db) if known.id == source.id), source)


def _source(row: sqlite3.Row) -> Source:
    include, exclude = tuple(json.loads(row["include"])), tuple(json.loads(row["exclude"]))
    paused, removed = bool(row["paused"]), bool(row["removed"])
    return Source(row["id"], os.fsdecode(row["root"]), include, exclude, row["label"], paused, removed)


def counts(db: sqlite3.Connection) -> dict[int, dict[str, int]]:
    """Return the number of files in each state, for each source: source id → state → number."""
    by_source: dict[int, dict[str, int]] = {}
    for row in db.execute("SELECT source_id, state, count(*) FROM documents WHERE part = '' GROUP BY 1, 2"):
        by_source.setdefault(row[0], {})[row[1]] = row[2]
    return by_source


def overlapping(db: sqlite3.Connection, source: Source) -> list[Source]:
    """Return the other sources whose folder contains this one's folder or lies in it, except sources being
    removed."""
    others = (other for other in all_sources(db) if other.id != source.id and not other.removed)
    return [other for other in others if overlap(other, source)]


def overlap(one: Source, other: Source) -> bool:
    """Whether two sources have the same folder, or one folder lies in the other."""
    here, there = PurePath(one.root), PurePath(other.root)
    return here.is_relative_to(there) or there.is_relative_to(here)


def draft(db: sqlite3.Connection, root: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> Source:
    """Return the source that `put_source` would store. If the folder is a source already, the globs are added
    to its own, unless that source is being removed. Only the first source has no label."""
    row = db.execute("SELECT * FROM sources WHERE root = ?", (os.fsencode(root),)).fetchone()
    if row is None:
        return Source(0, root, include, exclude, _label(db, root))
    known = _source(row)
    if not known.removed:
        include = tuple(dict.fromkeys((*known.include, *include)))
        exclude = tuple(dict.fromkeys((*known.exclude, *exclude)))
    return replace(known, include=include, exclude=exclude, paused=False, removed=False)


def put_source(
    db: sqlite3.Connection, root: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> Source:
    """Add a source, or add globs to an existing one, as `draft` describes. Returns the source."""
    source = draft(db, root, include, exclude)
    row = db.execute(
        "INSERT INTO sources (root, label, include, exclude, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (root) DO UPDATE SET include = excluded.include, exclude = excluded.exclude,"
        " paused = 0, removed = 0 RETURNING *",
        (os.fsencode(root), source.label, json.dumps(source.include), json.dumps(source.exclude), now()),
    ).fetchone()
    mark_left_out(db)
    return _source(row)


def _label(db: sqlite3.Connection, root: str) -> str:
    """Return the label of a new source: '' for the first one, otherwise the name of its folder, with a number
    if the name is taken."""
    taken = {row[0] for row in db.execute("SELECT label FROM sources")}
    if not taken:
        return ""
    name = display(os.fsencode(PurePath(root).name)) or "root"
    labels = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(label for label in labels if label not in taken and not _is_in_first(db, root, label))


def _is_in_first(db: sqlite3.Connection, root: str, label: str) -> bool:
    """Whether the first source, whose paths have no label, contains a different folder or file called
    ``label``."""
    first = db.execute("SELECT root FROM sources WHERE label = ''").fetchone()
    there = with_sep(first["root"]) + os.fsencode(label) if first else b""
    sql = """SELECT 1 FROM documents d JOIN sources s ON s.id = d.source_id
             WHERE s.label = '' AND (d.display = ? OR d.display BETWEEN ? AND ?)"""
    known = db.execute(sql, (label, f"{label}/", f"{label}0")).fetchone()  # "0" follows "/"
    return there not in (b"", os.fsencode(root)) and (os.path.lexists(there) or known is not None)


def change_source(db: sqlite3.Connection, source: Source) -> None:
    """Store the patterns of an existing source, and whether it is paused or removed."""
    values = json.dumps(source.include), json.dumps(source.exclude), source.paused, source.removed
    sql = "UPDATE sources SET include = ?, exclude = ?, paused = ?, removed = ? WHERE id = ?"
    db.execute(sql, (*values, source.id))
    mark_left_out(db)


def drop_source(db: sqlite3.Connection, source_id: int) -> None:
    """Remove a source if it is still marked as removed. Files that the owner excluded in it stay excluded in
    other sources that contain them."""
    for source in [known for known in all_sources(db) if known.id == source_id and known.removed]:
        for heir in overlapping(db, source):
            for path, out in excluded_below(db, heir.root).items():
                if out.source_id == source_id:
                    _put_exclusion(db, heir.id, path, out.reason)
        db.execute("DELETE FROM sources WHERE id = ?", (source_id,))
    mark_left_out(db)


def exclude_file(db: sqlite3.Connection, source_id: int, path: bytes, reason: str) -> None:
    """Exclude one file from now on, even if the globs include it."""
    _put_exclusion(db, source_id, path, reason)
    mark_left_out(db)


def _put_exclusion(db: sqlite3.Connection, source_id: int, path: bytes, reason: str) -> None:
    sql = "INSERT OR REPLACE INTO exclusions (source_id, path, reason, created_at) VALUES (?, ?, ?, ?)"
    db.execute(sql, (source_id, path, reason, now()))


def take_back_file(db: sqlite3.Connection, source_id: int, path: bytes) -> None:
    """Undo `exclude_file`, so that the globs decide again."""
    db.execute("DELETE FROM exclusions WHERE source_id = ? AND path = ?", (source_id, path))
    mark_left_out(db)


def excluded_files(db: sqlite3.Connection) -> list[Exclusion]:
    """Return all files that the owner excluded by hand, in order of path."""
    return sorted(_exclusions(db, "NOT s.removed"), key=lambda exclusion: exclusion.display)


def excluded_below(db: sqlite3.Connection, root: str) -> dict[bytes, Exclusion]:
    """Return the files below ``root`` that the owner excluded by hand in any source: path below ``root`` →
    exclusion."""
    here = with_sep(os.fsencode(root))
    excluded: dict[bytes, Exclusion] = {}
    for out in _exclusions(db):
        if out.whole_path.startswith(here):
            excluded[out.whole_path[len(here) :]] = out
    return excluded


def is_excluded(db: sqlite3.Connection, source_id: int, path: bytes) -> bool:
    """Whether the owner excludes the file ``path`` of a source: by a pattern of this source, or by hand in
    any source."""
    every, source = all_sources(db), by_id(db, source_id)
    if source.exclude and path in _coverage(source.exclude):
        return True
    whole = with_sep(os.fsencode(source.root)) + path
    for other in every:
        here = with_sep(os.fsencode(other.root))
        sql = "SELECT 1 FROM exclusions WHERE source_id = ? AND path = ?"
        if whole.startswith(here) and db.execute(sql, (other.id, whole[len(here) :])).fetchone():
            return True
    return False


_coverage = lru_cache(maxsize=8)(lambda globs: Coverage(globs, dots=True))


def is_left_out(db: sqlite3.Connection, source_id: int, path: bytes) -> bool:
    """Whether the owner excludes a file, or is removing its source."""
    return by_id(db, source_id).removed or is_excluded(db, source_id, path)


def mark_left_out(db: sqlite3.Connection) -> None:
    """Mark each document as left out or not, according to the exclusions and the removed sources."""
    wrong = [(bits, document_id) for document_id, _, bits in mismarked(db)]
    db.executemany("UPDATE documents SET private = ? WHERE id = ?", wrong)


def mismarked(db: sqlite3.Connection) -> Iterator[tuple[int, str, int]]:
    """Yield (id, shown path, correct value of ``documents.private``) for each document whose bit LEFT_OUT
    contradicts the exclusions and removed sources."""
    for source in all_sources(db):
        excluded = excluded_below(db, source.root).keys()
        covered = _coverage(source.exclude) if source.exclude else ()
        sql = "SELECT id, path, display, private FROM documents WHERE source_id = ?"
        for number, path, shown, bits in db.execute(sql, (source.id,)).fetchall():
            is_out = source.removed or path in excluded or path in covered
            if is_out != bool(bits & LEFT_OUT):
                yield number, shown, bits ^ LEFT_OUT


def _exclusions(db: sqlite3.Connection, condition: str = "1") -> Iterator[Exclusion]:
    sql = f"""SELECT e.source_id, e.path, s.label, e.reason, s.root FROM exclusions e
              JOIN sources s ON s.id = e.source_id WHERE {condition}"""
    for source_id, path, label, reason, root in db.execute(sql).fetchall():
        yield Exclusion(source_id, path, shown_path(label, path), reason, os.fsdecode(root))


def shown_path(label: str, path: bytes) -> str:
    """Return the path of a file as its store shows it, with the label of its source in front."""
    return f"{label}/{display(path)}" if label else display(path)
