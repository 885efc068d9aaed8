"""The write path: files → extract → chunk → store (words searchable) → embed → vectors.

A run is asked for by a row in the store's ``requests`` and done by its *runner*, the one
process that holds the store's lock. Whoever asks becomes the runner if there is none; a run
that was killed leaves nothing half done and goes on with the next one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from rag_core.chunk import cut, embed_text
from rag_core.embedders import Embedder
from rag_core.errors import Cancelled, EmbedderError, ExtractError, ModelMissing, NotText, RagError
from rag_core.extract import EXTRACTOR_VERSION, extract
from rag_core.extract.naming import date_of_name, title_of_name
from rag_core.files import read_bytes
from rag_core.plan import MAX_FILE_BYTES, Move, Plan, make_plan
from rag_core.store import Store, lock, sources, work
from rag_core.store import documents as write
from rag_core.store import embeddings as vectors
from rag_core.store.file import now
from rag_core.types import Extracted, FileResult, Job, Outcome, Passage, Progress, Source

BATCH = 32
MAX_ATTEMPTS = 3
CANARY_COSINE = 0.999
_NOTE_EVERY_S = 0.25

OpenEmbedder = Callable[[], Embedder]
Report = Callable[[Job], None]


def request(store: Store, source_ids: Sequence[int] | None, *, force: bool = False) -> None:
    """Ask for a run over the sources ``source_ids`` (None: all that are not paused)."""
    with store.note() as db:
        work.add_request(
            db, "index", {"sources": None if source_ids is None else list(source_ids), "force": force}
        )


def requested(store: Store) -> bool:
    """Whether there are requests that no runner has taken yet."""
    with store.read() as db:
        return work.has_requests(db)


def cancel(store: Store) -> None:
    """Ask the runner to stop after the file or batch it is at; does nothing without a runner."""
    if store.running():
        with store.note() as db:
            work.add_request(db, "cancel", {})


def run(store: Store, open_embedder: OpenEmbedder, report: Report | None = None) -> Job | None:
    """Become the runner and work off every request; returns the last job, None if there was
    nothing to do. ``report`` gets a snapshot several times a second, in this thread.

    Raises StoreBusy when another runner is at work, which then takes the requests.
    """
    job = None
    while requested(store):
        with lock.hold(store.path):
            runner = Runner(store, open_embedder, report)
            job = runner.run() or job
    return job


class Runner:
    """One run, from the first request to the last vector. Made and used under the store's lock."""

    def __init__(self, store: Store, open_embedder: OpenEmbedder, report: Report | None) -> None:
        self._store = store
        self._open_embedder = open_embedder
        self._report = report
        self._counts: Counter[str] = Counter()
        self._embedder: Embedder | None = None
        self._noted = 0.0
        self._started = time.monotonic()
        self._phase_started = self._started
        self._messages: list[str] = []
        self._waiting: list[dict[str, object]] = []  # requests taken while a file was read
        self._job: Job

    def run(self) -> Job | None:
        """Work off the requests; the job that came of it, None when there were none."""
        with self._store.note() as db:
            requests = [
                asked for kind, asked in work.take_requests(db, ("cancel", "index")) if kind == "index"
            ]
            if not requests:
                return None
            vectors.retry_failures(db)
            job_id = work.start_job(db)
        self._job = Job(
            id=job_id, store=self._store.name, state="running", start_time=now(), end_time=None, duration_ms=0,
            total_files=0, succeeded=0, failed=0, total_chunks_added=0, texts_embedded=0, message="",
            progress=Progress("scanning", 0, 0),
        )  # fmt: skip
        try:
            self._work(requests)
            self._end("done")
        except Cancelled:
            self._end("cancelled")
        except KeyboardInterrupt:
            self._end("cancelled")
            raise
        except RagError as error:
            self._messages.insert(0, str(error))
            self._end("failed")
        except BaseException as error:
            self._messages.insert(0, f"The run stopped unexpectedly: {type(error).__name__}.")
            self._end("failed")
            raise
        return self._job

    def _work(self, requests: list[dict[str, object]]) -> None:
        self._open()
        while requests:
            for asked in requests:
                self._read(asked)
            requests = self._embed_queue()
        with self._store.write() as db:
            vectors.drop_unused(db)

    # --- words ----------------------------------------------------------------------

    def _read(self, asked: dict[str, object]) -> None:
        with self._store.read() as db:
            wanted = asked.get("sources")
            found = [
                s for s in sources.all_sources(db)
                if (s.id in wanted if isinstance(wanted, list) else not s.paused)
            ]  # fmt: skip
        for source in found:
            self._phase("scanning", 0)
            try:
                plan = make_plan(
                    self._store,
                    source,
                    force=bool(asked.get("force")),
                    on_progress=lambda n: self._advance(n),
                )
            except RagError as error:
                self._failed_source(source, error)
                continue
            self._apply(plan)

    def _failed_source(self, source: Source, error: RagError) -> None:
        self._messages.append(str(error))
        with self._store.note() as db:
            result = FileResult(source.root, "failure", "failed", message=error.message)
            work.add_result(db, self._job.id, result)
        self._count("failed")

    def _apply(self, plan: Plan) -> None:
        self._counts["unchanged"] += len(plan.unchanged) + len(plan.touched)
        files = [*((f, "added") for f in plan.new), *((f, "changed") for f in plan.changed)]
        self._phase("reading", len(files) + len(plan.moved) + len(plan.deleted))
        with self._store.write() as db:
            for move in plan.touched:
                write.touch(db, move.known.id, move.file)
        for move in plan.moved:
            self._move(move)
        for known in plan.deleted:
            with self._store.write() as db:
                write.remove(db, known.id)
                self._result(db, FileResult(known.display, "success", "deleted"))
            self._step(known.display)
        for file, outcome in files:
            self._file(Path(plan.source.root), file, "added" if outcome == "added" else "changed")
            self._step(file.display)
        self._messages += plan.warnings[:20]

    def _move(self, move: Move) -> None:
        title = (
            title_of_name(PurePosixPath(move.file.display)) if move.known.title_from == "file name" else None
        )
        file = replace(move.file, file_hash=move.known.file_hash)
        with self._store.write() as db:
            write.move(db, move.known.id, file, title)
            self._result(
                db, FileResult(file.display, "success", "moved", message=f"from {move.known.display}")
            )
        self._step(file.display)

    def _file(self, root: Path, file: write.FileRecord, outcome: Literal["added", "changed"]) -> None:
        """Read one file and store it whole, or the reason why not."""
        started = time.monotonic()
        try:
            data = read_bytes(root, file.path, MAX_FILE_BYTES)
            file = replace(file, file_hash=hashlib.sha256(data).hexdigest())
            doc = extract(data, PurePosixPath(file.display))
            counter = self._embedder.count_tokens if self._embedder else None
            cuts = [
                write.Cut(passage, _prefix(doc, passage)) for passage in cut(doc, self._store.spec, counter)
            ]
        except NotText as error:
            self._unread(file, "skipped", error.message, started)
            return
        except (ExtractError, OSError, RecursionError, MemoryError) as error:
            self._unread(file, "failed", _reason(error), started)
            return
        day = doc.date or date_of_name(PurePosixPath(file.display)) or _mtime_day(file.mtime_ns)
        with self._store.write() as db:
            change = write.put(db, file, doc, cuts, day, EXTRACTOR_VERSION)
            self._result(
                db,
                FileResult(
                    file.display, "success", outcome, change.added, change.skipped,
                    " ".join(doc.warnings), _ms(started),
                ),
            )  # fmt: skip

    def _unread(
        self, file: write.FileRecord, state: Literal["failed", "skipped"], reason: str, started: float
    ) -> None:
        with self._store.write() as db:
            write.put_unread(db, file, state, reason, EXTRACTOR_VERSION)
            status: Literal["success", "failure"] = "failure" if state == "failed" else "success"
            self._result(db, FileResult(file.display, status, state, 0, 0, reason, _ms(started)))

    def _result(self, db: object, result: FileResult) -> None:
        work.add_result(db, self._job.id, result)  # type: ignore[arg-type]
        self._count(result.outcome, result.chunks_added)

    # --- vectors --------------------------------------------------------------------

    def _open(self) -> None:
        """Open the embedder and make sure that it is the one the store's vectors are from."""
        try:
            embedder = self._open_embedder()
            self._identity_id = _same_identity(self._store, embedder)
            self._embedder = embedder
        except ModelMissing as error:
            self._messages.append(f"Only words were indexed. {error}")
        except EmbedderError as error:
            self._messages.append(f"Only words were indexed. {error}")

    def _embed_queue(self) -> list[dict[str, object]]:
        """Embed, newest first, until the queue is empty or somebody asks for another reading."""
        with self._store.read() as db:
            waiting = vectors.pending_count(db)
        self._phase("embedding", waiting if self._embedder else 0)
        while True:
            self._waiting += self._requests()
            if self._waiting:
                requests, self._waiting = self._waiting, []
                return requests
            with self._store.read() as db:
                batch = vectors.pending(db, BATCH, MAX_ATTEMPTS) if self._embedder else []
            if not batch:
                return []
            self._embed(batch)

    def _embed(self, batch: list[vectors.Pending]) -> None:
        """Embed a batch and settle what the embedder cannot read."""
        assert self._embedder is not None  # noqa: S101 - the queue is only read with an embedder
        readable = [item for item in batch if self._embedder.reads(item.text)]
        if len(readable) < len(batch):
            with self._store.write() as db:
                rest = [item for item in batch if item not in readable]
                vectors.put_unreadable(db, self._identity_id, rest)
            self._step("", len(rest))
        if readable:
            self._embed_readable(self._embedder, readable)

    def _embed_readable(self, embedder: Embedder, batch: list[vectors.Pending]) -> None:
        """Embed a batch; what the embedder refuses is bisected out and recorded."""
        try:
            rows = embedder.embed_documents([item.text for item in batch])
        except EmbedderError as error:
            if len(batch) == 1:
                with self._store.note() as db:
                    vectors.put_failure(db, batch[0], error.message)
                self._messages.append(f"One text could not be embedded: {error.message}")
                return
            middle = len(batch) // 2
            self._embed_readable(embedder, batch[:middle])
            self._embed_readable(embedder, batch[middle:])
            return
        with self._store.write() as db:
            vectors.put_vectors(db, self._identity_id, batch, rows)
        self._job = replace(self._job, texts_embedded=self._job.texts_embedded + len(batch))
        self._step("", len(batch))

    # --- progress -------------------------------------------------------------------

    def _phase(self, phase: Literal["scanning", "reading", "embedding", "done"], total: int) -> None:
        self._phase_started = time.monotonic()
        self._job = replace(self._job, progress=Progress(phase, 0, total))
        self._note()

    def _step(self, current: str, count: int = 1) -> None:
        self._advance(self._job.progress.done + count, current)

    def _advance(self, done: int, current: str = "") -> None:
        if time.monotonic() - self._noted < _NOTE_EVERY_S:
            self._job = replace(self._job, progress=replace(self._job.progress, done=done))
            return
        seconds = max(time.monotonic() - self._phase_started, 1e-6)
        rate = done / seconds
        total = max(self._job.progress.total, done) if self._job.progress.total else 0
        eta = (total - done) / rate if rate and total else None
        progress = Progress(self._job.progress.phase, done, total, rate, eta, current)
        self._job = replace(self._job, progress=progress)
        self._note()
        self._waiting += self._requests()

    def _count(self, outcome: Outcome, chunks: int = 0) -> None:
        self._counts[outcome] += 1
        self._job = replace(self._job, total_chunks_added=self._job.total_chunks_added + chunks)

    def _requests(self) -> list[dict[str, object]]:
        """What was asked since the last look; raises Cancelled if that was to stop."""
        with self._store.read() as db:
            if not work.has_requests(db):
                return []
        with self._store.note() as db:
            if work.take_requests(db, ("cancel",)):
                raise Cancelled
            return [asked for _, asked in work.take_requests(db, ("index",))]

    def _note(self) -> None:
        self._noted = time.monotonic()
        failed = self._counts["failed"]
        total = sum(self._counts.values())
        self._job = replace(
            self._job,
            duration_ms=_ms(self._started),
            total_files=total,
            succeeded=total - failed,
            failed=failed,
            message=" ".join(self._messages[:5]),
            counts=dict(self._counts),
        )
        with self._store.note() as db:
            work.note_progress(db, self._job)
        if self._report:
            self._report(self._job)

    def _end(self, state: Literal["done", "cancelled", "failed"]) -> None:
        progress = replace(self._job.progress, phase="done", eta=None)
        self._job = replace(self._job, state=state, end_time=now(), progress=progress)
        self._note()


def _same_identity(store: Store, embedder: Embedder) -> int:
    """The row id of the embedder's identity, which becomes the store's if it has none yet.

    Raises EmbedderError when the store's vectors are from another model, or when the model
    of this name now gives other vectors: search never mixes two.
    """
    canary = embedder.embed_documents([vectors.CANARY_TEXT])[0]
    with store.read() as db:
        active = vectors.active_identity(db)
    if active is None:
        with store.write() as db:
            return vectors.set_identity(db, embedder.identity, canary)
    identity_id, identity, known = active
    if identity != embedder.identity or float(np.dot(known, canary)) < CANARY_COSINE:
        raise EmbedderError(
            f"The vectors of store {store.name!r} are from {identity}, this machine has {embedder.identity}.",
            "Search goes on by words; to change the model, create a new store and index the folder into it.",
        )
    return identity_id


def _prefix(doc: Extracted, passage: Passage) -> str:
    if passage.text:
        whole = embed_text(doc.title, doc.title_from, passage.heading_path, passage.text)
        return whole[: -len(passage.text)].rstrip("\n")
    return "\n".join(doc.aliases if doc.title_from == "file name" else (doc.title, *doc.aliases))


def _reason(error: BaseException) -> str:
    if isinstance(error, RagError):
        return error.message
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or type(error).__name__}"
    return f"too complex to read: {type(error).__name__}"


def _mtime_day(mtime_ns: int) -> str:
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def _ms(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def low_priority() -> None:
    """Let this thread give way to searches, where the system can lower one thread (Linux)."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, 0, 10)
