"""Deadlines for slow servers: background threads and time limits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from rag_core.errors import VectorsUnreachable

ANSWER_S = 20.0
"""Maximum number of seconds for a vector index's first response."""

_T = TypeVar("_T")


def in_background(name: str, work: Callable[[], _T]) -> Future[_T]:
    """Run ``work`` in a daemon thread called ``name``. The thread does not keep the process running."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # raised again by future.result()
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def ask_index(act: Callable[[], _T], server: str, within_s: float | None = None) -> _T:
    """Call ``act`` in a thread, and return its result or raise its error. Raises VectorsUnreachable after
    ``within_s`` seconds; None means `ANSWER_S`. ``server`` names the index in this error.

    A connection timeout would not limit the time for looking up names and credentials.
    """
    seconds = ANSWER_S if within_s is None else within_s
    try:
        return in_background("asking a server", act).result(seconds)
    except TimeoutError:
        raise VectorsUnreachable(
            f"The vector index at {server} gives no answer within {seconds:.2g} seconds.",
            "Check that it runs and can be reached, then try again.",
        ) from None
