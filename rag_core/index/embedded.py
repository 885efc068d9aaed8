"""Finds the pictures that a note embeds (``![[x.png]]``, ``![](x.png)``), and adds the text in them to the
note as passages.

A picture is any file in the note's folder that the owner did not exclude. The picture itself need not be
indexed. Nothing outside the folder is read.
"""

from __future__ import annotations

import posixpath
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from rag_core.extract import type_of_suffix
from rag_core.files import EVERYTHING, IN_CLOUD, FileStat, display, scan
from rag_core.store import privacy, sources
from rag_core.text.words import name_key
from rag_core.types import Extracted, Link, Segment, Source

MOST_PICTURES = 50
"""Maximum number of pictures that are read for one note."""


@dataclass
class EmbeddedPictures:
    """The pictures in a source's folder that notes may embed."""

    source: Source
    files: Sequence[FileStat]  #: Files that match the source's patterns.
    left_out: Set[bytes]  #: Paths of files that the owner excluded.
    online_only: Set[bytes] = frozenset()  #: Paths of files that are only in a cloud.

    @cached_property
    def _by_name(self) -> dict[str, list[FileStat]]:
        files = self.files
        if self.source.include != EVERYTHING:
            walk = scan(Path(self.source.root), EVERYTHING, self.source.exclude)
            files, self.online_only = walk.files, walk.online_only
        pictures: dict[str, list[FileStat]] = {}
        for file in files:
            if is_picture(display(file.path)) and file.path not in self.left_out:
                pictures.setdefault(name_key(posixpath.basename(display(file.path))), []).append(file)
        return pictures

    def find(self, note: str, target: str) -> FileStat | None:
        """Return the picture that a link to ``target`` refers to, or None if there is no such picture.
        ``note`` is the path of the note with the link.

        Three places are tried in this order: the path relative to the note, a file in the note's folder, and
        the shortest path that ends in ``target``.
        """
        folder = posixpath.dirname(note)
        beside = name_key(posixpath.normpath(posixpath.join(folder, target)))
        wanted = beside if target.startswith(("./", "../")) else name_key(target.strip("/"))
        best: tuple[bool, bool, int, str] | None = None
        chosen = None
        for file in self._by_name.get(name_key(posixpath.basename(target)), ()):
            path = display(file.path)
            key = name_key(path)
            if key in (beside, wanted) or key.endswith(f"/{wanted}"):
                rank = key != beside, posixpath.dirname(path) != folder, len(path), path
                if best is None or rank < best:
                    best, chosen = rank, file
        return chosen

    def of_note(self, note: str, links: Iterable[Link]) -> Iterator[tuple[Link, bytes]]:
        """Yield each link of the note at the path ``note`` that shows a picture, with the picture's path.
        Each picture is yielded once. At most MOST_PICTURES are yielded."""
        seen: set[bytes] = set()
        for link in links:
            picture = self.find(note, link.target)
            if picture and picture.path not in seen and len(seen) < MOST_PICTURES:
                seen.add(picture.path)
                yield link, picture.path

    def changed(self, db: sqlite3.Connection) -> set[bytes]:
        """Return the paths of notes with an embedded picture that was added, changed, removed or downloaded
        after the note was read. File times in the future are ignored."""
        now = time.time_ns()
        sql = "SELECT path FROM documents WHERE source_id = ? AND state = 'skipped' AND reason = ?"
        were_in_cloud = {row[0] for row in db.execute(sql, (self.source.id, IN_CLOUD))}
        sql = """SELECT d.id, d.path, d.scanned_ns, l.target FROM links l
                 JOIN documents d ON d.id = l.document_id
                 WHERE d.source_id = ? AND d.state = 'indexed' AND l.type = 'embed'"""
        notes: set[bytes] = set()
        there: dict[tuple[int, bytes], set[str]] = {}
        for row in db.execute(sql, (self.source.id,)):
            if not is_picture(row["target"]):
                continue
            pictures = there.setdefault((row["id"], row["path"]), set())
            if file := self.find(display(row["path"]), row["target"]):
                pictures.add(display(file.path))
                if file.path in self.online_only:
                    continue
                is_new = any(row["scanned_ns"] <= moment <= now for moment in (file.mtime_ns, file.ctime_ns))
                if is_new or file.path in were_in_cloud:
                    notes.add(row["path"])
        sql = "SELECT DISTINCT anchor_ref FROM chunks WHERE document_id = ? AND anchor_type = 'picture'"
        for (number, path), pictures in there.items():
            if any(ref not in pictures for (ref,) in db.execute(sql, (number,))):
                notes.add(path)
        return notes


def is_picture(name: str) -> bool:
    """Whether a file is a picture, judged by its name."""
    return type_of_suffix(PurePosixPath(name).suffix.lower()) == "picture"


def embeds(note: Extracted) -> list[Link]:
    """Return the links of a note that embed a picture."""
    return [link for link in note.links if link.type == "embed" and is_picture(link.target)]


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """A picture that a note embeds, with its text."""

    link: Link  #: The link in the note that shows the picture.
    path: bytes  #: The path of the picture in the source.
    seen: Extracted | None  #: The text in the picture; None if the picture was not read yet.


def may_show(db: sqlite3.Connection, source_id: int, picture: bytes) -> bool:
    """Whether the notes of a source may show the picture at the path ``picture`` in it, and contain its text.

    They may not if the owner excluded the picture or a rule makes it private: other viewers may see a note
    that embeds it.
    """
    if sources.is_excluded(db, source_id, picture):
        return False
    return not privacy.hides_file(db, sources.by_id(db, source_id), picture)


def with_pictures(note: Extracted, pictures: Sequence[ReadPicture]) -> Extracted:
    """Return the note with the texts of its embedded ``pictures`` added."""
    for picture in pictures:
        if picture.seen is None:
            note = replace(note, pictures_left=note.pictures_left + 1)
        else:
            note = with_picture(note, picture.link, display(picture.path), picture.seen)
    return note


def with_picture(note: Extracted, link: Link, path: str, seen: Extracted) -> Extracted:
    """Return the note with the text of one picture added. ``seen`` is the text of the picture at ``path``.
    Each part of it becomes a segment under the heading where ``link`` embeds the picture."""
    headings = next((s.heading_path for s in note.segments if s.start <= link.start < s.end), ())
    note = replace(
        note,
        waits=note.waits or seen.waits,
        pictures_left=note.pictures_left + seen.pictures_left,
        warnings=(*note.warnings, *seen.warnings),
    )
    for part in seen.segments:
        text = seen.text[part.start : part.end].strip()
        start = len(note.text) + 2
        segment = Segment(start, start + len(text), (*headings, *part.heading_path), "picture", path)
        note = replace(note, text=f"{note.text}\n\n{text}", segments=(*note.segments, segment))
    return note
