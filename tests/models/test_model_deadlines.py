"""Waiting for servers: a few seconds, and nobody waits again for what another has just waited for."""

from __future__ import annotations

import threading

import pytest

from rag_core.errors import EmbedderError, Unreachable, VectorsUnreachable
from rag_core.models import registry
from rag_core.models.deadline import ask_index
from rag_core.models.registry import CircuitBreaker


@pytest.fixture(autouse=True)
def every_wait_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LONG_S", 0.0)


def fail(known: CircuitBreaker, server: str, error: Exception) -> None:
    with pytest.raises(type(error)), known.guard(server):
        raise error


@pytest.mark.parametrize("error", [Unreachable("Nobody.", "Wait."), VectorsUnreachable("Nobody.", "Wait.")])
def test_what_was_waited_for_in_vain_is_not_asked_again(error: Unreachable | VectorsUnreachable) -> None:
    known = CircuitBreaker()
    fail(known, "far", error)
    with pytest.raises(type(error), match="Nobody") as again, known.guard("far"):
        pytest.fail("it was asked")
    assert again.value.suggestion == "Wait."
    with known.guard("near"):
        pass


def test_after_a_while_or_when_it_is_renewed_it_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = CircuitBreaker()
    fail(known, "far", Unreachable("Nobody.", ""))
    known.reset("far")
    fail(known, "far", Unreachable("Nobody, again.", ""))
    monkeypatch.setattr(registry, "_OPEN_S", 0.0)
    with known.guard("far"):
        pass


def test_what_failed_at_once_or_for_another_reason_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known = CircuitBreaker()
    fail(known, "far", EmbedderError("Too long.", ""))
    monkeypatch.setattr(registry, "_LONG_S", 60.0)
    fail(known, "far", Unreachable("Refused.", ""))
    with known.guard("far"):
        pass


def test_what_takes_too_long_is_left_to_itself() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def act() -> None:
        go_on.wait()
        ended.set()

    with pytest.raises(VectorsUnreachable, match="gives no answer"):
        ask_index(act, "far", 0.01)
    go_on.set()
    assert ended.wait(5)


def test_what_is_soon_there_is_given_or_raised() -> None:
    assert ask_index(lambda: 7, "near") == 7
    with pytest.raises(ZeroDivisionError):
        ask_index(lambda: 1 // 0, "near")
