"""A store about itself: counts and sizes."""

from __future__ import annotations

import sqlite3

from rag_core.store.embeddings import active_identity
from rag_core.store.file import Store, generation
from rag_core.store.find import waiting
from rag_core.store.sources import all_sources
from rag_core.types import StoreInfo, Viewer


def info(store: Store, viewer: Viewer) -> StoreInfo:
    """The store as its own file describes it, counting what ``viewer`` may see."""
    with store.read() as db:
        active = active_identity(db)
        states = _counts(db, "SELECT state, count(*) FROM documents", viewer, "GROUP BY state")
        types = _counts(
            db,
            "SELECT file_type, count(*) FROM documents",
            viewer,
            "AND state = 'indexed' GROUP BY 1 ORDER BY 2 DESC, 1",
        )
        chunks = _counts(
            db, "SELECT '', count(*) FROM chunks c JOIN documents d ON d.id = c.document_id", viewer, ""
        )
        return StoreInfo(
            name=store.name,
            created_at=store.created_at,
            embedder=store.embedder,
            identity=str(active[1]) if active else "",
            dimension=active[1].dimension if active else 0,
            distance_metric=store.metric,
            backend=store.backend,
            file_count=states.get("indexed", 0),
            chunk_count=chunks.get("", 0),
            pending=waiting(db, viewer),
            failed=states.get("failed", 0) if viewer.is_owner else 0,
            skipped=states.get("skipped", 0) if viewer.is_owner else 0,
            size_bytes=store.size_bytes() if viewer.is_owner else 0,
            generation=generation(db),
            sources=tuple(all_sources(db)) if viewer.is_owner else (),
            types=types,
        )


def _counts(db: sqlite3.Connection, select: str, viewer: Viewer, rest: str) -> dict[str, int]:
    condition = "1" if viewer.is_owner else "NOT private"
    return {row[0]: row[1] for row in db.execute(f"{select} WHERE {condition} {rest}")}
