"""Who came in by name, counted here and written down now and then: one write for each of them, however
much they do. What they ask for is never part of it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.reports import Door
from ui.access import API, is_program

_MOST: Final = 200  # logins and doors at once; a tailnet is smaller, a flood of invented names is not
_LOG = logging.getLogger(__name__)


class Visits:
    """What is not written down yet."""

    def __init__(self, library: Callable[[], Library], every_s: float = 10.0) -> None:
        self._library = library
        self._every_s = every_s
        self._waiting: Counter[tuple[str, Door, bool]] = Counter()
        self._lock = threading.Lock()
        self._writing: asyncio.Task[None] | None = None

    def count(self, login: str, path: str, *, refused: bool = False) -> None:
        """Count one request of ``login``."""
        key = (login, door_of(path), refused)
        with self._lock:
            if key in self._waiting or len(self._waiting) < _MOST:
                self._waiting[key] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        while self._waiting:  # more may be counted while it is written
            await asyncio.sleep(self._every_s)
            await asyncio.to_thread(self.write)

    def write(self) -> None:
        """Write down what was counted."""
        with self._lock:
            counted, self._waiting = self._waiting, Counter()
        try:
            for (login, door, refused), requests in counted.items():
                self._library().record_visit(login, door, requests, refused=refused)
        except RagError:
            _LOG.exception("Visits cannot be written down.")


def door_of(path: str) -> Door:
    """Through which door a request comes."""
    if not is_program(path):
        return "pages"
    return "rest" if path.startswith(API) else "mcp"
