"""Asking a question over HTTP: the seed's request and names, the answer whole or as events while it comes.

Events: ``references`` (the passages, once), ``statement`` (each as soon as it was checked), then ``reply``,
the whole answer as it comes without events, or ``error``. A reader who goes away stops the model.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

from pydantic import BaseModel
from starlette.requests import Request

from rag_core.api import answers
from rag_core.api.requests import Question, filters_of, naming_stores
from rag_core.api.workers import Workers
from rag_core.errors import LLMError
from rag_core.library import Library
from rag_core.library.asking import OnText
from rag_core.replies import Draft, Reply, Turn
from rag_core.types import Viewer

_LOOK_S: Final = 0.5  # between two looks whether the reader is still there


class Unanswered(LLMError):
    """There are passages, in ``reply``, and no model answers from them."""

    def __init__(self, reply: Reply) -> None:
        said = [notice.message for notice in reply.notices]
        super().__init__("No model answers.", said[-1] if said else "Search for the passages instead.")
        self.reply = reply


async def whole(
    request: Request, library: Callable[[], Library], viewer: Viewer, given: Question, workers: Workers
) -> Reply:
    """The whole reply; the model is stopped when its reader goes away.

    Raises InvalidInput as a search does, Unanswered.
    """
    stop = threading.Event()
    watching = asyncio.create_task(_stop_when_gone(request, stop))
    try:
        return await workers.run(viewer, lambda: _asked(library(), viewer, given, stop))
    finally:
        watching.cancel()


async def _stop_when_gone(request: Request, stop: threading.Event) -> None:
    while not await request.is_disconnected():
        await asyncio.sleep(_LOOK_S)
    stop.set()


def _asked(
    library: Library, viewer: Viewer, given: Question, stop: threading.Event, hear: OnText | None = None
) -> Reply:
    filters = given.get("filters", {})
    if folders := given.get("folders"):
        filters = {**filters, "path": [*filters.get("path", ()), *folders]}
    history = [Turn(turn["question"], turn["answer"], turn["private"]) for turn in given.get("history", ())]
    with naming_stores(given, "question", "stores" if "stores" in given else "vaults"):
        reply = library.asking.ask(
            viewer,
            given["question"],
            [*given.get("vaults", ()), *given.get("stores", ())],
            k=given.get("k", 0),
            filters=filters_of(filters),
            history=history,
            on_text=hear,
            stop=stop,
        )
    if reply.ending == "no model":
        raise Unanswered(reply)
    return reply


# --- events -----------------------------------------------------------------------------

Event = tuple[str, Any]


class Heard:
    """Turns what is said of an answer into events, each passage and statement once."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._has_passages = False
        self._statements = 0

    def __call__(self, draft: Draft) -> None:
        """Tell what is new."""
        if draft.references and not self._has_passages:
            self._has_passages = True
            self._tell(("references", [answers.Reference.of(each) for each in draft.references]))
        for each in draft.statements[self._statements :]:
            self._tell(("statement", answers.Statement.of(each)))
        self._statements = len(draft.statements)


async def events(
    library: Callable[[], Library], viewer: Viewer, given: Question, workers: Workers
) -> AsyncGenerator[Event]:
    """What is told of an answer, ending with ``reply``. Closing it stops the model. Raises as `whole`."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
    stop = threading.Event()

    def tell(event: Event | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    def work() -> None:
        try:
            reply = _asked(library(), viewer, given, stop, Heard(tell))
            tell(("reply", answers.Reply.of(reply)))
        finally:
            tell(None)

    task = asyncio.create_task(workers.run(viewer, work))
    task.add_done_callback(_heeded)
    try:
        while event := await queue.get():
            yield event
        await task
    finally:
        stop.set()


def _heeded(task: asyncio.Task[None]) -> None:
    """An error that came when nobody listened any more is nobody's."""
    if not task.cancelled():
        task.exception()


def written(event: Event) -> bytes:
    """An event as it is sent."""
    return f"event: {event[0]}\ndata: {json.dumps(event[1], default=BaseModel.model_dump)}\n\n".encode()
