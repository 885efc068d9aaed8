"""Worker threads for requests of programs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rag_core.types import Viewer

_T = TypeVar("_T")


class Workers:
    """``at_once`` threads for the owner, who never waits for the others, and half as many for guests."""

    def __init__(self, at_once: int, name: str) -> None:
        self._of_owner = ThreadPoolExecutor(at_once, name)
        self._of_guests = ThreadPoolExecutor(at_once // 2, f"{name}-guests")

    async def run(self, viewer: Viewer | None, work: Callable[[], _T]) -> _T:
        """The result of ``work``, which goes on in its thread if the caller is cancelled."""
        threads = self._of_owner if viewer is not None and viewer.is_owner else self._of_guests
        return await asyncio.get_running_loop().run_in_executor(threads, work)
