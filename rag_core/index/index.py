"""The write path: files → extract → chunk → store (words searchable) → embed → vectors.

A run is asked for by a row in the store's ``requests`` and done by its *runner*, the one
process that holds the store's lock. Whoever asks becomes the runner if there is none; a run
that was killed leaves nothing half done, and its requests for the next one.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Literal

from rag_core.errors import Cancelled, FileGone, NotText, RagError, Stopped, StoreError
from rag_core.extract import TIME_LIMIT_S, Worker, extract, extractor_number, private
from rag_core.extract.chunk import cut
from rag_core.extract.filetypes import title_of_name
from rag_core.files import display, read_bytes
from rag_core.index.embedding import BATCH, Embedding, OpenEmbedder, OpenIndex, Tools, no_index
from rag_core.index.job_log import EndState, JobLog, Report
from rag_core.index.plan import MAX_FILE_BYTES, Plan, forgetting, forgetting_excluded, make_plan
from rag_core.index.priority import SearchPriority
from rag_core.store import Store, chunks, jobs, sources
from rag_core.store import documents as write
from rag_core.store.jobs import Request
from rag_core.types import FileResult, Job, Outcome, Source

_WARNINGS_SHOWN = 20
_ALL_PAUSED = "Every folder is paused, so none was read. Resume one to have it read again."
_UNSURE = (
    "Some notes do not say for certain whether they are private, so they are kept private. The store's page"
    " and `commonplace store private` list them."
)
_ROWS_A_WRITE = 500
_DROPS_TEXT = frozenset({"changed", "reread", "deleted", "excluded", "skipped"})  # outcomes
_MOST_SCANS = 5  # of a folder in which files are renamed while they are read

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many texts are embedded at once, the largest file to read, and how long a package may take for
    one."""

    batch_size: int = BATCH
    max_file_bytes: int = MAX_FILE_BYTES
    extractor_timeout_s: float = TIME_LIMIT_S


def request(store: Store, source_ids: Sequence[int] | None, *, force: bool = False) -> None:
    """Ask for a run over the sources ``source_ids`` (None: all that are not paused)."""
    with store.note() as db:
        jobs.add_request(db, "index", source_ids, force=force)


def request_files(store: Store, source_id: int, paths: Sequence[bytes]) -> None:
    """Ask for files of a source to be read again, changed or not."""
    with store.note() as db:
        jobs.add_request(db, "index", [source_id], force=True, paths=paths)


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


class Runner:
    """One run, from the first request to the last vector, or with ``words_only`` to the last file. Made and
    used under the store's lock."""

    def __init__(
        self,
        store: Store,
        tools: Tools,
        limits: Limits,
        stop: Stop | None = None,
        *,
        words_only: bool = False,
    ) -> None:
        self._store = store
        self._words_only = words_only
        self._stop = stop
        self._limits = limits
        self._tools = tools
        self._spec = store.spec
        self._last = 0  # the newest request seen
        self._waiting: list[Request] = []  # seen, and not yet begun
        self._left_over = False  # whether the run before may have left vectors that nobody needs
        self._worker = Worker(limits.extractor_timeout_s)  # where the extractors of packages work
        # How many files of each source were left alone, None once all of them were looked at.
        self._left_alone: dict[int, Counter[str] | None] = {}
        self._log: JobLog
        self._embedding: Embedding

    def run(self, report: Report | None = None) -> Job | None:
        """Do the requests; returns the job, None when there were no requests."""
        job_id = self._start()
        if job_id is None:
            return None
        look = self._look_for_requests
        self._log = JobLog(self._store, job_id, report, look)
        self._embedding = Embedding(self._store, self._tools, self._log, look, lambda: bool(self._waiting))
        try:
            self._do_requests()
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
        """Open a job for the requests that wait. A cancel voids those before it, unless others came after
        it."""
        with self._store.read() as db:
            found = jobs.requests_after(db, 0)
        asked: list[Request] = []
        self._waiting = []
        for each in found:
            if each.kind == "index":
                asked.append(each)
                self._waiting.append(each)
            else:
                self._waiting = []
        self._waiting = self._waiting or asked
        with self._store.note() as db:
            if not self._waiting:
                jobs.drop_requests(db, found[-1].id if found else 0)
                return None
            self._last = self._waiting[-1].id
            job_id, ended_well = jobs.start_job(db)
            self._left_over = not ended_well
            return job_id

    def _do_requests(self) -> None:
        self._look_for_requests()
        self._embedding.open(with_index=not self._words_only)
        while self._waiting:
            requests, self._waiting = self._waiting, []
            with self._worker:
                self._read(requests)
            if not self._words_only:
                self._embedding.embed_queue()
                self._embedding.send()
        if self._words_only:
            return
        dropped = not _DROPS_TEXT.isdisjoint(self._log.counts)
        self._embedding.finish(text_was_dropped=self._left_over or dropped)

    def _look_for_requests(self) -> None:
        """Take the requests that came since the last look. Raises Cancelled for one that cancels; what came
        after it waits for the next run. Raises Stopped when the process is to end."""
        if self._stop and self._stop():
            raise Stopped
        self._tools.priority.yield_to_searches()
        with self._store.read() as db:
            found = jobs.requests_after(db, self._last)
        cancels = [asked.id for asked in found if asked.kind == "cancel"]
        if cancels:
            self._last = cancels[-1]
            raise Cancelled
        self._last = found[-1].id if found else self._last
        self._waiting += found

    def _end(self, state: EndState, message: str = "") -> None:
        if message:
            self._log.say(message)
        try:
            self._log.end(state)
        except StoreError:  # such as a full disk, where the write-ahead log has room to give back
            self._store.checkpoint()
            self._log.end(state)
        if state != "interrupted":
            with self._store.note() as db:
                jobs.drop_requests(db, self._last)

    # --- words ----------------------------------------------------------------------

    def _read(self, requests: Sequence[Request]) -> None:
        """Bring every source that is asked for up to date, once however often it is."""
        with self._store.read() as db:
            every = sources.all_sources(db)
        every.sort(key=attrgetter("removed"), reverse=True)  # another one may take their files
        read: list[Source] = []
        again: dict[int, Source] = {}  # those that may take what one behind them gave up
        for source in every:
            asked = [request for request in requests if request.wants(source)]
            forget = [request.id for request in asked if request.forget]
            if forget and not source.removed:
                with self._store.note() as db:
                    sources.forget_whole_read(db, source.id)
                self._apply(forgetting(self._store, source))
                asked = [request for request in asked if request.id > max(forget)]  # it voids those before
            whole = [request for request in asked if request.paths is None]
            paths = [request.paths for request in asked if request.paths is not None]
            if whole:
                if self._source(source, force=any(request.force for request in whole)):
                    again |= {each.id: each for each in read if sources.overlap(each, source)}
                read.append(source)
            if paths:
                force = any(request.force for request in asked if request.paths is not None)
                self._source(source, force=force, only=frozenset[bytes]().union(*paths))
        for source in again.values():
            self._source(source, force=False)
        if every and not read and any(request.sources is None for request in requests):
            self._log.say(_ALL_PAUSED)

    def _source(self, source: Source, *, force: bool, only: Set[bytes] | None = None) -> bool:
        """Bring a source up to date, or ``only`` some files of it; returns whether it lost any.

        A file that is gone before it is read may have another name now, so there is another scan.
        """
        gave_up = False
        for scans in range(_MOST_SCANS):
            self._log.phase("scanning", 0)
            try:
                plan = make_plan(
                    self._store, source, force=force and not scans, only=only,
                    max_bytes=self._limits.max_file_bytes, on_progress=self._log.advance,
                )  # fmt: skip
            except Cancelled:
                raise
            except RagError as error:
                self._log.say(str(error))
                root = display(os.fsencode(source.root))
                result = FileResult(root, "failure", "failed", message=error.message)
                with self._store.note() as db:
                    jobs.add_result(db, self._log.job.id, result)
                self._log.count(result)
                plan = forgetting_excluded(self._store, source, only)  # also while its disk is not there
                self._apply(plan)
                return gave_up or bool(plan.deleted)
            known = self._left_alone.get(source.id, Counter())
            if not scans and known is not None:  # each file is counted once, however often it is asked for
                left = Counter(plan.left_alone())
                self._log.counts.update({name: max(left[name] - known[name], 0) for name in left})
                self._left_alone[source.id] = None if only is None else known | left
            is_seen_whole = self._apply(plan)
            gave_up |= bool(plan.deleted)
            if is_seen_whole:
                break
        else:
            gone = f"Some files of {source.root!r} were gone before they could be read."
            self._log.say(f"{gone} The next run looks for them again.")
        if source.removed:
            with self._store.decide() as db:
                sources.drop_source(db, source.id)
        elif only is None:
            with self._store.note() as db:
                sources.note_whole_read(db, source, self._log.job.id)
        return gave_up

    @contextmanager
    def _recorded(self, result: FileResult) -> Iterator[sqlite3.Connection]:
        """A write transaction that ends with ``result``, which is then counted as a step."""
        with self._store.write() as db:
            yield db
            jobs.add_result(db, self._log.job.id, result)
        self._log.count(result)
        self._log.advance(current=result.source_file)

    def _apply(self, plan: Plan) -> bool:
        """Do what the plan says, a document a transaction. Returns whether every file was still there."""
        for warning in plan.warnings[:_WARNINGS_SHOWN]:
            self._log.say(warning)
        files = (plan.new, plan.changed, plan.again, plan.moved, plan.deleted)
        self._log.phase("reading", sum(map(len, files)))
        for start in range(0, len(plan.touched), _ROWS_A_WRITE):
            with self._store.write() as db:
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
        all_there = not plan.is_partial
        for outcome, found in plan.to_read():
            for file in found:
                all_there &= self._file(Path(plan.source.root), file, outcome)
        return all_there

    def _file(self, root: Path, file: write.FileRecord, outcome: Outcome) -> bool:
        """Read one file and store it whole, or the reason why not. Returns False when the file is gone."""
        self._tools.priority.yield_to_searches()
        started = time.monotonic()
        path = PurePosixPath(file.display)
        extractor = extractor_number(path)
        try:
            data = read_bytes(root, file.stat.path, self._limits.max_file_bytes)
            file = replace(file, file_hash=hashlib.sha256(data).hexdigest())
            doc = extract(data, path, self._worker)
            rows = chunks.rows(file.display, doc, cut(doc, self._spec, self._embedding.count_tokens))
            with self._store.write() as db:
                added = write.put(db, file, doc, rows, extractor)
                took, notes = round((time.monotonic() - started) * 1000), " ".join(doc.warnings)
                result = FileResult(file.display, "success", outcome, added, rows.skipped, notes, took)
                jobs.add_result(db, self._log.job.id, result)
            if private.UNSURE in notes:
                self._log.say(_UNSURE)
        except FileGone:
            return False
        except StoreError:  # a full disk is no fault of this file
            raise
        except Exception as error:  # whatever is wrong with one file fails that file only
            result = self._unread(file, error, started)
        self._log.count(result)
        self._log.advance(current=file.display)
        return True

    def _unread(self, file: write.FileRecord, error: Exception, started: float) -> FileResult:
        """Store why a file could not be read."""
        if isinstance(error, RagError):
            reason = error.message
        elif isinstance(error, OSError):
            reason = f"It cannot be read: {error.strerror or type(error).__name__}."
        else:
            reason = f"Reading it went wrong ({type(error).__name__}); the rest of the run is not affected."
        state: Literal["failed", "skipped"] = "skipped" if isinstance(error, NotText) else "failed"
        took = round((time.monotonic() - started) * 1000)
        status: Literal["failure", "success"] = "failure" if state == "failed" else "success"
        result = FileResult(file.display, status, state, 0, 0, reason, took)
        with self._store.write() as db:
            write.put_unread(db, file, state, reason, extractor_number(PurePosixPath(file.display)))
            jobs.add_result(db, self._log.job.id, result)
        return result


def low_priority() -> None:
    """Lower the priority of this thread, where the system can (Linux)."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, 0, 10)
