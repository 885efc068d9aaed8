"""The first half of a run: it reads each file into a document, whose words can be found at once.

Cheap work comes first: the names of all files, then text, then documents that a worker process reads, then
pictures. The text in pictures is read by a queue of its own, in `pictures`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from sqlite3 import Connection
from typing import Literal

from rag_core.errors import Cancelled, ExtractError, FileGone, NotText, OnlyInCloud, RagError, StoreError
from rag_core.extract import (
    TIME_LIMIT_S,
    Workers,
    encoding,
    extractor_number,
    file_type,
    is_current,
    named_by_content,
    ocr,
    plain,
    private,
    reader_in_worker,
    under_its_name,
    with_its_name,
)
from rag_core.extract.chunk import cut
from rag_core.extract.containers import ContainedPart, holds_parts, parts_of, path_of_part
from rag_core.extract.filetypes import NAMED, title_of_name
from rag_core.extract.ocr import RemoteReader, UnlessHidden
from rag_core.files import IN_CLOUD, display, opened_in_slices, read_bytes
from rag_core.files.slices import hash_of
from rag_core.index.blocks import ReferencedBlocks
from rag_core.index.embedded import EmbeddedPictures, ReadPicture, embeds, may_show, with_pictures
from rag_core.index.embedding import BATCH, Embedding
from rag_core.index.furniture import Furniture
from rag_core.index.job_log import JobLog
from rag_core.index.moves import Move
from rag_core.index.parts import Container, KnownParts, PartsReading, container_name, forget_parts
from rag_core.index.plan import MAX_FILE_BYTES, Plan
from rag_core.store import Store, chunks, jobs, parts, privacy, sources
from rag_core.store import documents as write
from rag_core.store import pictures as picture_rows
from rag_core.store.warnings import warnings_of
from rag_core.types import ChunkSpec, Extracted, FileResult, Outcome, Segment

_WARNINGS_SHOWN = 20
_UNSURE = (
    "Some notes do not say for certain whether they are private, so they are kept private. The store's page"
    " and `commonplace store private` list them."
)
_PICTURES_WAIT = "The text in some pictures is not read yet; the next run tries again."
_ROWS_A_WRITE = 500
_MOST_AHEAD_BYTES = 16_000_000
_LEAST_S = 2.0  # minimum seconds of reading before another request may interrupt a plan
_LOOK_S = 0.25  # seconds between two checks whether a worker has read a file
_STEP_OF_SIZE = 16  # bits: all files below 64 kB count as equal in size

Extraction = tuple[str, Extracted | RagError]
"""The hash of a file, then its document or the error that reading it raised."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a run, and its reader of pictures."""

    batch_size: int = BATCH  #: Number of texts embedded at once.
    max_file_bytes: int = MAX_FILE_BYTES  #: Size of the largest file that is read, in bytes.
    extractor_timeout_s: float = TIME_LIMIT_S  #: Maximum seconds for one file, and for each picture in it.
    ocr: str = "auto"  #: The setting `ocr`, for pictures that are read on this machine.
    pictures: Path | None = None  #: The folder where the texts of pictures are cached.
    remote_ocr: RemoteReader | None = None  #: The model on a server that reads pictures.
    #: Folders, each with the codec for text whose encoding would otherwise be guessed.
    encodings: tuple[tuple[Path, str], ...] = ()
    from_cloud: bool = False  #: Whether files that are only in a cloud are downloaded.

    @property
    def reads_pictures(self) -> bool:
        """Whether the text in pictures is read, on this machine or by a server."""
        return self.remote_ocr is not None or ocr.find_engine(self.ocr) is not None

    def encoding_of(self, root: Path, file: write.FileRecord) -> str:
        """Return the codec set for the nearest folder above a file, or '' if none is set."""
        of_folders = dict(self.encodings)
        folders = (root / os.fsdecode(file.stat.path)).parents if of_folders else ()
        return next((of_folders[folder] for folder in folders if folder in of_folders), "")


_NO_PART = "", ExtractError("This part of the file is gone.", "Index again.")

USUAL = Limits()
"""The default limits of a run."""


@dataclass
class Reading:
    """Reads files into a store, under the store's lock. ``look`` is called between files and may raise to
    stop the run."""

    store: Store
    limits: Limits
    log: JobLog
    look: Callable[[], bool]
    workers: Workers
    embedding: Embedding
    furniture: Furniture
    spec: ChunkSpec
    embeds_meanwhile: bool
    """Whether texts are embedded while the run waits for a worker."""
    comes_first: Callable[[], bool] = lambda: False
    """Returns whether another request must interrupt the files of a plan."""
    gave_way: bool = False
    """Whether the last plan was interrupted by another request."""
    pictures: dict[int, EmbeddedPictures] = field(default_factory=dict)
    """Source id → the pictures that the source's notes may embed."""
    known_parts: KnownParts = field(default_factory=KnownParts)
    """Finds parts of files that are read again because of their pictures."""
    blocks: ReferencedBlocks = field(init=False)
    """Adds the texts of blocks in other notes that a note refers to."""

    def __post_init__(self) -> None:
        self.blocks = ReferencedBlocks(self.store)

    def apply(self, plan: Plan) -> bool:
        """Carry out the plan, with one transaction for each document. Returns whether every file still
        existed and no folder vanished during the scan."""
        for warning in plan.warnings[:_WARNINGS_SHOWN]:
            self.log.say(warning)
        steps = (
            len(plan.moved) + len(plan.deleted) + len(plan.in_cloud) + sum(map(len, plan.to_read.values()))
        )
        self.log.phase("reading", steps)
        self.gave_way = False
        for start in range(0, len(plan.touched), _ROWS_A_WRITE):
            with self.store.write() as db:
                for move in plan.touched[start : start + _ROWS_A_WRITE]:
                    write.touch(db, move.known.id, move.file)
        for move in plan.moved:
            self._move(move)
        for known in plan.deleted:
            if known.extractor == NAMED:  # the file was gone before it was read
                with self.store.write() as db:
                    write.remove_document(db, known.id)
                continue
            with self.store.read() as db:
                held = parts.part_ids(db, known.id)
            forget_parts(self.store, held)
            result = FileResult(known.display, "success", plan.why_gone(known))
            with self._recorded(result) as db:
                write.remove_document(db, known.id)
        for file in plan.in_cloud:
            with self._recorded(FileResult(file.display, "success", "skipped", message=IN_CLOUD)) as db:
                write.put_unread(db, file, "skipped", IN_CLOUD, extractor_number(PurePosixPath(file.display)))
        if plan.pictures:
            self.pictures[plan.source.id] = plan.pictures
        return self._read_all(plan) and not plan.is_partial

    def _bytes(self, root: Path, path: bytes) -> bytes:
        """Read a file within the limits of the run. Raises ExtractError."""
        return read_bytes(root, path, self.limits.max_file_bytes, from_cloud=self.limits.from_cloud)

    def _move(self, move: Move) -> None:
        named = move.known.title_from == "file name"
        title = title_of_name(PurePosixPath(move.file.display)) if named else None
        file = replace(move.file, file_hash=move.known.file_hash)
        result = FileResult(file.display, "success", "moved", message=f"from {move.known.display}")
        with self._recorded(result) as db:
            write.move(db, move.known.id, file, title)

    @contextmanager
    def _recorded(self, result: FileResult) -> Iterator[Connection]:
        """Context manager: a write transaction that ends by adding ``result`` to the job. Afterwards the
        result is counted as a step."""
        with self.store.write() as db:
            yield db
            jobs.add_result(db, self.log.job.id, result)
        self.log.count(result)

    def _read_all(self, plan: Plan) -> bool:
        """Read the files of a plan, the fastest first. Returns whether every file still existed."""
        self._put_names(plan.to_read.get("added", ()))
        outcome_of = {file: outcome for outcome, files in plan.to_read.items() for file in files}
        root = Path(plan.source.root)
        read = partial(self.extracted, root)
        all_there, began = True, time.monotonic()
        with closing(self.workers.ahead(sorted(outcome_of, key=_cost), read, _begins_early)) as files:
            for file, begun in files:
                while begun and not begun.done():
                    self.log.working_on(file.display)
                    if not self._embed_one():
                        wait([begun], _LOOK_S)
                extracted = begun.result if begun else partial(read, file)
                all_there &= self._file(root, file, extracted, outcome_of[file])
                if time.monotonic() - began > _LEAST_S and self.comes_first():
                    self.gave_way = True
                    break
        return all_there

    def _put_names(self, files: Sequence[write.FileRecord]) -> None:
        """Store the names of new files, so that the files can be found before they are read."""
        for start in range(0, len(files), _ROWS_A_WRITE):
            self.look()
            with self.store.write() as db:
                for file in files[start : start + _ROWS_A_WRITE]:
                    write.put_name(db, file)

    def _embed_one(self) -> bool:
        """Embed one text on one core while other processes read files. Returns False if no text is queued.
        Also returns False if a server embeds, because its answer may take longer than reading a file."""
        embedder = self.embedding.embedder
        if not self.embeds_meanwhile or embedder is None or embedder.server:
            return False
        self.look()
        return self.embedding.embed_some(1)

    def extracted(self, root: Path, file: write.FileRecord, most_pictures: int = 0) -> Extraction:
        """Read the document in a file. At most ``most_pictures`` new pictures in it are read. Raises
        ExtractError if the file itself cannot be read; errors in its document are returned. Safe in any
        thread."""
        self.embedding.tools.priority.yield_to_searches()
        if file.part:
            return self._named_part(root, file, most_pictures)
        data, path = self._bytes(root, file.stat.path), PurePosixPath(file.display)
        codec = self.limits.encoding_of(root, file)
        return hashlib.sha256(data).hexdigest(), self._document(file, data, path, codec, most_pictures)

    def _document(
        self, file: write.FileRecord, data: bytes, path: PurePosixPath, codec: str, most_pictures: int = 0
    ) -> Extracted | RagError:
        """Read ``data``, the bytes of a file or of a part of it, under the name ``path``. ``codec`` is used
        for text whose encoding would otherwise be guessed."""
        named = named_by_content(data, path)
        try:
            with under_its_name(path, named, data), encoding.expecting(codec):
                if reader := reader_in_worker(named):
                    with self.workers.one() as worker:
                        document = worker.read(reader, data, named, self.remote_ocr(file), most_pictures)
                else:
                    document = plain.read(data, named)
            document = with_its_name(document, path, named)
            return self.blocks.shown_in(document, self.pictures.get(file.source_id))
        except RagError as error:
            return error

    def _named_part(self, root: Path, file: write.FileRecord, most_pictures: int) -> Extraction:
        """Read the part of a file that ``file`` names."""
        path = container_name(root, replace(file, part=""), from_cloud=self.limits.from_cloud)
        if path is None:
            return _NO_PART
        with opened_in_slices(root, file.stat.path, from_cloud=self.limits.from_cloud) as data:
            part = self.known_parts.find(data, path, file.part)
            if part is None:
                return _NO_PART
            container = Container(data, path, self.limits.encoding_of(root, file))
            return part.data_hash, self._of_part(file, container, part, most_pictures)

    def _of_part(
        self, file: write.FileRecord, container: Container, part: ContainedPart, most_pictures: int = 0
    ) -> Extracted | RagError:
        """Read a part of a file. Safe in any thread."""
        try:
            data = container.bytes_of(part, self.limits.max_file_bytes)
        except RagError as error:
            return error
        doc = self._document(file, data, path_of_part(container.path), container.codec, most_pictures)
        if isinstance(doc, RagError) or doc.title_from != "file name":
            return doc
        return replace(doc, title=title_of_name(PurePosixPath(file.display)))

    def _file(
        self, root: Path, file: write.FileRecord, extracted: Callable[[], Extraction], outcome: Outcome
    ) -> bool:
        """Store one file, or the reason why it cannot be read. Returns False if the file is gone."""
        self.embedding.tools.priority.yield_to_searches()
        started = time.monotonic()
        try:
            if path := container_name(root, file, from_cloud=self.limits.from_cloud):
                with opened_in_slices(root, file.stat.path, from_cloud=self.limits.from_cloud) as data:
                    file = replace(file, file_hash=hash_of(data))
                    container = Container(data, path, self.limits.encoding_of(root, file))
                    result = self._put_parts(root, file, container, outcome, started)
            else:
                file_hash, doc = extracted()
                file = replace(file, file_hash=file_hash)
                if isinstance(doc, RagError):
                    raise doc
                result = self.put(file, doc, self.embedded_pictures(doc, root, file, 0), outcome, started)
            if result is None:
                return False
        except FileGone:
            return False
        except StoreError:  # the disk may be full: this file is not at fault
            raise
        except Cancelled:
            raise
        except Exception as error:  # an error in one file must fail only that file
            self.look()  # the worker may have been killed to end the run
            result = self._put_failure(file, error, started)
        self.log.count(result)
        self.furniture.count_file()
        return True

    def _put_parts(
        self, root: Path, file: write.FileRecord, container: Container, outcome: Outcome, started: float
    ) -> FileResult | None:
        """Store each new or changed part of a file, then the file. Raises RagError if the file cannot be
        read."""
        contained = parts_of(container.data, container.path)
        whole = None
        if not contained:
            data = self._bytes(root, file.stat.path)
            whole = self._document(file, data, container.path, container.codec)
        if isinstance(whole, RagError):
            raise whole
        with self.store.read() as db:
            row = parts.file_row(db, file.source_id, file.stat.path)
        if row is None:  # the file was excluded, or its folder was removed
            return None
        reading = PartsReading(
            self.store,
            self.workers,
            file,
            container.path,
            read=partial(self._of_part, file, container),
            put=lambda part, doc: self.put(part, doc, (), None, started),
            put_failure=lambda part, error: self._put_failure(part, error, started),
            look=self._look_at_part,
            embed_one=self._embed_one,
            force=outcome == "reread" and is_current(row.extractor, PurePosixPath(file.display)),
        )
        if not reading.run(contained, row.id):
            return None
        return self.put(file, whole or reading.document(), (), outcome, started, reading.passages)

    def _look_at_part(self, shown: str) -> None:
        self.look()
        self.log.working_on(shown)
        self.furniture.count_file()

    def put(
        self,
        file: write.FileRecord,
        doc: Extracted,
        pictures: Sequence[ReadPicture],
        outcome: Outcome | None,
        started: float,
        of_parts: tuple[int, int] = (0, 0),
    ) -> FileResult | None:
        """Store a document that was read, with the pictures that it embeds. Returns None and stores nothing
        if the owner has excluded the file meanwhile: reading may take long, so the rules are checked again
        here.

        ``outcome`` is recorded if given. ``of_parts`` counts the passages of the document's parts: the new
        ones, then those left out.
        """
        whole = with_pictures(doc, pictures)
        rows = self._rows(whole, file)
        with self.store.write() as db:
            if sources.is_excluded(db, file.source_id, file.stat.path):
                return None
            shown = [picture for picture in pictures if may_show(db, file.source_id, picture.path)]
            if len(shown) < len(pictures):
                whole = with_pictures(doc, shown)
                rows = self._rows(whole, file)
            added = write.put_document(db, file, whole, rows, extractor_number(PurePosixPath(file.display)))
            notes = " ".join(warnings_of(whole))
            result = FileResult(
                source_file=file.display,
                status="success",
                outcome=outcome or "reread",
                chunks_added=added + of_parts[0],
                chunks_skipped=rows.skipped + of_parts[1],
                message=notes,
                processing_time_ms=round((time.monotonic() - started) * 1000),
            )
            if outcome:
                jobs.add_result(db, self.log.job.id, result)
        if whole.waits and self.limits.reads_pictures:
            self.log.say(f"{_PICTURES_WAIT} {whole.waits}")
        if private.UNSURE in notes:
            self.log.say(_UNSURE)
        return result

    def _put_failure(self, file: write.FileRecord, error: Exception, started: float) -> FileResult:
        """Store the reason why a file could not be read. Returns the result of the file."""
        reason = f"Reading it failed ({type(error).__name__}); the rest of the run is not affected."
        if isinstance(error, RagError):
            reason = error.message
        elif isinstance(error, OSError):
            reason = f"It cannot be read: {error.strerror or type(error).__name__}."
        state: Literal["failed", "skipped"] = "skipped" if isinstance(error, NotText) else "failed"
        status: Literal["failure", "success"] = "failure" if state == "failed" else "success"
        took = round((time.monotonic() - started) * 1000)
        result = FileResult(file.display, status, state, 0, 0, reason, took)
        with self.store.write() as db:
            write.put_unread(db, file, state, reason, extractor_number(PurePosixPath(file.display)))
            jobs.add_result(db, self.log.job.id, result)
        return result

    def _rows(self, doc: Extracted, file: write.FileRecord) -> chunks.Rows:
        """Split a document into passages. Returns their rows."""
        embedder = self.embedding.embedder
        passages = cut(doc, self.spec, embedder.count_tokens if embedder else None)
        return chunks.chunk_rows(file.display, doc, passages, self.furniture.repeated)

    def embedded_pictures(
        self, doc: Extracted, root: Path, file: write.FileRecord, most: int
    ) -> list[ReadPicture]:
        """Return the pictures that a note embeds and may show. At most ``most`` of them are read now. The
        others have a text that was read before, or None."""
        links = embeds(doc) if doc.links else []
        known = self.pictures.get(file.source_id)
        if not links or known is None:
            return []
        remote = self.remote_ocr(file)
        if remote and remote.leaves and doc.private:
            remote = None
        hashes: list[str] = []
        pictures: list[ReadPicture] = []
        for link, path in known.of_note(display(file.stat.path), links):
            with self.store.read() as db:
                if not may_show(db, file.source_id, path):
                    continue
            try:
                data = self._bytes(root, path)
                seen = self._seen(data, PurePosixPath(display(path)), remote, most)
            except OnlyInCloud:
                if kept := self._kept_text(file, path):
                    pictures.append(ReadPicture(link, path, kept))
                continue
            except ExtractError:  # the picture is damaged
                self.look()
                continue
            most -= seen is not None and not seen.pictures_left
            hashes.append(hashlib.sha256(data).hexdigest())
            pictures.append(ReadPicture(link, path, seen))
        if self.limits.pictures:
            ocr.note_pictures(self.limits.pictures, file.file_hash, hashes)
        return pictures

    def _kept_text(self, note: write.FileRecord, picture: bytes) -> Extracted | None:
        """Return the stored text of a picture in a note, or None if the store has none."""
        with self.store.read() as db:
            text = picture_rows.text_in_note(db, note.source_id, note.stat.path, display(picture))
        segments = (Segment(0, len(text)),)
        return Extracted(text, "picture", "", "", "file name", segments) if text else None

    def _seen(
        self, data: bytes, path: PurePosixPath, remote: RemoteReader | None, most: int
    ) -> Extracted | None:
        """Return the text in a picture that a note embeds, or None if the picture was not read yet. A new
        picture is read only if ``most`` is above 0. Raises ExtractError."""
        folder = self.limits.pictures
        if most <= 0 and not (folder and ocr.was_read(folder, data)):
            return None
        reader = reader_in_worker(path)
        if reader is None:
            return None
        with self.workers.one() as worker:
            return worker.read(reader, data, path, remote, max(most, 0))

    def remote_ocr(self, file: write.FileRecord) -> RemoteReader | None:
        """Return the server that may read the pictures in a file, or None if there is none. A server on
        another machine gets no pictures from private documents."""
        remote = self.limits.remote_ocr
        if remote is None or not remote.leaves:
            return remote

        def is_hidden() -> bool:
            with self.store.read() as db:
                return bool(privacy.bits(db, file.source_id, file.stat.path, by_note=False))

        return None if is_hidden() else UnlessHidden(remote, is_hidden)


def _cost(file: write.FileRecord) -> tuple[int, int, int]:
    """Return the sort key for the order of reading: text, then documents, then pictures. In each group
    smaller files come first. Among files of similar size, newer ones come first."""
    path, size = PurePosixPath(file.display), file.stat.size
    dear = bool(reader_in_worker(path)) + (file_type(path) == "picture")
    return dear, max(size.bit_length() - _STEP_OF_SIZE, 0), -file.stat.mtime_ns


def _begins_early(file: write.FileRecord) -> bool:
    """Whether another process should read the file ahead, while earlier ones are stored. Large files are
    not read ahead, as they take memory."""
    path = PurePosixPath(file.display)
    return file.stat.size <= _MOST_AHEAD_BYTES and bool(reader_in_worker(path)) and not holds_parts(path)
