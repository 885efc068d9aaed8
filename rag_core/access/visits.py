"""Visits of people, counted in memory and written every few seconds: one write for each of them, however
much they do. What they ask for is never recorded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from rag_core.access.programs import API, is_program
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.reports import Door

_MAX_WAITING: Final = 200  # logins and doors; a tailnet has fewer, a flood of invented names has more
_LOG = logging.getLogger(__name__)


class Visits:
    """The visits that are not written yet."""

    def __init__(self, library: Callable[[], Library], every_s: float = 10.0) -> None:
        self._library = library
        self._every_s = every_s
        self._waiting: Counter[tuple[str, Door, bool]] = Counter()
        self._writing: asyncio.Task[None] | None = None

    def count(self, login: str, path: str, *, refused: bool = False) -> None:
        """Count one request of ``login``."""
        door: Door = "pages"
        if is_program(path):
            door = "rest" if path.startswith(API) else "mcp"
        key = (login, door, refused)
        if key in self._waiting or len(self._waiting) < _MAX_WAITING:
            self._waiting[key] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        while self._waiting:  # more may be counted while it is written
            await asyncio.sleep(self._every_s)
            await self.write()

    async def write(self) -> None:
        """Write what was counted."""
        counted, self._waiting = self._waiting, Counter()
        try:
            await asyncio.to_thread(self._record, counted)
        except RagError:
            _LOG.exception("Visits cannot be written down.")

    def _record(self, counted: Counter[tuple[str, Door, bool]]) -> None:
        for (login, door, refused), requests in counted.items():
            self._library().sharing.record_visit(login, door, requests, refused=refused)
