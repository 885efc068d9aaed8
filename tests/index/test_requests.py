"""One runner a store: what is asked while it works, and who may ask it to stop."""

from __future__ import annotations

from pathlib import Path

import pytest

import rag_core.index.index
import rag_core.index.requests
from rag_core.errors import InUpkeep, StoreBusy, StoreError
from rag_core.index.plan import make_plan
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store, lock
from rag_core.store.sources import all_sources
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.support import documents_made as made
from tests.support.consistency import check_library
from tests.support.runner import Gate, Run
from tests.support.stored import found, new_store, paths


@pytest.fixture
def store(library: Library, notes: Path) -> Store:
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library._shared.stores.open(OWNER, "s").store


def at_its_first_batch(library: Library, store: Store, notes: Path, count: int) -> tuple[Run, Gate]:
    """A run over ``count`` notes, and the gate that it waits at."""
    for n in range(count):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    gate = Gate()
    library.jobs.request(OWNER, "s")
    run = Run(store, gate)
    gate.wait()  # for the canary
    gate.step()
    return run, gate


# --- asking ---------------------------------------------------------------------------


def test_a_runner_takes_what_is_asked_while_it_embeds(library: Library, store: Store, notes: Path) -> None:
    run, gate = at_its_first_batch(library, store, notes, 40)
    (notes / "late.md").write_text("The zebra sleeps.\n", "utf-8")
    library.jobs.request(OWNER, "s")
    with pytest.raises(StoreBusy, match="is being indexed"):
        library.jobs.run(OWNER, "s")
    gate.step()  # at the batch after: words first

    assert found(library, "zebra") == ["late.md"]
    gate.open()
    job = run.end()
    assert (job.state, job.counts["added"], job.texts_embedded) == ("done", 41, 41)
    assert len(library.jobs.all(OWNER, "s")) == 1
    assert not library.jobs.requested(OWNER, "s")
    check_library(library, "s")


def test_a_folder_that_is_looked_at_twice_in_a_run_has_its_files_counted_once(
    library: Library, store: Store, notes: Path
) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    index(library, "s")
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    asked: list[Job] = []

    def ask_again(job: Job) -> None:
        if not asked and job.progress.phase == "embedding":
            asked.append(job)
            library.jobs.request(OWNER, "s")

    library.jobs.request(OWNER, "s")
    job = library.jobs.run(OWNER, "s", ask_again)

    assert job is not None
    assert asked
    assert (job.total_files, job.counts) == (4, {"unchanged": 3, "added": 1})


@pytest.mark.parametrize("is_mended", [False, True])
def test_a_file_that_fails_and_is_read_again_in_a_run_counts_once(
    library: Library, store: Store, notes: Path, *, is_mended: bool
) -> None:
    (notes / "tea.pdf").write_bytes(b"%PDF-1.4 half written")
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    asked: list[Job] = []

    def ask_again(job: Job) -> None:
        if not asked and job.progress.phase == "embedding":
            asked.append(job)
            if is_mended:
                (notes / "tea.pdf").write_bytes(made.pdf("Tea"))
            library.jobs.request(OWNER, "s")

    library.jobs.request(OWNER, "s")
    job = library.jobs.run(OWNER, "s", ask_again)

    assert job is not None
    assert asked[0].failed == 1
    assert (job.failed, job.total_files) == (0 if is_mended else 1, 2)
    assert [each.outcome for each in job.results].count("failed") == job.failed
    counted = [sum(each.count for each in library.jobs.problems(OWNER, "s", n)) for n in (None, job.id)]
    assert counted == [job.failed, job.failed]


def test_two_requests_that_wait_are_one_reading(library: Library, store: Store, notes: Path) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    index(library, "s")
    library.jobs.request(OWNER, "s")
    library.jobs.request(OWNER, "s", force=True)

    job = library.jobs.run(OWNER, "s")

    assert job is not None
    assert (job.total_files, job.counts["reread"]) == (3, 3)


# --- while something else than a run has the lock -------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.store.lock._TIMEOUT_S", 0.05)


UPKEEP: dict[lock.Work, str] = {
    "repair": "is being repaired",
    "rename": "is being renamed",
    "delete": "is being deleted",
    "make": "is being created",
}


@pytest.mark.parametrize("work", UPKEEP)
@pytest.mark.usefixtures("impatient")
def test_a_request_during_upkeep_is_refused_with_the_reason(
    library: Library, store: Store, work: lock.Work
) -> None:
    library.jobs.request(OWNER, "s")
    with lock.hold(store.path, work), pytest.raises(InUpkeep) as refused:
        library.jobs.run(OWNER, "s")
    assert refused.value.message == f"Store 's' {UPKEEP[work]}."
    assert "not carried out now" in refused.value.suggestion
    assert library.jobs.requested(OWNER, "s")
    assert library.jobs.run(OWNER, "s") is not None


@pytest.mark.usefixtures("impatient")
def test_who_repairs_renames_or_deletes_meanwhile_is_told_to_try_again(
    library: Library, store: Store
) -> None:
    with lock.hold(store.path, "repair"):
        for act, nothing in (
            (lambda: library.upkeep.repair(OWNER, "s"), "Nothing was repaired"),
            (lambda: library.stores.rename(OWNER, "s", "t"), "Nothing was renamed"),
            (lambda: library.stores.delete(OWNER, "s"), "Nothing was deleted"),
        ):
            with pytest.raises(InUpkeep, match=r"is being repaired\.") as refused:
                act()
            assert refused.value.suggestion == f"{nothing}. Try again when that has ended."


def test_a_repair_is_not_shown_as_a_run(library: Library, store: Store) -> None:
    with store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('running', '2026-01-01T00:00:00Z')")
    with lock.hold(store.path, "repair"):
        assert not store.running()
        assert library.jobs.all(OWNER, "s")[0].state == "interrupted"
    with lock.hold(store.path):
        assert library.jobs.all(OWNER, "s")[0].state == "running"


# --- a store that is gone or another one ----------------------------------------------


def test_a_run_of_a_deleted_store_leaves_the_new_one_alone(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    library.jobs.request(OWNER, "s")
    other = Library.open(library.settings)
    other.stores.delete(OWNER, "s")
    new = new_store(store.path)

    with pytest.raises(StoreError, match="is not open any more"):
        rag_core.index.index.run(store, lambda _: Hashing())
    with pytest.raises(StoreError, match="is not open any more"):
        rag_core.index.requests.request(store, None)

    assert not rag_core.index.requests.requested(new)
    assert paths(other) == []
    new.close()
    other.close()


# --- stopping -------------------------------------------------------------------------


def test_cancel_stops_a_run_within_a_batch_and_the_next_one_finishes(
    library: Library, store: Store, notes: Path
) -> None:
    run, gate = at_its_first_batch(library, store, notes, 100)
    library.jobs.cancel(OWNER, "s")
    gate.open()

    job = run.end()

    assert (job.state, job.texts_embedded) == ("cancelled", 32)
    assert library.jobs.all(OWNER, "s")[0].state == "cancelled"
    assert library.stores.info(OWNER, "s").pending == 68
    assert not library.jobs.requested(OWNER, "s")
    check_library(library, "s")

    job = index(library, "s")
    assert (job.state, job.counts, job.texts_embedded) == ("done", {"unchanged": 100}, 68)


def test_cancel_stops_a_run_between_two_files(
    library: Library, store: Store, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.index.job_log._NOTE_EVERY_S", 0.0)
    for n in range(10):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    library.jobs.request(OWNER, "s")

    def cancel(job: Job) -> None:
        if job.counts.get("added") == 3:
            library.jobs.cancel(OWNER, "s")

    job = library.jobs.run(OWNER, "s", cancel)

    assert job is not None
    assert job.state == "cancelled"
    assert library.stores.info(OWNER, "s").file_count in (3, 4)
    check_library(library, "s")
    assert index(library, "s").state == "done"
    assert len(paths(library)) == 10


def test_a_scan_can_be_stopped_while_it_reads_files_to_compare(store: Store, notes: Path) -> None:
    for n in range(10):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    rag_core.index.requests.request(store, None)
    rag_core.index.index.run(store, lambda _: Hashing())
    with store.read() as db:
        [source] = all_sources(db)
    chances: list[int] = []

    make_plan(store, source, on_progress=chances.append)

    assert len(chances) > 10


def test_cancel_without_a_run_or_a_request_does_nothing(library: Library, store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    library.jobs.cancel(OWNER, "s")

    assert not library.jobs.requested(OWNER, "s")
    assert index(library, "s").state == "done"


def test_what_was_asked_before_a_cancel_is_not_done_for_what_was_asked_behind_it(
    library: Library, store: Store, notes: Path, tmp_path: Path
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.md").write_text("The walrus wakes.\n", "utf-8")
    other = library.add_source(OWNER, "s", tmp_path / "other", ["*.md"])
    first = library.stores.info(OWNER, "s").sources[0]
    library.jobs.request(OWNER, "s", [first.id])
    library.jobs.cancel(OWNER, "s")
    library.jobs.request(OWNER, "s", [other.id])
    library.jobs.run(OWNER, "s")
    assert (found(library, "zebra"), found(library, "walrus")) == ([], ["other/b.md"])
    assert not library.jobs.requested(OWNER, "s")


def test_a_request_right_behind_a_cancel_is_not_swallowed_by_it(
    library: Library, store: Store, notes: Path
) -> None:
    run, gate = at_its_first_batch(library, store, notes, 40)
    library.jobs.cancel(OWNER, "s")
    library.jobs.request(OWNER, "s")
    gate.open()

    assert run.end().state == "done"

    assert [job.state for job in library.jobs.all(OWNER, "s")] == ["done", "cancelled"]
    assert library.stores.info(OWNER, "s").pending == 0
