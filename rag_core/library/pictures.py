"""Small pictures of places in documents: a page of a PDF, a picture file, a picture on a slide or in a
note."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rag_core.anchors import anchor_of_words
from rag_core.errors import ExtractError, InvalidInput, NotFound, Stopped
from rag_core.extract.drawing import DrawingProcesses
from rag_core.extract.worker import NotStarted, Worker
from rag_core.files import read_bytes
from rag_core.index.embedded import may_show
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.store import documents, find, listing, sources
from rag_core.types import Viewer

SIDE = 400
LARGEST_SIDE = 2000

_MOST_KEPT = 16_000_000  # bytes
_MOST_FAILURES = 10_000

_PlaceKey = tuple[str, str, str]  # sha256 of the file, its suffix, and the place in it
_Key = tuple[str, str, str, int]  # and the side


@dataclass(frozen=True, slots=True)
class _Shown:
    """A file to draw, and the place in the file."""

    root: Path  #: The folder of its source.
    path: bytes  #: The path below ``root``.
    place: str  #: Such as ``page 3``; '' for the first page, or for a picture that a note embeds.
    file_hash: str  #: SHA-256 of the file as it was indexed; '' for a picture that a note embeds.


class Pictures(Service):
    """Draws small pictures of PDF pages, picture files, and pictures on slides or in notes. All guests share
    one drawing process. The owner has two others and never waits for guests."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._of_owner = DrawingProcesses(2)
        self._of_guests = DrawingProcesses(1)
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, bytes] = OrderedDict()
        self._failed: OrderedDict[_PlaceKey, None] = OrderedDict()

    @open_to_all
    def get(
        self,
        viewer: Viewer,
        store: str,
        path: str,
        place: str = "",
        side: int = SIDE,
        is_over: Callable[[], bool] = lambda: False,
    ) -> bytes:
        """Return a picture of ``place`` in the document ``path``, as WebP. A place is the ``anchor`` of a
        hit, such as ``page 3``; '' is page 1.

        Its longer side has at most ``side`` pixels (16 to 2,000), and the file at most 100 bytes per pixel of
        ``side``. A guest sees only places with a passage. ``is_over`` is called while drawing; if it returns
        true, drawing stops.

        Raises NotFound if there is nothing to show, the file has changed since it was indexed, or drawing
        failed before; InvalidInput for an impossible ``side``; Stopped if ``is_over()`` returns true.
        """
        if not 16 <= side <= LARGEST_SIDE:
            raise InvalidInput(f"side is {side}.", f"Use a number from 16 to {LARGEST_SIDE}.")
        shown = self._shown(viewer, store, path, place)
        processes = self._of_owner if viewer.is_owner else self._of_guests
        try:
            with processes.one(is_over) as worker:  # so that few files are in memory at once
                return self._drawn(worker, shown, path, side, is_over)
        except ExtractError as error:
            raise _none(store, path, place) from error

    def close(self, viewer: Viewer) -> None:
        """End the idle drawing processes. The next picture starts a new one."""
        self._of_owner.close()
        self._of_guests.close()

    def _shown(self, viewer: Viewer, store: str, path: str, place: str) -> _Shown:
        """Return the file to draw for a place of a document. Raises NotFound."""
        anchor = anchor_of_words(place or "page 1")
        with self._stores.reading(viewer, store) as db:
            for row in listing.document_rows(db, viewer, documents.ids(db, path)):
                root = Path(os.fsdecode(row["root"]))  # no folder where the store is attached
                if anchor is None or row["state"] != "indexed" or not root.is_absolute():
                    continue
                embeds = anchor[0] == "picture"
                if not (viewer.is_owner and not embeds) and not find.has_anchor(db, row["id"], anchor):
                    continue
                if not embeds:
                    return _Shown(root, row["path"], place, row["file_hash"])
                source, picture = sources.source_of(db, row["id"]), os.fsencode(anchor[1])
                if may_show(db, source.id, picture):
                    return _Shown(root, picture, "", "")
        raise _none(store, path, place)

    def _drawn(
        self, worker: Worker, shown: _Shown, path: str, side: int, is_over: Callable[[], bool]
    ) -> bytes:
        """Return the picture, from the cache or newly drawn. Raises ExtractError if it cannot be drawn or
        failed before, NotFound for a changed file, Stopped."""
        data = read_bytes(shown.root, shown.path, self._settings.max_file_bytes)
        file_hash = hashlib.sha256(data).hexdigest()
        if shown.file_hash not in ("", file_hash):
            raise NotFound(f"{path!r} was changed after it was indexed.", "Index it again.")
        name = PurePosixPath(os.fsdecode(shown.path))
        place = file_hash, name.suffix, shown.place
        if (picture := self._remembered(place, side)) is not None:
            return picture
        try:
            picture = worker.picture(data, name, shown.place, side)
        except NotStarted:
            raise
        except ExtractError:
            if is_over():
                raise Stopped from None
            self._remember_failure(place)
            raise
        self._remember(place, side, picture)
        return picture

    def _remembered(self, place: _PlaceKey, side: int) -> bytes | None:
        """Return the cached picture, or None. Raises ExtractError if the place could not be drawn before, in
        any size."""
        with self._lock:
            if place in self._failed:
                raise ExtractError("It could not be drawn before.", "Open the file itself.")
            key = *place, side
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _remember(self, place: _PlaceKey, side: int, picture: bytes) -> None:
        with self._lock:
            self._kept[*place, side] = picture
            while sum(map(len, self._kept.values())) > _MOST_KEPT:
                self._kept.popitem(last=False)

    def _remember_failure(self, place: _PlaceKey) -> None:
        with self._lock:
            self._failed[place] = None
            if len(self._failed) > _MOST_FAILURES:
                self._failed.popitem(last=False)


def _none(store: str, path: str, place: str) -> NotFound:
    problem = f"Store {store!r} has no picture of {path!r}."
    if place:
        problem = f"Store {store!r} has no picture of {place} of {path!r}."
    return NotFound(problem, "Open the file itself.")
