"""Jobs in the background of a long-lived process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.errors import Forbidden
from rag_core.library import Library
from rag_core.running import background
from rag_core.store import lock
from rag_core.types import OWNER, Viewer
from tests.support.consistency import check_library
from tests.support.runner import WAIT_S, Gate
from tests.support.stored import found, paths, store_of
from tests.support.waiting import until
from ui.frame import deps

pytestmark = pytest.mark.thorough


def threads() -> int:
    return sum(thread.name.endswith("(_work)") for thread in threading.enumerate())


@pytest.fixture
def gate(library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """The embedder of store ``s``, over 40 notes."""
    gate = Gate()
    monkeypatch.setattr("rag_core.models.registry.open_embedder", lambda name, model_dir: gate)
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    for n in range(40):
        (notes / f"{n}.md").write_text(f"It tells of subject{n}.\n", "utf-8")
    yield gate
    gate.open()
    background.stop_all()


def test_a_job_in_the_background_makes_words_searchable_before_it_ends(library: Library, gate: Gate) -> None:
    background.start(library, OWNER, "s")
    assert background.working(library, "s")
    gate.wait()
    gate.step()

    assert found(library, "subject7") == ["7.md"]
    assert library.jobs.all(OWNER, "s")[0].state == "running"

    gate.open()
    until(lambda: not background.working(library, "s"))
    [job] = library.jobs.all(OWNER, "s")
    assert (job.state, job.texts_embedded) == ("done", 40)


def test_a_run_goes_on_however_often_the_settings_are_changed(library: Library, gate: Gate) -> None:
    own = deps._library(library.settings)
    background.start(own, OWNER, "s")
    gate.wait()
    for number in range(1, 7):
        deps._library(library.settings.model_copy(update={"top_k": number}))

    gate.open()
    until(lambda: not background.working(own, "s"))
    deps._library.clear()
    assert library.jobs.all(OWNER, "s")[0].state == "done"


def test_a_run_goes_on_with_the_new_setting_when_ocr_is_turned_off(library: Library, gate: Gate) -> None:
    own = deps._library(library.settings)
    background.start(own, OWNER, "s")
    gate.wait()
    deps._library(library.settings.model_copy(update={"ocr": "off"}))
    gate.open()
    until(lambda: [job.state for job in library.jobs.all(OWNER, "s")] == ["done", "interrupted"])
    until(lambda: not background.working(own, "s"))
    deps._library.clear()
    assert not library.jobs.requested(OWNER, "s")


def test_many_starts_at_once_lose_no_request(library: Library, gate: Gate, notes: Path) -> None:
    gate.open()
    starters = []
    for n in range(12):
        (notes / f"late{n}.md").write_text(f"It is late {n}.\n", "utf-8")
        starters.append(threading.Thread(target=background.start, args=(library, OWNER, "s")))
        starters[-1].start()
    for starter in starters:
        starter.join(WAIT_S)

    until(lambda: not background.working(library, "s"))

    assert len(paths(library)) == 52
    assert not library.jobs.requested(OWNER, "s")


def test_stop_all_interrupts_and_waits_and_the_next_start_of_the_process_goes_on(
    library: Library, gate: Gate
) -> None:
    background.start(library, OWNER, "s")
    gate.wait()
    gate.step()
    threading.Timer(0.1, gate.open).start()

    assert background.stop_all() == ["s"]
    assert library.jobs.requested(OWNER, "s")

    assert threads() == 0
    assert not background.working(library, "s")
    [job] = library.jobs.all(OWNER, "s")
    assert (job.state, job.texts_embedded < 40) == ("interrupted", True)
    assert (
        job.message
        == "The program was closed during the run. The run continues when the program starts again."
    )
    check_library(library, "s")

    background.resume_all(library, OWNER)
    until(lambda: not background.working(library, "s"))

    assert library.jobs.all(OWNER, "s")[0].state == "done"
    assert library.stores.info(OWNER, "s").pending == 0
    assert not library.jobs.requested(OWNER, "s")


def test_a_cancelled_job_is_not_resumed(library: Library, gate: Gate) -> None:
    background.start(library, OWNER, "s")
    gate.wait()
    library.jobs.cancel(OWNER, "s")
    gate.open()
    until(lambda: not background.working(library, "s"))
    assert library.jobs.all(OWNER, "s")[0].state == "cancelled"

    background.resume_all(library, OWNER)

    assert not background.working(library, "s")


def test_a_job_that_was_killed_with_its_process_waits_for_the_owner(library: Library, gate: Gate) -> None:
    """It may be what ended the process, and would again."""
    store = store_of(library, "s")
    with store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('running', '2026-01-01T00:00:00Z')")
    store.close()
    library.jobs.request(OWNER, "s")

    background.resume_all(library, OWNER)

    assert not background.working(library, "s")
    assert library.jobs.requested(OWNER, "s")
    gate.open()
    background.go_on(library, OWNER, "s")
    until(lambda: not background.working(library, "s"))
    assert library.jobs.all(OWNER, "s")[0].state == "done"


def test_a_store_that_cannot_be_read_keeps_no_other_from_being_resumed(
    library: Library, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.open()
    (library.settings.store_dir / "broken.db").write_bytes(b"not a database" * 100)
    library.jobs.request(OWNER, "s")

    background.resume_all(library, OWNER)
    until(lambda: not background.working(library, "s"))

    assert "store 'broken' is not resumed" in caplog.text
    assert library.jobs.all(OWNER, "s")[0].state == "done"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once somebody did not get the lock; nobody tries for long."""
    refused, refusal = threading.Event(), lock._refusal

    def refuse(store: Path, work: lock.Work) -> Exception:
        refused.set()
        return refusal(store, work)

    monkeypatch.setattr("rag_core.store.lock._refusal", refuse)
    monkeypatch.setattr("rag_core.store.lock._TIMEOUT_S", 0.05)
    monkeypatch.setattr("rag_core.running.background._LOOK_EVERY_S", 0.01)
    return refused


def test_a_request_during_a_repair_is_done_after_it(
    library: Library, gate: Gate, refused: threading.Event
) -> None:
    gate.open()
    with lock.hold(library.settings.store_dir / "s.db", "repair"):
        background.start(library, OWNER, "s")
        assert refused.wait(WAIT_S)
        assert background.working(library, "s")
        assert library.jobs.all(OWNER, "s") == []

    until(lambda: not background.working(library, "s"))

    assert not library.jobs.requested(OWNER, "s")
    assert library.jobs.all(OWNER, "s")[0].state == "done"


def test_a_guest_may_not_start_a_job(library: Library, gate: Gate) -> None:
    with pytest.raises(Forbidden):
        background.start(library, Viewer("guest", stores=frozenset({"s"})), "s")
    assert not background.working(library, "s")


def test_an_error_in_a_job_is_logged_and_the_next_start_works(
    library: Library, gate: Gate, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(store: object, source: object, **_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("rag_core.index.index.make_plan", broken)
        background.start(library, OWNER, "s")
        gate.open()
        until(lambda: not background.working(library, "s"))
    assert "the job of store 's' ended with an error" in caplog.text
    assert library.jobs.all(OWNER, "s")[0].state == "failed"

    background.start(library, OWNER, "s")
    until(lambda: not background.working(library, "s"))
    assert library.jobs.all(OWNER, "s")[0].state == "done"
