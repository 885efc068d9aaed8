"""Bounded logs of what clients send: at most one short line a second for each reason or place in the code.

Threat. A client sends requests that are refused, data that is no HTTP, or a widget's value of a wrong type,
as often as it can. Each would write a warning or kilobytes of traceback, some of them with text that the
client chose.
"""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Final

SERVER_LOGGERS: Final = ("asyncio", "uvicorn.error")  # websockets writes to the second one, too
_EVERY_S: Final = 1.0
_KINDS: Final = {"http": "an HTTP", "websocket": "a WebSocket"}
_OURS: Final = frozenset({"ui", "rag_core", "__main__"})  # Streamlit runs a page as __main__
_MAX_CALLS: Final = 6
_LOG = logging.getLogger(__name__)


class Throttle:
    """Admits each key once a second."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._written: dict[Hashable, float] = {}
        self._skipped: dict[Hashable, int] = {}

    def admit(self, key: Hashable) -> str | None:
        """The end of the line to write, which counts the lines skipped before it; None to skip this one."""
        now = self._now()
        with self._lock:
            if now - self._written.get(key, now - _EVERY_S) < _EVERY_S:
                self._skipped[key] = self._skipped.get(key, 0) + 1
                return None
            self._written[key] = now
            skipped = self._skipped.pop(key, 0)
        return f" {skipped:,} more before it." if skipped else ""


class RefusalLog:
    """Logs the refusals of the gate."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._throttle = Throttle(now)

    def add(self, kind: str, reason: str) -> None:
        """Log one request or websocket (``kind``) that was refused; reasons are few."""
        more = self._throttle.admit(reason)
        if more is not None:
            _LOG.warning("Refused %s request: %s.%s", _KINDS.get(kind, f"a {kind}"), reason, more)


class ServerLog(logging.Filter):
    """Drops records below a warning and repeats within a second. Replaces a traceback by one line, and every
    value in a message that is not a number by an ellipsis."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._throttle = Throttle(now)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written; shortens it."""
        if record.levelno < logging.WARNING:
            return False
        more = self._throttle.admit((record.pathname, record.lineno))
        if more is None:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(each if isinstance(each, int | float) else "…" for each in record.args)
        text = record.getMessage().strip()
        if record.exc_info and record.exc_info[1] is not None:
            text = f"{text.rstrip('.')}: {_in_a_line(record.exc_info[1])}."
        record.msg, record.args = text + more, ()
        record.exc_info = record.exc_text = None
        return True


def limit(loggers: Iterable[str]) -> None:
    """Shorten what `SERVER_LOGGERS` and these loggers write from now on."""
    server_log = ServerLog()
    for name in (*SERVER_LOGGERS, *loggers):
        logging.getLogger(name).addFilter(server_log)


def _in_a_line(error: BaseException) -> str:
    """The type of an error and where it was raised: the last calls of ours, and the innermost of all."""
    frames = list(traceback.walk_tb(error.__traceback__))
    ours = [each for each in frames if each[0].f_globals.get("__name__", "").partition(".")[0] in _OURS]
    shown = [*ours[-_MAX_CALLS:], *frames[-1:]]
    places = [
        f"{'/'.join(Path(frame.f_code.co_filename).parts[-2:])}:{line}"
        for frame, line in dict.fromkeys(shown)
    ]
    return " ".join([type(error).__qualname__, "at", " > ".join(places) or "an unknown place"])
