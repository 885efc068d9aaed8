"""The folders of a store and the globs that choose files below them."""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import replace
from pathlib import PurePath

from rag_core.files import display
from rag_core.store.file import now
from rag_core.types import Source


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
    )


def put_source(
    db: sqlite3.Connection, root: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> Source:
    """Write what ``draft`` gives."""
    source = draft(db, root, include, exclude)
    row = db.execute(
        "INSERT INTO sources (root, label, include, exclude, created_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (root) DO UPDATE SET include = excluded.include, exclude = excluded.exclude, paused = 0"
        " RETURNING *",
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


def remove_source(db: sqlite3.Connection, source_id: int) -> None:
    """Forget a source; its documents must have been removed before."""
    db.execute("DELETE FROM sources WHERE id = ?", (source_id,))
