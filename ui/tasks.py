"""Long work of pages in threads of its own: exports, imports, checks, repairs, downloads of models.

It belongs to this process and not to a session: closing the tab does not stop it, and every tab shows
it, its end too, until somebody closes that. What is not finished when the process ends leaves nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, Literal

from rag_core.errors import Cancelled, RagError
from rag_core.portable import Exported, Transfer
from rag_core.reports import Health, OllamaModel, Pulling, Repair
from rag_core.types import StoreInfo

Kind = Literal["export", "import", "verify", "repair", "pull", "attach", "heal"]
Result = Exported | StoreInfo | Health | Repair | OllamaModel
Report = Callable[[Transfer | Pulling], None]

_HEADLINES: Final[dict[Kind, str]] = {
    "export": "Export",
    "import": "Import",
    "verify": "Verification",
    "repair": "Repair",
    "pull": "Download",
    "attach": "Attaching",
    "heal": "Healing",
}
_LOG = logging.getLogger(__name__)


class Task:
    """One piece of work. ``said`` and ``part`` (0 to 1) tell how far it is; at its end there is a
    ``result`` or an ``error``, or neither when it was cancelled. ``name`` is that of the store, for an
    import that of the file, for a download that of the model."""

    def __init__(self, kind: Kind, name: str, act: Callable[[Report], Result]) -> None:
        self.kind: Final = kind
        self.name: Final = name
        self.said = "Starting …"
        self.part = 0.0
        self.result: Result | None = None
        self.error: RagError | None = None
        self._act = act
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @property
    def headline(self) -> str:
        """What it is, in plain text."""
        return f"{_HEADLINES[self.kind]} of {self.name!r}"

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether it was cancelled."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; it does so at its next step, and leaves nothing."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for its end, ``timeout`` seconds at most."""
        self._thread.join(timeout)

    def _work(self) -> None:
        try:
            self.result = self._act(self._report)
        except Cancelled:
            _LOG.info("the %s of %r was cancelled", self.kind, self.name)
        except RagError as error:
            self.error = error
        except Exception:
            _LOG.exception("the %s of %r ended with an error", self.kind, self.name)
            self.error = RagError(f"{self.headline} ended with an error.", "The log of the app says why.")

    def _report(self, now: Transfer | Pulling) -> None:
        if self._stop.is_set():
            raise Cancelled
        self.said = now.said
        self.part = min(now.done / now.total, 1.0) if now.total else 0.0


_tasks: dict[tuple[str, Kind, str], Task] = {}
_lock = threading.Lock()


def start(library: str, kind: Kind, name: str, act: Callable[[Report], Result]) -> None:
    """Let ``act`` run for the library in the folder ``library``; one that is at work already goes on."""
    key = (library, kind, name)
    with _lock:
        if key not in _tasks or not _tasks[key].running:
            _tasks[key] = Task(kind, name, act)
            _tasks[key].start()


def known(library: str) -> list[Task]:
    """What is at work or has ended and was not closed, in the order it began."""
    with _lock:
        return [task for (folder, _, _), task in _tasks.items() if folder == library]


def close(library: str, task: Task) -> None:
    """Forget a task that has ended."""
    with _lock:
        if _tasks.get(key := (library, task.kind, task.name)) is task and not task.running:
            del _tasks[key]


def stop_all(timeout: float = 5.0) -> None:
    """Cancel everything in this process and wait ``timeout`` seconds for each, so that nothing is left."""
    with _lock:
        running = [task for task in _tasks.values() if task.running]
    for task in running:
        task.cancel()
    for task in running:
        task.join(timeout)
