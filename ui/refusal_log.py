"""What clients can put in the log: one line a second for each reason, so that knocking fills no disk."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Final

_EVERY_S: Final = 1.0
_KINDS: Final = {"http": "an HTTP", "websocket": "a WebSocket"}
_LOG = logging.getLogger(__name__)


class Throttle:
    """Lets each key through once a second."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._written: dict[Hashable, float] = {}
        self._more: dict[Hashable, int] = {}

    def skipped(self, key: Hashable) -> int | None:
        """How many of a key were held back since the last that was let through; None holds this one back."""
        now = self._now()
        with self._lock:
            if now - self._written.get(key, now - _EVERY_S) < _EVERY_S:
                self._more[key] = self._more.get(key, 0) + 1
                return None
            self._written[key] = now
            return self._more.pop(key, 0)


def more(skipped: int) -> str:
    """The end of a line: how many like it were held back."""
    return f" {skipped:,} more before it." if skipped else ""


class RefusalLog:
    """Writes down what the gate refuses."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._throttle = Throttle(now)

    def add(self, kind: str, reason: str) -> None:
        """Note one request or websocket (``kind``) that was refused; reasons are few."""
        skipped = self._throttle.skipped(reason)
        if skipped is not None:
            _LOG.warning("Refused %s request: %s.%s", _KINDS.get(kind, f"a {kind}"), reason, more(skipped))
