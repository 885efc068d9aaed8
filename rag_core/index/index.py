"""The write path: files → extract → chunk → store (words searchable) → embed → vectors.

A run is asked for by a row in the store's ``requests`` and done by its *runner*, the one process that holds
the store's lock. Whoever asks becomes the runner if there is none; a run that was killed leaves nothing half
done, and its requests for the next one.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Literal

from rag_core.errors import Cancelled, ExtractError, FileGone, NotText, RagError, Stopped, StoreError
from rag_core.extract import (
    TIME_LIMIT_S,
    Worker,
    Workers,
    extract,
    extractor_number,
    ocr,
    plain,
    private,
    reader_in_worker,
)
from rag_core.extract.chunk import cut
from rag_core.extract.filetypes import UNFINISHED, title_of_name
from rag_core.extract.ocr import Remote, UnlessHidden
from rag_core.files import display, read_bytes
from rag_core.index.embedded import (
    EmbeddedPictures,
    ReadPicture,
    embeds,
    may_show,
    with_pictures,
)
from rag_core.index.embedding import BATCH, Embedding, OpenEmbedder, OpenIndex, Tools, no_index
from rag_core.index.furniture import Furniture
from rag_core.index.job_log import EndState, JobLog, Report
from rag_core.index.plan import MAX_FILE_BYTES, Plan, forgetting, forgetting_excluded, make_plan, wanted
from rag_core.index.priority import SearchPriority
from rag_core.store import Store, chunks, furniture, jobs, privacy, sources
from rag_core.store import documents as write
from rag_core.store.jobs import Request
from rag_core.types import ChunkSpec, Extracted, FileResult, Job, Outcome, Source

_WARNINGS_SHOWN = 20
_ALL_PAUSED = "Every folder is paused, so none was read. Resume one to have it read again."
_UNSURE = (
    "Some notes do not say for certain whether they are private, so they are kept private. The store's page"
    " and `commonplace store private` list them."
)
_PICTURES_WAIT = "The text in some pictures is not read yet; the next run tries again."
_ROWS_A_WRITE = 500
DROPS_TEXT = frozenset({"changed", "reread", "deleted", "excluded", "skipped"})
"""Outcomes after which a store may hold less text."""
_MOST_AHEAD_BYTES = 16_000_000
_MOST_SCANS = 5  # of a folder in which files are renamed while they are read

Stop = Callable[[], bool]
_Extraction = tuple[str, Extracted | RagError]


@dataclass(frozen=True, slots=True)
class Limits:
    """Texts embedded at once, bytes of the largest file, seconds for one; the setting ``ocr`` for what is
    read on this machine, the model on a server that reads other ``pictures``, and the folder that keeps what
    was read in them."""

    batch_size: int = BATCH
    max_file_bytes: int = MAX_FILE_BYTES
    extractor_timeout_s: float = TIME_LIMIT_S
    ocr: str = "auto"
    pictures: Path | None = None
    remote_ocr: Remote | None = None


def request(
    store: Store,
    source_ids: Sequence[int] | None,
    *,
    force: bool = False,
    paths: Sequence[bytes] | None = None,
) -> None:
    """Ask for a run over some sources (None: all that are not paused), or over these files of them; ``force``
    reads them changed or not."""
    with store.note() as db:
        jobs.add_request(db, "index", source_ids, force=force, paths=paths)


def requested(store: Store) -> bool:
    """Whether a request is not done yet."""
    with store.read() as db:
        return bool(jobs.requests_after(db, 0))


def cancel(store: Store) -> None:
    """Ask the runner to stop after the current file or batch, or withdraw the requests if none runs."""
    if requested(store) or store.running():
        with store.note() as db:
            jobs.add_request(db, "cancel")


def run(
    store: Store,
    open_embedder: OpenEmbedder,
    report: Report | None = None,
    limits: Limits = Limits(),
    stop: Stop | None = None,
    open_index: OpenIndex = no_index,
    priority: SearchPriority | None = None,
) -> Job | None:
    """Become the runner and do every request; returns the last job, None if there was nothing to do.

    ``report`` gets a snapshot several times a second, in this thread. When ``stop`` returns True, the run
    ends as *interrupted* and leaves its requests for the next one. It yields to the searches of ``priority``.
    Raises StoreBusy when another runner is at work, which then takes the requests; InUpkeep when the store is
    being mended, renamed or removed, and nobody takes them.
    """
    job = None
    while requested(store) and not (stop and stop()):
        with store.hold("index"):
            tools = Tools(open_embedder, open_index, limits.batch_size, priority or SearchPriority())
            job = Runner(store, tools, limits, stop).run(report) or job
    return job


@dataclass
class Runner:
    """One run under the store's lock, to the last vector, or with ``words_only`` to the last file."""

    store: Store
    tools: Tools
    limits: Limits
    stop: Stop | None = None
    words_only: bool = False
    _last: int = 0  # the newest request seen
    _waiting: list[Request] = field(default_factory=list)  # seen, and not yet begun
    _left_over: bool = False  # whether the run before may have left vectors that nobody needs
    _counted: set[int] = field(default_factory=set)  # sources whose untouched files were counted
    _log: JobLog = field(init=False)
    _embedding: Embedding = field(init=False)
    _furniture: Furniture = field(init=False)
    _spec: ChunkSpec = field(init=False)
    _workers: Workers = field(init=False)  # where formats other than text are read
    _pictures: EmbeddedPictures | None = None  # those that notes of the source may embed

    def run(self, report: Report | None = None) -> Job | None:
        """Do the requests; returns the job, None when there were no requests."""
        job_id = self._start()
        if job_id is None:
            return None
        self._spec = self.store.spec
        limits = self.limits
        self._workers = Workers(
            partial(Worker, limits.extractor_timeout_s, ocr=limits.ocr, pictures=limits.pictures),
            self._is_over,
        )
        self._log = JobLog(self.store, job_id, report, self._look_for_requests)
        self._embedding = Embedding(self.store, self.tools, self._log, self._look_for_requests)
        try:
            self._look_for_requests()
            self._embedding.open(with_index=not self.words_only)
            with self.store.read() as db:
                self._furniture = Furniture(self.store, self._look_for_requests, furniture.repeated(db))
            while self._waiting:
                requests, self._waiting = self._waiting, []
                with closing(self._workers):
                    self._read(requests)
                self._furniture.settle()
                if not self.words_only:
                    self._embedding.embed_queue()
                    self._embedding.send()
            if not self.words_only:
                dropped = self._left_over or not DROPS_TEXT.isdisjoint(self._log.counts)
                self._embedding.finish(text_was_dropped=dropped or self._furniture.changed)
            self._end("done")
        except Stopped as error:
            self._end("interrupted", str(error))
        except Cancelled:
            self._end("cancelled")
        except KeyboardInterrupt:
            self._end("cancelled")
            raise
        except RagError as error:
            self._end("failed", str(error))
        except BaseException as error:
            self._end("failed", f"The run stopped unexpectedly: {type(error).__name__}.")
            raise
        return self._log.job

    def _start(self) -> int | None:
        """Open a job for the requests that wait. A cancel voids those before it, unless others follow."""
        with self.store.read() as db:
            found = jobs.requests_after(db, 0)
        voided: list[Request] = []
        waiting: list[Request] = []
        for asked in found:
            if asked.kind == "cancel":
                voided, waiting = [*voided, *waiting], []
            else:
                waiting.append(asked)
        self._waiting = waiting or voided
        with self.store.note() as db:
            if not self._waiting:
                jobs.drop_requests(db, found[-1].id if found else 0)
                return None
            self._last = self._waiting[-1].id
            job_id, ended_well = jobs.start_job(db)
            self._left_over = not ended_well
            return job_id

    def _look_for_requests(self) -> bool:
        """Take the requests that came since the last look; returns whether any waits. Raises Cancelled for
        one that cancels, and leaves later ones to the next run; Stopped when the process is to end."""
        if self.stop and self.stop():
            raise Stopped
        self.tools.priority.yield_to_searches()
        with self.store.read() as db:
            found = jobs.requests_after(db, self._last)
        for asked in reversed(found):
            if asked.kind == "cancel":
                self._last = asked.id
                raise Cancelled
        self._last = found[-1].id if found else self._last
        self._waiting += found
        return bool(self._waiting)

    def _is_over(self) -> bool:
        """Whether `_look_for_requests` would end the run. For any thread."""
        if self.stop and self.stop():
            return True
        with self.store.read() as db:
            return any(asked.kind == "cancel" for asked in jobs.requests_after(db, self._last))

    def _end(self, state: EndState, message: str = "") -> None:
        if message:
            self._log.say(message)
        try:
            self._log.end(state)
        except StoreError:  # such as a full disk, where the write-ahead log has room to give back
            self.store.checkpoint()
            self._log.end(state)
        if state != "interrupted":
            with self.store.note() as db:
                jobs.drop_requests(db, self._last)

    # --- words ----------------------------------------------------------------------

    def _read(self, requests: Sequence[Request]) -> None:
        """Bring every source that is asked for up to date, once however often it is."""
        with self.store.read() as db:
            every = sources.all_sources(db)
        every.sort(key=attrgetter("removed"), reverse=True)  # another one may take their files
        read: list[Source] = []
        again: dict[int, Source] = {}  # those that may take what one behind them gave up
        for source in every:
            forgets, whole, parts = wanted(requests, source)
            if forgets:
                self._apply(forgetting(self.store, source))
            if whole:
                if self._source(source, force=any(map(attrgetter("force"), whole))):
                    again |= {each.id: each for each in read if sources.overlap(each, source)}
                read.append(source)
            if parts:
                paths = frozenset[bytes]().union(*(request.paths or () for request in parts))
                self._source(source, force=any(map(attrgetter("force"), parts)), only=paths)
        for source in again.values():
            self._source(source, force=False)
        if every and not read and None in map(attrgetter("sources"), requests):
            self._log.say(_ALL_PAUSED)

    def _source(self, source: Source, *, force: bool, only: Set[bytes] | None = None) -> bool:
        """Bring a source up to date, or ``only`` some files of it; returns whether it lost any. A file that
        is gone before it is read may have another name now, so there is another scan."""
        gave_up = False
        for scans in range(_MOST_SCANS):
            with self.store.read() as db:
                source = sources.current(db, source)  # its patterns may have changed
            self._log.phase("scanning", 0)
            try:
                plan = make_plan(
                    self.store, source, force=force and not scans, only=only,
                    max_bytes=self.limits.max_file_bytes, on_progress=self._log.advance,
                )  # fmt: skip
            except Cancelled:
                raise
            except RagError as error:
                self._log.say(str(error))
                root = display(os.fsencode(source.root))
                result = FileResult(root, "failure", "failed", message=error.message)
                with self.store.note() as db:
                    jobs.add_result(db, self._log.job.id, result)
                self._log.count(result)
                plan = forgetting_excluded(self.store, source, only)  # also while its disk is not there
                self._apply(plan)
                return gave_up or bool(plan.deleted)
            if only is None and source.id not in self._counted:
                self._counted.add(source.id)
                self._log.counts.update(plan.left_alone)
            is_seen_whole = self._apply(plan)
            gave_up |= bool(plan.deleted)
            if is_seen_whole:
                break
        else:
            gone = f"Some files of {source.root!r} were gone before they could be read."
            self._log.say(f"{gone} The next run looks for them again.")
        if source.removed:
            with self.store.decide() as db:
                sources.drop_source(db, source.id)
        return gave_up

    @contextmanager
    def _recorded(self, result: FileResult) -> Iterator[sqlite3.Connection]:
        """A write transaction that ends with ``result``, which is then counted as a step."""
        with self.store.write() as db:
            yield db
            jobs.add_result(db, self._log.job.id, result)
        self._log.count(result)

    def _apply(self, plan: Plan) -> bool:
        """Do what the plan says, a document a transaction. Returns whether every file was still there."""
        for warning in plan.warnings[:_WARNINGS_SHOWN]:
            self._log.say(warning)
        steps = len(plan.moved) + len(plan.deleted) + sum(map(len, plan.to_read.values()))
        self._log.phase("reading", steps)
        for start in range(0, len(plan.touched), _ROWS_A_WRITE):
            with self.store.write() as db:
                for move in plan.touched[start : start + _ROWS_A_WRITE]:
                    write.touch(db, move.known.id, move.file)
        for move in plan.moved:
            named = move.known.title_from == "file name"
            title = title_of_name(PurePosixPath(move.file.display)) if named else None
            file = replace(move.file, file_hash=move.known.file_hash)
            result = FileResult(file.display, "success", "moved", message=f"from {move.known.display}")
            with self._recorded(result) as db:
                write.move(db, move.known.id, file, title)
        for known in plan.deleted:
            result = FileResult(known.display, "success", plan.why_gone(known))
            with self._recorded(result) as db:
                write.remove(db, known.id)
        self._pictures = plan.pictures
        all_there = not plan.is_partial
        for outcome, found in plan.to_read.items():
            oldest_first = sorted(
                found, key=attrgetter("stat.mtime_ns")
            )  # what is read last is embedded first
            read = partial(self._extracted, Path(plan.source.root))
            with closing(self._workers.ahead(oldest_first, read, _begins_early)) as files:
                for file, begun in files:
                    while begun and not begun.done() and self._embeds_meanwhile():
                        pass
                    extracted = begun.result if begun else partial(read, file)
                    all_there &= self._file(Path(plan.source.root), file, extracted, outcome)
        return all_there

    def _embeds_meanwhile(self) -> bool:
        """Embed one text, on one core, while other processes read; returns False where there is none, or a
        server makes the vectors: its answer may take longer than the file."""
        embedder = self._embedding.embedder
        if self.words_only or embedder is None or embedder.server:
            return False
        self._look_for_requests()
        return self._embedding.embed_some(1)

    def _extracted(self, root: Path, file: write.FileRecord) -> _Extraction:
        """The hash of a file and its document, or why it cannot be read. For any thread."""
        self.tools.priority.yield_to_searches()
        data = read_bytes(root, file.stat.path, self.limits.max_file_bytes)
        file_hash, path = hashlib.sha256(data).hexdigest(), PurePosixPath(file.display)
        try:
            reader = reader_in_worker(path)
            if reader is None:
                return file_hash, plain.read(data, path)
            with self._workers.one() as worker:
                return file_hash, worker.read(reader, data, path, self._remote_ocr(file))
        except RagError as error:
            return file_hash, error

    def _file(
        self, root: Path, file: write.FileRecord, extracted: Callable[[], _Extraction], outcome: Outcome
    ) -> bool:
        """Store one file whole, or the reason why not. Returns False when the file is gone."""
        self.tools.priority.yield_to_searches()
        started = time.monotonic()
        extractor = extractor_number(PurePosixPath(file.display))
        try:
            file_hash, doc = extracted()
            file = replace(file, file_hash=file_hash)
            if isinstance(doc, RagError):
                raise doc
            result = self._put(root, file, doc, outcome, started)
            if result is None:
                return False
        except FileGone:
            return False
        except StoreError:  # a full disk is no fault of this file
            raise
        except Cancelled:
            raise
        except Exception as error:  # whatever is wrong with one file fails that file only
            self._look_for_requests()  # its process may have been killed to end the run
            reason = f"Reading it failed ({type(error).__name__}); the rest of the run is not affected."
            if isinstance(error, RagError):
                reason = error.message
            elif isinstance(error, OSError):
                reason = f"It cannot be read: {error.strerror or type(error).__name__}."
            state: Literal["failed", "skipped"] = "skipped" if isinstance(error, NotText) else "failed"
            took = round((time.monotonic() - started) * 1000)
            status: Literal["failure", "success"] = "failure" if state == "failed" else "success"
            result = FileResult(file.display, status, state, 0, 0, reason, took)
            with self.store.write() as db:
                write.put_unread(db, file, state, reason, extractor)
                jobs.add_result(db, self._log.job.id, result)
        self._log.count(result)
        self._furniture.count_file()
        return True

    def _put(
        self, root: Path, file: write.FileRecord, doc: Extracted, outcome: Outcome, started: float
    ) -> FileResult | None:
        """Store a document that was read, with the pictures that it embeds; None, and nothing, if the owner
        excluded its file meanwhile. Reading pictures takes long, so the rules are asked again at last."""
        pictures = self._embedded_pictures(doc, root, file) if doc.links and self._pictures else []
        whole = with_pictures(doc, pictures)
        rows = self._rows(whole, file)
        with self.store.write() as db:
            if sources.is_excluded(db, file.source_id, file.stat.path):
                return None
            shown = [picture for picture in pictures if may_show(db, file.source_id, picture.path)]
            if len(shown) < len(pictures):
                whole = with_pictures(doc, shown)
                rows = self._rows(whole, file)
            extractor = UNFINISHED if whole.waits else extractor_number(PurePosixPath(file.display))
            added = write.put(db, file, whole, rows, extractor)
            took, notes = round((time.monotonic() - started) * 1000), " ".join(whole.warnings)
            result = FileResult(file.display, "success", outcome, added, rows.skipped, notes, took)
            jobs.add_result(db, self._log.job.id, result)
        if whole.waits:
            self._log.say(f"{_PICTURES_WAIT} {whole.waits}")
        if private.UNSURE in notes:
            self._log.say(_UNSURE)
        return result

    def _rows(self, doc: Extracted, file: write.FileRecord) -> chunks.Rows:
        """The passages of a document as they are stored."""
        embedder = self._embedding.embedder
        passages = cut(doc, self._spec, embedder.count_tokens if embedder else None)
        return chunks.rows(file.display, doc, passages, self._furniture.repeated)

    def _embedded_pictures(self, doc: Extracted, root: Path, file: write.FileRecord) -> list[ReadPicture]:
        """The pictures that a note embeds and may show, as they were read."""
        links = embeds(doc)
        remote = self._remote_ocr(file)
        if remote and remote.leaves and doc.private:
            remote = None
        held: list[str] = []
        pictures: list[ReadPicture] = []
        for link, path in self._pictures.of_note(display(file.stat.path), links) if self._pictures else ():
            with self.store.read() as db:
                if not may_show(db, file.source_id, path):
                    continue
            try:
                data = read_bytes(root, path, self.limits.max_file_bytes)
                with self._workers.one() as worker:
                    picture = extract(data, PurePosixPath(display(path)), worker, remote)
            except ExtractError:  # it is damaged, or no engine is installed
                self._look_for_requests()
                continue
            held.append(hashlib.sha256(data).hexdigest())
            pictures.append(ReadPicture(link, path, picture))
        if links and self.limits.pictures:
            ocr.hold(self.limits.pictures, file.file_hash, held)
        return pictures

    def _remote_ocr(self, file: write.FileRecord) -> Remote | None:
        """The server that may read the pictures in a file: one elsewhere gets none of private documents."""
        remote = self.limits.remote_ocr
        if remote is None or not remote.leaves:
            return remote

        def is_hidden() -> bool:
            with self.store.read() as db:
                return bool(privacy.bits(db, file.source_id, file.stat.path, by_note=False))

        return None if is_hidden() else UnlessHidden(remote, is_hidden)


def _begins_early(file: write.FileRecord) -> bool:
    """Whether another process reads the file while those before it are stored; a large one takes memory."""
    return file.stat.size <= _MOST_AHEAD_BYTES and bool(reader_in_worker(PurePosixPath(file.display)))
