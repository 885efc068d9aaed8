"""What the gate refuses, in the log: one line a second for each reason, so that knocking fills no disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

_EVERY_S: Final = 1.0
_KINDS: Final = {"http": "an HTTP", "websocket": "a WebSocket"}
_LOG = logging.getLogger(__name__)


class RefusalLog:
    """When each reason was written down last, and how many more there were since."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._written: dict[str, float] = {}
        self._more: dict[str, int] = {}

    def add(self, kind: str, reason: str) -> None:
        """Note one request or websocket (``kind``) that was refused; reasons are few."""
        now = self._now()
        if now - self._written.get(reason, now - _EVERY_S) < _EVERY_S:
            self._more[reason] = self._more.get(reason, 0) + 1
            return
        more = self._more.pop(reason, 0)
        self._written[reason] = now
        said = f" {more:,} more before it." if more else ""
        _LOG.warning("Refused %s request: %s.%s", _KINDS.get(kind, f"a {kind}"), reason, said)
