"""A store about itself: counts and sizes."""

from __future__ import annotations

import sqlite3

from rag_core.store import outbox, switch
from rag_core.store.embeddings import pending_count, unreadable_count, withheld_count
from rag_core.store.file import Store, generation
from rag_core.store.find import waiting
from rag_core.store.identities import active_identity
from rag_core.store.sources import all_sources, excluded_files
from rag_core.types import StoreInfo, Viewer


def info(store: Store, viewer: Viewer) -> StoreInfo:
    """The store as its own file describes it, counting what ``viewer`` may see."""
    with store.read() as db:
        active = active_identity(db)
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        to, left = switch.under_way(db), outbox.backlog(db)
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
            embedder=meta["embedder"],
            identity=str(active[1]) if active else "",
            dimension=active[1].dimension if active else 0,
            distance_metric=store.metric,
            backend=meta["backend"],
            file_count=states.get("indexed", 0),
            chunk_count=chunks.get("", 0),
            pending=waiting(db, viewer),
            unreadable=unreadable_count(db, condition=_seen_by(viewer)),
            withheld=withheld_count(db) if viewer.is_owner else 0,
            failed=states.get("failed", 0) if viewer.is_owner else 0,
            skipped=states.get("skipped", 0) if viewer.is_owner else 0,
            size_bytes=_size(db) if viewer.is_owner else 0,
            generation=generation(db),
            sources=tuple(all_sources(db)) if viewer.is_owner else (),
            types=types,
            excluded=len(excluded_files(db)) if viewer.is_owner else 0,
            address=outbox.address(db) if viewer.is_owner else "",
            unsent=left.queued if viewer.is_owner else 0,
            refused=left.refused if viewer.is_owner else 0,
            switching=_said(to) if to and viewer.is_owner else "",
            to_switch=pending_count(db) if to and viewer.is_owner else 0,
            sends_private=viewer.is_owner and meta.get("sends_private") == "1",
            attached=meta.get("attached") == "1",
        )


def _said(to: switch.Switch) -> str:
    return to.embedder + (f" in {to.address}" if to.address else "")


def _size(db: sqlite3.Connection) -> int:
    """The bytes of all that is committed. The files on the disk are larger while the write-ahead log holds
    pages that the store's file has, too."""
    pages, page_size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "page_size")
    )
    return pages * page_size


def _counts(db: sqlite3.Connection, select: str, viewer: Viewer, rest: str) -> dict[str, int]:
    return {row[0]: row[1] for row in db.execute(f"{select} WHERE {_seen_by(viewer)} {rest}")}


def _seen_by(viewer: Viewer) -> str:
    return "1" if viewer.is_owner else "NOT private"
