"""Writing documents: everything about one file changes in one transaction.

A passage whose embedded text did not change keeps its row and its key, so an edit touches
only what it changed.
"""

from __future__ import annotations

import difflib
import json
import posixpath
import sqlite3
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Any, Literal

from rag_core.extract.filetypes import date_of_name
from rag_core.store import chunks, privacy
from rag_core.store.checksums import seal
from rag_core.store.file import now
from rag_core.types import Extracted, Link


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as found on disk: where it is, what its stat said, what its bytes hash to."""

    source_id: int
    path: bytes
    display: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    scanned_ns: int
    file_hash: str

    @property
    def folder(self) -> str:
        """All of the path but the name; ``''`` at the root."""
        return posixpath.dirname(self.display)

    @property
    def date(self) -> str:
        """The ISO date in its name, else that of its last change; ``''`` where no calendar has it."""
        return date_of_name(PurePosixPath(self.display)) or _day(self.mtime_ns)


class NameKind(IntEnum):
    """What kind of name a document goes by; a lower one outranks a higher one for links."""

    PATH = 0
    ALIAS = 1
    TITLE = 2


def _day(time_ns: int) -> str:
    try:
        return datetime.fromtimestamp(time_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def name_key(name: str) -> str:
    """A name as links and tags compare it: NFC, no case."""
    return unicodedata.normalize("NFC", name).casefold().strip()


# --- a document that was read -----------------------------------------------------------


def put(
    db: sqlite3.Connection,
    file: FileRecord,
    doc: Extracted,
    rows: chunks.Rows,
    version: int,
) -> chunks.Change:
    """Store a document as read: its row, chunks, words, tags, names, links and queue entries.

    ``rows`` are its chunks, ready before the transaction; ``version`` is the extractor's. Returns how
    many chunks are new and how many were skipped because the document holds the same passage already.
    """
    about = {
        "state": "indexed",
        "reason": "",
        "file_type": doc.file_type,
        "encoding": doc.encoding,
        "title": doc.title,
        "title_from": doc.title_from,
        "date": doc.date or file.date,
        "date_from": "front matter" if doc.date else "file",
        "private": privacy.bits(db, file.source_id, file.path, by_note=doc.private),
        "metadata": json.dumps(doc.metadata, ensure_ascii=False),
        "warnings": json.dumps(doc.warnings, ensure_ascii=False),
        "extractor": version,
    }
    document_id, known_as = _put_row(db, file, about)
    change = chunks.put(db, document_id, rows)
    put_tags(db, document_id, doc.tags)
    _put_names(db, document_id, NameKind.PATH, path_names(file.display, doc.file_type))
    _put_names(db, document_id, NameKind.ALIAS, doc.aliases)
    _put_names(db, document_id, NameKind.TITLE, [doc.title])
    _put_links(db, document_id, doc.links)
    resolve_links(db, document_id, known_as)
    seal(db, document_id)
    return change


_NOTHING_READ = {
    "file_type": "",
    "encoding": "",
    "title": "",
    "title_from": "",
    "date": "",
    "date_from": "",
    "metadata": "{}",
    "warnings": "[]",
}


def put_unread(
    db: sqlite3.Connection, file: FileRecord, state: Literal["failed", "skipped"], reason: str, version: int
) -> None:
    """Record a file that could not be read, and why.

    A *skipped* file holds no text, so what it held before is removed; a *failed* one keeps
    its last good text until it can be read again.
    """
    holds_text = state == "failed"
    by_note = holds_text and privacy.said_by_note(db, file.source_id, file.path)
    about = {
        "state": state,
        "reason": reason,
        "extractor": version,
        "private": privacy.bits(db, file.source_id, file.path, by_note=by_note),
    }
    document_id, known_as = _put_row(db, file, about if holds_text else about | _NOTHING_READ)
    if not holds_text:
        _forget_contents(db, document_id)
        resolve_links(db, document_id, known_as)
    seal(db, document_id)


def _put_row(db: sqlite3.Connection, file: FileRecord, about: dict[str, Any]) -> tuple[int, set[str]]:
    """Insert or update the row; returns its id and the names it was known by."""
    row = {**_place_columns(file), "indexed_at": now(), **about}
    columns = ", ".join(row)
    values = ", ".join(f":{column}" for column in row)
    updates = ", ".join(f"{column} = excluded.{column}" for column in row)
    document_id = db.execute(
        f"INSERT INTO documents ({columns}) VALUES ({values})"
        f" ON CONFLICT (source_id, path) DO UPDATE SET {updates} RETURNING id",
        row,
    ).fetchone()[0]
    return document_id, _names(db, document_id)


def _place_columns(file: FileRecord) -> dict[str, Any]:
    return {
        "source_id": file.source_id,
        "path": file.path,
        "display": file.display,
        "folder": file.folder,
        "file_hash": file.file_hash,
        **_stat_columns(file),
    }


def stored_inode(inode: int) -> int:
    """The number of a file as the store keeps it: SQLite's integers are signed."""
    return inode & 0x7FFF_FFFF_FFFF_FFFF


def _stat_columns(file: FileRecord) -> dict[str, int]:
    return {
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "ctime_ns": file.ctime_ns,
        "inode": stored_inode(file.inode),
        "scanned_ns": file.scanned_ns,
    }


def _update(db: sqlite3.Connection, table: str, row_id: int, row: dict[str, Any]) -> None:
    columns = ", ".join(f"{column} = ?" for column in row)
    db.execute(f"UPDATE {table} SET {columns} WHERE id = ?", (*row.values(), row_id))


def put_tags(db: sqlite3.Connection, document_id: int, tags: Iterable[str]) -> None:
    """Let a document have these tags and no others."""
    db.execute("DELETE FROM tags WHERE document_id = ?", (document_id,))
    rows = tag_rows(tags).items()
    db.executemany("INSERT INTO tags VALUES (?, ?, ?)", [(document_id, folded, tag) for folded, tag in rows])


def tag_rows(tags: Iterable[str]) -> dict[str, str | None]:
    """Each tag as it is compared → as written; None for the parents of a nested one."""
    rows: dict[str, str | None] = {}
    for tag in tags:
        parts = name_key(tag).split("/")
        for depth in range(1, len(parts)):
            rows.setdefault("/".join(parts[:depth]), None)
        rows[name_key(tag)] = tag
    return rows


# --- names and links --------------------------------------------------------------------


def _put_names(db: sqlite3.Connection, document_id: int, kind: NameKind, names: Iterable[str]) -> None:
    db.execute("DELETE FROM names WHERE document_id = ? AND kind = ?", (document_id, kind))
    keys = dict.fromkeys(name_key(name) for name in names)
    db.executemany("INSERT INTO names VALUES (?, ?, ?)", [(document_id, key, kind) for key in keys if key])


def path_names(display: str, file_type: str) -> list[str]:
    """Every tail of the path; for notes also without the suffix, as wikilinks write them."""
    parts = display.split("/")
    tails = ["/".join(parts[i:]) for i in range(len(parts))]
    if file_type == "markdown":
        tails += [posixpath.splitext(tail)[0] for tail in tails]
    return tails


def _names(db: sqlite3.Connection, document_id: int) -> set[str]:
    return {row[0] for row in db.execute("SELECT key FROM names WHERE document_id = ?", (document_id,))}


def _put_links(db: sqlite3.Connection, document_id: int, links: Iterable[Link]) -> None:
    folder = db.execute("SELECT folder FROM documents WHERE id = ?", (document_id,)).fetchone()[0]
    db.execute("DELETE FROM links WHERE document_id = ?", (document_id,))
    db.executemany(
        "INSERT INTO links (document_id, type, target, key, heading, label, start)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (document_id, x.type, x.target, link_key(folder, x.target), x.heading, x.label, x.start)
            for x in links
        ],
    )


def _put_link_keys(db: sqlite3.Connection, document_id: int, folder: str) -> None:
    """Follow a document to another folder, where its relative links start."""
    found = db.execute("SELECT id, target FROM links WHERE document_id = ?", (document_id,)).fetchall()
    keys = [(link_key(folder, row["target"]), row["id"]) for row in found]
    db.executemany("UPDATE links SET key = ? WHERE id = ?", keys)


def link_key(folder: str, target: str) -> str:
    """What the target of a link in a note of ``folder`` is called among the names."""
    if target.startswith(("./", "../")):
        target = posixpath.normpath(posixpath.join(folder, target))
    return name_key(target.strip("/"))


def best_target(condition: str = "1") -> str:
    """SQL for the document that a row of ``links`` should lead to, among those ``d`` that fit."""
    return f"""SELECT n.document_id FROM names n JOIN documents d ON d.id = n.document_id
        JOIN documents here ON here.id = links.document_id
        WHERE n.key = links.key AND links.key <> '' AND n.kind <> 2 AND {condition}
        ORDER BY n.kind, d.folder <> here.folder, length(d.display), d.display, d.path LIMIT 1"""


BEST_TARGET = best_target()


def resolve_links(db: sqlite3.Connection, document_id: int, known_as: Iterable[str] = ()) -> None:
    """Point the links of a document, and those that may mean it, at the best match.

    A path outranks an alias, the linking note's own folder outranks others, then the
    shortest path wins, as in Obsidian. ``known_as`` are names it had before.
    """
    keys = [*_names(db, document_id).union(known_as)]
    db.execute(
        f"""UPDATE links SET target_id = ({BEST_TARGET})
            WHERE key <> '' AND (document_id = ? OR key IN (SELECT value FROM json_each(?)))""",
        (document_id, json.dumps(keys)),
    )


def ids(db: sqlite3.Connection, display: str) -> list[int]:
    """The documents that are shown as ``display``: one, unless two paths look the same."""
    rows = db.execute("SELECT id FROM documents WHERE display = ?", (storable(display),))
    return [row[0] for row in rows]


def places(db: sqlite3.Connection, display: str) -> list[tuple[int, bytes]]:
    """(source id, path below its root) of the documents that are shown as ``display``."""
    rows = db.execute("SELECT source_id, path FROM documents WHERE display = ?", (storable(display),))
    return [(row["source_id"], row["path"]) for row in rows]


def storable(text: str) -> str:
    """``text`` without halves of characters: no database takes them, and no path or key holds one."""
    return text.encode("utf-8", "replace").decode("utf-8")


def called(db: sqlite3.Connection, name: str, limit: int) -> list[str]:
    """The paths of at most ``limit`` documents called ``name``: a tail of the path, an alias, the title."""
    rows = db.execute(
        "SELECT DISTINCT d.display FROM names n JOIN documents d ON d.id = n.document_id WHERE n.key = ?"
        " ORDER BY n.kind, length(d.display), d.display LIMIT ?",
        (name_key(storable(name)), limit),
    )
    return [row[0] for row in rows]


_MOST_COMPARED, _LONGEST_COMPARED, _ALIKE = 2000, 500, 0.8


def like(db: sqlite3.Connection, path: str) -> list[str]:
    """The path that is spelled most like ``path``, if there is one, else that of the name most like it."""
    paths = [row[0] for row in db.execute("SELECT display FROM documents LIMIT ?", (_MOST_COMPARED,))]
    names = {posixpath.basename(each): each for each in reversed(paths)}
    asked = path[-_LONGEST_COMPARED:]
    near = difflib.get_close_matches(asked, paths, n=1, cutoff=_ALIKE)
    name = difflib.get_close_matches(posixpath.basename(asked), names, n=1, cutoff=_ALIKE)
    return near or [names[each] for each in name]


# --- moving and forgetting --------------------------------------------------------------


def move(db: sqlite3.Connection, document_id: int, file: FileRecord, title: str | None) -> None:
    """Give a document a new path; its chunks, keys and embeddings stay.

    ``title`` is the new title of a document that is named after its file, else None.
    """
    row = db.execute(
        "SELECT file_type, title, private FROM documents WHERE id = ?", (document_id,)
    ).fetchone()
    known_as = _names(db, document_id)
    new_title = row["title"] if title is None else title
    by_note = bool(row["private"] & privacy.BY_NOTE)
    private = privacy.bits(db, file.source_id, file.path, by_note=by_note)
    _update(db, "documents", document_id, {**_place_columns(file), "title": new_title, "private": private})
    _put_date(db, document_id, file)
    tags = db.execute("SELECT tags FROM chunks WHERE document_id = ? LIMIT 1", (document_id,)).fetchone()
    db.execute(
        "UPDATE chunks SET path = ?, title = ?, title_terms = ? WHERE document_id = ?",
        (
            file.display,
            new_title,
            chunks.title_terms(new_title, tags[0] if tags else "", file.display),
            document_id,
        ),
    )
    _put_names(db, document_id, NameKind.PATH, path_names(file.display, row["file_type"]))
    _put_names(db, document_id, NameKind.TITLE, [new_title])
    _put_link_keys(db, document_id, file.folder)
    resolve_links(db, document_id, known_as)
    seal(db, document_id)


def touch(db: sqlite3.Connection, document_id: int, file: FileRecord) -> None:
    """Note a new stat of a file whose bytes did not change."""
    _update(db, "documents", document_id, _stat_columns(file))
    _put_date(db, document_id, file)
    seal(db, document_id)


def _put_date(db: sqlite3.Connection, document_id: int, file: FileRecord) -> None:
    db.execute("UPDATE documents SET date = ? WHERE id = ? AND date_from = 'file'", (file.date, document_id))


def remove(db: sqlite3.Connection, document_id: int) -> None:
    """Forget a document and everything that hangs on it."""
    known_as = _names(db, document_id)
    _forget_contents(db, document_id)
    db.execute("DELETE FROM documents WHERE id = ?", (document_id,))
    resolve_links(db, document_id, known_as)


def _forget_contents(db: sqlite3.Connection, document_id: int) -> None:
    hashes = [r[0] for r in db.execute("SELECT embed_hash FROM chunks WHERE document_id = ?", (document_id,))]
    for table in ("chunks", "tags", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
    chunks.drop_from_queue(db, hashes)


# --- passages taken out by hand ---------------------------------------------------------

TAKEN_OUT = "Passages of it were taken out by hand. They are back when the file changes or is read again."
ALL_TAKEN_OUT = (
    "All its passages were taken out by hand. They are back when the file changes or is read again."
)


def take_out_chunks(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Remove chunks from their documents, which say so until their files are read again."""
    for document_id in chunks.take_out(db, ids):
        _say_taken_out(db, document_id)
        seal(db, document_id)


def _say_taken_out(db: sqlite3.Connection, document_id: int) -> None:
    row = db.execute(
        "SELECT warnings, EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id) AS has_text"
        " FROM documents d WHERE id = ? AND state = 'indexed'",
        (document_id,),
    ).fetchone()
    if row is None:  # the text of a failed file is its last good one; its row says why
        return
    if row["has_text"]:
        said = json.loads(row["warnings"])
        warnings = said if TAKEN_OUT in said else [*said, TAKEN_OUT]
        _update(db, "documents", document_id, {"warnings": json.dumps(warnings, ensure_ascii=False)})
        return
    known_as = _names(db, document_id)
    _update(db, "documents", document_id, {**_NOTHING_READ, "state": "skipped", "reason": ALL_TAKEN_OUT})
    _forget_contents(db, document_id)
    resolve_links(db, document_id, known_as)
