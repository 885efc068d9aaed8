"""Files that hold many documents, such as the messages of a mailbox.

A row of ``documents`` without a ``container`` is a file. Each part of a file has its own row, with the file's
path and with the row id of the file as ``container``. So the owner's decisions about the path apply to all
parts.

The row of a file has the file's stat and hash. The row of a part has the size and hash of the part.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

IS_FILE = "container IS NULL"
"""SQL condition for the rows of ``documents`` that are files."""

_COLUMNS = (
    "id, source_id, path, display, folder, size, mtime_ns, ctime_ns, inode, scanned_ns, file_hash, state,"
    " reason, file_type, encoding, title, title_from, date, date_from, private, metadata, warnings,"
    " extractor, indexed_at, crc32, pictures_left"
)

# The UNIQUE constraint of a table cannot be changed, so the table is recreated.
STEP = f"""
CREATE TABLE documents_new (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
    path BLOB NOT NULL,                 -- below the root, as the file system spells it
    part TEXT NOT NULL DEFAULT '',      -- what its part of the file is called in it; '' for the file
    number INTEGER NOT NULL DEFAULT 0,  -- place of the part in the file, from 1
    container INTEGER REFERENCES documents ON DELETE CASCADE,  -- the file that it is a part of
    display TEXT NOT NULL,              -- the path for people: label, NFC, no control characters
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
    metadata TEXT NOT NULL DEFAULT '{{}}', warnings TEXT NOT NULL DEFAULT '[]',
    extractor INTEGER NOT NULL DEFAULT 0, indexed_at TEXT NOT NULL,
    crc32 INTEGER NOT NULL DEFAULT 0,
    pictures_left INTEGER NOT NULL DEFAULT 0,  -- still to be read by OCR
    UNIQUE (source_id, path, part)
) STRICT;
INSERT INTO documents_new ({_COLUMNS}) SELECT {_COLUMNS} FROM documents;
DELETE FROM sqlite_sequence WHERE name = 'documents_new';
INSERT INTO sqlite_sequence SELECT 'documents_new', seq FROM sqlite_sequence WHERE name = 'documents';
DROP TABLE documents;
ALTER TABLE documents_new RENAME TO documents;
CREATE INDEX documents_by_display ON documents (display);
CREATE INDEX documents_by_hash ON documents (file_hash);
CREATE INDEX documents_private ON documents (id) WHERE private;
CREATE INDEX documents_with_pictures_left ON documents (id) WHERE pictures_left;
CREATE INDEX documents_left_out ON documents (id) WHERE private >= 8;
CREATE INDEX documents_in_files ON documents (container, number) WHERE container IS NOT NULL;
CREATE TRIGGER outbox_document_changed AFTER UPDATE ON documents
WHEN (old.display, old.file_type, old.title, old.date, old.private, old.metadata)
     IS NOT (new.display, new.file_type, new.title, new.date, new.private, new.metadata)
     AND HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key IN (SELECT key FROM chunks WHERE document_id = new.id);
    INSERT INTO outbox (key) SELECT key FROM chunks WHERE document_id = new.id ORDER BY chunk_index;
END;
CREATE TRIGGER outbox_document_read AFTER UPDATE ON documents
WHEN (old.file_hash, old.size, old.encoding, old.title_from, old.date_from)
     IS NOT (new.file_hash, new.size, new.encoding, new.title_from, new.date_from)
     AND HAS_REMOTE BEGIN
    DELETE FROM outbox WHERE key IN (
        SELECT key FROM chunks WHERE document_id = new.id AND chunk_index = 0
    );
    INSERT INTO outbox (key) SELECT key FROM chunks WHERE document_id = new.id AND chunk_index = 0;
END;
""".replace("HAS_REMOTE", "EXISTS (SELECT 1 FROM meta WHERE key IN ('remote', 'next_remote'))")
"""The migration step that adds parts. Foreign keys must be off meanwhile, because other tables refer to this
one."""


class StoredPart(NamedTuple):
    """A document inside a file (a part), such as a message of a mailbox, as it is stored."""

    id: int
    number: int  #: Its position in the file, from 1.
    file_hash: str  #: The sha256 of its bytes.
    extractor: int  #: Version of the extractor that read it.
    state: str


def stored_parts(db: sqlite3.Connection, container: int) -> dict[str, StoredPart]:
    """Return the documents inside the file with the row id ``container``, by name; {} if it holds none."""
    sql = "SELECT part, id, number, file_hash, extractor, state FROM documents WHERE container = ?"
    return {part: StoredPart(*about) for part, *about in db.execute(sql, (container,))}


class FileRow(NamedTuple):
    """The row of a file."""

    id: int
    extractor: int  #: Version of the extractor that read it.


def file_row(db: sqlite3.Connection, source_id: int, path: bytes) -> FileRow | None:
    """Return the row of a file, or None if the store does not know the file."""
    sql = "SELECT id, extractor FROM documents WHERE source_id = ? AND path = ? AND part = ''"
    row = db.execute(sql, (source_id, path)).fetchone()
    return None if row is None else FileRow(*row)


def part_ids(db: sqlite3.Connection, container: int) -> list[int]:
    """Return the row ids of the documents inside the file ``container``; [] if it holds none."""
    return [row[0] for row in db.execute("SELECT id FROM documents WHERE container = ?", (container,))]


def number_parts(db: sqlite3.Connection, numbers: dict[int, int]) -> None:
    """Set the positions of parts in their file: id → position."""
    db.executemany("UPDATE documents SET number = ? WHERE id = ?", [(n, id_) for id_, n in numbers.items()])
