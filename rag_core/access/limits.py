"""Limits on requests: size and time for everyone, and number for guests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

from rag_core.access.decide import Refused
from rag_core.config import Settings

MAX_HEADERS: Final = 64 * 1024
"""Maximum bytes of the headers, names and values together. Browsers send a few thousand."""
MAX_OPEN: Final = 100
"""Maximum open connections of one guest, far more than browsers open."""

TOO_SLOW: Final = Refused("The body took too long to arrive.", 408, "Send it again, without a pause.")
HEADERS_TOO_LARGE: Final = Refused(
    "The headers of the request are too large.", 431, "Delete this computer's cookies in the browser."
)


def refuse_larger(size: int, settings: Settings) -> Refused | None:
    """Return the refusal of a body or message of ``size`` bytes; None if it is small enough."""
    if size <= settings.max_body_kb * 1024:
        return None
    return Refused(f"The body is larger than {settings.max_body_kb} kB.", 413, "Ask for less at once.")


def too_many(wait_s: float) -> Refused:
    """Return the refusal of a guest's request that must wait ``wait_s`` seconds."""
    wait = max(1, math.ceil(wait_s))
    return Refused("That is more than a guest may do at once.", 429, "Wait a moment, then try again.", wait)


class RateLimiter:
    """A token bucket for each guest. It fills evenly, up to the number of requests allowed in a minute."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, login: str, per_minute: int) -> float:
        """Take one request from the guest's bucket. Return 0.0, or the seconds to wait if the bucket is
        empty."""
        now = self._now()
        left, then = self._left.get(login, (per_minute, now))
        left = min(per_minute, left + (now - then) * per_minute / 60)
        taken = left >= 1
        self._left[login] = (left - taken, now)
        return 0.0 if taken else (1 - left) * 60 / per_minute
