"""Requests that fail by a seed."""

from __future__ import annotations

import random
import threading
from typing import Literal

from tests.vectors.s3vectors.rules import ServiceError

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


def too_busy() -> ServiceError:
    return ServiceError(429, "TooManyRequestsException", "The request was denied due to request throttling.")


def over_capacity() -> ServiceError:
    return ServiceError(503, "ServiceUnavailableException", "Currently unable to handle the request")
