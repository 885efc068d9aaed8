"""How much may be asked: of everybody how large and how slow a request is, of guests how many there are."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rag_core.config import Settings
from rag_core.config.keys import DEFAULTS
from rag_core.errors import RagError
from ui.access import Refused

_MOST_OPEN: Final = 100
MAX_HEADERS: Final = 64 * 1024
"""In bytes, names and values together; browsers send a few thousand."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the configuration says of it. ``open_requests``: a guest has at most so many connections under
    way, which is far more than browsers open."""

    max_body_kb: int = DEFAULTS["max_body_kb"]
    body_timeout_s: float = DEFAULTS["body_timeout_s"]
    per_minute: int = DEFAULTS["guest_requests_per_minute"]
    hosts: tuple[str, ...] = DEFAULTS["access_hosts"]
    open_requests: int = _MOST_OPEN

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """Those of a library."""
        return cls(
            settings.max_body_kb,
            settings.body_timeout_s,
            settings.guest_requests_per_minute,
            settings.access_hosts,
        )

    @property
    def max_body(self) -> int:
        """In bytes."""
        return self.max_body_kb * 1024

    def too_large(self) -> Refused:
        """What becomes of a larger body."""
        said = RagError(f"The body is larger than {self.max_body_kb} kB.", "Ask for less at once.")
        return Refused("its body is too large", 413, said)


TOO_SLOW: Final = Refused(
    "its body did not arrive in time",
    408,
    RagError("The body took too long to arrive.", "Send it again, without a pause."),
)

HEADERS_TOO_LARGE: Final = Refused(
    "its headers are too large",
    431,
    RagError("The headers of the request are too large.", "Delete this computer's cookies in the browser."),
)


def too_many(wait_s: float) -> Refused:
    """What becomes of more requests than a guest may make."""
    said = RagError("That is more than a guest may do at once.", "Wait a moment, then try again.")
    return Refused("the guest asks for too much", 429, said, retry_after_s=max(1, math.ceil(wait_s)))


class Allowance:
    """What each guest may still do: it grows evenly, up to what a minute allows (a token bucket)."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, login: str, per_minute: int) -> float:
        """Take one; 0.0, or the seconds until there is one to take, when nothing was taken."""
        now = self._now()
        left, then = self._left.get(login, (per_minute, now))
        left = min(per_minute, left + (now - then) * per_minute / 60)
        taken = left >= 1
        self._left[login] = (left - taken, now)
        return 0.0 if taken else (1 - left) * 60 / per_minute
