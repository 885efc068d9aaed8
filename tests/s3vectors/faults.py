"""Requests that fail by a seed, and a limit on how much is written in a second."""

from __future__ import annotations

import random
import threading
import time
from typing import Literal

from tests.s3vectors.rules import ServiceError

Fault = Literal["", "429", "503", "lost", "silent"]
"""Too busy; over capacity; done, but the connection breaks before the answer; done, and never answered."""

KINDS: tuple[Fault, ...] = ("429", "503", "lost", "silent")


class Faults:
    """Of all requests, ``rate`` fail, each by one of ``kinds``; the same ``seed`` gives the same ones."""

    def __init__(self, rate: float, seed: int, kinds: tuple[Fault, ...] = KINDS) -> None:
        self._random = random.Random(seed)
        self._rate = rate
        self._kinds = kinds
        self._lock = threading.Lock()

    def next(self) -> Fault:
        with self._lock:
            return self._random.choice(self._kinds) if self._random.random() < self._rate else ""


class Throttle:
    """A bucket of ``per_second`` vectors that fills while nobody writes; it is empty at first."""

    def __init__(self, per_second: float) -> None:
        self._rate = per_second
        self._left = 0.0
        self._at = time.monotonic()
        self._lock = threading.Lock()

    def take(self, count: int) -> None:
        with self._lock:
            now = time.monotonic()
            self._left = min(self._rate, self._left + (now - self._at) * self._rate)
            self._at = now
            if self._left < count:
                raise too_busy()
            self._left -= count


def too_busy() -> ServiceError:
    return ServiceError(429, "TooManyRequestsException", "The request was denied due to request throttling.")


def over_capacity() -> ServiceError:
    return ServiceError(503, "ServiceUnavailableException", "Currently unable to handle the request")
