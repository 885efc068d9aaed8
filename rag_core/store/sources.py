"""The folders of a store and the globs that choose files below them."""

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
"""The bit of ``documents.private`` for a file that the owner excludes, or whose folder is being removed: no
search finds it, until a run forgets it."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file that the owner excluded."""

    source_id: int
    path: bytes
    display: str
    reason: str
    root: str

    @property
    def whole_path(self) -> bytes:
        """The absolute path of the file."""
        return with_sep(os.fsencode(self.root)) + self.path


def all_sources(db: sqlite3.Connection) -> list[Source]:
    """Every source, oldest first."""
    return list(map(_source, db.execute("SELECT * FROM sources ORDER BY id")))


def source_of(db: sqlite3.Connection, document_id: int) -> Source:
    """The source of a document that is there."""
    sql = "SELECT s.* FROM sources s JOIN documents d ON d.source_id = s.id WHERE d.id = ?"
    return _source(db.execute(sql, (document_id,)).fetchone())


def by_id(db: sqlite3.Connection, source_id: int) -> Source:
    """A source that is there."""
    return _source(db.execute("SELECT * FROM sources WHERE id = ?", (source_id,)).fetchone())


def current_source(db: sqlite3.Connection, source: Source) -> Source:
    """A source as it is now; as it was if it is gone."""
    return next((each for each in all_sources(db) if each.id == source.id), source)


def _source(row: sqlite3.Row) -> Source:
    include, exclude = tuple(json.loads(row["include"])), tuple(json.loads(row["exclude"]))
    paused, removed = bool(row["paused"]), bool(row["removed"])
    return Source(row["id"], os.fsdecode(row["root"]), include, exclude, row["label"], paused, removed)


def counts(db: sqlite3.Connection) -> dict[int, dict[str, int]]:
    """Source id → document state → number of documents."""
    found: dict[int, dict[str, int]] = {}
    for row in db.execute("SELECT source_id, state, count(*) FROM documents GROUP BY 1, 2"):
        found.setdefault(row[0], {})[row[1]] = row[2]
    return found


def overlapping(db: sqlite3.Connection, source: Source) -> list[Source]:
    """The other sources that lie inside this one, or that it lies in, and that stay."""
    others = (each for each in all_sources(db) if each.id != source.id and not each.removed)
    return [each for each in others if overlap(each, source)]


def overlap(one: Source, other: Source) -> bool:
    """Whether the folder of one of them lies in that of the other, or is the same."""
    here, there = PurePath(one.root), PurePath(other.root)
    return here.is_relative_to(there) or there.is_relative_to(here)


def draft(db: sqlite3.Connection, root: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> Source:
    """The source that adding these globs would give; writes nothing. A folder that is a source already gets
    these globs beside its own, unless it is being removed. Only paths of later sources begin with a label."""
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
    """Write what ``draft`` gives."""
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
    """The label of a new source: '' for the first one, else the name of its folder, numbered if taken."""
    taken = {row[0] for row in db.execute("SELECT label FROM sources")}
    if not taken:
        return ""
    name = display(os.fsencode(PurePath(root).name)) or "root"
    labels = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(each for each in labels if each not in taken and not _is_in_first(db, root, each))


def _is_in_first(db: sqlite3.Connection, root: str, label: str) -> bool:
    """Whether the first source, whose paths have no label, holds another folder or file called ``label``."""
    first = db.execute("SELECT root FROM sources WHERE label = ''").fetchone()
    there = with_sep(first["root"]) + os.fsencode(label) if first else b""
    sql = """SELECT 1 FROM documents d JOIN sources s ON s.id = d.source_id
             WHERE s.label = '' AND (d.display = ? OR d.display BETWEEN ? AND ?)"""
    known = db.execute(sql, (label, f"{label}/", f"{label}0")).fetchone()  # 0 is what follows a slash
    return there not in (b"", os.fsencode(root)) and (os.path.lexists(there) or known is not None)


def change_source(db: sqlite3.Connection, source: Source) -> None:
    """Write the patterns and marks of a source that is there already."""
    values = json.dumps(source.include), json.dumps(source.exclude), source.paused, source.removed
    sql = "UPDATE sources SET include = ?, exclude = ?, paused = ?, removed = ? WHERE id = ?"
    db.execute(sql, (*values, source.id))
    mark_left_out(db)


def drop_source(db: sqlite3.Connection, source_id: int) -> None:
    """Forget a source that is still marked as removed. Its excluded files stay so elsewhere."""
    for source in [each for each in all_sources(db) if each.id == source_id and each.removed]:
        for heir in overlapping(db, source):
            for path, out in excluded_below(db, heir.root).items():
                if out.source_id == source_id:
                    _put_exclusion(db, heir.id, path, out.reason)
        db.execute("DELETE FROM sources WHERE id = ?", (source_id,))
    mark_left_out(db)


def exclude_file(db: sqlite3.Connection, source_id: int, path: bytes, reason: str) -> None:
    """Exclude one file from now on, whatever the globs say."""
    _put_exclusion(db, source_id, path, reason)
    mark_left_out(db)


def _put_exclusion(db: sqlite3.Connection, source_id: int, path: bytes, reason: str) -> None:
    sql = "INSERT OR REPLACE INTO exclusions (source_id, path, reason, created_at) VALUES (?, ?, ?, ?)"
    db.execute(sql, (source_id, path, reason, now()))


def take_back_file(db: sqlite3.Connection, source_id: int, path: bytes) -> None:
    """Include a file again, if the globs do."""
    db.execute("DELETE FROM exclusions WHERE source_id = ? AND path = ?", (source_id, path))
    mark_left_out(db)


def excluded_files(db: sqlite3.Connection) -> list[Exclusion]:
    """The files that the owner excluded, by path."""
    return sorted(_exclusions(db, "NOT s.removed"), key=lambda exclusion: exclusion.display)


def excluded_below(db: sqlite3.Connection, root: str) -> dict[bytes, Exclusion]:
    """The files below ``root`` that the owner excluded, from whichever source, by their path below it."""
    here = with_sep(os.fsencode(root))
    found: dict[bytes, Exclusion] = {}
    for out in _exclusions(db):
        if out.whole_path.startswith(here):
            found[out.whole_path[len(here) :]] = out
    return found


def is_excluded(db: sqlite3.Connection, source_id: int, path: bytes) -> bool:
    """Whether the owner excludes the file ``path`` of a source, by a pattern or by hand, from whichever
    source."""
    every, source = all_sources(db), by_id(db, source_id)
    if source.exclude and path in _coverage(source.exclude):
        return True
    whole = with_sep(os.fsencode(source.root)) + path
    for each in every:
        here = with_sep(os.fsencode(each.root))
        sql = "SELECT 1 FROM exclusions WHERE source_id = ? AND path = ?"
        if whole.startswith(here) and db.execute(sql, (each.id, whole[len(here) :])).fetchone():
            return True
    return False


_coverage = lru_cache(maxsize=8)(lambda globs: Coverage(globs, dots=True))


def is_left_out(db: sqlite3.Connection, source_id: int, path: bytes) -> bool:
    """Whether the owner excludes a file, or removes its folder."""
    return by_id(db, source_id).removed or is_excluded(db, source_id, path)


def mark_left_out(db: sqlite3.Connection) -> None:
    """Mark every document as the exclusions and the removed folders say."""
    wrong = [(bits, document_id) for document_id, _, bits in mismarked(db)]
    db.executemany("UPDATE documents SET private = ? WHERE id = ?", wrong)


def mismarked(db: sqlite3.Connection) -> Iterator[tuple[int, str, int]]:
    """(id, path, right bits) of each document that is not marked as the exclusions and the removed folders
    say."""
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
    """The path of a file as its store shows it."""
    return f"{label}/{display(path)}" if label else display(path)
