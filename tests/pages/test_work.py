"""Long work of pages: one piece under a key at a time, its end, and the end of the process."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest

from rag_core.errors import Cancelled, RagError
from ui.frame import work
from ui.frame.work import BackgroundWork

KEY = ("test", "one")


class Waiting(BackgroundWork[str, int]):
    """Waits until it may ``go``, or is cancelled; then gives what it was made with."""

    def __init__(self, end: int | Exception = 1) -> None:
        super().__init__("The wait", "begun")
        self.go = threading.Event()
        self._end = end

    def _act(self) -> int:
        while not self.go.wait(0.01):
            if self.stopping:
                raise Cancelled
        if isinstance(self._end, Exception):
            raise self._end
        return self._end


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    work.cancel_all()
    for key, each in work.known("test").items():
        work.close(key, each)


def begun(end: int | Exception = 1, key: work.WorkKey = KEY) -> Waiting:
    waiting = Waiting(end)
    work.start_work(key, waiting)
    return waiting


def test_what_is_at_work_under_a_key_goes_on() -> None:
    first, second = begun(), begun()
    assert work.known(*KEY) == {KEY: first}
    assert not second.running
    first.go.set()
    first.join(20)
    third = begun()
    assert work.known(*KEY) == {KEY: third}


def test_it_is_known_by_what_its_key_begins_with_until_it_ended_and_was_closed() -> None:
    first, other = begun(), begun(key=("test", "two"))
    assert set(work.known("test")) == {KEY, ("test", "two")}
    assert work.known("else") == {}
    work.close(KEY, first)
    assert work.known(*KEY) == {KEY: first}, "it is at work"
    first.go.set()
    first.join(20)
    work.close(KEY, first)
    assert work.known("test") == {("test", "two"): other}
    assert first.result == 1


def test_an_error_is_told_and_what_only_the_log_may_say_is_not(caplog: pytest.LogCaptureFixture) -> None:
    told, hidden = begun(RagError("It broke.", "Mend it.")), begun(KeyError("secret"), ("test", "two"))
    for each in (told, hidden):
        each.go.set()
        each.join(20)
    assert str(told.error) == "It broke. Mend it."
    assert str(hidden.error) == "The wait ended with an error. The log of the app says why."
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_the_end_of_the_process_cancels_all_and_waits() -> None:
    first, second = begun(), begun(key=("test", "two"))
    work.cancel_all()
    assert not first.running
    assert not second.running
    assert (first.stopping, first.result, first.error) == (True, None, None)
