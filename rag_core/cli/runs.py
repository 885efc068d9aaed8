"""Running the requests of a store, and listing its runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from rag_core.api import answers
from rag_core.cli.commands import Answering, ByKey, wants_json
from rag_core.cli.options import emit, library_of_owner, store_option
from rag_core.cli.screen import ProgressLine
from rag_core.cli.terminal import progress_line, show_job, show_jobs
from rag_core.errors import StoreBusy
from rag_core.library import Library
from rag_core.types import OWNER, Job, Progress
from rag_core.wording import language_advice

_EVERY_S = 10.0
"""Seconds between two lines of progress without a terminal."""


@click.command(cls=Answering)
@store_option
@click.option("--job", "number", type=int, metavar="NUMBER", help="Show this run with its files.")
@click.option(
    "--cancel", is_flag=True, help="Stop the current run of the store, even if another process runs it."
)
def jobs(store: str, number: int | None, cancel: bool) -> None:
    """List the latest runs of a store, newest first.

    With --job, show one run with its files. With --cancel, stop the current run.
    """
    library = library_of_owner()
    if cancel:
        _cancel(library, store)
        return
    if number is not None:
        job = library.jobs.get(OWNER, store, number)
        problems = library.jobs.problems(OWNER, store, number)
        emit(answers.Job.of(job), lambda: show_job(job, problems, with_files=True))
        return
    newest = library.jobs.all(OWNER, store)
    emit({"store": store, "jobs": [answers.Job.of(job) for job in newest]}, lambda: show_jobs(newest))


def _cancel(library: Library, store: str) -> None:
    """Ask the running job of a store to stop, and print what happens next."""
    job = next((job for job in library.jobs.all(OWNER, store) if job.state == "running"), None)
    outcome = f"Store {store!r} is not being indexed, so there is no run to stop."
    if job is not None:
        library.jobs.cancel(OWNER, store)
        outcome = (
            f"Run {job.id} stops. What was read stays; `commonplace index --store {store}` continues it."
        )
    emit({"store": store, "cancelled": job.id if job else None}, outcome)


def run_requests(
    library: Library, store: str, next_steps: Callable[[], str] = lambda: "", *, queued: str = ""
) -> None:
    """Run the requests of a store and print the result. If the run ended well, also print the text that
    ``next_steps`` returns ('' for nothing), unless the output is JSON. If it did not, or a file failed, exit
    with status 1.

    If another process runs the requests, print ``queued`` and return. Without ``queued``, print a sentence
    that says so.
    """
    last: Progress | None = None
    with ProgressLine(every=_EVERY_S) as moving:

        def report(now: Job) -> None:
            nonlocal last
            last = now.progress
            moving.say(progress_line(now))

        try:
            job, taken = library.jobs.run(OWNER, store, report), "Another run has already done this."
        except StoreBusy as busy:
            job, taken = None, str(busy)
        except KeyboardInterrupt:
            stopped = f"Stopped at {last.done:,} of {last.total:,}." if last and last.total else "Stopped."
            raise ByKey(stopped, "What was read stays; run the same command to continue.") from None
    if job is None:
        emit({"queued": True, "store": store}, queued or taken)
        return
    emit(answers.Job.of(job), lambda: show_job(job, library.jobs.problems(OWNER, store, job.id)))
    if not wants_json() and job.state == "done":
        for text in (_language_advice(library, store), next_steps()):
            if text:
                click.echo(text)
    if job.failed or job.state != "done":
        sys.exit(1)


def _language_advice(library: Library, store: str) -> str:
    """Return the advice to use the model for every language, with the commands; '' if there is no advice, or
    it was given before."""
    advice = library.languages.advice(OWNER, store)
    if advice is None or advice.was_told:
        return ""
    library.languages.note_told(OWNER, store)
    take = (
        f"commonplace model install multilingual && commonplace store switch {store} --embedder multilingual"
    )
    return f"{language_advice(advice)}\nTo use it:  {take}"
