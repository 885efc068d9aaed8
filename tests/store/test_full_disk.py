"""A disk that gets full while a run is at work: the run says so wherever it is, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from rag_core.errors import StoreError
from rag_core.library import Library
from rag_core.store.jobs import UNSAID
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.support.unwritable import no_file_grows


@pytest.fixture
def asked(library: Library, notes: Path) -> Library:
    """A library that was asked to read 30 notes into store ``s``."""
    for number in range(30):
        (notes / f"{number}.md").write_text(f"It tells of walrus{number}. " * 80, "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ["*.md"])
    library.jobs.request(OWNER, "s")
    return library


def run_until_full(library: Library, phase: str, limit: Callable[[], int]) -> None:
    """Run ``s``; from the beginning of a phase on no file grows beyond ``limit`` bytes."""
    with ExitStack() as full:
        waiting = [phase]

        def fill(job: Job) -> None:
            if job.progress.phase in waiting:
                full.enter_context(no_file_grows(limit()))
                waiting.clear()

        library.jobs.run(OWNER, "s", fill)


def require_recovered(library: Library) -> None:
    """All is there once the disk has room again."""
    assert library.upkeep.verify(OWNER, "s").sound
    assert index(library, "s").state == "done"
    assert (library.stores.info(OWNER, "s").file_count, library.stores.info(OWNER, "s").pending) == (30, 0)
    assert library.search(OWNER, "walrus29", mode="lexical").hits[0].document.path == "29.md"


@pytest.mark.posix
@pytest.mark.parametrize("phase", ["scanning", "reading", "embedding"])
def test_the_job_says_that_the_disk_got_full(asked: Library, phase: str) -> None:
    files = [asked.settings.store_dir / name for name in ("s.db", "s.db-wal")]

    run_until_full(asked, phase, lambda: max(file.stat().st_size for file in files))

    [job] = asked.jobs.all(OWNER, "s")
    assert (job.state, job.failed) == ("failed", 0)
    assert "Store 's' cannot be written: " in job.message
    assert "Free some disk space" in job.message
    require_recovered(asked)


@pytest.mark.posix
def test_a_run_that_cannot_even_write_why_it_ended_is_said_to_be_cut_off(asked: Library) -> None:
    with pytest.raises(StoreError, match="'s' cannot be written") as refused:
        run_until_full(asked, "embedding", lambda: 1)

    assert refused.value.suggestion.startswith("Free some disk space")
    [job] = asked.jobs.all(OWNER, "s")
    assert (job.state, job.message) == ("interrupted", UNSAID)
    assert asked.jobs.requested(OWNER, "s")
    require_recovered(asked)
    assert asked.jobs.all(OWNER, "s")[1].message == UNSAID
