"""Answers under way, each in a thread of its own.

They belong to this process and not to a session: a click, a reload or a closed tab does not stop one, and
its conversation shows it again. What it came to is kept as the conversation's next turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.replies import DEFAULT_K, Draft, Reply, Turn
from rag_core.types import Filters, Viewer

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which stores, after which turns."""

    text: str
    stores: tuple[str, ...] = ()
    k: int = DEFAULT_K
    filters: Filters | None = None
    history: tuple[Turn, ...] = ()


class Job:
    """One answer under way. ``draft`` is how far it is. At its end the ``reply`` is ``kept``, or there is an
    ``error``, with a reply where only keeping it failed."""

    def __init__(self, library: Library, viewer: Viewer, conversation: str, question: Question) -> None:
        self.question: Final = question
        self.draft = Draft(looking=True)
        self.reply: Reply | None = None
        self.error: RagError | None = None
        self.kept = False
        self._library = library
        self._viewer = viewer
        self._conversation = conversation
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    @property
    def running(self) -> bool:
        """Whether it is still at work."""
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether it was stopped."""
        return self._stop.is_set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it now; what was said stays."""
        self._stop.set()

    def join(self, timeout: float) -> None:
        """Wait for its end, ``timeout`` seconds at most."""
        self._thread.join(timeout)

    def _work(self) -> None:
        asked = self.question
        try:
            self.reply = self._library.ask(
                self._viewer, asked.text, asked.stores, k=asked.k, filters=asked.filters,
                history=asked.history, on_text=self._hear, stop=self._stop,
            )  # fmt: skip
            self._library.keep_reply(self._viewer, self._conversation, self.reply)
            self.kept = True
        except RagError as error:
            self.error = error
        except Exception:
            _LOG.exception("an answer ended with an error")
            self.error = RagError("The answer ended with an error.", "The log of the app says why.")

    def _hear(self, draft: Draft) -> None:
        self.draft = draft


_jobs: dict[tuple[str, str, str], Job] = {}
_lock = threading.Lock()


def start(library: Library, viewer: Viewer, conversation: str, question: Question) -> None:
    """Answer a question in a conversation, unless one is being answered there already."""
    key = _key(library, viewer, conversation)
    with _lock:
        if key not in _jobs or _jobs[key].kept or not _jobs[key].running:
            _jobs[key] = Job(library, viewer, conversation, question)
            _jobs[key].start()


def of(library: Library, viewer: Viewer, conversation: str) -> Job | None:
    """The answer under way in a conversation, or the last one where it could not be kept."""
    key = _key(library, viewer, conversation)
    with _lock:
        job = _jobs.get(key)
        if job is not None and job.kept:
            del _jobs[key]  # it is a turn of the conversation now
            return None
        return job


def forget(library: Library, viewer: Viewer, conversations: Sequence[str]) -> None:
    """Stop what is under way in these conversations, and forget it."""
    with _lock:
        gone = [_jobs.pop(_key(library, viewer, each), None) for each in conversations]
    for job in gone:
        if job is not None:
            job.stop()
            job.join(5.0)


def stop_all(timeout: float = 5.0) -> None:
    """Stop everything in this process and wait ``timeout`` seconds for each."""
    with _lock:
        running = [job for job in _jobs.values() if job.running]
    for job in running:
        job.stop()
    for job in running:
        job.join(timeout)


def _key(library: Library, viewer: Viewer, conversation: str) -> tuple[str, str, str]:
    return str(library.settings.data_dir), viewer.login, conversation
