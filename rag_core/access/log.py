"""Bounded logs of requests: refusals, the server's warnings, and visits of people.

Threat: a client may send refused requests, data that is not HTTP, or widget values of a wrong type, as often
as it can. Each would write a warning or kilobytes of traceback, partly with text from the client. So each
reason, or place in the code, is logged in at most one short line a second.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Final

from rag_core.access.programs import API, is_program
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.reports import Door

SERVER_LOGGERS: Final = ("asyncio", "uvicorn.error")  # websockets writes to the second one, too
_EVERY_S: Final = 1.0
_WRITTEN_EVERY_S: Final = 10.0
_MAX_CALLS: Final = 6
_MAX_WAITING: Final = 200  # logins, by interface; a tailnet has fewer, but a flood of invented names has more
_LOG = logging.getLogger(__name__)


class Throttle:
    """Limits a log to one line a second for each key, such as a message."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        # time of its last line, and number of lines skipped since
        self._last: dict[Hashable, tuple[float, int]] = {}

    def admit(self, key: Hashable) -> str | None:
        """Return None if the line must be skipped. Otherwise return a text to add to the line: the number of
        lines skipped before, or ''."""
        now = self._now()
        with self._lock:
            then, skipped = self._last.get(key, (now - _EVERY_S, 0))
            if now - then < _EVERY_S:
                self._last[key] = then, skipped + 1
                return None
            self._last[key] = now, 0
        return f" {skipped:,} more before it." if skipped else ""


class ServerLog(logging.Filter):
    """A log filter that drops records below *warning*, and repetitions within a second. It cuts a traceback
    to one line, and replaces values in messages by an ellipsis, except numbers."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._throttle = Throttle(now)

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record, and return whether to write it."""
        if record.levelno < logging.WARNING:
            return False
        more = self._throttle.admit((record.pathname, record.lineno))
        if more is None:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(
                argument if isinstance(argument, int | float) else "…" for argument in record.args
            )
        text = record.getMessage().strip()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text.rstrip('.')}: {_in_a_line(record.exc_info[1])}."
        record.msg, record.args = text + more, ()
        record.exc_info = record.exc_text = None
        return True


def limit(loggers: Iterable[str]) -> None:
    """Add a `ServerLog` filter, which drops and shortens messages, to `SERVER_LOGGERS` and to the loggers of
    these names."""
    server_log = ServerLog()
    for name in (*SERVER_LOGGERS, *loggers):
        logging.getLogger(name).addFilter(server_log)


def _in_a_line(error: BaseException) -> str:
    """Return in one line the type of an error and the innermost calls where it was raised."""
    frames = [*traceback.walk_tb(error.__traceback__)][-_MAX_CALLS:]
    places = (f"{'/'.join(Path(frame.f_code.co_filename).parts[-2:])}:{line}" for frame, line in frames)
    return f"{type(error).__qualname__} at {' > '.join(places)}"


class Visits:
    """Counts the visits of people and writes the counts every few seconds. It never records their queries."""

    def __init__(self, library: Callable[[], Library]) -> None:
        self._library = library
        self._waiting: Counter[tuple[str, Door, bool]] = Counter()
        self._writing: asyncio.Task[None] | None = None

    def count(self, login: str, path: str, *, refused: bool = False) -> None:
        """Count one request by ``login`` to ``path``, which tells whether it was for a page, REST or MCP."""
        door: Door = "rest" if path.startswith(API) else "mcp" if is_program(path) else "pages"
        key = (login, door, refused)
        if key in self._waiting or len(self._waiting) < _MAX_WAITING:
            self._waiting[key] += 1
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_later())

    async def _write_later(self) -> None:
        while self._waiting:  # more may arrive while it writes
            await asyncio.sleep(_WRITTEN_EVERY_S)
            await self.write()

    async def write(self) -> None:
        """Write the counts to the library."""
        counted, self._waiting = self._waiting, Counter()

        def record() -> None:
            for (login, door, refused), requests in counted.items():
                self._library().sharing.record_visit(login, door, requests, refused=refused)

        try:
            await asyncio.to_thread(record)
        except RagError:
            _LOG.exception("Visits cannot be written down.")
