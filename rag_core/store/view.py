"""Reads one document as it was indexed: its chunks in reading order, and its links."""

from __future__ import annotations

import json
import sqlite3
from pathlib import PurePosixPath

from rag_core.anchors import anchor_in_words
from rag_core.extract import frontmatter
from rag_core.extract.filetypes import date_of_name
from rag_core.store import find, listing
from rag_core.store.documents import best_target, ids
from rag_core.text.words import well_formed
from rag_core.types import NAME, Document, DocumentLink, DocumentView, FilePart, Neighbour, Viewer

_MOST_PARTS = 200  # maximum number of listed parts of a file


def days(db: sqlite3.Connection, viewer: Viewer) -> tuple[str, str] | None:
    """Return the first and last date of documents that ``viewer`` may see, or None if no document has a
    date."""
    allowed = find.visible(viewer)
    sql = f"""SELECT min(d.date), max(d.date) FROM documents d
              WHERE d.state = 'indexed' AND d.date <> '' AND {allowed.sql}"""
    first, last = db.execute(sql, allowed.values).fetchone()
    return (first, last) if first else None


def document(
    db: sqlite3.Connection, store: str, path: str, viewer: Viewer, key: str = ""
) -> DocumentView | None:
    """Return the document shown as ``path``, or None if ``viewer`` may see no such document. The chunk with
    the key ``key`` is marked; '' marks none.

    Several documents may be shown as ``path``, such as the messages of a mailbox. Then the one with the chunk
    is returned.
    """
    meant = _meant(db, store, path, viewer, key)
    if meant is None:
        return None
    row = db.execute("SELECT metadata, warnings FROM documents WHERE id = ?", (meant.id,)).fetchone()
    metadata = json.loads(row["metadata"])
    sql = """SELECT *, ? AS file_type FROM chunks WHERE document_id = ? AND anchor_type <> ?
             ORDER BY chunk_index"""
    rows = db.execute(sql, (meant.file_type, meant.id, NAME))
    links_out, links_in = _links(db, meant.id, viewer)
    newer, older = _beside(db, meant, viewer)
    return DocumentView(
        document=meant,
        chunks=tuple(neighbours(rows.fetchall(), key)),
        links_out=links_out,
        links_in=links_in,
        aliases=frontmatter.aliases_in(metadata),
        warnings=tuple(json.loads(row["warnings"])),
        is_dated=meant.date_from != "file" or meant.date == date_of_name(PurePosixPath(meant.path)),
        properties=frontmatter.properties(metadata),
        parts=_held(db, meant, viewer),
        newer=newer,
        older=older,
    )


def _meant(db: sqlite3.Connection, store: str, path: str, viewer: Viewer, key: str) -> Document | None:
    sql = """SELECT d.id FROM chunks c JOIN documents d ON d.id = c.document_id
             WHERE c.key = ? AND ? IN (d.display, d.display || '#' || d.part)"""
    holder = db.execute(sql, (well_formed(key), well_formed(path))).fetchone()
    named = listing.documents(db, store, viewer, [holder[0]]) if holder else []
    return next(iter(named or listing.documents(db, store, viewer, ids(db, path))), None)


_PART = "SELECT d.display || '#' || d.part, d.title, d.date FROM documents d"
_NEWEST_FIRST = "ORDER BY d.mtime_ns DESC, d.number DESC"


def _held(db: sqlite3.Connection, file: Document, viewer: Viewer) -> tuple[FilePart, ...]:
    """Return the newest documents that a file holds."""
    if not file.part_count:
        return ()
    sql = f"{_PART} WHERE d.container = ? AND {find.visible(viewer).sql} {_NEWEST_FIRST} LIMIT {_MOST_PARTS}"
    return tuple(FilePart(*row) for row in db.execute(sql, (file.id,)))


def _beside(
    db: sqlite3.Connection, document: Document, viewer: Viewer
) -> tuple[FilePart | None, FilePart | None]:
    """Return the next newer and the next older part in the file of a document. Either is None if there is
    none."""
    if not document.part:
        return None, None
    of_file = f"{_PART} JOIN documents here ON here.id = ? AND here.container = d.container"
    later = "(d.mtime_ns, d.number) {} (here.mtime_ns, here.number)"
    nearest: list[FilePart | None] = []
    for sign, order in ((">", ""), ("<", "DESC")):
        sql = f"""{of_file} WHERE {later.format(sign)} AND {find.visible(viewer).sql}
                  ORDER BY d.mtime_ns {order}, d.number {order} LIMIT 1"""
        row = db.execute(sql, (document.id,)).fetchone()
        nearest.append(FilePart(*row) if row else None)
    return nearest[0], nearest[1]


_AS_STORED = ("key", "start", "start_line", "end_line", "split_part")


def neighbours(rows: list[sqlite3.Row], key: str) -> list[Neighbour]:
    """Convert rows of ``chunks`` in reading order; the one with the key ``key`` is marked as the hit."""
    passages: list[Neighbour] = []
    end = 0
    hit = next((row for row in rows if row["key"] == key), None)
    for row in rows:
        headings, line = find.headings(row, row["file_type"])
        chunk = Neighbour(
            **{name: row[name] for name in _AS_STORED},
            content=row["text"],
            heading_path=headings,
            headings=line,
            anchor=anchor_in_words(row["file_type"], row["anchor_type"], row["anchor_ref"]),
            is_hit=row["key"] == key,
            repeats=max(0, min(end, row["end"]) - row["start"]) if passages else 0,
            shown=_shown(row, end if passages else row["start"], hit),
        )
        passages.append(chunk)
        end = max(end, row["end"])
    return passages


def _shown(row: sqlite3.Row, read: int, hit: sqlite3.Row | None) -> tuple[int, int]:
    """Return the start and end of the part of a chunk to show, if the text up to ``read`` is shown already.

    The hit is shown whole. Other chunks are shown without their overlap with the hit and with earlier chunks.
    """
    start, end = row["start"], row["end"]
    if hit is not None and row["key"] == hit["key"]:
        return 0, end - start
    first = min(max(start, read), end)
    last = min(end, hit["start"]) if hit is not None and start < hit["start"] else end
    return first - start, max(first, last) - start


_LINK = "links.type, links.target, links.heading, links.label, o.display, o.title"


def _links(
    db: sqlite3.Connection, document_id: int, viewer: Viewer
) -> tuple[tuple[DocumentLink, ...], tuple[DocumentLink, ...]]:
    """Return the links out of a document, then the links to it, one for each linking document."""
    # For a guest, links are resolved as if no private documents existed: a broken link to the name of a
    # visible document would reveal a private one.
    target = "links.target_id" if viewer.is_owner else f"({best_target('NOT d.private')})"
    values = {"id": document_id, "all": viewer.is_owner}
    sql = f"""SELECT {_LINK} FROM links LEFT JOIN documents o ON o.id = {target}
              WHERE links.document_id = :id AND links.key <> '' AND o.id IS NOT :id ORDER BY links.start"""
    rows_out = db.execute(sql, values)
    sql = f"""SELECT {_LINK} FROM links JOIN documents o ON o.id = links.document_id
              WHERE links.key IN (SELECT key FROM names WHERE document_id = :id) AND {target} = :id
              AND o.id <> :id AND (:all OR NOT o.private) ORDER BY o.display, links.start"""
    rows_in = db.execute(sql, values)
    links_in = {row["display"]: DocumentLink(*row) for row in rows_in}
    return tuple(dict.fromkeys(DocumentLink(*row) for row in rows_out)), tuple(links_in.values())


def aliases(db: sqlite3.Connection, document_id: int) -> tuple[str, ...]:
    """Return the aliases of a document."""
    row = db.execute("SELECT metadata FROM documents WHERE id = ?", (document_id,)).fetchone()
    return frontmatter.aliases_in(json.loads(row[0]))
