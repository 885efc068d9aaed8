"""Counts and times the progress of a job, and writes it to the store, where every process can read it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from rag_core.index.estimate import Estimate
from rag_core.store import Store, jobs
from rag_core.store.file import now
from rag_core.types import FileResult, Job, Phase, Progress

JobReport = Callable[[Job], None]
EndState = Literal["done", "cancelled", "failed", "interrupted"]

_NOTE_EVERY_S = 0.25
_MESSAGES_SHOWN = 5


class JobLog:
    """Keeps the row of one job up to date. ``counts`` holds the number of files by outcome. Several times a
    second ``report`` is called with a snapshot. ``between`` is called after that and may raise to stop the
    run."""

    def __init__(
        self, store: Store, job_id: int, report: JobReport | None, between: Callable[[], object]
    ) -> None:
        self.job = Job(job_id, store.name, "running", now(), Progress("scanning", 0, 0))
        self._store, self._report, self._between = store, report, between
        self.counts: Counter[str] = Counter()
        self._failed: set[str] = set()
        self._messages: list[str] = []
        self.estimate = Estimate()
        self.embeds = True  # whether this run embeds texts, so that it takes longer
        self._started = self._stepped = time.monotonic()
        self._noted = 0.0

    def phase(self, phase: Phase, total: int, done: int = 0) -> None:
        """Begin a phase with ``total`` steps, 0 if unknown. ``done`` of them are done already."""
        self._stepped = time.monotonic()
        if phase == "reading":
            self.estimate.files.left = total
        self.job = replace(self.job, progress=Progress(phase, done, total))
        self._note()

    def advance(
        self, done: int | None = None, current: str = "", count: int = 1, total: int | None = None
    ) -> None:
        """Update the progress of the phase.

        Args:
            done: Number of steps done; None adds ``count`` to the number so far.
            current: The name of the last step.
            count: Number of steps to add if ``done`` is None.
            total: Number of steps of the phase; None leaves it unchanged.

        """
        before = self.job.progress
        done = before.done + count if done is None else done
        total = before.total if total is None else total
        if done != before.done:
            self._stepped = time.monotonic()
        self.job = replace(
            self.job, progress=replace(before, done=done, total=max(total, done) * (total > 0))
        )
        if time.monotonic() - self._noted >= _NOTE_EVERY_S:
            self._show(current)

    def working_on(self, current: str) -> None:
        """Show ``current`` as the step under way. Used while one step takes long."""
        if time.monotonic() - self._noted >= _NOTE_EVERY_S:
            self._show(current)

    def _show(self, current: str) -> None:
        """Write a snapshot with the current work, the pace and the remaining time."""
        now, estimate = self.job.progress, self.estimate
        rate = {"reading": estimate.files.rate, "embedding": estimate.texts.rate}
        rate["pictures"] = estimate.ocr.rate
        eta = None if now.phase == "scanning" else estimate.seconds
        idle = time.monotonic() - self._stepped
        progress = Progress(now.phase, now.done, now.total, rate.get(now.phase, 0.0), eta, current, idle)
        self.job = replace(self.job, progress=progress)
        self._note()
        self._between()

    def count(self, result: FileResult) -> None:
        """Count a file as a step, after its result was committed. If a file fails and is read again, only its
        last outcome counts."""
        if result.source_file in self._failed:
            self._failed.remove(result.source_file)
            self.counts["failed"] -= 1
        if result.outcome == "failed":
            self._failed.add(result.source_file)
        self.counts[result.outcome] += 1
        self.estimate.files.note()
        if self.embeds:
            self.estimate.texts.left += result.chunks_added
        self.job = replace(self.job, total_chunks_added=self.job.total_chunks_added + result.chunks_added)
        self.advance(current=result.source_file)

    def say(self, message: str) -> None:
        """Add a sentence for the owner to the job's message, unless the message already contains the
        sentence."""
        if message not in self._messages:
            self._messages.append(message)

    def end(self, state: EndState) -> None:
        """Close the job with ``state``."""
        progress = replace(self.job.progress, phase="done", eta=None)
        self.job = replace(self.job, state=state, end_time=now(), progress=progress)
        self._note()

    def _note(self) -> None:
        self._noted = time.monotonic()
        total = sum(self.counts.values())
        failed = self.counts["failed"]
        self.job = replace(
            self.job,
            duration_ms=round((self._noted - self._started) * 1000),
            total_files=total,
            succeeded=total - failed,
            failed=failed,
            message=" ".join(self._messages[:_MESSAGES_SHOWN]),
            counts=dict(self.counts),
        )
        with self._store.note() as db:
            jobs.note_progress(db, self.job)
        if self._report:
            self._report(self.job)
