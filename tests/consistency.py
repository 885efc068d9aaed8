"""What must hold in a store after every commit, and all that a store knows, for comparing two."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from rag_core.library import Library
from rag_core.store import Store
from rag_core.store.documents import embed_hash
from rag_core.types import OWNER

_NEVER = {
    "a chunk has neither vector nor place in the queue": (
        "SELECT c.id FROM chunks c WHERE embed_hash <> ?1 AND NOT EXISTS (SELECT 1 FROM queue q"
        " WHERE q.hash = c.embed_hash) AND NOT EXISTS (SELECT 1 FROM embeddings WHERE hash = c.embed_hash)"
    ),
    "a text waits that no chunk holds": (
        "SELECT id FROM queue q WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = q.hash)"
        " OR q.hash = ?1"
    ),
    "a text waits that has its vector": (
        "SELECT q.id FROM queue q JOIN embeddings e ON e.hash = q.hash WHERE ?1 <> ''"
    ),
    "chunks are not numbered from 0": (
        "SELECT document_id FROM chunks WHERE ?1 <> '' GROUP BY 1"
        " HAVING min(chunk_index) <> 0 OR max(chunk_index) <> count(*) - 1"
        " OR count(DISTINCT chunk_index) <> count(*) OR count(DISTINCT text) <> count(*)"
    ),
    "a key is there twice": "SELECT key FROM chunks WHERE ?1 <> '' GROUP BY key HAVING count(*) > 1",
    "an indexed document has no chunk, or a skipped one has some": (
        "SELECT d.id FROM documents d WHERE ?1 <> '' AND state <> 'failed' AND"
        " (state = 'indexed') <> EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id)"
    ),
    "a chunk has another path or title than its document": (
        "SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id"
        " WHERE ?1 <> '' AND (c.path, c.title) <> (d.display, d.title)"
    ),
    "a link is not resolved, or to a document of another name": (
        "SELECT l.id FROM links l WHERE ?1 <> '' AND"
        " (target_id IS NULL) <> NOT EXISTS (SELECT 1 FROM names n WHERE n.key = l.key AND l.key <> '')"
        " OR target_id IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM names n WHERE n.key = l.key AND n.document_id = target_id)"
    ),
}


def store_of(library: Library, name: str) -> Store:
    """The store behind ``name``, opened for this look only; close it."""
    return Store(library.settings.store_dir / f"{name}.db")


def check_library(library: Library, name: str) -> None:
    """``check`` for a store of ``library``."""
    store = store_of(library, name)
    try:
        check(store)
    finally:
        store.close()


def check(store: Store) -> None:
    """Fail when the store's rows contradict one another."""
    with store.note() as db:
        db.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    with store.read() as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        for fault, sql in _NEVER.items():
            found = [tuple(row) for row in db.execute(sql, (embed_hash(""),))]
            assert not found, f"{fault}: {found[:5]}"
        for row in db.execute('SELECT start, "end", text, prefix, embed_hash FROM chunks'):
            assert row["end"] - row["start"] == len(row["text"])
            embedded = "\n".join(part for part in (row["prefix"], row["text"]) if part)
            assert row["embed_hash"] == embed_hash(embedded)


_ABOUT = "state, reason, file_type, encoding, title, title_from, date, private, metadata, warnings, display"
_CHUNK = (
    "chunk_index, text, heading_path, start_line, end_line, prefix, anchor_type, anchor_ref, split_part,"
    " title, headings, path, tags, title_terms, terms"
)


def contents(library: Library, name: str) -> dict[bytes, dict[str, Any]]:
    """All that a store knows of each file, by path: equal for equal files, however they came to be."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(f"SELECT id, path, {_ABOUT} FROM documents").fetchall()
            return {row["path"]: _document(db, row) for row in rows}
    finally:
        store.close()


def _document(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    def all_of(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(found) for found in db.execute(sql, (row["id"],))]

    return {
        "about": tuple(row)[2:],
        "chunks": all_of(f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? ORDER BY chunk_index"),
        "vectors": all_of(
            "SELECT hash, vector FROM embeddings WHERE hash IN"
            " (SELECT embed_hash FROM chunks WHERE document_id = ?) ORDER BY hash"
        ),
        "tags": all_of("SELECT folded, tag FROM tags WHERE document_id = ? ORDER BY 1"),
        "names": all_of("SELECT key, alias FROM names WHERE document_id = ? ORDER BY 1"),
        "links": all_of(
            "SELECT l.type, l.target, l.key, l.heading, l.label, l.start, t.path FROM links l"
            " LEFT JOIN documents t ON t.id = l.target_id WHERE l.document_id = ? ORDER BY l.start"
        ),
    }


def fresh_contents(library: Library, folder: Path, name: str = "fresh") -> dict[bytes, dict[str, Any]]:
    """What a store says that has never seen ``folder`` before."""
    library.create_store(OWNER, name, "hashing")
    library.add_source(OWNER, name, folder, ("**/*",))
    library.request_index(OWNER, name)
    library.run(OWNER, name)
    found = contents(library, name)
    library.delete_store(OWNER, name)
    return found


def links(library: Library, name: str) -> dict[tuple[str, str], str | None]:
    """(path of the linking note, target as written) → path of the document it leads to."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(
                "SELECT d.display, l.target, t.display FROM links l JOIN documents d ON d.id = l.document_id"
                " LEFT JOIN documents t ON t.id = l.target_id"
            )
            return {(row[0], row[1]): row[2] for row in rows}
    finally:
        store.close()


def keys(library: Library, name: str, path: str) -> list[str]:
    """The keys of a document's chunks in reading order."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(
                "SELECT key FROM chunks c JOIN documents d ON d.id = c.document_id"
                " WHERE d.display = ? ORDER BY chunk_index",
                (path,),
            )
            return [row[0] for row in rows]
    finally:
        store.close()
