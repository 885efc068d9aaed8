"""Asking a vector index that may be busy: again and again, and what it means when it stays so."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from rag_core.errors import VectorError, VectorsUnreachable

_MAX_BACKOFF = 20.0
_PASSING = {408, 425, 429}
_ABOUT_RECORDS = {400, 409, 413, 422}
_QUOTED = 160
_REMEDY = "Check that it runs and can be reached"
_T = TypeVar("_T")


class Passing(Exception):
    """It may go well another time. ``reason`` ends a sentence; ``wait_s`` is how long it asks to wait."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait_s = wait_s


class Refused(VectorError):
    """The index understood a request and will not do it. ``status`` is the reason as HTTP names it, whether
    or not it came that way; ``reason`` says it in words, and ``named`` are the places in the request of the
    records at fault, if it said so."""

    def __init__(
        self, message: str, suggestion: str, status: int, reason: str, named: Sequence[int] = ()
    ) -> None:
        super().__init__(message, suggestion)
        self.status = status
        self.reason = reason
        self.named = named

    @property
    def is_absence(self) -> bool:
        """Whether there is no such index."""
        return self.status == 404

    @property
    def about_records(self) -> bool:
        """Whether it may be one record that is at fault, and not the request."""
        return self.status in _ABOUT_RECORDS


def is_passing(status: int) -> bool:
    """Whether a request that was answered so may go well another time."""
    return status in _PASSING or status >= 500


def wait_of(retry_after: str) -> float:
    """The seconds that a server asks to wait; 0 when it names a day or nothing."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdecimal() else 0.0


def quoted(said: str, *secrets: str) -> str:
    """What an index said, as the end of a sentence: one short line without ``secrets``."""
    for secret in filter(None, secrets):
        said = said.replace(secret, "…")
    line = " ".join(said.split()).rstrip(".")
    return (line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…") or "it says nothing"


def until_answered(
    act: Callable[[], _T], called: str, attempts: int, backoff: float, remedy: str = _REMEDY
) -> _T:
    """What ``act`` gives, tried up to ``attempts`` times while it raises Passing.

    ``called`` is who is asked, at the beginning of a sentence; ``backoff`` the seconds before the second
    attempt, doubled each time; ``remedy`` the beginning of what to do. Raises VectorsUnreachable when it
    stays so.
    """
    for attempt in range(1, attempts + 1):
        try:
            return act()
        except Passing as passing:
            reason = passing.reason
            pause = max(min(passing.wait_s, _MAX_BACKOFF), _pause(backoff, attempt))
        if attempt < attempts:
            time.sleep(pause)
    raise VectorsUnreachable(
        f"{called} cannot be used: {reason}.",
        f"{remedy}; what was to be sent waits and is sent with the next run.",
    )


def _pause(backoff: float, attempt: int) -> float:
    """Half to all of a time that doubles with each attempt."""
    longest: float = min(backoff * 2 ** (attempt - 1), _MAX_BACKOFF)
    return longest * random.uniform(0.5, 1.0)
