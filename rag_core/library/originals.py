"""The original files of documents: their full text, their pictures, and their folder in the file manager.

Threat: a note may name any path, and guests can see notes. So a text is returned only while the file has
exactly the bytes that were indexed.

A picture is returned only if the indexed note shows it, it is in the note's own folder of the store, no rule
excludes it or hides it from this viewer, and its first bytes are those of a raster picture.

The file manager opens folders. Files are opened only if their type cannot run code.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rag_core.errors import Forbidden, InvalidInput, NotFound, RagError
from rag_core.extract import note_apps, type_of_suffix
from rag_core.extract.encoding import BinaryError, decode
from rag_core.files import EVERYTHING, read_bytes, why_skipped
from rag_core.library.service import Service, open_to_all
from rag_core.library.store_files import no_document
from rag_core.store import documents, listing, privacy, sources, view
from rag_core.store.documents import TAKEN_OUT
from rag_core.text.words import well_formed
from rag_core.types import OWNER, Document, DocumentView, Source, Viewer

_RASTER = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_MOST_BYTES = 25_000_000
_FILE_MANAGERS = {"darwin": ("open", "-R"), "win32": ("explorer",)}
_OPENERS = {"darwin": ("open",), "win32": ("explorer",)}
IN_OWN_PROGRAM = frozenset("pdf word slides sheet ebook picture".split())
"""The types of files that open in their own program. Text and code open in VS Code."""


class Picture(NamedTuple):
    """A raster picture and its media type."""

    data: bytes
    media_type: str


class Originals(Service):
    """Reads the files of documents."""

    @open_to_all
    def text(self, viewer: Viewer, store: str, path: str) -> str:
        """Return the full text of a document, line by line as in its file. If the file has changed, cannot be
        read, or has other lines than its text (a canvas), the text is joined from the passages. Raises
        NotFound."""
        with self._stores.reading(viewer, store) as db:
            document_view = view.document(db, store, path, viewer)
            if document_view is None:
                raise no_document(store, path)
            row = next(iter(listing.document_rows(db, viewer, [document_view.document.id])))
        is_as_read = row["state"] == "indexed" and TAKEN_OUT not in document_view.warnings
        whole = _whole_text(row, document_view) if is_as_read else None
        if whole and not note_apps.refers_to_blocks(whole):
            return whole
        return joined_text(document_view)

    @open_to_all
    def picture(self, viewer: Viewer, store: str, path: str, target: str) -> Picture:
        """Return the picture that the document ``path`` embeds as ``target``; '' means that the document is a
        picture itself. Raises NotFound, also for a picture that this viewer may not see."""
        with self._stores.reading(viewer, store) as db:
            showing = listing.documents(db, store, viewer, documents.ids(db, path))
            places = list(_places(db, showing[0], target)) if showing else []
            seen = [place for place in places if viewer.is_owner or not privacy.hides_file(db, *place)]
        for source, raw in seen:
            with suppress(RagError, OSError):  # the next place may hold it
                root = Path(source.root)
                if why_skipped(root, raw, EVERYTHING, source.exclude) is None:
                    data = read_bytes(root, raw, _MOST_BYTES)
                    if media_type := raster_type(data):
                        return Picture(data, media_type)
        raise NotFound(f"{path!r} shows no picture {target!r}.", "It may have moved; index again.")

    def open_folder(self, viewer: Viewer, store: str, path: str) -> None:
        """Open the folder of a document in this computer's file manager. Raises Forbidden unless ``viewer``
        is the owner at this computer, and NotFound if the folder or the file manager is missing."""
        file = self._here(viewer, store, path)
        program, *options = _FILE_MANAGERS.get(sys.platform, ("xdg-open",))
        # On macOS a folder can be a program; -R shows the file in its folder and opens nothing.
        _start(program, *options, str(file if options else file.parent))

    def open_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Open a PDF, an Office file, an e-book or a picture in its own program. Raises InvalidInput for
        other files, as these may run code; Forbidden unless ``viewer`` is the owner at this computer;
        NotFound if the folder is missing."""
        file = self._here(viewer, store, path)
        if type_of_suffix(file.suffix.lower()) not in IN_OWN_PROGRAM:
            raise InvalidInput(f"{path!r} is not opened from here.", "Show it in its folder.")
        _start(*_OPENERS.get(sys.platform, ("xdg-open",)), str(file))

    def _here(self, viewer: Viewer, store: str, path: str) -> Path:
        """Return the path of a document's file on this computer. Raises Forbidden, NotFound."""
        if viewer != OWNER:
            raise Forbidden(
                "The original file opens only on the computer where Commonplace runs.", "Open it there."
            )
        with self._stores.reading(viewer, store) as db:
            files = listing.documents(db, store, viewer, documents.ids(db, path))
        file = Path(files[0].absolute_path) if files else Path()
        if not files or not file.parent.is_dir():
            raise NotFound(f"The folder of {path!r} is not there.", "Mount its disk, or index again.")
        return file


def _start(program: str, *arguments: str) -> None:
    """Start a program on this computer and do not wait for its end. Raises NotFound."""
    if (installed := shutil.which(program)) is None:
        raise NotFound(f"{program!r} is not installed.", f"Install it, or open {arguments[-1]!r} yourself.")
    subprocess.Popen(
        [installed, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def raster_type(data: bytes) -> str | None:
    """Return the media type of a picture, from its first bytes. Return None if browsers do not show the type
    or if it can contain code."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _RASTER if data.startswith(beginning)), None)


def joined_text(document_view: DocumentView) -> str:
    """Return the text of a document, joined from its passages. Each passage begins at its line number. Lines
    in no passage are empty."""
    if not document_view.chunks:
        return ""
    parts = ["\n" * (document_view.chunks[0].start_line - 1), document_view.chunks[0].content]
    for before, chunk in pairwise(document_view.chunks):
        if not chunk.repeats:
            gap = chunk.start - before.start - len(before.content)
            parts.append("\n" * (chunk.start_line - before.end_line) or " " * gap)
        parts.append(chunk.content[chunk.repeats :])
    return "".join(parts)


def _whole_text(row: sqlite3.Row, document_view: DocumentView) -> str:
    """Return the text of the file, or '' if the file has changed since it was indexed."""
    if document_view.document.part or any(chunk.anchor is not None for chunk in document_view.chunks):
        return ""
    root = Path(os.fsdecode(row["root"]))
    with suppress(RagError, BinaryError, UnicodeDecodeError):
        data = read_bytes(root, row["path"], row["size"]) if root.is_absolute() else b""
        if hashlib.sha256(data).hexdigest() == row["file_hash"]:
            text = decode(data, row["file_type"]).text
            return text if _is_source(document_view, text) else ""
    return ""


def _is_source(document_view: DocumentView, text: str) -> bool:
    """Whether the passages of a document have lines of ``text``. Those that are made from a canvas of
    Obsidian have none."""
    lines = {line.strip() for line in text.splitlines()}
    return any(
        line.strip() in lines
        for chunk in document_view.chunks
        for line in chunk.content.splitlines()
        if any(map(str.isalnum, line))
    )


def _places(db: sqlite3.Connection, document: Document, target: str) -> Iterator[tuple[Source, bytes]]:
    """Return the possible places of a picture that a note embeds as ``target``: next to the note, at that
    path in the store's folder, or any file of that name in the store."""
    by_id = {source.id: source for source in sources.all_sources(db) if not source.removed}
    excluded = {(exclusion.source_id, exclusion.path) for exclusion in sources.excluded_files(db)}
    row = db.execute("SELECT source_id, path FROM documents WHERE id = ?", (document.id,)).fetchone()
    source = by_id.get(row["source_id"])
    if source is None or not Path(source.root).is_absolute():  # an attached index has no files
        return
    if not target:
        yield source, row["path"]
        return
    sql = "SELECT 1 FROM links WHERE document_id = ? AND type = 'embed' AND target = ?"
    if not db.execute(sql, (document.id, well_formed(target))).fetchone():
        return
    raw = os.fsencode(target.replace("\\", "/").lstrip("/"))
    folder = posixpath.dirname(row["path"])
    below = [posixpath.normpath(posixpath.join(top, raw)) for top in (folder, b"")]
    for path in dict.fromkeys([*below, *documents.ending(db, source.id, raw, 3)]):
        if not path.startswith((b"../", b"/")) and (source.id, path) not in excluded:
            yield source, path
