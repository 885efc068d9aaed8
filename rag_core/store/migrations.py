"""The store's schema: numbered steps, each recorded in its own transaction, and a check of a file's schema.

A released step is never edited. A change is a new step, with a test that starts from the oldest version with
rows in it. Layout of one store file:

    sources → documents → chunks ⇄ words (FTS5)          the content that was read
                        → tags, properties, names, links  metadata of documents and links between them
    identities → embeddings (by text hash) ← queue        vectors, and texts that are still to be embedded
    requests, jobs, job_results, exclusions               work and the owner's decisions
    outbox                                                changes to send to a remote vector index
    signs                                                 sign bits of vectors, to choose among many
    shapes, repeated                                      shapes of lines, and those that are furniture
    meta                                                  facts about the store, and `generation`
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from typing import Literal, NamedTuple

from rag_core.errors import StoreError
from rag_core.store import checksums, properties, signs
from rag_core.store.parts import STEP as _VERSION_13
from rag_core.text import furniture

APPLICATION_ID = 0x434D4E50  # "CMNP": distinguishes a store from any other SQLite file

_VERSION_6 = (
    """
CREATE TABLE migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT (datetime('now'))
) STRICT;

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', '0');

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    root BLOB NOT NULL UNIQUE,          -- absolute folder, as the file system spells it
    label TEXT NOT NULL,                -- leads every path of this source; '' for the first one
    include TEXT NOT NULL,              -- JSON list of globs
    exclude TEXT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    path BLOB NOT NULL,                 -- below the root, as the file system spells it
    display TEXT NOT NULL,              -- the same for people: label, NFC, no control characters
    folder TEXT NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    scanned_ns INTEGER NOT NULL,        -- clock when the file was looked at
    file_hash TEXT NOT NULL,            -- sha256 of the bytes, '' when they could not be read
    state TEXT NOT NULL CHECK (state IN ('indexed', 'failed', 'skipped')),
    reason TEXT NOT NULL DEFAULT '',
    file_type TEXT NOT NULL DEFAULT '', encoding TEXT NOT NULL DEFAULT '',
    title TEXT NOT NULL DEFAULT '', title_from TEXT NOT NULL DEFAULT '',
    date TEXT NOT NULL DEFAULT '',      -- front matter, file name, mtime, in that order
    date_from TEXT NOT NULL DEFAULT '', -- 'front matter', or 'file', whose name and time may change
    private INTEGER NOT NULL DEFAULT 0,
    metadata TEXT NOT NULL DEFAULT '{}', warnings TEXT NOT NULL DEFAULT '[]',
    extractor INTEGER NOT NULL DEFAULT 0, indexed_at TEXT NOT NULL,
    UNIQUE (source_id, path)
) STRICT;
CREATE INDEX documents_by_display ON documents (display);
CREATE INDEX documents_by_hash ON documents (file_hash);

CREATE TABLE tags (
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    folded TEXT NOT NULL,               -- for comparison; with every parent of a nested tag
    tag TEXT,                           -- as written; NULL for the parents
    PRIMARY KEY (document_id, folded)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_name ON tags (folded);

CREATE TABLE names (                    -- what a link or a query may call a document
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    key TEXT NOT NULL,
    kind INTEGER NOT NULL,              -- 0 a tail of its path, 1 an alias, 2 its title, which no link means
    PRIMARY KEY (document_id, key, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX names_by_key ON names (key);

CREATE TABLE links (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    type TEXT NOT NULL CHECK (type IN ('wikilink', 'embed', 'markdown')),
    target TEXT NOT NULL,
    key TEXT NOT NULL,                  -- compared with names.key; '' links inside the document
    heading TEXT NOT NULL, label TEXT NOT NULL, start INTEGER NOT NULL,
    target_id INTEGER REFERENCES documents ON DELETE SET NULL
) STRICT;
CREATE INDEX links_by_document ON links (document_id);
CREATE INDEX links_by_key ON links (key);
CREATE INDEX links_by_target ON links (target_id);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,           -- UUID, never reused
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    chunk_index INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
    start_line INTEGER NOT NULL, end_line INTEGER NOT NULL,
    heading_path TEXT NOT NULL,         -- JSON list
    anchor_type TEXT NOT NULL, anchor_ref TEXT NOT NULL, split_part INTEGER NOT NULL,
    prefix TEXT NOT NULL,               -- title > heading path; embedded in front of the text
    embed_hash BLOB NOT NULL,           -- sha256 of what is embedded
    -- the columns of `words`
    title TEXT NOT NULL, headings TEXT NOT NULL, path TEXT NOT NULL, tags TEXT NOT NULL, text TEXT NOT NULL,
    title_terms TEXT NOT NULL, terms TEXT NOT NULL
) STRICT;
CREATE INDEX chunks_by_document ON chunks (document_id, chunk_index);
CREATE INDEX chunks_by_hash ON chunks (embed_hash);

CREATE VIRTUAL TABLE words USING fts5 (
    title, headings, path, tags, text, title_terms, terms,
    content = 'chunks', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN ADD_WORDS; END;
CREATE TRIGGER chunks_removed AFTER DELETE ON chunks BEGIN DROP_WORDS; END;
CREATE TRIGGER chunks_changed AFTER UPDATE OF title, headings, path, tags, text, title_terms, terms ON chunks
WHEN (old.title, old.headings, old.path, old.tags, old.text, old.title_terms, old.terms)
     IS NOT (new.title, new.headings, new.path, new.tags, new.text, new.title_terms, new.terms)
BEGIN DROP_WORDS; ADD_WORDS; END;

CREATE TABLE identities (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL, model TEXT NOT NULL, digest TEXT NOT NULL,
    dimension INTEGER NOT NULL, prompts TEXT NOT NULL,
    canary BLOB NOT NULL,               -- float32 vector of a fixed text, checked when opened
    UNIQUE (provider, model, digest, dimension, prompts)
) STRICT;

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    identity_id INTEGER NOT NULL REFERENCES identities ON DELETE CASCADE,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,               -- float16, little endian; empty: the embedder cannot read this text
    UNIQUE (identity_id, hash)
) STRICT;
CREATE INDEX embeddings_to_search ON embeddings (identity_id, id) WHERE vector <> x'';

CREATE TABLE queue (                    -- texts to embed, newest first
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    attempts INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE requests (                 -- what others ask of the runner
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('index', 'cancel', 'verify')),
    payload TEXT NOT NULL DEFAULT '{}', created_at TEXT NOT NULL
) STRICT;

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled', 'failed', 'interrupted')),
    start_time TEXT NOT NULL, end_time TEXT, duration_ms INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    chunks_added INTEGER NOT NULL DEFAULT 0, texts_embedded INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '',
    counts TEXT NOT NULL DEFAULT '{}',  -- files by outcome
    progress TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE job_results (              -- every file of a job but the unchanged ones
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
    source_file TEXT NOT NULL, outcome TEXT NOT NULL,
    chunks_added INTEGER NOT NULL, chunks_skipped INTEGER NOT NULL,
    message TEXT NOT NULL, processing_time_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX job_results_by_job ON job_results (job_id);

CREATE TABLE exclusions (               -- files the owner took out, whatever the globs say
    source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    path BLOB NOT NULL,
    reason TEXT NOT NULL, created_at TEXT NOT NULL,
    PRIMARY KEY (source_id, path)
) STRICT, WITHOUT ROWID;

-- A removed source stays until a run has forgotten its documents, however often that is killed.
ALTER TABLE sources ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

-- Changes for a remote index are queued in the transaction that makes them; see store/outbox.py.
CREATE TABLE outbox (                   -- chunks whose copy in the remote vector index is not as they are
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    error TEXT NOT NULL DEFAULT ''      -- why the index refused it; it then waits for a change of the chunk
) STRICT;
CREATE TRIGGER outbox_chunk_added AFTER INSERT ON chunks
WHEN HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key = new.key;
    INSERT INTO outbox (key) VALUES (new.key);
END;
CREATE TRIGGER outbox_chunk_removed AFTER DELETE ON chunks
WHEN HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key = old.key;
    INSERT INTO outbox (key) VALUES (old.key);
END;
CREATE TRIGGER outbox_chunk_changed AFTER UPDATE ON chunks
WHEN (old.key, old.chunk_index, old.start, old."end", old.start_line, old.end_line, old.heading_path,
      old.anchor_type, old.anchor_ref, old.split_part, old.prefix, old.embed_hash, old.title, old.path,
      old.tags, old.text)
     IS NOT (new.key, new.chunk_index, new.start, new."end", new.start_line, new.end_line, new.heading_path,
             new.anchor_type, new.anchor_ref, new.split_part, new.prefix, new.embed_hash, new.title, new.path,
             new.tags, new.text)
     AND HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key IN (old.key, new.key);
    INSERT INTO outbox (key) SELECT old.key UNION SELECT new.key;
END;
CREATE TRIGGER outbox_document_changed AFTER UPDATE ON documents
WHEN (old.display, old.file_type, old.title, old.date, old.private, old.metadata)
     IS NOT (new.display, new.file_type, new.title, new.date, new.private, new.metadata)
     AND HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key IN (SELECT key FROM chunks WHERE document_id = new.id);
    INSERT INTO outbox (key) SELECT key FROM chunks WHERE document_id = new.id ORDER BY chunk_index;
END;
-- The first chunk of a document carries its facts to a remote index, so it is sent when those change.
CREATE TRIGGER outbox_document_read AFTER UPDATE ON documents
WHEN (old.file_hash, old.size, old.encoding, old.title_from, old.date_from)
     IS NOT (new.file_hash, new.size, new.encoding, new.title_from, new.date_from)
     AND HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key IN (
        SELECT key FROM chunks WHERE document_id = new.id AND chunk_index = 0
    );
    INSERT INTO outbox (key) SELECT key FROM chunks WHERE document_id = new.id AND chunk_index = 0;
END;

CREATE INDEX embeddings_unreadable ON embeddings (identity_id, hash) WHERE vector = x'';
CREATE INDEX documents_private ON documents (id) WHERE private;
""".replace(
        "ADD_WORDS",
        "INSERT INTO words (rowid, title, headings, path, tags, text, title_terms, terms)"
        " VALUES (new.id, new.title, new.headings, new.path, new.tags, new.text, new.title_terms, new.terms)",
    )
    .replace(
        "DROP_WORDS",
        "INSERT INTO words (words, rowid, title, headings, path, tags, text, title_terms, terms)"
        " VALUES ('delete', old.id, old.title, old.headings, old.path, old.tags, old.text, old.title_terms,"
        " old.terms)",
    )
    .replace("HAS_REMOTE", "EXISTS (SELECT 1 FROM meta WHERE key IN ('remote', 'next_remote'))")
)

_SEARCHED = "title, headings, path, tags, text, title_terms, terms, kept, kept_text"


def _version_7(db: sqlite3.Connection) -> None:
    """Add checksums to vectors and documents, so that damaged bytes are noticed."""
    for table in ("embeddings", "documents"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN crc32 INTEGER NOT NULL DEFAULT 0")
    db.create_function("of_vector", 2, checksums.vector_crc, deterministic=True)
    db.execute("UPDATE embeddings SET crc32 = of_vector(hash, vector)")
    for (document_id,) in db.execute("SELECT id FROM documents").fetchall():
        checksums.seal_file(db, document_id)


# Furniture is found by its words alone, where nothing else holds them. What is all furniture has no row in
# `searchable`, and so none in `words`.
_VERSION_8 = (
    f"""
ALTER TABLE chunks ADD COLUMN kept TEXT;    -- JSON list of spans that are no furniture; NULL: all of it
ALTER TABLE chunks ADD COLUMN kept_text TEXT;                       -- what they hold; NULL: all of it
ALTER TABLE chunks ADD COLUMN furniture TEXT NOT NULL DEFAULT '';   -- the rest and its terms
CREATE TABLE shapes (
    document_id INTEGER PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
    hashes BLOB NOT NULL,               -- of the shapes of its lines, 64 bits each, little endian
    stale INTEGER NOT NULL DEFAULT 0    -- its furniture is to be found again
) STRICT;
CREATE INDEX shapes_stale ON shapes (document_id) WHERE stale;
CREATE TABLE repeated (shape INTEGER PRIMARY KEY) STRICT;
INSERT INTO shapes SELECT id, x'', 1 FROM documents
    WHERE file_type IN ({", ".join(f"'{each}'" for each in sorted(furniture.FILE_TYPES))})
    AND EXISTS (SELECT 1 FROM chunks WHERE document_id = documents.id);

DROP TRIGGER chunks_added;
DROP TRIGGER chunks_removed;
DROP TRIGGER chunks_changed;
DROP TABLE words;
CREATE VIEW searchable AS SELECT id, title, headings, path, tags,
    coalesce(kept_text, text) AS text, title_terms, terms
FROM chunks WHERE kept IS NOT '[]';
CREATE VIRTUAL TABLE words USING fts5 (
    title, headings, path, tags, text, title_terms, terms,
    content = 'searchable', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
INSERT INTO words (words) VALUES ('rebuild');
CREATE VIRTUAL TABLE furniture_words USING fts5 (
    furniture, content = 'chunks', content_rowid = 'id',
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);
CREATE TRIGGER chunks_added AFTER INSERT ON chunks BEGIN ADD_WORDS; END;
CREATE TRIGGER chunks_removed BEFORE DELETE ON chunks BEGIN DROP_WORDS; END;
CREATE TRIGGER chunks_changing BEFORE UPDATE OF {_SEARCHED} ON chunks
WHEN (old.{_SEARCHED.replace(", ", ", old.")}) IS NOT (new.{_SEARCHED.replace(", ", ", new.")})
BEGIN DROP_WORDS; END;
CREATE TRIGGER chunks_changed AFTER UPDATE OF {_SEARCHED} ON chunks
WHEN (old.{_SEARCHED.replace(", ", ", old.")}) IS NOT (new.{_SEARCHED.replace(", ", ", new.")})
BEGIN ADD_WORDS; END;
CREATE TRIGGER furniture_added AFTER INSERT ON chunks WHEN new.furniture <> '' BEGIN ADD_FURNITURE; END;
CREATE TRIGGER furniture_removed AFTER DELETE ON chunks WHEN old.furniture <> '' BEGIN DROP_FURNITURE; END;
CREATE TRIGGER furniture_changed AFTER UPDATE OF furniture ON chunks WHEN old.furniture <> new.furniture
BEGIN DROP_FURNITURE; ADD_FURNITURE; END;
""".replace(
        "ADD_WORDS",
        "INSERT INTO words (rowid, title, headings, path, tags, text, title_terms, terms)"
        " SELECT * FROM searchable WHERE id = new.id",
    )
    .replace(
        "DROP_WORDS",
        "INSERT INTO words (words, rowid, title, headings, path, tags, text, title_terms, terms)"
        " SELECT 'delete', * FROM searchable WHERE id = old.id",
    )
    .replace(
        "ADD_FURNITURE",
        "INSERT INTO furniture_words (rowid, furniture)"
        " SELECT new.id, new.furniture WHERE new.furniture <> ''",
    )
    .replace(
        "DROP_FURNITURE",
        "INSERT INTO furniture_words (furniture_words, rowid, furniture)"
        " SELECT 'delete', old.id, old.furniture WHERE old.furniture <> ''",
    )
)


def _version_9(db: sqlite3.Connection) -> None:
    """Add sign bits of vectors, and an index from chunks to documents, so that large searches read less."""
    db.execute("CREATE INDEX chunks_documents ON chunks (id, document_id)")
    db.execute("""CREATE TABLE signs (
        id INTEGER PRIMARY KEY REFERENCES embeddings ON DELETE CASCADE,
        identity_id INTEGER NOT NULL, bits BLOB NOT NULL
    ) STRICT""")
    signs.put_all_signs(db)


# What people wrote is embedded before code, code before data, the newest first; and pictures are read in a
# queue of their own.
_VERSION_10 = """
ALTER TABLE queue ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;         -- see chunks.enqueue
ALTER TABLE queue ADD COLUMN modified_ns INTEGER NOT NULL DEFAULT 0;  -- of the newest file that holds it
CREATE INDEX queue_in_order ON queue (kind, modified_ns DESC, id DESC);
ALTER TABLE documents ADD COLUMN pictures_left INTEGER NOT NULL DEFAULT 0;  -- still to be read by OCR
CREATE INDEX documents_with_pictures_left ON documents (id) WHERE pictures_left;
"""


def _version_11(db: sqlite3.Connection) -> None:
    """Add the table of properties, so that documents can be found by their front matter."""
    take_step(db, properties.TABLE)
    properties.put_all(db)


_VERSION_12 = "CREATE INDEX documents_left_out ON documents (id) WHERE private >= 8;"  # see sources.LEFT_OUT


Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: tuple[Step, ...] = (
    _VERSION_6,
    _version_7,
    _VERSION_8,
    _version_9,
    _VERSION_10,
    _version_11,
    _VERSION_12,
    _VERSION_13,
)
OLDEST = 6
"""The schema version that the first step creates. No older version was released."""
VERSION = OLDEST + len(MIGRATIONS) - 1


def migrate(db: sqlite3.Connection, name: str) -> None:
    """Bring the open store ``name`` to the newest schema version, with one recorded transaction for each
    step. Raises StoreError if this program is too old for the file, or the file is too old for this
    program."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise StoreError(
            f"Store {name!r} was written by a newer version of Commonplace (schema {version}).",
            f"Update Commonplace; this one reads up to schema {VERSION}.",
        )
    if 0 < version < OLDEST:
        message = f"Store {name!r} was written by a version of Commonplace before the first release."
        raise StoreError(message, "Delete it, and index its folders into a new store.")
    for number in range(max(version + 1, OLDEST), VERSION + 1):
        _apply(db, number)


def _apply(db: sqlite3.Connection, number: int) -> None:
    (has_foreign_keys,) = db.execute("PRAGMA foreign_keys").fetchone()
    db.execute("PRAGMA foreign_keys = OFF")  # a step may recreate a table that others refer to
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] < number:  # otherwise another process was quicker
            take_step(db, MIGRATIONS[number - OLDEST])
            db.execute("INSERT INTO migrations (number, name) VALUES (?, ?)", (number, f"version_{number}"))
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")
    finally:
        if db.in_transaction:  # the step failed; a full disk has ended it already
            db.execute("ROLLBACK")
        db.execute(f"PRAGMA foreign_keys = {has_foreign_keys:d}")


def take_step(db: sqlite3.Connection, step: Step) -> None:
    """Run one migration step inside a transaction. (``executescript`` would commit it.)"""
    if callable(step):
        step(db)
        return
    pending = ""
    for line in step.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            db.execute(pending)
            pending = ""


# A file may come from anywhere: a trigger or view that it adds could change what is written to it.

_OURS = r"(name NOT LIKE 'sqlite\_%' ESCAPE '\' OR type IN ('trigger', 'view'))"
_COMMENT = re.compile(r"""('[^']*'|"[^"]*")|--[^\n]*""")


class Part(NamedTuple):
    """A table, index, trigger or view. ``sql`` is its definition without comments and extra spaces; '' for
    FTS5's own tables."""

    kind: str
    sql: str


class Difference(NamedTuple):
    """A difference between a store's schema and that of a new store."""

    name: str
    kind: str  #: Kind of the new store's part of this name; '' if it has none.
    what: Literal["missing", "altered", "unknown"]


def schema_parts(db: sqlite3.Connection) -> dict[str, Part]:
    """Return the parts of a schema by name, without SQLite's own. A trigger replaces a table or index of the
    same name."""
    known_parts: dict[str, Part] = {}
    rows = db.execute(f"SELECT name, type, sql FROM sqlite_master WHERE {_OURS} ORDER BY type = 'trigger'")
    for name, kind, sql in rows:
        is_of_fts5 = name.startswith(("words_", "furniture_words_")) and (sql or "").startswith(
            "CREATE TABLE"
        )
        plain = "" if is_of_fts5 else _COMMENT.sub(lambda match: match[1] or "", sql or "")
        known_parts[name] = Part(kind, " ".join(plain.split()))
    return known_parts


@cache
def _new(steps: tuple[Step, ...]) -> dict[str, Part]:
    """Return the parts of a new store made by ``steps``."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for step in steps:
            take_step(db, step)
        return schema_parts(db)


def differences(db: sqlite3.Connection, version: int | None = None) -> Iterator[Difference]:
    """Yield the differences from the schema of a new store, in order of name. With ``version``, the schema of
    that older version is used."""
    present, new = schema_parts(db), _new(MIGRATIONS[: (version or VERSION) - OLDEST + 1])
    for name in sorted(present.keys() | new.keys()):
        if name not in present:
            yield Difference(name, new[name].kind, "missing")
        elif name not in new:
            yield Difference(name, present[name].kind, "unknown")
        elif present[name] != new[name]:
            yield Difference(name, new[name].kind, "altered")
