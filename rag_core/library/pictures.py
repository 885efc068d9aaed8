"""Small pictures of places in documents: a page of a PDF, a picture, a picture on a slide."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections import OrderedDict
from pathlib import Path, PurePosixPath

from rag_core.anchors import anchor_of_words
from rag_core.errors import ExtractError, InvalidInput, NotFound
from rag_core.extract import Worker
from rag_core.files import read_bytes
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.store import documents, find
from rag_core.types import Viewer

SIDE = 400
LARGEST_SIDE = 2000

_LIMIT_S = 20.0
_IDLE_S = 60.0  # the worker process ends when nobody has looked at a picture for so long
_MOST_KEPT = 16_000_000  # bytes


class Pictures(Service):
    """Shows places in documents as pictures."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._worker = Worker(_LIMIT_S)
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str, int], bytes] = OrderedDict()
        self._idle: threading.Timer | None = None

    @open_to_all
    def get(self, viewer: Viewer, store: str, path: str, place: str = "", side: int = SIDE) -> bytes:
        """WebP of a ``place`` in the document called ``path``: the ``anchor`` of a hit, such as ``page 3``;
        '' for the first page. Its longer side has at most ``side`` pixels (16 to 2,000), and it takes at most
        100 bytes for each of them. A guest sees only places with a passage.

        Raises NotFound where there is nothing to see, or the file is not the one that was indexed, and
        InvalidInput for an impossible ``side``.
        """
        if not 16 <= side <= LARGEST_SIDE:
            raise InvalidInput(f"side is {side}.", f"Use a number from 16 to {LARGEST_SIDE}.")
        root, raw, file_hash = self._file(viewer, store, path, place)
        key = file_hash, PurePosixPath(path).suffix, place, side
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            try:
                data = read_bytes(root, raw, self._settings.max_file_bytes)
                if hashlib.sha256(data).hexdigest() != file_hash:
                    raise NotFound(f"{path!r} was changed after it was indexed.", "Index it again.")
                picture = self._rendered(data, path, place, side)
            except ExtractError as error:
                raise _none(store, path, place) from error
            self._keep(key, picture)
            return picture

    def close(self, viewer: Viewer) -> None:
        """End the process that draws; the next picture starts it again."""
        self._end()

    def _file(self, viewer: Viewer, store: str, path: str, place: str) -> tuple[Path, bytes, str]:
        """The folder of a document's source, the path below it and the hash of what was indexed."""
        anchor = anchor_of_words(place or "page 1")
        with self._stores.reading(viewer, store) as db:
            rows = find.document_rows(db, viewer, documents.ids(db, path))
            indexed = (row for row in rows if row["state"] == "indexed")
            row = next((row for row in indexed if _folder(row).is_absolute()), None)  # else it is attached
            is_shown = row is not None and (viewer.is_owner or find.has_anchor(db, row["id"], anchor))
        if row is None or anchor is None or not is_shown:
            raise _none(store, path, place)
        return _folder(row), row["path"], row["file_hash"]

    def _rendered(self, data: bytes, path: str, place: str, side: int) -> bytes:
        if self._idle:
            self._idle.cancel()
        try:
            return self._worker.picture(data, PurePosixPath(path), place, side)
        finally:
            self._idle = threading.Timer(_IDLE_S, self._end)
            self._idle.daemon = True
            self._idle.start()

    def _keep(self, key: tuple[str, str, str, int], picture: bytes) -> None:
        self._kept[key] = picture
        while sum(map(len, self._kept.values())) > _MOST_KEPT:
            self._kept.popitem(last=False)

    def _end(self) -> None:
        with self._lock:
            if self._idle:
                self._idle.cancel()
            self._worker.close()


def _folder(row: sqlite3.Row) -> Path:
    return Path(os.fsdecode(row["root"]))


def _none(store: str, path: str, place: str) -> NotFound:
    where = f"{place} of {path!r}" if place else repr(path)
    return NotFound(f"Store {store!r} has no picture of {where}.", "Open the file itself.")
