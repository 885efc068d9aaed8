"""Portable files made by hand, to see what an import takes."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

STORE, MANIFEST = "store.db", "manifest.json"


def members(file: Path) -> dict[str, bytes]:
    """What is in a portable file."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest(file: Path) -> dict[str, Any]:
    """What a portable file says about itself."""
    value: dict[str, Any] = json.loads(members(file)[MANIFEST])
    return value


def write(file: Path, store: bytes, about: dict[str, Any]) -> None:
    """A portable file of these two, whatever they are."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(STORE, store)
        archive.writestr(MANIFEST, json.dumps(about))


def with_store(file: Path, store: bytes, **changed: Any) -> None:
    """Put another store into a portable file, and change what its manifest says."""
    write(file, store, manifest(file) | changed)


def changed(file: Path, change: Callable[[sqlite3.Connection], object]) -> None:
    """Change the store in a portable file, as someone would who means it."""
    aside = file.with_suffix(".db")
    aside.write_bytes(members(file)[STORE])
    with closing(sqlite3.connect(aside, isolation_level=None)) as db:
        db.execute("PRAGMA writable_schema = ON")
        change(db)
    with_store(file, aside.read_bytes())
    aside.unlink()
