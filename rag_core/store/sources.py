"""The folders of a store and the globs that choose files below them."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass, replace
from pathlib import PurePath

from rag_core.files import display
from rag_core.store.file import now
from rag_core.types import Source


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file that the owner took out."""

    source_id: int
    path: bytes
    display: str
    reason: str


def all_sources(db: sqlite3.Connection) -> list[Source]:
    """Every source, oldest first."""
    return [_source(row) for row in db.execute("SELECT * FROM sources ORDER BY id")]


def _source(row: sqlite3.Row) -> Source:
    return Source(
        id=row["id"],
        root=os.fsdecode(row["root"]),
        include=tuple(json.loads(row["include"])),
        exclude=tuple(json.loads(row["exclude"])),
        label=row["label"],
        paused=bool(row["paused"]),
        removed=bool(row["removed"]),
    )


def draft(db: sqlite3.Connection, root: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> Source:
    """The source that adding these globs would give; writes nothing.

    A folder that is a source already keeps its globs and gets these beside them. The first
    source's paths stand as they are, those of later ones are led by a label.
    """
    row = db.execute("SELECT * FROM sources WHERE root = ?", (os.fsencode(root),)).fetchone()
    if row is None:
        return Source(0, root, include, exclude, _label(db, root))
    known = _source(row)
    return replace(
        known,
        include=tuple(dict.fromkeys((*known.include, *include))),
        exclude=tuple(dict.fromkeys((*known.exclude, *exclude))),
        paused=False,
        removed=False,
    )


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
    return _source(row)


def _label(db: sqlite3.Connection, root: str) -> str:
    taken = {row[0] for row in db.execute("SELECT label FROM sources")}
    if not taken:
        return ""
    name = display(os.fsencode(PurePath(root).name)) or "root"
    label, number = name, 1
    while label in taken:
        number += 1
        label = f"{name}-{number}"
    return label


def change_source(db: sqlite3.Connection, source: Source) -> None:
    """Write the patterns and marks of a source that is there already."""
    db.execute(
        "UPDATE sources SET include = ?, exclude = ?, paused = ?, removed = ? WHERE id = ?",
        (
            json.dumps(source.include),
            json.dumps(source.exclude),
            source.paused,
            source.removed,
            source.id,
        ),
    )


def drop_source(db: sqlite3.Connection, source_id: int) -> None:
    """Forget a source that is still marked as removed; its documents must have been before."""
    db.execute("DELETE FROM sources WHERE id = ? AND removed", (source_id,))


# --- files that the owner took out ------------------------------------------------------


def exclude_file(db: sqlite3.Connection, source_id: int, path: bytes, reason: str) -> None:
    """Leave one file out from now on, whatever the globs say."""
    db.execute(
        "INSERT OR REPLACE INTO exclusions (source_id, path, reason, created_at) VALUES (?, ?, ?, ?)",
        (source_id, path, reason, now()),
    )


def take_back_file(db: sqlite3.Connection, source_id: int, path: bytes) -> None:
    """Let the globs decide on a file again."""
    db.execute("DELETE FROM exclusions WHERE source_id = ? AND path = ?", (source_id, path))


def excluded_files(db: sqlite3.Connection) -> list[Exclusion]:
    """The files that the owner took out, by path."""
    rows = db.execute(
        "SELECT e.*, s.label, s.root FROM exclusions e JOIN sources s ON s.id = e.source_id"
        " WHERE NOT s.removed"
    )
    found = [
        Exclusion(row["source_id"], row["path"], shown_path(row["label"], row["path"]), row["reason"])
        for row in rows
    ]
    return sorted(found, key=lambda exclusion: exclusion.display)


def shown_path(label: str, path: bytes) -> str:
    """How a file of a source is called in its store."""
    return f"{label}/{display(path)}" if label else display(path)
