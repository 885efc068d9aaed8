"""Private documents: notes that are marked as private, and documents that a rule of the owner hides.

``documents.private`` holds both as bits, together with `sources.LEFT_OUT`. Every condition for a guest, a
remote embedder or a remote index reads only that column. So each transaction that writes or moves a document
or changes the rules also applies the rules.

A rule is a glob. It hides the documents whose path matches, either within their folder or as shown.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rag_core.errors import InvalidInput
from rag_core.extract import private
from rag_core.files import Coverage, validate_globs, with_sep
from rag_core.store import sources
from rag_core.system import slashed
from rag_core.types import Source

BY_NOTE = 1
BY_RULE = 2
UNREAD = 4
"""The bit for a file that was not read, so that its privacy is unknown."""

HIDE_ALL = ("**/*",)
"""Rules that make every document private."""

_RULES = "private_rules"


_coverage = lru_cache(maxsize=8)(lambda rules: Coverage(rules, dots=True))


def _hides(rules: tuple[str, ...], label: str, path: bytes) -> bool:
    """Whether a rule hides the file ``path`` of a source. ``label`` is the source's prefix in shown paths."""
    covered = _coverage(rules)
    return path in covered or (label != "" and os.fsencode(label) + b"/" + path in covered)


def rules(db: sqlite3.Connection) -> tuple[str, ...]:
    """Return the owner's rules, or HIDE_ALL if they cannot be read."""
    if (row := db.execute("SELECT value FROM meta WHERE key = ?", (_RULES,)).fetchone()) is None:
        return ()
    try:
        written = json.loads(row[0])
        is_list = isinstance(written, list) and all(isinstance(rule, str) for rule in written)
        return validate_globs(written) if is_list else HIDE_ALL
    except (InvalidInput, ValueError, TypeError, RecursionError):
        return HIDE_ALL


def put_rules(db: sqlite3.Connection, globs: Sequence[str]) -> int:
    """Replace the rules by ``globs``. Returns the number of documents whose privacy changed."""
    db.execute("DELETE FROM meta WHERE key = ?", (_RULES,))
    if globs:
        db.execute("INSERT INTO meta VALUES (?, ?)", (_RULES, json.dumps(list(globs))))
    return apply(db)


def apply(db: sqlite3.Connection) -> int:
    """Set the bit BY_RULE of every document as the rules demand. Returns the number of documents that
    changed."""
    wrong = [(bits, document_id) for document_id, _, bits in misjudged(db)]
    db.executemany("UPDATE documents SET private = ? WHERE id = ?", wrong)
    return len(wrong)


def misjudged(db: sqlite3.Connection) -> Iterator[tuple[int, str, int]]:
    """Yield (id, shown path, correct value of ``documents.private``) for each document whose bit BY_RULE
    contradicts the rules."""
    known = rules(db)
    for row in _places(db):
        bits = row["private"] & ~BY_RULE | BY_RULE * _hides(known, row["label"], row["path"])
        if bits != row["private"]:
            yield row["id"], row["display"], bits


def bits(db: sqlite3.Connection, source_id: int, path: bytes, *, by_note: bool) -> int:
    """Return the bits for the reasons why the document at ``path`` in a source is private or left out, or 0
    if there are none. ``by_note`` tells whether its own front matter makes it private."""
    bits = BY_NOTE * by_note | sources.LEFT_OUT * sources.is_left_out(db, source_id, path)
    if globs := rules(db):
        label = sources.by_id(db, source_id).label
        bits |= BY_RULE * _hides(globs, label, path)
    return bits


def which(db: sqlite3.Connection, label: str, path: bytes) -> tuple[str, ...]:
    """Return the rules that hide the file ``path`` of a source. ``label`` is the source's prefix in shown
    paths."""
    return tuple(rule for rule in rules(db) if _hides((rule,), label, path))


def hides_file(db: sqlite3.Connection, source: Source, path: bytes) -> bool:
    """Whether a rule hides a file of a source. For a symbolic link, the path of its target is checked,
    too."""
    if not rules(db):
        return False
    root = os.path.realpath(os.fsencode(source.root))
    real = slashed(os.path.relpath(os.path.realpath(with_sep(root) + path), root))
    return any(which(db, source.label, candidate) for candidate in {path, real})


def matches(db: sqlite3.Connection, globs: Sequence[str]) -> dict[str, int]:
    """Return the number of documents with text that each of ``globs`` hides or would hide."""
    places = _places(db, _WITH_TEXT).fetchall() if globs else ()
    return {glob: sum(_hides((glob,), row["label"], row["path"]) for row in places) for glob in globs}


def private_counts(db: sqlite3.Connection) -> dict[int, int]:
    """Return the number of documents with text for each combination of BY_NOTE and BY_RULE: bits → number; 0
    is public."""
    sql = f"SELECT private & 3, count(*) FROM documents d WHERE {_WITH_TEXT} GROUP BY 1"
    return dict(db.execute(sql).fetchall())


def unsure(db: sqlite3.Connection) -> dict[str, str]:
    """Return the documents that are private because their front matter is unclear about it: path → reason."""
    rows = db.execute(
        "SELECT display, warnings FROM documents d WHERE private & ? AND instr(warnings, ?) ORDER BY display",
        (BY_NOTE, private.UNSURE),
    )
    reasons: dict[str, str] = {}
    for display, warnings in rows:
        for warning in json.loads(warnings):
            if warning.startswith(private.UNSURE):
                reasons[display] = warning
    return reasons


_WITH_TEXT = f"NOT d.private & {UNREAD}"


def _places(db: sqlite3.Connection, condition: str = "1") -> sqlite3.Cursor:
    sql = f"""SELECT d.id, d.path, d.display, d.private, s.label FROM documents d
              JOIN sources s ON s.id = d.source_id WHERE {condition}"""
    return db.execute(sql)
