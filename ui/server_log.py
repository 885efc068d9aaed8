"""What Streamlit and uvicorn log of what clients send: one line a second for each place in their code.

Threat. A client sends what is no HTTP, or a widget's value of a wrong type, as often as it can. Each would
write a warning or kilobytes of traceback, some of them with text that the client chose.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ui.refusal_log import Throttle, more

LOGGERS: Final = (
    "asyncio",
    "uvicorn.error",  # websockets logs here, too
    "streamlit.error_util",
    "streamlit.runtime.app_session",
    "streamlit.runtime.backend_operation_handler",
    "streamlit.runtime.fragment",
    "streamlit.runtime.media_file_manager",
    "streamlit.runtime.runtime",
    "streamlit.runtime.scriptrunner.script_runner",
    "streamlit.runtime.state.query_params",
    "streamlit.runtime.state.session_state",
    "streamlit.runtime.state.session_state_proxy",
    "streamlit.runtime.websocket_session_manager",
    "streamlit.web.server.starlette.starlette_routes",
    "streamlit.web.server.starlette.starlette_websocket",
)
"""Those that write down what a client does."""

_OURS: Final = frozenset({"ui", "rag_core", "__main__"})  # Streamlit runs a page as __main__
_MOST_CALLS: Final = 6


class ServerLog(logging.Filter):
    """Drops what is less than a warning, and what repeats within a second. Replaces a traceback by one line,
    and every value in a message that is not a number by an ellipsis."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._throttle = Throttle(now)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is written; shortens it."""
        if record.levelno < logging.WARNING:
            return False
        skipped = self._throttle.skipped((record.pathname, record.lineno))
        if skipped is None:
            return False
        if isinstance(record.args, tuple):
            record.args = tuple(each if isinstance(each, int | float) else "…" for each in record.args)
        said = record.getMessage().strip()
        if record.exc_info and record.exc_info[1] is not None:
            said = f"{said.rstrip('.')}: {_in_a_line(record.exc_info[1])}."
        record.msg, record.args = said + more(skipped), ()
        record.exc_info = record.exc_text = None
        return True


def limit() -> None:
    """Shorten what the servers of this process log from now on."""
    shortened = ServerLog()
    for name in LOGGERS:
        logging.getLogger(name).addFilter(shortened)


def _in_a_line(error: BaseException) -> str:
    """What kind an error is and where it was raised: the last calls of ours, and the innermost of all."""
    frames = list(traceback.walk_tb(error.__traceback__))
    ours = [each for each in frames if each[0].f_globals.get("__name__", "").partition(".")[0] in _OURS]
    shown = [*ours[-_MOST_CALLS:], *frames[-1:]]
    places = [
        f"{'/'.join(Path(frame.f_code.co_filename).parts[-2:])}:{line}"
        for frame, line in dict.fromkeys(shown)
    ]
    return " ".join([type(error).__qualname__, "at", " > ".join(places) or "an unknown place"])
