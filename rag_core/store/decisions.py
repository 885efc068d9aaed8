"""The owner's decisions about a store: settings, embedders, folders, excluded files and private rules.

A copy of them stands beside the store (``NAME.decisions.json``), so that no damaged page can undo a decision:
``verify`` compares the two, and ``repair`` makes a new store from the copy. A decision is written to
``NAME.decisions.next``, then committed to the store, then that file becomes the copy; after a kill before the
last step, the next process that opens the store ends the work.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_core.store.staging import sync

Decisions = dict[str, list[list[Any]]]
"""Rows by table, in the order of `_TABLES`; bytes as text."""

_SETTINGS = (
    "id", "created_at", "embedder", "backend", "metric", "max_tokens", "chunk_sizes", "chunkers",
    "identity_id", "remote",
    "next_embedder", "next_identity_id", "next_backend", "next_remote", "attached", "sends_private",
    "private_rules",
)  # fmt: skip
_TABLES: dict[str, tuple[str, ...]] = {
    "meta": ("key", "value"),
    "identities": ("id", "provider", "model", "digest", "dimension", "prompts", "canary"),
    "sources": ("id", "root", "label", "include", "exclude", "paused", "created_at", "removed"),
    "exclusions": ("source_id", "path", "reason", "created_at"),
}
_PATHS = ("root", "path")
COPY, _NEXT = ".decisions.json", ".decisions.next"
_NAMES = {
    "meta": "the settings and private rules",
    "identities": "the embedder of its vectors",
    "sources": "the folders",
    "exclusions": "the excluded files",
}


def files(store: Path) -> tuple[Path, Path]:
    """The files beside a store that hold its decisions, there or not: the copy, and the next one."""
    return store.with_suffix(COPY), store.with_suffix(_NEXT)


def read(db: sqlite3.Connection) -> Decisions:
    """The decisions as the store has them. Raises sqlite3.Error where they cannot be read."""
    found: Decisions = {}
    for table, columns in _TABLES.items():
        where = f" WHERE key IN {_SETTINGS}" if table == "meta" else ""
        found[table] = []
        for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}{where} ORDER BY 1, 2"):
            values: list[Any] = []
            for column, value in zip(columns, row, strict=True):
                plain = value.hex() if isinstance(value, bytes) else value
                values.append(os.fsdecode(value) if column in _PATHS else plain)
            found[table].append(values)
    return found


def write(db: sqlite3.Connection, found: Decisions) -> None:
    """Put decisions into a new store, which has none."""
    for table, columns in _TABLES.items():
        marks = ", ".join("?" * len(columns))
        for row in found[table]:
            values = list(row)
            for place, column in enumerate(columns):
                if column in _PATHS:
                    values[place] = os.fsencode(row[place])
                elif column == "canary":
                    values[place] = bytes.fromhex(row[place])
            db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)


def settings(found: Decisions) -> dict[str, str]:
    """The settings of a store by their keys."""
    return dict(found["meta"])


def folders(found: Decisions) -> dict[int, str]:
    """The id → root of each folder that is not being removed."""
    rows = (dict(zip(_TABLES["sources"], row, strict=True)) for row in found["sources"])
    return {row["id"]: row["root"] for row in rows if not row["removed"]}


def kept(store: Path, *, announced: bool = False) -> Decisions | None:
    """The decisions of the copy, or the ``announced`` ones; None where that file is missing or damaged."""
    try:
        path = store.with_suffix(_NEXT if announced else COPY)
        value = json.loads(path.read_bytes())
        found: Decisions = value["decisions"]
        return found if value["crc32"] == zlib.crc32(json.dumps(found).encode()) else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def announce(store: Path, found: Decisions) -> None:
    """Write down decisions that are about to be committed. Raises OSError."""
    path = store.with_suffix(_NEXT)
    unfinished = path.with_name(f"{path.name}.part")
    only_for_the_owner = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    written = {"version": 1, "crc32": zlib.crc32(json.dumps(found).encode()), "decisions": found}
    with os.fdopen(only_for_the_owner, "w", encoding="ascii") as file:
        json.dump(written, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync(path.parent)  # a power cut may not leave a decision without it


def publish(store: Path, found: Decisions) -> None:
    """Make ``found`` the copy, while nobody else writes to the store. Raises OSError."""
    if kept(store, announced=True) != found:
        announce(store, found)
    store.with_suffix(_NEXT).replace(store.with_suffix(COPY))


def settle(store: Path, found: Decisions) -> None:
    """Make the copy that a killed process did not make; a damaged store overwrites none. Raises OSError."""
    if not store.with_suffix(COPY).exists() or kept(store, announced=True) == found:
        publish(store, found)


def differences(store: Path, before: Decisions | None, db: sqlite3.Connection) -> Iterator[str]:
    """What the store and the copy beside it disagree on; nothing where there is no copy yet. ``before`` is
    the copy from before ``db`` was read: while a decision is made, the store has the old one, the announced
    one, or the one that has become the copy since."""
    if not store.with_suffix(COPY).exists():
        return
    found, announced, copy = read(db), kept(store, announced=True), kept(store)
    if copy is None:
        yield "the copy of them beside the store is damaged"
        return
    if found in (before, announced):
        return
    yield from (f"{name} are not as decided" for table, name in _NAMES.items() if copy[table] != found[table])
