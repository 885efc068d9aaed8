"""Work in a thread of its own, for whoever may not want to wait for its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_background(name: str, work: Callable[[], T]) -> Future[T]:
    """Do ``work`` in a thread that keeps no process alive: a server may be silent for minutes, and so may
    the look-up of its host. ``name`` is the thread's."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # it is raised where the result is waited for
            future.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
