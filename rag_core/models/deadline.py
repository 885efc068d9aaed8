"""Deadlines for slow servers: background threads and time limits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from rag_core.errors import VectorsUnreachable

ANSWER_S = 20.0
"""Seconds to wait for a vector index's first response."""

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
