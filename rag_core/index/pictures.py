"""The queue of pictures whose text is to be read (OCR). A thread reads a few pictures at a time while the run
does everything else.

``documents.pictures_left`` counts the pictures that are still to be read, so a run that ends early loses
nothing. Each step reads a document again, together with a few more of its pictures, and stores the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rag_core.errors import ExtractError, RagError
from rag_core.extract import Worker, Workers, ocr
from rag_core.files import scan
from rag_core.index.embedded import EmbeddedPictures, ReadPicture
from rag_core.index.priority import low_priority
from rag_core.index.reading import Reading
from rag_core.store import pictures as rows
from rag_core.store.pictures import Unread
from rag_core.store.sources import excluded_below
from rag_core.types import Extracted, Source

_Step = tuple[str, Extracted | RagError, list[ReadPicture], tuple[float, float]]
"""The result of reading a document: the hash of its file, the document or the error, the pictures that it
embeds, and the duration. The duration is in seconds, then in seconds of processor time."""

_A_STEP = 4  # number of pictures read before their document is stored again
_PATIENCE = 5  # times the usual time limit of a file, as its process has low priority


@dataclass
class PictureQueue:
    """Reads the pictures in a store's documents in a thread of its own. The run calls `advance` repeatedly,
    and only that method writes to the store. `close` ends the thread and its process."""

    reading: Reading
    is_over: Callable[[], bool]
    """Returns whether the run is to end. Safe in any thread."""
    total: int = 0
    """Number of pictures read or still to be read, at the last call of `advance`."""
    done: int = 0
    """Number of pictures read by this run."""
    current: str = ""
    """The document or page that is being read, for people."""
    _given_up: set[int] = field(default_factory=set)  # documents that the next run tries again
    _unread: Unread | None = None
    _step: Future[_Step] | None = None
    _threads: ThreadPoolExecutor | None = None
    _workers: Workers | None = None

    def advance(self) -> bool:
        """Store the result of the last step if it is done, and begin the next step. Returns whether more
        pictures are left."""
        if not self.reading.limits.reads_pictures:
            return False
        if self._step is not None:
            if not self._step.done():
                return True
            step, self._step = self._step, None
            self._store(step)
        with self.reading.store.read() as db:
            self._unread = rows.next_unread(db, self._given_up)
            pictures, pages = rows.left(db, self._given_up)
        self.total = self.done + pictures + pages
        estimate = self.reading.log.estimate
        estimate.pictures.left, estimate.pages.left = pictures, pages
        if self._unread is None:
            return False
        self.current = _described(self._unread)
        self._step = self._thread().submit(self._read, self._unread)
        return True

    def note_why_left(self) -> None:
        """Record on documents with unread pictures why the current settings do not allow reading these. If
        they do, an earlier reason is removed."""
        limits = self.reading.limits
        why = "" if limits.reads_pictures else ocr.why_none(limits.ocr)
        with self.reading.store.read() as db:
            if not any(rows.left(db, self._given_up)):
                return
        with self.reading.store.write() as db:
            rows.note_why_left(db, why, ocr.REASONS)

    def wait(self, seconds: float) -> None:
        """Wait until the current step is done, at most ``seconds``."""
        if self._step is not None:
            wait([self._step], seconds)

    def close(self) -> None:
        """End the queue's thread and its reading process."""
        if self._workers is not None:
            self._workers.kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._workers is not None:
            self._workers.close()
        self._threads = self._workers = self._step = None

    def _thread(self) -> ThreadPoolExecutor:
        if self._threads is None:
            limits = self.reading.limits
            limit_s = _PATIENCE * limits.extractor_timeout_s
            new = partial(Worker, limit_s, ocr=limits.ocr, pictures=limits.pictures)
            self._workers = Workers(new, self.is_over, most=1)
            self._threads = ThreadPoolExecutor(1, "pictures", initializer=partial(low_priority, 15))
        return self._threads

    def _read(self, unread: Unread) -> _Step:
        """Read a document with a few more of its pictures. Runs in the queue's thread."""
        assert self._workers is not None  # noqa: S101 - `_thread` made them
        source, root = unread.source, Path(unread.source.root)
        known = self.reading.pictures.get(source.id) or self._pictures_of(source)
        reading = replace(
            self.reading, workers=self._workers, look=lambda: False, pictures={source.id: known}
        )
        started, computed_s, pictures = time.monotonic(), self._workers.cpu_s, list[ReadPicture]()
        file_hash, doc = reading.extracted(root, unread.file, _A_STEP)
        if not isinstance(doc, RagError):
            pictures = reading.embedded_pictures(doc, root, unread.file, _A_STEP)
        seconds, computing_s = time.monotonic() - started, self._workers.cpu_s - computed_s
        if self.reading.remote_ocr(unread.file) or not computing_s:  # read by a server, or time unknown
            computing_s = seconds
        return file_hash, doc, pictures, (seconds, computing_s)

    def _store(self, step: Future[_Step]) -> None:
        """Store the document that a finished step read."""
        unread, started = self._unread, time.monotonic()
        if unread is None:
            return
        try:
            file_hash, doc, pictures, took = step.result()
        except (RagError, OSError):  # the file is gone or cannot be read; the next scan sees that
            self._given_up.add(unread.id)
            return
        except Exception as error:  # an error in one file must fail only that file
            file_hash, doc, pictures, took = unread.file.file_hash, _failed(error), [], (0.0, 0.0)
        with self.reading.store.read() as db:
            is_same = rows.left_in(db, unread.id, file_hash) is not None
        if isinstance(doc, RagError) and is_same and not self.is_over():
            with self.reading.store.write() as db:
                rows.give_up(db, unread.id, doc.message)
            self.done += unread.left
            return
        if isinstance(doc, RagError) or not is_same:
            self._given_up.add(unread.id)
            return
        self.reading.put(replace(unread.file, file_hash=file_hash), doc, pictures, None, started)
        with self.reading.store.read() as db:
            left = rows.left_in(db, unread.id, file_hash)
        if left is None or left >= unread.left:
            self._given_up.add(unread.id)
        else:
            self.done += unread.left - left
            estimate, are_pages = self.reading.log.estimate, unread.pages > 1
            estimate.note_pictures(unread.left - left, *took, are_pages=are_pages)

    def _pictures_of(self, source: Source) -> EmbeddedPictures:
        """Scan a source for the pictures that its notes may embed. Used if this run has not scanned the
        source."""
        with self.reading.store.read() as db:
            excluded = excluded_below(db, source.root).keys()
        walk = scan(Path(source.root), source.include, source.exclude)
        return EmbeddedPictures(source, walk.files, excluded, walk.online_only)


def _described(unread: Unread) -> str:
    """Name the next item for people: the page of a scan, or the file."""
    if unread.pages > 1:
        return f"{unread.file.display} (page {unread.pages - unread.left + 1} of {unread.pages})"
    return unread.file.display


def _failed(error: Exception) -> ExtractError:
    """Return the error for a document whose reader raised an unexpected exception."""
    return ExtractError(f"Reading them failed ({type(error).__name__}).", "Read the file again.")
