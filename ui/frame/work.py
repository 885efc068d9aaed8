"""Background work of pages, each piece in its own thread.

Work belongs to the process, not to a session. A reload or a closed tab does not stop it, and every tab that
knows its key shows it.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from typing import Any, Final, Generic, TypeVar

from rag_core.errors import Cancelled, RagError

WorkKey = tuple[str, ...]
P = TypeVar("P")
R = TypeVar("R")

_LOG = logging.getLogger(__name__)


class BackgroundWork(ABC, Generic[P, R]):
    """Work in a separate thread. ``now`` is its progress. At its end it has a ``result``, an ``error``, or
    neither if it was cancelled or returns nothing. ``headline`` names the work in plain text."""

    def __init__(self, headline: str, now: P) -> None:
        self.headline: Final = headline
        self.now = now
        self.result: R | None = None
        self.error: RagError | None = None
        self._stop: Final = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @abstractmethod
    def _act(self) -> R | None:
        """Carry out the work and return the result. Stop soon after ``stopping`` becomes True. Raises
        RagError."""

    @property
    def running(self) -> bool:
        """Whether the work is still running."""
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether the work was cancelled."""
        return self._stop.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def report(self, now: P) -> None:
        """Set the progress. Raises Cancelled after `cancel`."""
        if self.stopping:
            raise Cancelled
        self.now = now

    def cancel(self) -> None:
        """Ask the work to stop. It stops at its next step."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for the end of the work, at most ``timeout`` seconds."""
        self._thread.join(timeout)

    def _work(self) -> None:
        """Run `_act` in the thread. Any exception becomes its ``error``, which its page shows."""
        try:
            self.result = self._act()
        except Cancelled:
            _LOG.info("%s was cancelled", type(self).__name__)
        except RagError as error:
            self.error = error
        except Exception:
            _LOG.exception("%s ended with an error", type(self).__name__)
            self.error = RagError(f"{self.headline} ended with an error.", "The log of the app says why.")


_works: dict[WorkKey, BackgroundWork[Any, Any]] = {}
_lock = threading.Lock()


def start_work(key: WorkKey, work: BackgroundWork[Any, Any]) -> None:
    """Start ``work`` under ``key``, unless other work under this key is running."""
    with _lock:
        if key not in _works or not _works[key].running:
            _works[key] = work
            work.start()


def known(*above: str) -> dict[WorkKey, BackgroundWork[Any, Any]]:
    """Return the work that is running, or has ended and was not closed, whose keys begin with ``above``: key
    → work, in the order of starting."""
    with _lock:
        return {key: work for key, work in _works.items() if key[: len(above)] == above}


def close(key: WorkKey, work: BackgroundWork[Any, Any]) -> None:
    """Remove ``work`` from ``key`` if it has ended. Running work, or other work under this key, stays."""
    with _lock:
        if _works.get(key) is work and not work.running:
            del _works[key]


def cancel_all(timeout: float = 5.0) -> None:
    """Cancel all work in this process, and wait at most ``timeout`` seconds for each piece of work to clean
    up."""
    running = [work for work in known().values() if work.running]
    for work in running:
        work.cancel()
    for work in running:
        work.join(timeout)
