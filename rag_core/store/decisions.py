"""The owner's decisions about a store: settings, embedders, folders, excluded files and private rules.

They are saved in a file next to the store (``NAME.decisions.json``), which has priority over the store. If
the store's rows differ from the file, the store is damaged, and ``repair`` restores the rows from the file.

A decision is saved in three steps. It is written to the file with the hash of the previous decisions, it is
committed to the store, and the file is written again without that hash.

If the process is killed in between, the next process that opens the store accepts the rows as they are.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from rag_core import system

Decisions = dict[str, Any]
"""The owner's decisions as values for JSON. ``meta`` holds the settings by key. Every other key names a table
and holds its rows as dicts, with bytes as text."""

Standing = Literal["as decided", "unfinished", "no file", "other"]
"""How the decisions in a store compare with those in the file next to it. *unfinished*: a decision was being
saved, so the new and the previous decisions are both valid. *other*: they differ, so the store is damaged."""

# If these columns change, the file needs a new version, and code that reads the previous one.
_SETTINGS = (
    *("id", "created_at", "embedder", "backend", "metric", "max_tokens", "chunk_sizes", "chunkers"),
    *("identity_id", "remote", "next_embedder", "next_identity_id", "next_backend", "next_remote"),
    *("attached", "sends_private", "private_rules"),
)
_TABLES: dict[str, tuple[str, ...]] = {
    "identities": ("id", "provider", "model", "digest", "dimension", "prompts", "canary"),
    "sources": ("id", "root", "label", "include", "exclude", "paused", "created_at", "removed"),
    "exclusions": ("source_id", "path", "reason", "created_at"),
}
_AS_TEXT: dict[str, Callable[[Any], Any]] = {"root": os.fsdecode, "path": os.fsdecode, "canary": bytes.hex}
_FROM_TEXT = {"root": os.fsencode, "path": os.fsencode, "canary": bytes.fromhex}

_VERSION = 2
"""The version of the file. Version 1 existed for four days before the first release. Files of version 1 count
as missing and are written again from the rows."""


def beside(store: Path) -> Path:
    """Return the path of the decisions file next to a store. The file need not exist."""
    return store.with_suffix(".decisions.json")


def read(db: sqlite3.Connection) -> Decisions:
    """Read the decisions from the rows of a store. Raises sqlite3.Error if they cannot be read."""
    sql = f"SELECT key, value FROM meta WHERE key IN {_SETTINGS} ORDER BY key"
    decided: Decisions = {"meta": dict(db.execute(sql).fetchall())}
    for table, columns in _TABLES.items():
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2")
        decided[table] = [_converted(dict(zip(columns, row, strict=True)), _AS_TEXT) for row in rows]
    return decided


def write(db: sqlite3.Connection, decided: Decisions) -> None:
    """Write decisions into a new store, which has none yet."""
    db.executemany("INSERT INTO meta VALUES (?, ?)", decided["meta"].items())
    for table, columns in _TABLES.items():
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"
        db.executemany(sql, [_converted(row, _FROM_TEXT) for row in decided[table]])


def _converted(row: Mapping[str, Any], convert: Mapping[str, Callable[[Any], Any]]) -> dict[str, Any]:
    return {column: convert[column](value) if column in convert else value for column, value in row.items()}


def stored(store: Path) -> Decisions | None:
    """Read the decisions in the file next to a store. Returns None if the file is missing or damaged."""
    loaded = _load(beside(store))
    return loaded[0] if loaded else None


def standing(store: Path, decided: Decisions) -> Standing:
    """Compare ``decided``, the decisions in the rows of a store, with the file next to the store."""
    if (loaded := _load(beside(store))) is None:
        return "no file"
    in_file, replaced = loaded
    if decided == in_file:
        return "unfinished" if replaced else "as decided"
    return "unfinished" if _hash(decided) == replaced else "other"


def settle(store: Path, db: sqlite3.Connection) -> Standing:
    """Write the file next to a store if the file is missing or a decision was interrupted. Returns the result
    of `standing` before that. ``db`` must hold a write transaction. Raises OSError if the file cannot be
    written."""
    decided = read(db)
    before = standing(store, decided)
    if before == "unfinished" or (before == "no file" and _is_whole(db)):
        save(store, decided)
    return before


def _is_whole(db: sqlite3.Connection) -> bool:
    tables = ("meta", *_TABLES)
    return all(db.execute(f"PRAGMA integrity_check({table})").fetchone()[0] == "ok" for table in tables)


def save(store: Path, decided: Decisions, replaced: Decisions | None = None) -> None:
    """Write ``decided`` into the file next to a store. A power cut leaves no partly written file. Raises
    OSError if the file cannot be written.

    Until the next save, a store whose rows still hold the decisions ``replaced`` counts as undamaged, too.
    """
    path = beside(store)
    unfinished = path.with_name(f"{path.name}.part")
    only_for_the_owner = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    value = {
        "version": _VERSION,
        "sha256": _hash(decided),
        "replaces": _hash(replaced) if replaced else "",
        "decisions": decided,
    }
    with os.fdopen(only_for_the_owner, "w", encoding="ascii") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    system.replace(unfinished, path)
    system.sync(path.parent)


def _load(path: Path) -> tuple[Decisions, str] | None:
    """Read a decisions file. Returns the decisions, then the hash of the decisions that they replace. Returns
    None if the file is missing or damaged."""
    try:
        value = json.loads(path.read_bytes())
        decided: Decisions = value["decisions"]
        is_whole = value["version"] == _VERSION and value["sha256"] == _hash(decided)
        return (decided, value["replaces"]) if is_whole else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _hash(decided: Decisions) -> str:
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()
