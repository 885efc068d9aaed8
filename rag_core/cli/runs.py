"""Doing what was asked of a store, and looking back at its runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from rag_core.api import answers
from rag_core.cli.options import ByKey, OfStore, emit, json_option, library_of_owner, store_option
from rag_core.cli.screen import Line
from rag_core.cli.terminal import progress, show_files, show_job, show_jobs, stopped
from rag_core.errors import StoreBusy
from rag_core.library import Library
from rag_core.types import OWNER, Job

_EVERY_S = 10.0
"""Between two lines of progress where there is no terminal."""


@click.command(cls=OfStore)
@store_option
@click.option("--job", "number", type=int, metavar="NUMBER", help="Show this run with its files.")
@json_option
def jobs(store: str, number: int | None, as_json: bool) -> None:
    """List the last runs of a store, the newest first."""
    library = library_of_owner()
    if number is not None:
        job = library.jobs.get(OWNER, store, number)
        emit(as_json, answers.Job.of(job), lambda: _show_whole(library, job))
        return
    found = library.jobs.all(OWNER, store)
    emit(as_json, {"store": store, "jobs": [answers.Job.of(job) for job in found]}, lambda: show_jobs(found))


def work_off(library: Library, store: str, *, as_json: bool, then: Callable[[], str] = lambda: "") -> None:
    """Do what is requested of a store and print the job that came of it, and behind it ``then``, what may be
    done next; exit with 1 unless all went well.

    When another process is at it already, the request is left to that one.
    """
    moving = Line(every=_EVERY_S)
    last: list[Job] = []

    def report(now: Job) -> None:
        last[:] = [now]
        moving.say(progress(now))

    try:
        job = library.jobs.run(OWNER, store, report)
    except StoreBusy as busy:
        queued = str(busy)
        emit(as_json, {"queued": True, "store": store}, lambda: click.echo(queued))
        return
    except KeyboardInterrupt:
        stays = "What was read stays; run the same command to go on."
        raise ByKey(stopped(last[0]) if last else "Stopped.", stays) from None
    finally:
        moving.clear()
    if job is None:
        emit(as_json, {"queued": True, "store": store}, lambda: click.echo("Another run took the request."))
        return
    emit(as_json, answers.Job.of(job), lambda: _show(library, job))
    if not as_json and job.state == "done" and (said := then()):
        click.echo(said)
    if job.failed or job.state != "done":
        sys.exit(1)


def _show_whole(library: Library, job: Job) -> None:
    show_files(job)
    _show(library, job)


def _show(library: Library, job: Job) -> None:
    show_job(job, library.jobs.problems_of(OWNER, job.store, job.id))
