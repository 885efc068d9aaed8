"""Private documents: those whose note says so, and those that a rule of the owner hides.

``documents.private`` holds both, as bits. Every condition for a guest, an embedder elsewhere or a remote
index reads that column and nothing else, so the rules are applied where a document is written or moved and
where they change, in the same transaction.

A rule is a glob. It hides a document whose path fits it below the document's folder, or as it is shown.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from rag_core.errors import InvalidInput
from rag_core.extract import private
from rag_core.files import Coverage, validate_globs

BY_NOTE = 1
BY_RULE = 2

_RULES = "private_rules"
_UNREADABLE = (InvalidInput, ValueError, TypeError, RecursionError)


class Marked(NamedTuple):
    """A document and the bits that it should have."""

    id: int
    display: str
    bits: int


class _Hider:
    """Tells which files some rules hide."""

    def __init__(self, rules: tuple[str, ...]) -> None:
        self._covered = Coverage(rules, dots=True)

    def hides(self, label: str, path: bytes) -> bool:
        """Whether the file ``path`` of the source that is shown as ``label`` is hidden."""
        return path in self._covered or (label != "" and os.fsencode(label) + b"/" + path in self._covered)


_hider = lru_cache(maxsize=8)(_Hider)


def rules(db: sqlite3.Connection) -> tuple[str, ...]:
    """The owner's rules. Where they cannot be read, everything is hidden."""
    try:
        return _read(db)
    except _UNREADABLE:
        return ("**/*",)


def are_sound(db: sqlite3.Connection) -> bool:
    """Whether what the store keeps as rules are rules."""
    try:
        _read(db)
    except _UNREADABLE:
        return False
    return True


def _read(db: sqlite3.Connection) -> tuple[str, ...]:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_RULES,)).fetchone()
    written = json.loads(row[0]) if row else []
    if not isinstance(written, list) or not all(isinstance(each, str) for each in written):
        raise TypeError("no list of texts")
    return validate_globs(written)


def put_rules(db: sqlite3.Connection, globs: Sequence[str]) -> int:
    """Replace the rules by ``globs``; returns how many documents that changes."""
    db.execute("DELETE FROM meta WHERE key = ?", (_RULES,))
    if globs:
        db.execute("INSERT INTO meta VALUES (?, ?)", (_RULES, json.dumps(list(globs))))
    return apply(db)


def apply(db: sqlite3.Connection) -> int:
    """Mark every document as the rules say; returns how many were not."""
    wrong = list(misjudged(db))
    db.executemany("UPDATE documents SET private = ? WHERE id = ?", [(each.bits, each.id) for each in wrong])
    return len(wrong)


def misjudged(db: sqlite3.Connection) -> Iterator[Marked]:
    """The documents that are not marked as the rules say, with the right bits."""
    hider = _hider(rules(db))
    for row in _places(db):
        bits = row["private"] & ~BY_RULE | BY_RULE * hider.hides(row["label"], row["path"])
        if bits != row["private"]:
            yield Marked(row["id"], row["display"], bits)


def bits(db: sqlite3.Connection, source_id: int, path: bytes, *, by_note: bool) -> int:
    """The bits of the document at ``path`` in its source."""
    found = rules(db)
    if not found:
        return BY_NOTE * by_note
    label = db.execute("SELECT label FROM sources WHERE id = ?", (source_id,)).fetchone()[0]
    return BY_NOTE * by_note | BY_RULE * _hider(found).hides(label, path)


def said_by_note(db: sqlite3.Connection, source_id: int, path: bytes) -> bool:
    """Whether the note that was read there last says that it is private."""
    sql = "SELECT private FROM documents WHERE source_id = ? AND path = ?"
    row = db.execute(sql, (source_id, path)).fetchone()
    return row is not None and bool(row[0] & BY_NOTE)


def which(db: sqlite3.Connection, label: str, path: bytes) -> tuple[str, ...]:
    """The rules that hide a file of the source that is shown as ``label``."""
    return tuple(each for each in rules(db) if _hider((each,)).hides(label, path))


def matches(db: sqlite3.Connection, globs: Sequence[str]) -> dict[str, int]:
    """How many documents each of ``globs`` hides, or would; files that hold no text are none."""
    places = _places(db, _WITH_TEXT).fetchall()
    return {glob: sum(_Hider((glob,)).hides(row["label"], row["path"]) for row in places) for glob in globs}


def counts(db: sqlite3.Connection) -> dict[int, int]:
    """How many documents have which bits; files that hold no text are none."""
    sql = f"SELECT private, count(*) FROM documents d WHERE {_WITH_TEXT} GROUP BY 1"
    return dict(db.execute(sql).fetchall())


def unsure(db: sqlite3.Connection) -> dict[str, str]:
    """The documents that are private because their notes are unclear about it: path → the reason."""
    rows = db.execute(
        "SELECT display, warnings FROM documents d WHERE private & ? AND instr(warnings, ?) ORDER BY display",
        (BY_NOTE, private.UNSURE),
    )
    return {
        row["display"]: warning
        for row in rows
        for warning in json.loads(row["warnings"])
        if warning.startswith(private.UNSURE)
    }


_WITH_TEXT = "d.state <> 'skipped'"


def _places(db: sqlite3.Connection, condition: str = "1") -> sqlite3.Cursor:
    return db.execute(
        "SELECT d.id, d.path, d.display, d.private, s.label FROM documents d"
        f" JOIN sources s ON s.id = d.source_id WHERE {condition}"
    )
