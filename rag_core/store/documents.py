"""Writes documents. All data about one file changes in one transaction."""

from __future__ import annotations

import difflib
import json
import posixpath
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, Literal

from rag_core.extract import frontmatter, note_names
from rag_core.extract.filetypes import (
    NAMED,
    TYPE_BY_NAME,
    UNFINISHED,
    date_of_name,
    title_of_name,
    type_of_suffix,
)
from rag_core.files import FileStat
from rag_core.store import chunks, furniture, parts, privacy, properties
from rag_core.store.checksums import seal
from rag_core.store.connection import kept
from rag_core.store.file import now
from rag_core.store.warnings import warnings_of
from rag_core.text.words import extra_terms, name_key, well_formed
from rag_core.types import NAME, Extracted, Link, Passage

_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file on disk, or a document inside a file (a part), such as a message of a mailbox."""

    source_id: int
    display: str  #: The path that is shown to people.
    stat: FileStat
    scanned_ns: int = 0  #: The time of the scan, in nanoseconds.
    file_hash: str = ""  #: The sha256 of the content; '' if it was not read.
    part: str = ""  #: The name of the part within the file; '' for the file itself.
    number: int = 0  #: The position of the part in the file, from 1.
    container: int | None = None  #: The row id of the file that holds the part.

    def columns(self) -> dict[str, Any]:
        """Return the values for the columns of ``documents`` that describe the file."""
        place = {"display": self.display, "folder": posixpath.dirname(self.display), **self.stat._asdict()}
        return {
            "source_id": self.source_id,
            "file_hash": self.file_hash,
            "scanned_ns": self.scanned_ns,
            "part": self.part,
            "number": self.number,
            "container": self.container,
        } | place

    @property
    def date(self) -> str:
        """The ISO date in the file's name, else the date of its last change; '' if that date is invalid."""
        if day := date_of_name(PurePosixPath(self.display)):
            return day
        try:
            return datetime.fromtimestamp(self.stat.mtime_ns / 1e9, UTC).date().isoformat()
        except (OverflowError, ValueError, OSError):
            return ""


_PATH, _ALIAS, _TITLE = range(3)
"""The kinds of names: the end of a path, an alias, a title or id. Links prefer a path to an alias, and never
lead to a title."""


def put_document(
    db: sqlite3.Connection, file: FileRecord, doc: Extracted, rows: chunks.Rows, extractor: int
) -> int:
    """Store a document that was read: its row, chunks, words, tags, names, links and queue entries. Returns
    the number of new chunks. ``extractor`` is the version of the extractor that read the file."""
    about = {
        "state": "indexed",
        "reason": doc.waits if doc.pictures_left else "",
        "pictures_left": doc.pictures_left,
        "file_type": doc.file_type,
        "encoding": doc.encoding,
        "title": doc.title,
        "title_from": doc.title_from,
        "date": doc.date or file.date,
        "date_from": "front matter" if doc.date else "file",
        "private": privacy.bits(db, file.source_id, file.stat.path, by_note=doc.private),
        "metadata": json.dumps(doc.metadata, ensure_ascii=False),
        "warnings": json.dumps(warnings_of(doc), ensure_ascii=False),
        "extractor": extractor,
    }
    document_id, known_as = _put_row(db, file, about)
    added = chunks.put_chunks(db, document_id, rows)
    furniture.put_shapes(db, document_id, rows.shapes)
    for table in ("tags", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
    _put_tags(db, document_id, doc.tags)
    properties.put_properties(
        db, document_id, properties.property_rows(doc.metadata, doc.file_type, doc.title)
    )
    ids = frontmatter.ids_in(doc.metadata)
    aliases = (*doc.aliases, *ids) if doc.file_type == "org" else doc.aliases  # Org links use ids
    path = "" if file.part else file.display
    _put_names(db, document_id, path, doc.file_type, (doc.title, *ids), aliases)
    _put_links(db, document_id, file.display, doc.links)
    resolve_links(db, document_id, known_as)
    seal(db, document_id)
    return added


def _put_links(db: sqlite3.Connection, document_id: int, display: str, links: Sequence[Link]) -> None:
    """Store the links of a document whose shown path is ``display``."""
    columns = "document_id, type, target, key, heading, label, start"
    for link in links:
        key = link_key(display, link.target)
        values = (document_id, link.type, link.target, key, link.heading, link.label, link.start)
        db.execute(f"INSERT INTO links ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def _put_tags(db: sqlite3.Connection, document_id: int, tags: Sequence[str]) -> None:
    """Store the tags of a document. Parents of nested tags are added without a spelling."""
    spelled: dict[str, str | None] = {}
    for tag in tags:
        key = name_key(tag)
        for end, letter in enumerate(key):
            if letter == "/":
                spelled.setdefault(key[:end], None)
        spelled[key] = tag
    db.executemany(f"INSERT INTO tags VALUES ({document_id:d}, ?, ?)", spelled.items())


def put_name(db: sqlite3.Connection, file: FileRecord) -> None:
    """Store a new file by name only, so that the owner can find the file before it is read."""
    _put_name(db, file, {"state": "indexed", "extractor": NAMED})


def forget_named(db: sqlite3.Connection, source_id: int) -> None:
    """Remove the documents of a source that are stored by name only."""
    sql = "SELECT id FROM documents WHERE source_id = ? AND extractor = ?"
    for row in db.execute(sql, (source_id, NAMED)).fetchall():
        remove_document(db, row["id"])


def _put_name(db: sqlite3.Connection, file: FileRecord, about: dict[str, Any]) -> None:
    """Store a document by name only, with one empty passage. Only the owner finds the document, because it
    may turn out to be private."""
    path = PurePosixPath(file.display)
    kind = type_of_suffix(path.suffix.lower()) or TYPE_BY_NAME.get(path.name.lower(), "")
    title = title_of_name(path)
    row = {
        "file_type": kind,
        "title": title,
        "title_from": "file name",
        "date": file.date,
        "date_from": "file",
        "private": privacy.bits(db, file.source_id, file.stat.path, by_note=False) | privacy.UNREAD,
        "pictures_left": 0,
    }
    document_id, known_as = _put_row(db, file, {**_NOTHING_READ, **row, **about})
    _forget_contents(db, document_id)
    name = Passage("", 0, 0, 1, 1, (), NAME, "")
    unread = Extracted("", kind, "", title, "file name", ())
    chunks.put_chunks(db, document_id, chunks.chunk_rows(file.display, unread, [name]))
    _put_names(db, document_id, "" if file.part else file.display, kind, (title,), ())
    resolve_links(db, document_id, known_as)
    seal(db, document_id)


_NOTHING_READ = dict.fromkeys(("file_type", "encoding", "title", "title_from", "date", "date_from"), "")
_NOTHING_READ |= {"metadata": "{}", "warnings": "[]"}


def put_unread(
    db: sqlite3.Connection, file: FileRecord, state: Literal["failed", "skipped"], reason: str, extractor: int
) -> None:
    """Record a file that could not be read by version ``extractor`` of the readers. Of a *failed* file the
    last readable version stays searchable. A *skipped* one, or one never read, is found by name only."""
    about = {"state": state, "reason": reason, "extractor": extractor}
    sql = """SELECT private FROM documents d WHERE source_id = ? AND path = ? AND part = ? AND EXISTS
             (SELECT 1 FROM chunks WHERE document_id = d.id AND anchor_type <> ?)"""
    readable = db.execute(sql, (file.source_id, file.stat.path, file.part, NAME)).fetchone()
    if state == "skipped" or readable is None:
        if not file.part:
            remove_parts(db, file)
        _put_name(db, file, about)
        return
    by_note = bool(readable["private"] & privacy.BY_NOTE)
    about["private"] = privacy.bits(db, file.source_id, file.stat.path, by_note=by_note)
    document_id, _ = _put_row(db, file, about)
    seal(db, document_id)


def _put_row(db: sqlite3.Connection, file: FileRecord, about: dict[str, Any]) -> tuple[int, str]:
    """Insert or update the row of a document. Returns its id, and its stored names as a JSON list."""
    row = {**file.columns(), "indexed_at": now(), **about}
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    sql = f"""INSERT INTO documents ({columns}) VALUES ({marks}) ON CONFLICT (source_id, path, part) DO UPDATE
              SET ({columns}) = (excluded.{columns.replace(", ", ", excluded.")}) RETURNING id"""
    document_id = db.execute(sql, (*row.values(),)).fetchone()[0]
    return document_id, _names(db, document_id)


def _update(
    db: sqlite3.Connection, document_id: int, row: dict[str, Any], date_of_file: str | None = None
) -> None:
    """Update columns of a document. Its date becomes ``date_of_file`` if the date is taken from the file."""
    columns = ", ".join([f"{column} = ?" for column in row])
    db.execute(f"UPDATE documents SET {columns} WHERE id = ?", (*row.values(), document_id))
    if date_of_file is not None:
        sql = "UPDATE documents SET date = ? WHERE id = ? AND date_from = 'file'"
        db.execute(sql, (date_of_file, document_id))


def _put_names(
    db: sqlite3.Connection,
    document_id: int,
    path: str,
    file_type: str,
    titles: Sequence[str],
    aliases: Sequence[str],
) -> None:
    """Store the names of a document: its titles, its aliases and every end of its path, which for notes is
    also stored without the suffix. ``path`` is '' for a part of a file."""
    names: set[tuple[str, int]] = set()
    for kind, called in ((_TITLE, titles), (_ALIAS, aliases)):
        for name in called:
            names.add((name_key(name), kind))
    folders = path.split("/")
    for start in range(len(folders)):
        tail = "/".join(folders[start:])
        names.add((name_key(tail), _PATH))
        if file_type == "markdown":
            stem = posixpath.splitext(tail)[0]
            names |= {(name_key(stem), _PATH), (name_key(note_names.as_page(stem)), _PATH)}
    names -= {("", _TITLE), ("", _ALIAS), ("", _PATH)}
    db.executemany(f"INSERT INTO names VALUES ({document_id:d}, ?, ?)", names)


def _names(db: sqlite3.Connection, document_id: int) -> str:
    """Return the keys in the table ``names`` by which links find a document, as a JSON list."""
    sql = "SELECT json_group_array(key) FROM names WHERE document_id = ?"
    return str(db.execute(sql, (document_id,)).fetchone()[0])


def link_key(path: str, target: str) -> str:
    """Return a link's target as a key of the table ``names``; '' for the note itself, whose path is
    ``path``."""
    if target.startswith(("./", "../")):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return name_key(target.strip("/"))


def best_target(condition: str = "1") -> str:
    """Return SQL for the id of the document that a row of ``links`` leads to. ``condition`` is SQL that
    limits the documents ``d``."""
    return f"""SELECT n.document_id FROM names n JOIN documents d ON d.id = n.document_id
        JOIN documents here ON here.id = links.document_id
        WHERE n.key = links.key AND links.key <> '' AND n.kind <> 2 AND {condition}
        ORDER BY n.kind, d.folder <> here.folder, length(d.display), d.display, d.path LIMIT 1"""


BEST_TARGET = best_target()


def resolve_links(db: sqlite3.Connection, document_id: int, known_as: str) -> None:
    """Set the targets of a document's own links, and of all links that may lead to the document.

    If several documents fit a link, these come first, as in Obsidian: those found by path, not by alias; then
    those in the linking note's folder; then those with the shortest path. ``known_as`` is a JSON list of the
    document's previous names.
    """
    sql = f"""UPDATE links SET target_id = ({BEST_TARGET}) WHERE key <> '' AND (document_id = :id OR key IN (
                  SELECT key FROM names WHERE document_id = :id UNION SELECT value FROM json_each(:names)
              ))"""
    db.execute(sql, {"id": document_id, "names": known_as})


def hashes(db: sqlite3.Connection) -> set[str]:
    """Return the sha256 of every file that was read, and '' if there are files that were not read."""
    return {row[0] for row in db.execute("SELECT file_hash FROM documents")}


def ids(db: sqlite3.Connection, display: str) -> list[int]:
    """Return the ids of the documents shown as ``display``: a path, or ``path#name`` for a document inside a
    file, such as a message of a mailbox. Several if different paths are shown alike."""
    shown = well_formed(display)
    rows = db.execute("SELECT id FROM documents WHERE display = ? AND part = ''", (shown,)).fetchall()
    path, mark, part = shown.partition("#")
    while mark and not rows:
        sql = "SELECT id FROM documents WHERE display = ? AND part = ?"
        rows = db.execute(sql, (path, part)).fetchall()
        tail, mark, part = part.partition("#")
        path = f"{path}#{tail}"
    return [row[0] for row in rows]


def is_part(db: sqlite3.Connection, display: str) -> bool:
    """Whether ``display`` names a document inside a file, such as a message of a mailbox. False for a whole
    file, and if there is no such document."""
    sql = "SELECT part <> '' FROM documents WHERE id = ?"
    return any(db.execute(sql, (number,)).fetchone()[0] for number in ids(db, display))


def places(db: sqlite3.Connection, display: str) -> list[tuple[int, bytes]]:
    """Return (source id, path in the source) of the file of each document shown as ``display``, or []."""
    sql = "SELECT source_id, path FROM documents WHERE id = ?"
    return [tuple(db.execute(sql, (number,)).fetchone()) for number in ids(db, display)]


def paths_below(db: sqlite3.Connection, source_id: int, path: bytes) -> set[bytes]:
    """Return the paths of a source's documents that are the file ``path``, or below the folder ``path``."""
    sql = "SELECT path FROM documents WHERE source_id = ? AND (path = ? OR path > ? AND path < ?)"
    return {row[0] for row in db.execute(sql, (source_id, path, path + b"/", path + b"0"))}  # "0" follows "/"


def called(db: sqlite3.Connection, name: str, limit: int) -> list[str]:
    """Return the paths of at most ``limit`` documents with the path ending, alias, title or id ``name``."""
    sql = """SELECT DISTINCT d.display FROM names n JOIN documents d ON d.id = n.document_id WHERE n.key = ?
             ORDER BY n.kind, length(d.display), d.display LIMIT ?"""
    return [row[0] for row in db.execute(sql, (name_key(well_formed(name)), limit))]


def failed(db: sqlite3.Connection, words: str, limit: int, *, whole: bool) -> list[tuple[str, str]]:
    """Return (path, reason) of at most ``limit`` documents that could not be read. With ``whole``, their file
    name consists of exactly these ``words``, with or without suffix. Otherwise their path contains all
    ``words``."""
    wanted, matching = set(_WORDS.findall(name_key(words))), []
    for path, reason in kept(db, _failed) if wanted else ():
        name = PurePosixPath(name_key(path))
        named = [set(_WORDS.findall(text)) for text in (name.name, name.stem)]
        if wanted in named if whole else wanted <= set(_WORDS.findall(str(name))):
            matching.append((path, reason))
    return matching[:limit]


def _failed(db: sqlite3.Connection) -> list[sqlite3.Row]:
    return db.execute(
        "SELECT DISTINCT display, reason FROM documents WHERE state = 'failed' ORDER BY display"
    ).fetchall()


def ending(db: sqlite3.Connection, source_id: int, path: bytes, limit: int) -> list[bytes]:
    """Return at most ``limit`` paths in subfolders of a source that end with the name or path ``path``,
    shortest first. Files that were not read are included."""
    sql = """SELECT path FROM documents WHERE source_id = ? AND part = '' AND substr(path, -length(?)) = ?
             ORDER BY length(path), path LIMIT ?"""
    tail = b"/" + path
    return [row[0] for row in db.execute(sql, (source_id, tail, tail, limit))]


_MOST_COMPARED, _LONGEST_COMPARED, _ALIKE = 2000, 500, 0.8


def like(db: sqlite3.Connection, path: str) -> list[str]:
    """Return a list with the path most similar to ``path``, or else the path with the most similar file name.
    It is empty if nothing is similar."""
    sql = "SELECT display FROM documents WHERE part = '' LIMIT ?"
    paths = [row[0] for row in db.execute(sql, (_MOST_COMPARED,))]
    names = {posixpath.basename(listed): listed for listed in reversed(paths)}
    asked = path[-_LONGEST_COMPARED:]
    near = difflib.get_close_matches(asked, paths, n=1, cutoff=_ALIKE)
    name = difflib.get_close_matches(posixpath.basename(asked), names, n=1, cutoff=_ALIKE)
    return near or [names[file_name] for file_name in name]


def move(db: sqlite3.Connection, document_id: int, file: FileRecord, title: str | None) -> None:
    """Give a document, and the documents inside it, the path of ``file``. The document is called ``title``
    from now on; None keeps its title. Documents inside that are titled by the file name get the new name.
    Chunks stay."""
    sql = "SELECT id FROM documents WHERE source_id = ? AND path = ? AND part = '' AND id <> ?"
    for row in db.execute(sql, (file.source_id, file.stat.path, document_id)).fetchall():
        remove_document(db, row["id"])  # a document that is known only by name
    _move(db, document_id, file, file.columns(), title)
    place = {key: file.columns()[key] for key in ("source_id", "path", "display", "folder")}
    for part in parts.part_ids(db, document_id):
        _move(db, part, file, place, None)


def _move(
    db: sqlite3.Connection, document_id: int, file: FileRecord, columns: dict[str, Any], title: str | None
) -> None:
    """Update the ``columns`` of a document whose file has moved."""
    sql = "SELECT file_type, title, title_from, private, metadata, part FROM documents WHERE id = ?"
    row = db.execute(sql, (document_id,)).fetchone()
    known_as = _names(db, document_id)
    if row["part"] and row["title_from"] == "file name":
        title = title_of_name(PurePosixPath(file.display))
    title = row["title"] if title is None else title
    by_note = bool(row["private"] & privacy.BY_NOTE)
    private = privacy.bits(db, file.source_id, file.stat.path, by_note=by_note)
    _update(db, document_id, {**columns, "title": title, "private": private}, file.date)
    tags = db.execute("SELECT tags FROM chunks WHERE document_id = ? LIMIT 1", (document_id,)).fetchone()
    terms = extra_terms(f"{title} {tags[0] if tags else ''} {file.display}")
    sql = "UPDATE chunks SET path = ?, title = ?, title_terms = ? WHERE document_id = ?"
    db.execute(sql, (file.display, title, terms, document_id))
    db.execute("DELETE FROM names WHERE document_id = ? AND kind <> ?", (document_id, _ALIAS))
    titles = (title, *frontmatter.ids_in(json.loads(row["metadata"])))
    _put_names(db, document_id, "" if row["part"] else file.display, row["file_type"], titles, ())
    _rekey_links(db, document_id, file.display)
    resolve_links(db, document_id, known_as)
    seal(db, document_id)


def _rekey_links(db: sqlite3.Connection, document_id: int, display: str) -> None:
    """Update the keys of a document's links for its new path."""
    links = db.execute("SELECT id, target FROM links WHERE document_id = ?", (document_id,)).fetchall()
    keys = [(link_key(display, link["target"]), link["id"]) for link in links]
    db.executemany("UPDATE links SET key = ? WHERE id = ?", keys)


def touch(db: sqlite3.Connection, document_id: int, file: FileRecord) -> None:
    """Store the new size, times and inode of a file whose content did not change."""
    _update(db, document_id, {**file.stat._asdict(), "scanned_ns": file.scanned_ns}, file.date)
    seal(db, document_id)


def remove_document(db: sqlite3.Connection, document_id: int) -> None:
    """Remove a document, its parts, and all rows that belong to it."""
    for part in parts.part_ids(db, document_id):
        remove_document(db, part)
    known_as = _names(db, document_id)
    _forget_contents(db, document_id)
    db.execute("DELETE FROM documents WHERE id = ?", (document_id,))
    resolve_links(db, document_id, known_as)


def remove_parts(db: sqlite3.Connection, file: FileRecord) -> None:
    """Remove the documents inside a file, such as the messages of a mailbox. The file stays."""
    row = parts.file_row(db, file.source_id, file.stat.path)
    for part in parts.part_ids(db, row.id) if row else ():
        remove_document(db, part)


def _forget_contents(db: sqlite3.Connection, document_id: int) -> None:
    hashes = [r[0] for r in db.execute("SELECT embed_hash FROM chunks WHERE document_id = ?", (document_id,))]
    for table in ("chunks", "tags", "properties", "names", "links", "shapes"):
        db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
    chunks.drop_from_queue(db, hashes)


def forget_pictures(db: sqlite3.Connection) -> int:
    """Remove the text of embedded pictures from all notes. The next run reads these notes again. Returns the
    number of notes."""
    sql = f"""SELECT DISTINCT l.document_id FROM links l JOIN chunks c ON c.document_id = l.document_id
              WHERE l.type = 'embed' AND c.anchor_type = 'picture' UNION {_EMBEDDING}"""
    return len(_forget_pictures_of(db, [row[0] for row in db.execute(sql)]))


def forget_picture(db: sqlite3.Connection, source_id: int, path: bytes) -> list[bytes]:
    """Remove the text of the picture at ``path`` from the notes that embed it. Returns the paths of these
    notes."""
    sql = f"{_EMBEDDING} AND d.source_id = ? AND d.path = ?"
    notes = _forget_pictures_of(db, [row[0] for row in db.execute(sql, (source_id, path))])
    sql = "SELECT path FROM documents WHERE id IN (SELECT value FROM json_each(?))"
    return [row[0] for row in db.execute(sql, (json.dumps(notes),))]


_EMBEDDING = """SELECT DISTINCT l.document_id FROM links l JOIN names n ON n.key = l.key
    JOIN documents d ON d.id = n.document_id WHERE l.type = 'embed' AND d.file_type = 'picture'"""


def _forget_pictures_of(db: sqlite3.Connection, notes: list[int]) -> list[int]:
    for document_id in notes:
        sql = "SELECT id FROM chunks WHERE document_id = ? AND anchor_type = 'picture'"
        chunks.take_out(db, [row[0] for row in db.execute(sql, (document_id,))])
        _update(db, document_id, {"extractor": UNFINISHED})
        seal(db, document_id)
    return notes


TAKEN_OUT = "Passages of it were taken out by hand. They are back when the file changes or is read again."
ALL_TAKEN_OUT = (
    "All its passages were taken out by hand. They are back when the file changes or is read again."
)


def take_out_chunks(db: sqlite3.Connection, ids: Iterable[int]) -> None:
    """Remove chunks from their documents. A warning on each document records this until its file is read
    again."""
    for document_id in chunks.take_out(db, ids):
        sql = """SELECT warnings, EXISTS (SELECT 1 FROM chunks WHERE document_id = d.id) AS has_text
                 FROM documents d WHERE id = ? AND state = 'indexed'"""
        row = db.execute(sql, (document_id,)).fetchone()
        if row and row["has_text"]:  # a failed file keeps its last readable version, and its reason
            warnings = [old for old in json.loads(row["warnings"]) if old != TAKEN_OUT] + [TAKEN_OUT]
            _update(db, document_id, {"warnings": json.dumps(warnings, ensure_ascii=False)})
        elif row:
            known_as = _names(db, document_id)
            _update(db, document_id, {**_NOTHING_READ, "state": "skipped", "reason": ALL_TAKEN_OUT})
            _forget_contents(db, document_id)
            resolve_links(db, document_id, known_as)
        seal(db, document_id)
