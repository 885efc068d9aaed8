"""Background work gives way to searches, and goes on however many there are."""

from __future__ import annotations

import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from rag_core.index import priority
from rag_core.index.priority import SearchPriority
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write


def waits(polite: SearchPriority) -> tuple[threading.Thread, threading.Event]:
    """A thread that gives way once, and what it sets when it goes on."""
    went_on = threading.Event()
    thread = threading.Thread(target=lambda: (polite.yield_to_searches(), went_on.set()))
    thread.start()
    return thread, went_on


def test_nobody_waits_while_nobody_searches() -> None:
    thread, went_on = waits(SearchPriority())
    thread.join(10)
    assert went_on.is_set()


def test_work_waits_for_the_last_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "LONGEST_WAIT_S", 60.0)
    polite = SearchPriority()
    with ExitStack() as first, polite.searching():
        first.enter_context(polite.searching())
        thread, went_on = waits(polite)
        first.close()
        assert not went_on.wait(0.05), "one search still goes on"
    thread.join(10)
    assert went_on.is_set()


def test_threads_take_shorter_turns_while_a_search_goes_on() -> None:
    polite, usual = SearchPriority(), sys.getswitchinterval()
    with polite.searching():
        with polite.searching():
            pass
        assert sys.getswitchinterval() < usual / 5
    assert sys.getswitchinterval() == usual


def test_work_goes_on_beside_searches_without_end() -> None:
    polite = SearchPriority()
    with polite.searching():
        thread, went_on = waits(polite)
        thread.join(10)
        assert went_on.is_set()


def test_nobody_searching_means_one_step() -> None:
    assert list(SearchPriority().steps("abc")) == ["abc"]


def test_steps_are_small_from_a_search_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "RECENT_S", 60.0)
    polite = SearchPriority()
    with polite.searching():
        pass
    assert list(polite.steps("abc")) == ["a", "b", "c"]


def test_steps_grow_again_once_searches_are_long_past(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priority, "RECENT_S", 0.0)
    polite = SearchPriority()
    steps = polite.steps("abcd")
    with polite.searching():
        assert next(steps) == "a"
    assert list(steps) == ["bcd"]


def test_a_run_gives_way_before_each_file(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def count(_: SearchPriority) -> None:
        nonlocal steps
        steps += 1

    monkeypatch.setattr(SearchPriority, "yield_to_searches", count)
    write(notes, {f"{number}.md": f"# Note {number}\n\nOf tea.\n" for number in range(5)})
    index(library, "notes", notes)
    assert steps >= 5


def test_a_search_is_known_as_long_as_it_goes_on(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {"tea.md": "# Tea\n\nSteep it.\n"})
    index(library, "notes", notes)
    seen: list[bool] = []
    calm = SearchPriority.searching

    def watched(self: SearchPriority):  # type: ignore[no-untyped-def]
        seen.append(True)
        return calm(self)

    monkeypatch.setattr(SearchPriority, "searching", watched)
    assert library.search(OWNER, "tea").hits
    assert seen == [True]
