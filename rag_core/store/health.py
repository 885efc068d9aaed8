"""Checks the health of a store. Each check looks for one kind of fault, however damaged the file is."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rag_core.errors import ExtractError, NotText, OnlyInCloud, StoreError
from rag_core.files import read_bytes
from rag_core.reports import Finding, Health, Severity
from rag_core.store import checksums, privacy, signs, sources
from rag_core.store.chunks import embed_hash
from rag_core.store.connection import can_be_written
from rag_core.store.documents import BEST_TARGET
from rag_core.store.errors import blames_file, damage
from rag_core.store.file import TARGET, Store, now
from rag_core.store.migrations import differences

EXAMPLES = 5
_DECISIONS = "decisions"
_WORDS = "words"

Find = Callable[[sqlite3.Connection], Iterator[str]]
"""Function that looks for one kind of fault in an open store. It yields a short text for each fault, which
names the faulty item."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check for one kind of fault."""

    name: str
    one: str  #: The sentence for a single fault.
    many: str  #: The sentence for ``{count}`` faults.
    find: Find
    severity: Severity = "fault"


def check(store: Store, *, files: bool = False, report: Callable[[int, int], None] | None = None) -> Health:
    """Run every check on ``store``. Raises StoreError if the file cannot be read.

    Args:
        store: The store to check.
        files: Whether to compare its documents with their files, too.
        report: Called with (checks done, all checks) before each check; may raise to stop.

    """
    started = time.perf_counter()
    results = [_decided(store)]
    with store.read() as db:
        has_tables = not any(
            difference.kind == "table" and difference.what != "unknown" for difference in differences(db)
        )
        wanted = (*CHECKS, *([FILES] if files else [])) if has_tables else CHECKS[:1]
        for number, kind_of_check in enumerate(wanted):
            if report:
                report(number, len(wanted))
            results.append(_look(kind_of_check, db))
    names = [_DECISIONS, *(done.name for done in wanted)]
    if has_tables:
        names.append(_WORDS)
        results.append(_words(store))
    findings = tuple(filter(None, results))
    return Health(store.name, now(), tuple(names), findings, (time.perf_counter() - started) * 1000)


def _decided(store: Store) -> Finding | None:
    if store.is_as_decided():
        return None
    return Finding(
        _DECISIONS, "fault", "Your settings, folders or rules differ from the file next to the store.", 1
    )


def _look(wanted: Check, db: sqlite3.Connection) -> Finding | None:
    count, examples = 0, []
    try:
        for shown in wanted.find(db):
            count += 1
            if count <= EXAMPLES:
                examples.append(shown)
    except Exception as error:
        if not damage(db, error):
            raise
        return Finding(
            wanted.name, "fault", f"The file is damaged: the check {wanted.name!r} cannot read it.", 1
        )
    if not count:
        return None
    sentence = wanted.one if count == 1 else wanted.many.format(count=f"{count:,}")
    return Finding(wanted.name, wanted.severity, sentence, count, tuple(examples))


def _rows(sql: str) -> Find:
    """Return a check that runs ``sql``; the first column of each row names a faulty item."""
    return lambda db: (str(row[0]) for row in db.execute(sql, {"nothing": embed_hash("")}))


def _structure(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the faults that SQLite's own checks find. The index of words is left out, because `_words` checks
    it."""
    for (text,) in db.execute("PRAGMA integrity_check"):
        if text != "ok" and "FTS5" not in text:
            yield text
    for table, row_id, parent, _ in db.execute("PRAGMA foreign_key_check"):
        yield f"{table} {row_id or ''} without its row in {parent}"


def _words(store: Store) -> Finding | None:
    """Compare the index of words with the passages, by FTS5 on a writing connection. Returns None if there is
    no fault.

    The index of furniture is only checked for damage, because FTS5 would report every passage without
    furniture.
    """
    try:
        with store.note() as db:
            db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
            db.execute("INSERT INTO furniture_words (furniture_words) VALUES ('integrity-check')")
    except StoreError as error:
        if blames_file(error):
            return Finding(_WORDS, "fault", "The index of words does not match the passages.", 1)
        if can_be_written(store.path) and can_be_written(store.path.parent):
            raise
        sentence = "The index of words was not checked, because the store cannot be written."
        return Finding(_WORDS, "note", sentence, 1)
    return None


_JSON = (
    *(("documents", "metadata", "object"), ("documents", "warnings", "array")),
    *(("chunks", "heading_path", "array"), ("sources", "include", "array"), ("sources", "exclude", "array")),
    *(("requests", "payload", "object"), ("jobs", "counts", "object"), ("jobs", "progress", "object")),
)
"""(table, column, type of the JSON in it): an object, or an array of texts."""


def _values(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the rows with a value of the wrong type. Reading a text that is not UTF-8 raises an error."""
    for table, column, kind in _JSON:
        is_right = f"json_type({column}) = '{kind}'"
        if kind == "array":
            is_right += f" AND NOT EXISTS (SELECT 1 FROM json_each({column}) WHERE type <> 'text')"
        sql = f"SELECT id FROM {table} WHERE NOT CASE WHEN json_valid({column}) THEN {is_right} ELSE 0 END"
        yield from (f"{table} {row[0]}" for row in db.execute(sql))
    for table in ("meta", "requests", "jobs", "job_results", "queue", "outbox"):
        for _ in db.execute(f"SELECT * FROM {table}"):
            pass
    yield from _rows("SELECT 'meta ' || key FROM meta WHERE key = 'generation' AND value GLOB '*[^0-9]*'")(db)
    if privacy.rules(db) is privacy.HIDE_ALL:
        yield "the rules that keep notes private"


def _documents(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the documents with a wrong checksum. The checksum covers passages, tags, names and links."""
    for document_id, display, crc32 in db.execute("SELECT id, display, crc32 FROM documents").fetchall():
        if checksums.document_crc(db, document_id) != crc32:
            yield display


_ARE_NO_SPANS = """c.kept IS NOT NULL AND NOT CASE WHEN json_valid(c.kept) THEN json_type(c.kept) = 'array'
    AND NOT EXISTS (SELECT 1 FROM json_each(c.kept) WHERE type <> 'array' OR json_array_length(value) <> 2
    OR json_type(value, '$[0]') <> 'integer' OR json_type(value, '$[1]') <> 'integer') ELSE 0 END"""
_places = _rows(
    "SELECT d.display FROM documents d WHERE EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id"
    ' AND ((c.path, c.title) <> (d.display, d.title) OR c.start < 0 OR c."end" < c.start'
    f" OR c.start_line < 1 OR c.end_line < c.start_line OR {_ARE_NO_SPANS}))"
)
_links = _rows(
    "SELECT h.display || ': ' || links.target FROM links JOIN documents h ON h.id = links.document_id"
    f" WHERE links.target_id IS NOT ({BEST_TARGET})"
)


def _vectors(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the vectors with a wrong checksum or wrong sign bits. An empty vector is correct: its text cannot
    be embedded."""
    known = db.execute("SELECT id, dimension FROM identities").fetchall()
    means = {number: signs.mean_of(db, number, dimension) for number, dimension in known}
    sql = """SELECT e.hash, e.vector, e.crc32, i.id, i.dimension, coalesce(s.bits, x'') FROM embeddings e
             LEFT JOIN identities i ON i.id = e.identity_id LEFT JOIN signs s ON s.id = e.id"""
    for text_hash, vector, crc32, identity_id, dimension, bits in db.execute(sql):
        is_whole = is_whole_vector(text_hash, vector, crc32, dimension)
        expected = signs.signs_of(vector, means[identity_id]) if is_whole and vector else b""
        if not (is_whole and expected == bits):
            yield text_hash[:6].hex()


def is_whole_vector(text_hash: bytes, vector: bytes, crc32: int, dimension: int) -> bool:
    """Whether a stored vector has the right checksum, and either the dimension of its embedder or no
    numbers."""
    if not (isinstance(text_hash, bytes) and isinstance(vector, bytes)):  # the row is damaged
        return False
    return checksums.vector_crc(text_hash, vector) == crc32 and len(vector) in (0, 2 * (dimension or 0))


# Passages that searches would never find by meaning.
_unembedded = _rows(
    "SELECT d.display || ', passage ' || c.chunk_index FROM chunks c JOIN documents d ON d.id = c.document_id"
    " WHERE embed_hash <> :nothing AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.hash = c.embed_hash)"
    f" AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.hash = c.embed_hash AND e.identity_id = {TARGET})"
)


def _files(db: sqlite3.Connection) -> Iterator[str]:
    """Yield the documents whose file has changed or disappeared since it was read. Documents of an attached
    index have no file here and are left out."""
    sql = """SELECT d.path, d.display, d.size, d.file_hash, s.root FROM documents d
             JOIN sources s ON s.id = d.source_id
             WHERE d.state = 'indexed' AND d.file_hash <> '' AND d.part = ''"""
    for row in db.execute(sql):
        if not os.path.isabs(row["root"]):  # noqa: PTH117  (bytes)
            continue
        try:
            data = read_bytes(Path(os.fsdecode(row["root"])), row["path"], max(row["size"], 0))
        except OnlyInCloud:
            continue
        except NotText:  # the file is too large now, or no regular file
            yield f"{row['display']}: changed"
        except ExtractError:
            yield f"{row['display']}: gone, or not to be read"
        else:
            if hashlib.sha256(data).hexdigest() != row["file_hash"]:
                yield f"{row['display']}: changed"


def _private(db: sqlite3.Connection) -> Iterator[str]:
    return (display for _, display, _ in (*privacy.misjudged(db), *sources.mismarked(db)))


def _schema(db: sqlite3.Connection) -> Iterator[str]:
    return (f"{difference.kind} {difference.name}: {difference.what}" for difference in differences(db))


CHECKS: tuple[Check, ...] = (
    Check(
        "schema",
        "1 part of the database layout is missing, altered or unknown.",
        "{count} parts of the database layout are missing, altered or unknown.",
        _schema,
    ),
    Check(
        "structure",
        "The database file of the store has 1 structural fault.",
        "The database file of the store has {count} structural faults.",
        _structure,
    ),
    Check(
        "values",
        "1 row of the database has a value that cannot be read.",
        "{count} rows of the database have values that cannot be read.",
        _values,
    ),
    Check(
        "documents",
        "1 document has damaged content.",
        "{count} documents have damaged content.",
        _documents,
    ),
    Check(
        "places",
        "1 document has passages whose stored position is impossible.",
        "{count} documents have passages whose stored position is impossible.",
        _places,
    ),
    Check(
        "private",
        "1 document is stored as private or excluded, or as neither, against your rules.",
        "{count} documents are stored as private or excluded, or as neither, against your rules.",
        _private,
    ),
    Check(
        "links",
        "1 link does not lead to the right document.",
        "{count} links do not lead to the right documents.",
        _links,
    ),
    Check("vectors", "1 vector has damaged numbers.", "{count} vectors have damaged numbers.", _vectors),
    Check(
        "unembedded",
        "1 passage is not found by meaning, and no run would change that.",
        "{count} passages are not found by meaning, and no run would change that.",
        _unembedded,
    ),
)
FILES = Check(
    "files",
    "1 file has changed since it was read; `commonplace reindex` reads it.",
    "{count} files have changed since they were read; `commonplace reindex` reads one of them.",
    _files,
    "note",
)
