"""Waiting for what another thread or process does."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.support.runner import WAIT_S


def until(wanted: Callable[[], bool]) -> None:
    """Wait until it is so, no longer than WAIT_S."""
    end = time.monotonic() + WAIT_S
    while not wanted():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)
