"""One runner a store: what is asked while it works, who may ask it to stop, what a kill leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

import rag_core.index
from rag_core.config import Settings
from rag_core.embedders.hashing import Hashing
from rag_core.errors import ModelMissing, StoreBusy
from rag_core.library import Library
from rag_core.plan import make_plan
from rag_core.store import Store, lock
from rag_core.types import OWNER, Job, Vectors
from tests.conftest import index
from tests.consistency import check_library
from tests.test_indexing import found, outcomes, paths

WAIT_S = 20
REPOSITORY = Path(__file__).parents[1]

HOLD = """
import sys
from pathlib import Path
from rag_core.store import lock
with lock.hold(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.readline()
"""

RUN = """
import sys, time
from pathlib import Path
import rag_core.index
from rag_core.embedders.hashing import Hashing
from rag_core.store import Store

class Slow(Hashing):
    def embed_documents(self, texts):
        print("embedding", flush=True)
        time.sleep(0.02 if len(texts) == 1 else 60)
        return super().embed_documents(texts)

store = Store(Path(sys.argv[1]))
rag_core.index.run(store, Slow)
"""


class Gate(Hashing):
    """Stops at every batch until it is let on, so that a test can act in between."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.reached.release()
        assert self.go_on.acquire(timeout=WAIT_S)
        return super().embed_documents(texts)

    def wait(self) -> None:
        """Until the run is at its next batch."""
        assert self.reached.acquire(timeout=WAIT_S)

    def open(self) -> None:
        """Let the run go on to its end."""
        self.go_on.release(1_000_000)


class Run(threading.Thread):
    """A run in a thread of its own; ``job`` when it has ended."""

    def __init__(self, store: Store, embedder: Hashing) -> None:
        super().__init__(daemon=True)
        self.store, self.embedder = store, embedder
        self.job: Job | None = None
        self.start()

    def run(self) -> None:
        self.job = rag_core.index.run(self.store, lambda: self.embedder)

    def end(self) -> Job:
        self.join(WAIT_S)
        assert not self.is_alive()
        assert self.job is not None
        return self.job


@pytest.fixture
def store(library: Library, notes: Path) -> Store:
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library._open(OWNER, "s").store


def child(script: str, store: Path) -> subprocess.Popen[str]:
    """A second process, once it has said its first word."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(store)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("holding", "embedding")
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


# --- asking ---------------------------------------------------------------------------


def test_who_asks_without_a_runner_becomes_it(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.request_index(OWNER, "s")
    assert library.requested(OWNER, "s")

    assert library.run(OWNER, "s") is not None

    assert found(library, "zebra") == ["a.md"]
    assert not library.requested(OWNER, "s")
    assert library.run(OWNER, "s") is None


def test_a_runner_takes_what_is_asked_while_it_embeds(library: Library, store: Store, notes: Path) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    gate = Gate()
    library.request_index(OWNER, "s")
    run = Run(store, gate)
    gate.wait()  # for the canary
    gate.go_on.release()
    gate.wait()  # at the first batch

    (notes / "late.md").write_text("The zebra sleeps.\n")
    library.request_index(OWNER, "s")
    with pytest.raises(StoreBusy, match="is being indexed already"):
        library.run(OWNER, "s")
    gate.go_on.release()
    gate.wait()  # at the batch after: words first

    assert found(library, "zebra") == ["late.md"]
    gate.open()
    job = run.end()
    assert (job.state, job.counts["added"], job.texts_embedded) == ("done", 41, 41)
    assert len(library.jobs(OWNER, "s")) == 1
    assert not library.requested(OWNER, "s")
    check_library(library, "s")


def test_two_requests_that_wait_are_one_reading(library: Library, store: Store, notes: Path) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    index(library, "s")
    library.request_index(OWNER, "s")
    library.request_index(OWNER, "s", force=True)

    job = library.run(OWNER, "s")

    assert job is not None
    assert (job.total_files, job.counts["changed"]) == (3, 3)


def test_a_second_process_is_refused_while_a_runner_works_and_not_after(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    process = child(HOLD, store.path)
    try:
        library.request_index(OWNER, "s")
        assert store.running()
        with pytest.raises(StoreBusy, match="The request was left for that run"):
            library.run(OWNER, "s")
        assert library.requested(OWNER, "s")
        with pytest.raises(StoreBusy):
            library.delete_store(OWNER, "s")
    finally:
        process.communicate("\n", timeout=WAIT_S)

    assert not store.running()
    assert library.run(OWNER, "s") is not None
    assert paths(library) == ["a.md"]


def test_looking_whether_a_runner_works_does_not_keep_one_from_starting(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            store.running()

    watchers = [threading.Thread(target=look) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(5):
            index(library, "s")
    finally:
        done.set()
        for watcher in watchers:
            watcher.join(WAIT_S)
    assert paths(library) == ["a.md"]


def test_two_that_look_at_once_do_not_take_each_other_for_a_runner(store: Store) -> None:
    seen: list[bool] = []

    def look() -> None:
        seen.extend(store.running() for _ in range(300))

    watchers = [threading.Thread(target=look) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    for watcher in watchers:
        watcher.join(WAIT_S)

    assert len(seen) == 900
    assert not any(seen)


# --- stopping -------------------------------------------------------------------------


def test_cancel_stops_a_run_within_a_batch_and_the_next_one_finishes(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(100):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    gate = Gate()
    library.request_index(OWNER, "s")
    run = Run(store, gate)
    gate.wait()
    gate.go_on.release()
    gate.wait()
    library.cancel(OWNER, "s")
    gate.open()

    job = run.end()

    assert (job.state, job.texts_embedded) == ("cancelled", 32)
    assert library.jobs(OWNER, "s")[0].state == "cancelled"
    assert library.store_info(OWNER, "s").pending == 68
    assert not library.requested(OWNER, "s")
    check_library(library, "s")

    job = index(library, "s")
    assert (job.state, job.counts, job.texts_embedded) == ("done", {"unchanged": 100}, 68)


def test_cancel_stops_a_run_between_two_files(
    library: Library, store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.runlog._NOTE_EVERY_S", 0.0)
    for n in range(10):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    library.request_index(OWNER, "s")

    def cancel(job: Job) -> None:
        if job.counts.get("added") == 3:
            library.cancel(OWNER, "s")

    job = library.run(OWNER, "s", cancel)

    assert job is not None
    assert job.state == "cancelled"
    assert len(paths(library)) in (3, 4)
    check_library(library, "s")
    assert index(library, "s").state == "done"
    assert len(paths(library)) == 10


def test_a_scan_can_be_stopped_while_it_reads_files_to_compare(store: Store, notes: Path) -> None:
    for n in range(10):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    rag_core.index.request(store, None)
    rag_core.index.run(store, Hashing)
    [source] = _sources(store)
    chances: list[int] = []

    make_plan(store, source, on_progress=chances.append)

    assert len(chances) > 10


def _sources(store: Store) -> list:  # type: ignore[type-arg]
    from rag_core.store.sources import all_sources

    with store.read() as db:
        return all_sources(db)


def test_cancel_without_a_run_or_a_request_does_nothing(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.cancel(OWNER, "s")

    assert not library.requested(OWNER, "s")
    assert index(library, "s").state == "done"


def test_a_cancel_after_the_request_and_before_the_run_is_honoured(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    library.request_index(OWNER, "s")
    library.cancel(OWNER, "s")

    job = library.run(OWNER, "s")

    assert job is not None
    assert (job.state, job.texts_embedded) == ("cancelled", 0)
    assert not library.requested(OWNER, "s")


def test_a_request_after_a_cancel_is_done(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.request_index(OWNER, "s")
    library.cancel(OWNER, "s")
    library.request_index(OWNER, "s")

    job = library.run(OWNER, "s")

    assert job is not None
    assert (job.state, job.texts_embedded) == ("done", 1)


def test_a_request_right_behind_a_cancel_is_not_swallowed_by_it(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    gate = Gate()
    library.request_index(OWNER, "s")
    run = Run(store, gate)
    gate.wait()
    gate.go_on.release()
    gate.wait()
    library.cancel(OWNER, "s")
    library.request_index(OWNER, "s")
    gate.open()

    assert run.end().state == "done"

    assert [job.state for job in library.jobs(OWNER, "s")] == ["done", "cancelled"]
    assert library.store_info(OWNER, "s").pending == 0


# --- dying ----------------------------------------------------------------------------


def test_a_killed_run_is_interrupted_and_its_request_done_by_the_next(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    library.request_index(OWNER, "s")
    process = child(RUN, store.path)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "embedding"  # behind the canary: words are in
    assert library.jobs(OWNER, "s")[0].state == "running"
    stop(process)
    assert process.returncode == -signal.SIGKILL

    [job] = library.jobs(OWNER, "s")
    assert job.state == "interrupted"
    assert len(paths(library)) == 40
    assert library.requested(OWNER, "s")
    check_library(library, "s")

    job = library.run(OWNER, "s") or pytest.fail("nothing was left to do")
    assert (job.state, job.counts, job.texts_embedded) == ("done", {"unchanged": 40}, 40)
    assert [job.state for job in library.jobs(OWNER, "s")] == ["done", "interrupted"]
    assert library.jobs(OWNER, "s")[1].message == "The process ended before the run did."


def test_a_failed_run_does_not_leave_its_request(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.request_index(OWNER, "s")

    def broken() -> Hashing:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        rag_core.index.run(store, broken)

    assert library.jobs(OWNER, "s")[0].state == "failed"
    assert not library.requested(OWNER, "s")


def test_an_interrupt_from_the_keyboard_ends_the_run_as_cancelled(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    library.request_index(OWNER, "s")

    def interrupt() -> Hashing:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rag_core.index.run(store, interrupt)

    assert library.jobs(OWNER, "s")[0].state == "cancelled"
    assert not store.running()


def test_old_jobs_are_forgotten(library: Library, store: Store) -> None:
    for _ in range(55):
        rag_core.index.request(store, None)
        rag_core.index.run(store, _missing)

    assert len(library.jobs(OWNER, "s", limit=100)) <= 51


def _missing() -> Hashing:
    raise ModelMissing("It is not there.", "Install it.")


def test_the_lock_is_free_again_whatever_happened(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), lock.hold(store.path):
        raise ZeroDivisionError
    assert not lock.held(store.path)


def test_a_job_tells_what_it_did_with_the_seed_s_names(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    (notes / "b.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    (notes / "c.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00" * 50)

    job = index(library, "s")

    assert (job.total_files, job.succeeded, job.failed, job.total_chunks_added) == (3, 2, 1, 1)
    assert job.counts == {"added": 1, "failed": 1, "skipped": 1, "unchanged": 0}
    assert outcomes(job) == {"a.md": "added", "b.md": "failed", "c.png": "skipped"}
    assert job.start_time.endswith("Z")
    assert job.end_time is not None
    assert job.start_time <= job.end_time
    assert job.duration_ms >= 0
    assert job.progress.phase == "done"
    assert all(result.processing_time_ms >= 0 for result in job.results)
    [stored] = library.jobs(OWNER, "s")
    assert (stored.counts, stored.state, stored.total_files) == (job.counts, "done", 3)
    assert tuple(library.job_results(OWNER, "s", job.id)) == job.results


def test_progress_tells_the_phases_in_order(library: Library, store: Store, notes: Path) -> None:
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n")
    seen: list[str] = []
    library.request_index(OWNER, "s")

    library.run(OWNER, "s", lambda job: seen.append(job.progress.phase))

    assert list(dict.fromkeys(seen)) == ["scanning", "reading", "embedding", "done"]


def test_two_libraries_see_each_other_s_runs(library: Library, store: Store, home: Path, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n")
    other = Library.open(Settings(home / "data", home / "data" / "models", (notes,)))
    library.request_index(OWNER, "s")
    assert other.requested(OWNER, "s")

    other.run(OWNER, "s")

    assert found(library, "zebra") == ["a.md"]
    assert library.jobs(OWNER, "s")[0].state == "done"
    other.close()
