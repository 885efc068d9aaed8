"""Logging, configured in one place: on standard error, and without private text.

No message of ours contains the text of notes or queries, file names or paths. The message of an exception may
contain a path (in an OSError) or a word (in a KeyError), so every traceback is logged without messages.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any, TextIO

from rag_core.providers import PROVIDERS

OURS = ("rag_core", "ui")
"""The names of our loggers, whose level is set. Libraries keep their levels, except those in `CHATTY`."""

CHATTY = "urllib3", "httpx", "httpcore", "mcp", *(name for row in PROVIDERS for name in row.loggers)
"""Libraries that log requests with bodies and headers (notes, queries, keys) at debug level. They stay at
WARNING, whatever level is set."""


def configure(level: str) -> None:
    """Log to standard error, from ``level`` on: *debug*, *info*, *warning*, *error* or *critical*. A later
    call changes the level."""
    handler = _Handler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for logger in map(logging.getLogger, OURS):
        logger.setLevel(level.upper())
        logger.handlers = [
            *(present for present in logger.handlers if not isinstance(present, _Handler)),
            handler,
        ]
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.setLogRecordFactory(_record)


class _Handler(logging.StreamHandler[TextIO]):
    """Writes to the current ``sys.stderr``, even if it has been replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _record(*args: Any, **kwargs: Any) -> logging.LogRecord:
    """Create a log record whose traceback is already formatted: the places and types of the exception and its
    causes, without messages. So no formatter adds the messages."""
    record = logging.LogRecord(*args, **kwargs)
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return record
    lines: list[str] = []
    while error is not None:
        lines += [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}\n"]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    record.exc_text = "".join(lines).rstrip("\n")
    return record
