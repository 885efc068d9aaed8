"""Limits on requests: size and time for everybody, number for guests."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag_core.access.decide import Refused
from rag_core.config import Settings
from rag_core.config.settings import DEFAULTS

MAX_HEADERS: Final = 64 * 1024
"""In bytes, names and values together; browsers send a few thousand."""
MAX_OPEN: Final = 100
"""Connections of one guest at a time, far more than browsers open."""

TOO_SLOW: Final = Refused("the body took too long to arrive", 408, "Send it again, without a pause.")
HEADERS_TOO_LARGE: Final = Refused(
    "the headers of the request are too large", 431, "Delete this computer's cookies in the browser."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """The gate's settings; the defaults apply where the configuration cannot be read."""

    max_body_kb: int = DEFAULTS["max_body_kb"]
    body_timeout_s: float = DEFAULTS["body_timeout_s"]
    per_minute: int = DEFAULTS["guest_requests_per_minute"]
    hosts: tuple[str, ...] = DEFAULTS["access_hosts"]

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits that the configuration sets."""
        per_minute = settings.guest_requests_per_minute
        return cls(settings.max_body_kb, settings.body_timeout_s, per_minute, settings.access_hosts)

    def allows(self, size: int) -> bool:
        """Whether a body or message may have ``size`` bytes."""
        return size <= self.max_body_kb * 1024

    def too_large(self) -> Refused:
        """The refusal of a larger body."""
        return Refused(f"the body is larger than {self.max_body_kb} kB", 413, "Ask for less at once.")


def too_many(wait_s: float) -> Refused:
    """The refusal of more requests than a guest may make."""
    wait = max(1, math.ceil(wait_s))
    return Refused("that is more than a guest may do at once", 429, "Wait a moment, then try again.", wait)


class RateLimiter:
    """A token bucket for each guest: it fills evenly, up to what a minute allows."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, login: str, per_minute: int) -> float:
        """Take one request; 0.0 if there was one, else the seconds until there is."""
        now = self._now()
        left, then = self._left.get(login, (per_minute, now))
        left = min(per_minute, left + (now - then) * per_minute / 60)
        taken = left >= 1
        self._left[login] = (left - taken, now)
        return 0.0 if taken else (1 - left) * 60 / per_minute
