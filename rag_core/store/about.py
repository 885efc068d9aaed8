"""The counts and sizes of a store."""

from __future__ import annotations

import sqlite3

from rag_core.extract.filetypes import NAMED
from rag_core.store import calibration, outbox, signs, switch
from rag_core.store.embeddings import pending_count, unreadable_count, withheld_count
from rag_core.store.file import Store, active_identity, meta
from rag_core.store.find import waiting_texts
from rag_core.store.sources import all_sources, excluded_files
from rag_core.types import NAME, StoreInfo, Viewer


def info(store: Store, viewer: Viewer) -> StoreInfo:
    """Return facts about a store, with counts of the documents that ``viewer`` may see. For a guest, what
    only the owner may know (such as the size, folders and failures) is 0 or empty."""
    owns, seen = viewer.is_owner, "1" if viewer.is_owner else "NOT private"
    with store.read() as db:
        active = active_identity(db)
        measured = calibration.of_active(db, viewer)
        about = meta(db)
        nearest = signs.recall_of(db, active.id) if active and owns else None
        to, left = switch.under_way(db) if owns else None, outbox.backlog(db)
        read = f"FROM documents WHERE {seen} AND extractor <> {NAMED} AND part = ''"
        states = _counts(db, f"SELECT state, count(*) {read} GROUP BY state")
        indexed = f"{read} AND state = 'indexed'"
        chunks = f"FROM chunks c JOIN documents d ON d.id = c.document_id AND c.anchor_type <> '{NAME}'"
        return StoreInfo(
            name=store.name,
            created_at=store.created_at,
            embedder=about["embedder"],
            identity=str(active.identity) if active else "",
            recall=nearest.share if nearest else 1.0,
            calibrated=measured.passages if measured and owns else 0,
            dimension=active.identity.dimension if active else 0,
            distance_metric=store.metric,
            backend=about["backend"],
            file_count=states.get("indexed", 0),
            chunk_count=db.execute(f"SELECT count(*) {chunks} WHERE {seen}").fetchone()[0],
            pending=waiting_texts(db, viewer),
            unreadable=unreadable_count(db, condition=seen),
            withheld=withheld_count(db) if owns else 0,
            failed=states.get("failed", 0) if owns else 0,
            skipped=states.get("skipped", 0) if owns else 0,
            size_bytes=_size(db) if owns else 0,
            generation=int(about["generation"]),
            sources=tuple(all_sources(db)) if owns else (),
            types=_counts(db, f"SELECT file_type, count(*) {indexed} GROUP BY 1 ORDER BY 2 DESC, 1"),
            excluded=len(excluded_files(db)) if owns else 0,
            address=outbox.address(db) if owns else "",
            unsent=left.queued if owns else 0,
            refused=left.refused if owns else 0,
            switching=" in ".join(filter(None, (to.embedder, to.address))) if to else "",
            to_switch=pending_count(db) if to else 0,
            sends_private=owns and about.get("sends_private") == "1",
            attached=about.get("attached") == "1",
        )


def _size(db: sqlite3.Connection) -> int:
    """Return the committed size of the store's file in bytes."""
    (pages,) = db.execute("PRAGMA page_count").fetchone()
    (page_size,) = db.execute("PRAGMA page_size").fetchone()
    return int(pages * page_size)


def _counts(db: sqlite3.Connection, sql: str) -> dict[str, int]:
    return dict(db.execute(sql).fetchall())
