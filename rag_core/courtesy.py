"""Background work gives way to searches: Python computes in one thread at a time, and a low priority of the
operating system does not change which."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_S = 0.1
"""How long one step of background work waits at most: it goes on, however many search."""


class Courtesy:
    """Who searches now in this process. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._searching = 0
        self._quiet = threading.Event()
        self._quiet.set()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """One search."""
        with self._lock:
            self._searching += 1
            self._quiet.clear()
        try:
            yield
        finally:
            with self._lock:
                self._searching -= 1
                if not self._searching:
                    self._quiet.set()

    def give_way(self) -> None:
        """Before a step of background work: wait until nobody searches, at most `MOST_S`."""
        self._quiet.wait(MOST_S)
