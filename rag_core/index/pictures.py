"""The queue of pictures: OCR reads a few at a time, in a thread of its own, while the run does all the rest.

The pictures that are left to read are counted in ``documents.pictures_left``, so a run that ends early loses
nothing. Each step reads a document again, with the texts of the pictures that were read before and of a few
more, and stores it."""

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
"""The hash of a file, its document or why it cannot be read, the pictures that it embeds, and what reading it
took: seconds, and seconds of processor time."""

_A_STEP = 4  # pictures read before their document is stored again
_PATIENCE = 5  # times the usual limit for a file: the process gives way to everything else


@dataclass
class PictureQueue:
    """Reads the pictures in a store's documents, in a thread of its own. The run's thread calls `advance`,
    which alone writes to the store. `close` ends the thread and its process."""

    reading: Reading
    is_over: Callable[[], bool]
    """Whether the run is to end. For any thread."""
    total: int = 0
    """The numbers of pictures to read and already read when the queue was checked last."""
    done: int = 0
    """Pictures read by this run."""
    current: str = ""
    """What is being read, for people."""
    _given_up: set[int] = field(default_factory=set)  # documents that the next run tries again
    _unread: Unread | None = None
    _step: Future[_Step] | None = None
    _threads: ThreadPoolExecutor | None = None
    _workers: Workers | None = None

    def advance(self) -> bool:
        """Store the result of the last step if it is done, and begin the next one. Returns whether there is
        more to do."""
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
        """Record on documents with unread pictures why they cannot be read with today's settings."""
        limits = self.reading.limits
        why = "" if limits.reads_pictures else ocr.why_none(limits.ocr)
        with self.reading.store.read() as db:
            if not any(rows.left(db, self._given_up)):
                return
        with self.reading.store.write() as db:
            rows.note_why_left(db, why, ocr.REASONS)

    def wait(self, seconds: float) -> None:
        """Wait until the pictures that are read now are done, but at most ``seconds``."""
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
        if self.reading.remote_ocr(unread.file) or not computing_s:  # a server reads them, or nobody tells
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
        except Exception as error:  # whatever is wrong with one file fails that file only
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
        """Scan a source for the pictures that its notes may embed. Used if this run made no plan of the
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
