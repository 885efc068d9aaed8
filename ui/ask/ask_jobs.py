"""Running answers, at most one in each conversation. A finished answer is stored as the conversation's next
turn: a question with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.replies import DEFAULT_K, Draft, Reply, Turn
from rag_core.types import Filters, Notice, Viewer
from ui.frame import work
from ui.frame.work import BackgroundWork, WorkKey

_ASK: Final = "ask"


@dataclass(frozen=True, slots=True)
class PendingQuestion:
    """A question to be answered, with what `Library.asking.ask` needs. Without ``stores``, all stores are
    searched. ``k`` is the number of passages, and ``history`` are the earlier questions and answers."""

    text: str
    stores: tuple[str, ...] = ()
    k: int = DEFAULT_K
    min_score: float = 0.0
    filters: Filters | None = None
    history: tuple[Turn, ...] = ()


class Job(BackgroundWork[Draft, Reply]):
    """An answer written in the background and stored as a turn of its conversation. Its ``result`` is None,
    or, if it cannot be stored, the answer with a notice that says why."""

    def __init__(
        self, library: Library, viewer: Viewer, conversation: str, question: PendingQuestion
    ) -> None:
        super().__init__("The answer", Draft(looking=True))
        self.question: Final = question
        self._library = library
        self._viewer = viewer
        self._conversation = conversation

    @property
    def kept(self) -> bool:
        """Whether the answer was stored as a turn of the conversation."""
        return not self.running and self.error is None and self.result is None

    def is_for(self, viewer: Viewer) -> bool:
        """Whether ``viewer`` may still ask questions in all stores that the answer uses."""
        before = self._viewer
        return viewer.is_owner or (viewer.may_ask and before.stores <= viewer.stores)

    def _act(self) -> Reply | None:
        asked = self.question
        reply = self._library.asking.ask(
            self._viewer,
            asked.text,
            asked.stores,
            k=asked.k,
            min_score=asked.min_score,
            filters=asked.filters,
            history=asked.history,
            on_text=self._hear,
            stop=self._stop,
        )
        try:
            self._library.asking.keep_reply(self._viewer, self._conversation, reply)
        except RagError as error:
            notice = Notice.of(error.as_message())
            return replace(reply, notices=(*reply.notices, notice))
        return None

    def _hear(self, draft: Draft) -> None:
        self.now = draft


def start_answer(library: Library, viewer: Viewer, conversation: str, question: PendingQuestion) -> None:
    """Start to answer a question in a conversation. If another answer is already running there, do
    nothing."""
    for key, ended in work.known(_ASK).items():  # whose page was closed
        if isinstance(ended, Job) and ended.kept:
            work.close(key, ended)
    work.start_work(_key(library, viewer, conversation), Job(library, viewer, conversation, question))


def of(library: Library, viewer: Viewer, conversation: str) -> Job | None:
    """Return the running answer of a conversation, or the last one if it failed or could not be stored; else
    None. An answer that uses stores which the viewer may no longer ask is stopped and forgotten."""
    key = _key(library, viewer, conversation)
    job = cast("Job | None", work.known(*key).get(key))
    if job is not None and not job.is_for(viewer):
        forget_answers(library, viewer, [conversation])
        return None
    if job is not None and job.kept:
        work.close(key, job)
        return None
    return job


def forget_answers(library: Library, viewer: Viewer, conversations: Sequence[str]) -> None:
    """Stop and forget the running answers of these conversations."""
    keys = [_key(library, viewer, conversation) for conversation in conversations]
    jobs = {key: job for key in keys for job in work.known(*key).values()}
    for job in jobs.values():
        job.cancel()
    for key, job in jobs.items():
        job.join(5.0)
        work.close(key, job)


def _key(library: Library, viewer: Viewer, conversation: str) -> WorkKey:
    role = "owner" if viewer.is_owner else "guest"
    return _ASK, str(library.settings.data_dir), role, viewer.login, conversation
