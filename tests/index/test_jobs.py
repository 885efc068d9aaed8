"""How a job ends, and what it reports."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import rag_core.index.index
import rag_core.index.requests
from rag_core.errors import ModelMissing
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store
from rag_core.store.jobs import UNSAID
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.runner import RUN, child, stop
from tests.support.stored import outcomes, paths


@pytest.fixture
def store(library: Library, notes: Path) -> Store:
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library._shared.stores.open(OWNER, "s").store


@pytest.mark.posix
def test_a_killed_job_is_interrupted_keeps_its_batches_and_the_next_one_goes_on(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    library.jobs.request(OWNER, "s")
    process = child(RUN, store.path)
    assert process.stdout is not None
    for _ in range(2):  # the first batch is done, the second at work
        assert process.stdout.readline().strip() == "embedding"
    assert library.jobs.all(OWNER, "s")[0].state == "running"
    stop(process)
    assert process.returncode == -signal.SIGKILL

    [job] = library.jobs.all(OWNER, "s")
    assert (job.state, job.message) == ("interrupted", UNSAID)
    assert len(paths(library)) == 40
    assert library.jobs.requested(OWNER, "s")
    check_library(library, "s")

    job = library.jobs.run(OWNER, "s") or pytest.fail("nothing was left to do")
    assert (job.state, job.counts, job.texts_embedded) == ("done", {"unchanged": 40}, 8)
    assert (job.progress.done, job.progress.total) == (40, 40), "it goes on counting"
    assert [job.state for job in library.jobs.all(OWNER, "s")] == ["done", "interrupted"]
    assert library.jobs.all(OWNER, "s")[1].message == UNSAID


def test_a_failed_job_does_not_leave_its_request(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    library.jobs.request(OWNER, "s")

    def broken(_: str) -> Hashing:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        rag_core.index.index.run(store, broken)

    assert library.jobs.all(OWNER, "s")[0].state == "failed"
    assert not library.jobs.requested(OWNER, "s")


def test_old_jobs_are_forgotten_with_their_results(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    first = index(library, "s")
    for _ in range(55):
        rag_core.index.requests.request(store, None)
        rag_core.index.index.run(store, _missing)

    assert len(library.jobs.all(OWNER, "s", limit=100)) <= 51
    assert library.jobs.results(OWNER, "s", first.id) == []
    check_library(library, "s")


def _missing(_: str) -> Hashing:
    raise ModelMissing("It is not there.", "Install it.")


@pytest.mark.posix
def test_a_job_reports_its_files(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    (notes / "c.mp3").write_bytes(b"ID3\x03" + b"\x00" * 50)

    job = index(library, "s")

    assert (job.total_files, job.succeeded, job.failed, job.total_chunks_added) == (3, 2, 1, 1)
    assert job.counts == {"added": 1, "failed": 1, "skipped": 1, "unchanged": 0}
    assert outcomes(job) == {"a.md": "added", "b.md": "failed", "c.mp3": "skipped"}
    assert job.start_time.endswith("Z")
    assert job.end_time is not None
    assert job.start_time <= job.end_time
    assert job.duration_ms >= 0
    assert job.progress.phase == "done"
    assert all(result.processing_time_ms >= 0 for result in job.results)
    [stored] = library.jobs.all(OWNER, "s")
    assert (stored.counts, stored.state, stored.total_files) == (job.counts, "done", 3)
    assert tuple(library.jobs.results(OWNER, "s", job.id)) == job.results


def test_progress_tells_the_phases_in_order(library: Library, store: Store, notes: Path) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    seen: list[str] = []
    library.jobs.request(OWNER, "s")

    library.jobs.run(OWNER, "s", lambda job: seen.append(job.progress.phase))

    assert list(dict.fromkeys(seen)) == ["scanning", "reading", "embedding", "done"]
