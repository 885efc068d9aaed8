"""Long work about stores and models: exports, imports, checks, repairs, downloads.

Work that is not finished when the process ends leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from rag_core.index.portable import Exported, Transfer
from rag_core.reports import Health, OllamaModel, Pulling, Repair
from rag_core.types import StoreInfo
from ui.frame import visit, work
from ui.frame.work import BackgroundWork, WorkKey

TaskKind = Literal["export", "import", "verify", "repair", "pull", "attach", "heal"]
Result = Exported | StoreInfo | Health | Repair | OllamaModel
TaskReport = Callable[[Transfer | Pulling], None]

_TASKS: Final = "tasks"
_HEADLINES: Final[dict[TaskKind, str]] = {
    "export": "Export",
    "import": "Import",
    "verify": "Verification",
    "repair": "Repair",
    "pull": "Download",
    "attach": "Attaching",
    "heal": "Healing",
}


class Task(BackgroundWork[Transfer | Pulling | None, Result]):
    """Background work on a store or model, such as an export. ``name`` is the store, the imported file, the
    downloaded model or the address of the attached index.

    ``asked_in`` is the visit (`ui.frame.visit`) that started the task. ``was_told`` means that the task's end
    was shown in that visit.
    """

    def __init__(self, kind: TaskKind, name: str, act: Callable[[TaskReport], Result]) -> None:
        super().__init__(f"{_HEADLINES[kind]} of {name!r}", None)
        self.asked_in: Final = visit.current()
        self.was_told = False
        self.kind: Final = kind
        self.name: Final = name
        self._do = act

    @property
    def said(self) -> str:
        """The progress in words."""
        return self.now.said if self.now else "Starting …"

    @property
    def part(self) -> float:
        """The finished share of the work, 0 to 1; 0 while the total is unknown."""
        return min(self.now.done / self.now.total, 1.0) if self.now and self.now.total else 0.0

    def _act(self) -> Result:
        return self._do(self.report)


def start_task(library: str, kind: TaskKind, name: str, act: Callable[[TaskReport], Result]) -> None:
    """Start a task for the library in the folder ``library``. If the task is already running, do nothing.

    ``act`` does the work and returns its result. It gets a function to call with each progress, which raises
    Cancelled when the task should stop.
    """
    work.start_work(_key(library, kind, name), Task(kind, name, act))


def known_tasks(library: str) -> list[Task]:
    """Return the tasks of the library in the folder ``library`` that are running, or have ended and were not
    closed, oldest first."""
    return [task for task in work.known(_TASKS, library).values() if isinstance(task, Task)]


def close_task(library: str, task: Task) -> None:
    """Remove a task that has ended. A running task stays."""
    work.close(_key(library, task.kind, task.name), task)


def _key(library: str, kind: TaskKind, name: str) -> WorkKey:
    return _TASKS, library, kind, name
