"""One document as it was indexed: its chunks in reading order, and its links."""

from __future__ import annotations

import json
import sqlite3

from rag_core.store import find
from rag_core.types import DocumentLink, DocumentView, Neighbour, Viewer


def document(
    db: sqlite3.Connection, store: str, path: str, viewer: Viewer, key: str = ""
) -> DocumentView | None:
    """The document called ``path``, if ``viewer`` may see it; the chunk called ``key`` is marked."""
    ids = [row[0] for row in db.execute("SELECT id FROM documents WHERE display = ?", (path,))]
    found = next(iter(find.documents(db, store, viewer, ids)), None)
    if found is None:
        return None
    row = db.execute("SELECT warnings FROM documents WHERE id = ?", (found.id,)).fetchone()
    return DocumentView(
        document=found,
        chunks=tuple(_chunks(db, found.id, key)),
        links_out=tuple(_links_out(db, found.id, viewer)),
        links_in=tuple(_links_in(db, found.id, viewer)),
        aliases=tuple(_aliases(db, found.id)),
        warnings=tuple(json.loads(row["warnings"])),
    )


def _chunks(db: sqlite3.Connection, document_id: int, key: str) -> list[Neighbour]:
    rows = db.execute("SELECT * FROM chunks WHERE document_id = ? ORDER BY chunk_index", (document_id,))
    return neighbours(rows.fetchall(), key)


def neighbours(rows: list[sqlite3.Row], key: str) -> list[Neighbour]:
    """Rows of ``chunks`` in reading order as values; the one called ``key`` is the hit."""
    found: list[Neighbour] = []
    end = 0
    for row in rows:
        found.append(
            Neighbour(
                key=row["key"],
                content=row["text"],
                start_line=row["start_line"],
                end_line=row["end_line"],
                heading_path=tuple(json.loads(row["heading_path"])),
                is_hit=row["key"] == key,
                repeats=max(0, min(end, row["end"]) - row["start"]) if found else 0,
            )
        )
        end = row["end"]
    return found


# A link is shown with the other document's name only where the viewer may see that one.
_OTHER = "LEFT JOIN documents o ON o.id = {other} AND (? OR NOT o.private)"


def _links_out(db: sqlite3.Connection, document_id: int, viewer: Viewer) -> list[DocumentLink]:
    rows = db.execute(
        f"""SELECT l.*, o.display, o.title FROM links l {_OTHER.format(other="l.target_id")}
            WHERE l.document_id = ? ORDER BY l.start""",
        (viewer.is_owner, document_id),
    )
    return list(dict.fromkeys(map(_link, rows)))


def _links_in(db: sqlite3.Connection, document_id: int, viewer: Viewer) -> list[DocumentLink]:
    rows = db.execute(
        f"""SELECT l.*, o.display, o.title FROM links l {_OTHER.format(other="l.document_id")}
            WHERE l.target_id = ? AND l.document_id <> l.target_id AND o.id IS NOT NULL
            ORDER BY o.display, l.start""",
        (viewer.is_owner, document_id),
    )
    return list({link.path: link for link in map(_link, rows)}.values())


def _link(row: sqlite3.Row) -> DocumentLink:
    return DocumentLink(
        type=row["type"],
        target=row["target"],
        heading=row["heading"],
        label=row["label"],
        path=row["display"],
        title=row["title"],
    )


def _aliases(db: sqlite3.Connection, document_id: int) -> list[str]:
    """The names a document goes by, but its title and path; as they are compared, in lower case."""
    rows = db.execute("SELECT key FROM names WHERE document_id = ? AND kind = 1 ORDER BY key", (document_id,))
    return [row[0] for row in rows]
