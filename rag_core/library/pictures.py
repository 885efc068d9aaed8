"""Small pictures of places in documents: a page of a PDF, a picture, a picture on a slide or in a note."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rag_core.anchors import anchor_of_words
from rag_core.errors import ExtractError, InvalidInput, NotFound
from rag_core.extract import Worker
from rag_core.files import read_bytes
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.store import documents, find
from rag_core.types import OWNER, Viewer

SIDE = 400
LARGEST_SIDE = 2000

_LIMIT_S = 20.0
_IDLE_S = 60.0  # the worker process ends when nobody has looked at a picture for so long
_MOST_KEPT = 16_000_000  # bytes


@dataclass(frozen=True, slots=True)
class _Shown:
    """A file to be shown: ``path`` below ``root``, the ``place`` in it, and the hash of what was indexed, ''
    for a picture that a note embeds."""

    root: Path
    path: bytes
    place: str
    file_hash: str


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
        shown = self._shown(viewer, store, path, place)
        try:
            data = read_bytes(shown.root, shown.path, self._settings.max_file_bytes)
            file_hash = hashlib.sha256(data).hexdigest()
            if shown.file_hash not in ("", file_hash):
                raise NotFound(f"{path!r} was changed after it was indexed.", "Index it again.")
            name = PurePosixPath(os.fsdecode(shown.path))
            key = file_hash, name.suffix, shown.place, side
            with self._lock:
                if key not in self._kept:
                    self._keep(key, self._rendered(data, name, shown.place, side))
                self._kept.move_to_end(key)
                return self._kept[key]
        except ExtractError as error:
            raise _none(store, path, place) from error

    def close(self, viewer: Viewer) -> None:
        """End the process that draws; the next picture starts it again."""
        with self._lock:
            if self._idle:
                self._idle.cancel()
            self._worker.close()

    def _shown(self, viewer: Viewer, store: str, path: str, place: str) -> _Shown:
        """The file that shows a place of a document. Raises NotFound."""
        anchor = anchor_of_words(place or "page 1")
        with self._stores.reading(viewer, store) as db:
            for row in find.document_rows(db, viewer, documents.ids(db, path)):
                root = Path(os.fsdecode(row["root"]))  # no folder where the store is attached
                if anchor is None or row["state"] != "indexed" or not root.is_absolute():
                    continue
                embeds = anchor[0] == "picture"
                if (viewer.is_owner and not embeds) or find.has_anchor(db, row["id"], anchor):
                    if embeds:
                        return _Shown(root, os.fsencode(anchor[1]), "", "")
                    return _Shown(root, row["path"], place, row["file_hash"])
        raise _none(store, path, place)

    def _rendered(self, data: bytes, path: PurePosixPath, place: str, side: int) -> bytes:
        if self._idle:
            self._idle.cancel()
        try:
            return self._worker.picture(data, path, place, side)
        finally:
            self._idle = threading.Timer(_IDLE_S, self.close, [OWNER])
            self._idle.daemon = True
            self._idle.start()

    def _keep(self, key: tuple[str, str, str, int], picture: bytes) -> None:
        self._kept[key] = picture
        while sum(map(len, self._kept.values())) > _MOST_KEPT:
            self._kept.popitem(last=False)


def _none(store: str, path: str, place: str) -> NotFound:
    where = f"{place} of {path!r}" if place else repr(path)
    return NotFound(f"Store {store!r} has no picture of {where}.", "Open the file itself.")
