"""CRC32 checksums that reveal damaged bytes. Each vector has one. Each document has one for itself and its
passages, tags, names and links.

If the columns here change, a migration must compute the checksums of all documents again.
"""

from __future__ import annotations

import sqlite3
import zlib

_OF_DOCUMENT = (
    "SELECT source_id, path, display, folder, file_hash, state, reason, file_type, encoding, title,"
    " title_from, date, date_from, private & 1, metadata, warnings FROM documents WHERE id = ?",
    'SELECT key, chunk_index, start, "end", start_line, end_line, heading_path, anchor_type, anchor_ref,'
    " split_part, prefix, embed_hash, title, headings, path, tags, text, title_terms, terms FROM chunks"
    " WHERE document_id = ? ORDER BY chunk_index, id",
    "SELECT folded, tag FROM tags WHERE document_id = ? ORDER BY folded",
    "SELECT kind, key FROM names WHERE document_id = ? ORDER BY key, kind",
    "SELECT type, target, key, heading, label, start FROM links WHERE document_id = ? ORDER BY id",
)
_OF_PART = ("SELECT part FROM documents WHERE id = ? AND part <> ''",)


def vector_crc(text_hash: bytes, vector: bytes) -> int:
    """Return the CRC32 of a stored vector and the hash of its text."""
    return zlib.crc32(vector, zlib.crc32(text_hash))


def document_crc(db: sqlite3.Connection, document_id: int, of_part: tuple[str, ...] = _OF_PART) -> int:
    """Return the CRC32 of all data about a document that answers may show. ``of_part`` are SELECTs on
    documents inside files; () for a schema that has none."""
    crc = 0
    for sql in (*_OF_DOCUMENT, *of_part):
        for row in db.execute(sql, (document_id,)):
            crc = zlib.crc32(repr(tuple(row)).encode("utf-8", "surrogatepass"), crc)
    return crc


def seal(db: sqlite3.Connection, document_id: int) -> None:
    """Store the checksum of a document. Call this at the end of each transaction that changes the
    document."""
    db.execute("UPDATE documents SET crc32 = ? WHERE id = ?", (document_crc(db, document_id), document_id))


def seal_file(db: sqlite3.Connection, document_id: int) -> None:
    """Store the checksum of a document, in a store with the old schema in which every document is a whole
    file."""
    crc = document_crc(db, document_id, of_part=())
    db.execute("UPDATE documents SET crc32 = ? WHERE id = ?", (crc, document_id))
