"""The write path: files → extract → chunk → store (words searchable) → embed → vectors.

A run is requested by a row in the store's table ``requests``. The *runner* carries it out: the one process
that holds the store's lock. The requesting process becomes the runner if there is none.

A run that is killed leaves nothing half done. Its requests stay for the next run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from rag_core.errors import Cancelled, RagError, Stopped, StoreError
from rag_core.extract import Worker, Workers
from rag_core.files import display
from rag_core.index.embedding import Embedding, OpenEmbedder, OpenIndex, Tools, no_index
from rag_core.index.furniture import Furniture
from rag_core.index.job_log import EndState, JobLog, JobReport
from rag_core.index.pictures import PictureQueue
from rag_core.index.plan import forgetting, forgetting_excluded, make_plan, wanted
from rag_core.index.priority import SearchPriority
from rag_core.index.reading import USUAL, Limits, Reading
from rag_core.index.requests import requested
from rag_core.store import Store, documents, furniture, jobs, sources
from rag_core.store.jobs import Request
from rag_core.types import FileResult, Job, Source

_ALL_PAUSED = "Every folder is paused, so none was read. Resume one to have it read again."
DROPS_TEXT = frozenset({"changed", "reread", "deleted", "excluded", "skipped"})
"""Outcomes that may remove text from a store."""
_WAIT_S = 0.05  # seconds to wait for pictures before checking for requests again
_MOST_SCANS = 5  # maximum scans of one folder whose files are renamed while they are read

Stop = Callable[[], bool]


def run(
    store: Store,
    open_embedder: OpenEmbedder,
    report: JobReport | None = None,
    limits: Limits = USUAL,
    stop: Stop | None = None,
    open_index: OpenIndex = no_index,
    priority: SearchPriority | None = None,
) -> Job | None:
    """Become the runner and carry out all requests. Returns the last job, or None if nothing was requested.

    Args:
        store: The store to index.
        open_embedder: Opens an embedder by its name.
        report: Called several times a second with a snapshot of the job, in this thread.
        limits: The limits of the run.
        stop: When it returns True, the run ends as *interrupted*. Its requests stay for the next run.
        open_index: Opens a remote vector index.
        priority: The searches that the run yields to.

    Raises:
        StoreBusy: Another runner is at work. It will carry out the requests.
        InUpkeep: The store is being repaired, renamed or removed. The requests stay.

    """
    job = None
    while requested(store) and not (stop and stop()):
        with store.hold("index"):
            tools = Tools(open_embedder, open_index, limits.batch_size, priority or SearchPriority())
            job = Runner(store, tools, limits, stop).run(report) or job
    return job


@dataclass
class Runner:
    """One run under the store's lock. It ends when all vectors are made, or with ``words_only`` when all
    files are read."""

    store: Store
    tools: Tools
    limits: Limits
    stop: Stop | None = None
    words_only: bool = False
    _last: int = 0  # the newest request seen
    _waiting: list[Request] = field(default_factory=list)  # requests seen but not yet begun
    _left_over: bool = False  # whether the run before may have left vectors that nobody needs
    _counted: set[int] = field(default_factory=set)  # sources whose untouched files were counted
    _log: JobLog = field(init=False)
    _embedding: Embedding = field(init=False)
    _reading: Reading = field(init=False)
    _pictures: PictureQueue = field(init=False)

    def run(self, report: JobReport | None = None) -> Job | None:
        """Carry out the requests. Returns the job, or None if nothing was requested."""
        job_id = self._start()
        if job_id is None:
            return None
        self._log = JobLog(self.store, job_id, report, self._look_for_requests)
        self._embedding = Embedding(self.store, self.tools, self._log, self._look_for_requests)
        try:
            self._look_for_requests()
            self._embedding.open(with_index=not self.words_only)
            self._log.embeds = self._embedding.embedder is not None and not self.words_only
            self._reading = self._new_reading()
            self._pictures = PictureQueue(self._reading, self._is_over)
            with closing(self._pictures):
                self._pictures.note_why_left()
                while self._waiting:
                    self._read_requested()
                    if not self.words_only:
                        self._empty_queues()
            if not self.words_only:
                dropped = self._left_over or not DROPS_TEXT.isdisjoint(self._log.counts)
                dropped = dropped or self._reading.furniture.changed or self._pictures.done > 0
                self._embedding.finish(text_was_dropped=dropped)
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

    def _new_reading(self) -> Reading:
        """Return the object that reads files in this run."""
        limits = self.limits
        new = partial(Worker, limits.extractor_timeout_s, ocr=limits.ocr, pictures=limits.pictures)
        with self.store.read() as db:
            repeated = furniture.repeated(db)
        return Reading(
            self.store,
            limits,
            self._log,
            self._look_for_requests,
            Workers(new, self._is_over),
            self._embedding,
            Furniture(self.store, self._look_for_requests, repeated),
            self.store.spec,
            embeds_meanwhile=not self.words_only,
        )

    def _read_requested(self) -> None:
        """Read the sources and files requested so far, then find the furniture in them."""
        requests, self._waiting = self._waiting, []
        with closing(self._reading.workers):
            if not self._read(requests):
                self._waiting += requests  # after the requests that came meanwhile
        self._reading.furniture.settle()

    def _empty_queues(self) -> None:
        """Embed texts and read pictures at the same time, until both queues are empty or a new request
        comes."""
        self._embedding.begin_queue()
        settled = self._pictures.done
        while not self._look_for_requests():
            has_texts = self._embedding.embed_batch()
            has_pictures = self._pictures.advance()
            if has_texts:
                continue
            if has_pictures:
                self._wait_for_pictures()
            elif settled < self._pictures.done:
                settled = self._pictures.done
                self._reading.furniture.settle()
            else:
                break
        self._embedding.send()

    def _wait_for_pictures(self) -> None:
        pictures = self._pictures
        if self._log.job.progress.phase != "pictures":
            self._log.phase("pictures", pictures.total, pictures.done)
        self._log.advance(pictures.done, pictures.current, total=pictures.total)
        pictures.wait(_WAIT_S)

    def _start(self) -> int | None:
        """Open a job for the waiting requests. Returns the job's id, or None if there are no requests.

        A cancel drops the requests before it if other requests follow. If none follow, the job is opened and
        then cancelled.
        """
        with self.store.read() as db:
            requests = jobs.requests_after(db, 0)
        voided: list[Request] = []
        waiting: list[Request] = []
        for asked in requests:
            if asked.kind == "cancel":
                voided, waiting = [*voided, *waiting], []
            else:
                waiting.append(asked)
        self._waiting = waiting or voided
        with self.store.note() as db:
            if not self._waiting:
                jobs.drop_requests(db, requests[-1].id if requests else 0)
                return None
            self._last = self._waiting[-1].id
            job_id, ended_well = jobs.start_job(db)
            self._left_over = not ended_well
            return job_id

    def _look_for_requests(self) -> bool:
        """Fetch the requests that came since the last call. Returns whether any request is waiting.

        Raises:
            Cancelled: One of the requests cancels the run. Later requests stay for the next run.
            Stopped: The process is to end.

        """
        if self.stop and self.stop():
            raise Stopped
        self.tools.priority.yield_to_searches()
        with self.store.read() as db:
            requests = jobs.requests_after(db, self._last)
        for asked in reversed(requests):
            if asked.kind == "cancel":
                self._last = asked.id
                raise Cancelled
        self._last = requests[-1].id if requests else self._last
        self._waiting += requests
        return bool(self._waiting)

    def _is_over(self) -> bool:
        """Whether `_look_for_requests` would end the run. Safe in any thread."""
        if self.stop and self.stop():
            return True
        with self.store.read() as db:
            return any(asked.kind == "cancel" for asked in jobs.requests_after(db, self._last))

    def _end(self, state: EndState, message: str = "") -> None:
        if message:
            self._log.say(message)
        try:
            self._log.end(state)
        except StoreError:  # the disk may be full: a checkpoint frees room in the write-ahead log
            self.store.checkpoint()
            self._log.end(state)
        if state != "interrupted":
            with self.store.note() as db:
                jobs.drop_requests(db, self._last)

    # --- words ----------------------------------------------------------------------

    def _read(self, requests: Sequence[Request]) -> bool:
        """Update every requested source, each once. Returns False if it stopped early for another request,
        such as for a note that was just saved; then call it again."""
        with self.store.read() as db:
            every = sources.all_sources(db)
        every.sort(key=lambda source: source.removed, reverse=True)  # another source may take their files
        read: list[Source] = []
        again: dict[int, Source] = {}  # sources that may take files that a later source gave up
        for source in every:
            forgets, whole, parts = wanted(requests, source)
            if forgets:
                self._reading.apply(forgetting(self.store, source))
            if parts:  # a note that was just saved comes first
                paths = frozenset[bytes]().union(*(request.paths or () for request in parts))
                self._source(source, force=any(request.force for request in parts), only=paths)
            if whole:
                if self._source(source, force=any(request.force for request in whole)):
                    again |= {other.id: other for other in read if sources.overlap(other, source)}
                read.append(source)
                if self._reading.gave_way:
                    return False
        for source in again.values():
            self._source(source, force=False)
        if every and not read and any(request.sources is None for request in requests):
            self._log.say(_ALL_PAUSED)
        return True

    def _source(self, source: Source, *, force: bool, only: Set[bytes] | None = None) -> bool:
        """Update a source, or ``only`` these files of it. Returns whether any document was removed.

        If a file is gone before it is read, the source is scanned again, because the file may have been
        renamed.
        """
        gave_up = False
        self._reading.comes_first = (lambda: False) if force or only else self._look_for_requests
        for scans in range(_MOST_SCANS):
            with self.store.read() as db:
                source = sources.current_source(db, source)  # its patterns may have changed
            self._log.phase("scanning", 0)
            try:
                plan = make_plan(
                    self.store,
                    source,
                    force=force and not scans,
                    only=only,
                    max_bytes=self.limits.max_file_bytes,
                    from_cloud=self.limits.from_cloud,
                    on_progress=self._log.advance,
                )
            except Cancelled:
                raise
            except RagError as error:
                self._log.say(str(error))
                root = display(os.fsencode(source.root))
                result = FileResult(root, "failure", "failed", message=error.message)
                with self.store.note() as db:
                    jobs.add_result(db, self._log.job.id, result)
                with self.store.write() as db:
                    documents.forget_named(db, source.id)
                self._log.count(result)
                plan = forgetting_excluded(self.store, source, only)  # also while its disk is not there
                self._reading.apply(plan)
                return gave_up or bool(plan.deleted)
            if only is None and source.id not in self._counted:
                self._counted.add(source.id)
                self._log.counts.update(plan.left_alone)
            is_seen_whole = self._reading.apply(plan)
            gave_up |= bool(plan.deleted)
            if is_seen_whole or self._reading.gave_way:
                break
        else:
            gone = f"Some files of {source.root!r} were gone before they could be read."
            self._log.say(f"{gone} The next run looks for them again.")
        if source.removed and not self._reading.gave_way:
            with self.store.decide() as db:
                sources.drop_source(db, source.id)
        return gave_up
