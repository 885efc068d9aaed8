"""Lets background work wait for searches, because Python computes in one thread at a time."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

LONGEST_WAIT_S = 0.1
"""Maximum seconds that one step of background work waits for searches."""

_USUAL_TURN_S = sys.getswitchinterval()
_TURN_S = 0.0005  # seconds of one thread's turn during a search; a search loses its turn at every row

RECENT_S = 2.0
"""Seconds after a search during which another search is expected."""

_Item = TypeVar("_Item")


class SearchPriority:
    """Counts the searches under way in this process, so that background work can wait for them.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._searching = 0
        self._last = float("-inf")
        self._quiet = threading.Event()
        self._quiet.set()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Context manager: count the block as one search."""
        with self._lock:
            self._searching += 1
            self._quiet.clear()
            sys.setswitchinterval(_TURN_S)
        try:
            yield
        finally:
            with self._lock:
                self._searching -= 1
                self._last = time.monotonic()
                if not self._searching:
                    self._quiet.set()
                    sys.setswitchinterval(_USUAL_TURN_S)

    def yield_to_searches(self) -> None:
        """Wait until no search is under way, but at most `LONGEST_WAIT_S`. Call this before each step of
        background work."""
        self._quiet.wait(LONGEST_WAIT_S)

    def steps(self, items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
        """Yield ``items`` in order, in lists. While people search, each list has one item; otherwise one list
        has all the remaining items."""
        done = 0
        while done < len(items):
            self.yield_to_searches()
            is_busy = self._searching or time.monotonic() - self._last < RECENT_S
            step = items[done : done + 1] if is_busy else items[done:]
            done += len(step)
            yield step


def low_priority(nice: int = 10) -> None:
    """Lower the priority of this thread and of the processes that it starts. Does nothing on systems other
    than Linux."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, 0, nice)
