"""What must hold in a store after every commit."""

from __future__ import annotations

from rag_core.library import Library
from rag_core.store import Store
from rag_core.store.documents import embed_hash
from tests.stored import store_of

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
