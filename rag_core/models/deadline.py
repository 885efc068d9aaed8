"""Deadlines for slow servers: background threads, time limits, and a circuit breaker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from rag_core.errors import Unreachable, VectorsUnreachable

ANSWER_S = 20.0
"""Seconds to wait for a vector index's first response."""

_LONG_S = 0.3  # a failure after a longer wait opens the circuit
_OPEN_S = 15.0

T = TypeVar("T")


def in_background(name: str, work: Callable[[], T]) -> Future[T]:
    """Run ``work`` in a daemon thread called ``name``, which keeps no process alive."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again by future.result()
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def with_deadline(seconds: float, act: Callable[[], T]) -> T:
    """What ``act`` returns or raises; TimeoutError when it takes longer, while it goes on in its thread.

    The timeout of a connection is not enough: host names and credentials are looked up before there is one.
    """
    return in_background("asking a server", act).result(seconds)


def ask_index(act: Callable[[], T], server: str) -> T:
    """What ``act`` returns, which asks the vector index at ``server``.

    Raises VectorsUnreachable when that takes longer than ``ANSWER_S``.
    """
    try:
        return with_deadline(ANSWER_S, act)
    except TimeoutError:
        raise VectorsUnreachable(
            f"The vector index at {server} gives no answer within {ANSWER_S:g} seconds.",
            "Check that it runs and can be reached, then try again.",
        ) from None


class CircuitBreaker:
    """Fails fast for 15 seconds after a server kept a search waiting in vain. Safe in several threads."""

    def __init__(self) -> None:
        self._failed: dict[str, tuple[float, Unreachable | VectorsUnreachable]] = {}

    @contextmanager
    def guard(self, server: str) -> Iterator[None]:
        """Around what a search asks of a server. Raises the last error at once while the circuit is open."""
        at, error = self._failed.get(server, (0.0, None))
        if error is not None and time.monotonic() - at < _OPEN_S:
            raise type(error)(error.message, error.suggestion)
        started = time.monotonic()
        try:
            yield
        except (Unreachable, VectorsUnreachable) as error:
            if time.monotonic() - started > _LONG_S:
                self._failed[server] = time.monotonic(), error
            raise

    def reset(self, server: str) -> None:
        """Close the circuit of a server: it is asked again."""
        self._failed.pop(server, None)
