"""Threads in which programs are answered, so many at once; the rest wait their turn.

Guests have threads of their own, half as many: however much they ask, and however long it takes, they wait
for each other, and the owner for none of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rag_core.types import Viewer

_T = TypeVar("_T")


class Workers:
    """``at_once`` threads for the owner, and half of that for guests and for whom nobody knows."""

    def __init__(self, at_once: int, name: str) -> None:
        self._of_owner = ThreadPoolExecutor(at_once, name)
        self._of_guests = ThreadPoolExecutor(at_once // 2, f"{name}-guests")

    async def run(self, viewer: Viewer | None, work: Callable[[], _T]) -> _T:
        """What ``work`` comes to, done in a thread for ``viewer``. Who gives up waiting leaves the thread
        to end by itself, and its turn is over only then."""
        threads = self._of_owner if viewer is not None and viewer.is_owner else self._of_guests
        return await asyncio.get_running_loop().run_in_executor(threads, work)
