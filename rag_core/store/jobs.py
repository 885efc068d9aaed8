"""Jobs and requests. A job is one indexing run. A request is a row that asks the runner to do something."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import starmap
from operator import attrgetter
from typing import Literal

from rag_core.store.file import now
from rag_core.types import FileResult, Job, Progress

KEPT_JOBS = 50
UNSAID = "Its process was killed, or the disk was full."
"""The message of a job that never ended because its process is gone."""

_SAME = ("id", "start_time", "end_time", "duration_ms", "succeeded", "failed", "texts_embedded")
LAST_RESULTS = "id IN (SELECT max(id) FROM job_results WHERE job_id = ? GROUP BY source_file)"
_RESULT = "source_file, outcome, chunks_added, chunks_skipped, message, processing_time_ms"


def start_job(db: sqlite3.Connection) -> tuple[int, bool]:
    """Open a job. Returns its id, and whether the previous job was completed (True if there was none).

    Refused texts will be tried again. If a killed process left a job *running*, that job becomes
    *interrupted*.
    """
    db.execute("UPDATE queue SET attempts = 0 WHERE attempts > 0")
    last = db.execute("SELECT state FROM jobs ORDER BY id DESC LIMIT 1").fetchone()
    sql = """UPDATE jobs SET state = 'interrupted', end_time = ?, message = trim(message || ' ' || ?)
             WHERE state = 'running'"""
    db.execute(sql, (now(), UNSAID))
    db.execute("DELETE FROM jobs WHERE id <= (SELECT max(id) FROM jobs) - ?", (KEPT_JOBS,))
    cursor = db.execute("INSERT INTO jobs (state, start_time) VALUES ('running', ?) RETURNING id", (now(),))
    return int(cursor.fetchone()[0]), last is None or last["state"] == "done"


def note_progress(db: sqlite3.Connection, job: Job) -> None:
    """Write the progress or the end of a job."""
    db.execute(
        "UPDATE jobs SET state = :state, end_time = :end_time, duration_ms = :duration_ms,"
        " succeeded = :succeeded, failed = :failed, chunks_added = :total_chunks_added,"
        " texts_embedded = :texts_embedded, message = :message, counts = :counts, progress = :progress"
        " WHERE id = :id",
        {**asdict(job), "counts": json.dumps(job.counts), "progress": json.dumps(asdict(job.progress))},
    )


def add_result(db: sqlite3.Connection, job_id: int, result: FileResult) -> None:
    """Record the outcome of one file."""
    values = attrgetter(*_RESULT.split(", "))(result)
    db.execute(f"INSERT INTO job_results (job_id, {_RESULT}) VALUES (?, ?, ?, ?, ?, ?, ?)", (job_id, *values))


def newest(db: sqlite3.Connection, store: str, *, running: bool, limit: int) -> list[Job]:
    """Return the newest ``limit`` jobs, newest first, without their results. ``running`` says whether a run
    is under way. If not, a job in state *running* was killed and is shown as *interrupted*."""
    newest_jobs: list[Job] = []
    for row in db.execute("SELECT * FROM jobs ORDER BY id DESC LIMIT ?", (limit,)):
        was_killed = row["state"] == "running" and not (running and not newest_jobs)
        counts = json.loads(row["counts"])
        job = Job(
            **{name: row[name] for name in _SAME},
            store=store,
            state="interrupted" if was_killed else row["state"],
            total_files=sum(counts.values()),
            total_chunks_added=row["chunks_added"],
            message=f"{row['message']} {UNSAID}".strip() if was_killed else row["message"],
            progress=_progress(row),
            counts=counts,
        )
        newest_jobs.append(job)
    return newest_jobs


def _progress(row: sqlite3.Row) -> Progress:
    """Return the last reported progress of a job. The time since then counts as idle, because a long step,
    such as a batch on a server, reports nothing until it ends."""
    written = json.loads(row["progress"])
    progress = Progress(**written) if written else Progress("scanning", 0, 0)
    if row["state"] != "running":
        return progress
    last_report = datetime.fromisoformat(row["start_time"]) + timedelta(milliseconds=row["duration_ms"])
    silent = (datetime.now(UTC) - last_report).total_seconds()
    return replace(progress, idle=progress.idle + max(0.0, silent))


def results(db: sqlite3.Connection, job_id: int, limit: int) -> list[FileResult]:
    """Return at most ``limit`` results of a job, one for each file, failures first. Unchanged files have no
    results."""
    columns = _RESULT.replace("outcome", "iif(outcome = 'failed', 'failure', 'success'), outcome", 1)
    sql = f"""SELECT {columns} FROM job_results WHERE {LAST_RESULTS}
              ORDER BY outcome = 'failed' DESC, outcome = 'skipped' DESC, id LIMIT ?"""
    return list(starmap(FileResult, db.execute(sql, (job_id, limit))))


@dataclass(frozen=True, slots=True)
class Request:
    """A request to read sources, or to cancel the run."""

    id: int
    kind: Literal["index", "cancel"]
    sources: tuple[int, ...] | None = None  #: Ids of the sources; None for all that are not paused.
    force: bool = False  #: Whether to read unchanged files, too.
    paths: frozenset[bytes] | None = None  #: Files to look at; None for all.
    forget: bool = False  #: Whether to read nothing and forget every document of the sources.


def add_request(
    db: sqlite3.Connection,
    kind: str,
    sources: Sequence[int] | None = None,
    *,
    force: bool = False,
    paths: Sequence[bytes] | None = None,
    forget: bool = False,
) -> None:
    """Add a request, ``index`` or ``cancel``, for the current or next run. ``sources`` are source ids and
    ``paths`` files to read; None means all. ``force`` also reads unchanged files. ``forget`` removes the
    documents of the sources instead."""
    files = None if paths is None else [path.hex() for path in paths]
    payload = json.dumps({"sources": sources, "force": force, "forget": forget, "paths": files})
    sql = "INSERT INTO requests (kind, payload, created_at) VALUES (?, ?, ?)"
    db.execute(sql, (kind, payload, now()))


def requests_after(db: sqlite3.Connection, last: int) -> list[Request]:
    """Return the requests with an id above ``last``, oldest first."""
    requests: list[Request] = []
    for row in db.execute("SELECT id, kind, payload FROM requests WHERE id > ? ORDER BY id", (last,)):
        payload = json.loads(row["payload"])
        sources, paths = payload.get("sources"), payload.get("paths")
        chosen = None if sources is None else tuple(sources)
        files = None if paths is None else frozenset(map(bytes.fromhex, paths))
        force, forget = bool(payload.get("force")), bool(payload.get("forget"))
        requests.append(Request(row["id"], row["kind"], chosen, force, files, forget))
    return requests


def drop_requests(db: sqlite3.Connection, last: int) -> None:
    """Delete the requests with ids up to ``last``. Call this only when their run has ended, so that the
    requests of a killed run stay for the next run."""
    db.execute("DELETE FROM requests WHERE id <= ?", (last,))
