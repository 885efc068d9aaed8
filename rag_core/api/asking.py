"""Answering a question over HTTP, as one JSON value or as events.

The events are ``references`` (the passages, once), ``statement`` (each one as soon as it is checked), then
``reply`` (the whole answer) or ``error``.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

from rag_core.api import answers
from rag_core.api.http import IsOver, RequestWorkers
from rag_core.api.requests import Question, filters_of, naming_stores
from rag_core.errors import LLMError
from rag_core.library import Library
from rag_core.library.asking import OnText
from rag_core.replies import Draft, Reply, Turn
from rag_core.types import Viewer


class Unanswered(LLMError):
    """The error if no model answers. ``reply`` contains the passages."""

    def __init__(self, reply: Reply) -> None:
        notices = [notice.message for notice in reply.notices]
        super().__init__("No model answers.", notices[-1] if notices else "Search for the passages instead.")
        self.reply = reply


async def whole_reply(
    request: Request, library: Callable[[], Library], viewer: Viewer, given: Question, workers: RequestWorkers
) -> Reply:
    """Answer a question and return the whole reply. If the client disconnects, the model is stopped.

    Raises:
        InvalidInput: the question, a filter or a store cannot be used.
        Forbidden, TooMany: a guest may not ask, or not now.
        Unanswered: no model answers.
        RequestRefused: the client disconnected.
        Stopped: the app is ending.

    """
    stop = threading.Event()

    def work(_: IsOver) -> Reply:
        return _asked(library(), viewer, given, stop)

    return await workers.run_while_connected(request, viewer, work, stop)


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
            k=given.get("k"),
            top_k=given.get("top_k"),
            min_score=given.get("min_score"),
            filters=filters_of(filters),
            history=history,
            on_text=hear,
            stop=stop,
        )
    if reply.ending == "no model":
        raise Unanswered(reply)
    return reply


Event = tuple[str, Any]


async def events(
    request: Request, library: Callable[[], Library], viewer: Viewer, given: Question, workers: RequestWorkers
) -> AsyncGenerator[Event]:
    """Answer a question and yield the events. The last event is ``reply``. Closing the generator stops the
    model. Raises the errors of `whole_reply`, such as Unanswered if no model answers."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
    stop, told = threading.Event(), Draft()

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    def hear(draft: Draft) -> None:
        nonlocal told
        if draft.references and not told.references:
            tell(("references", [answers.Reference.of(reference) for reference in draft.references]))
        for statement in draft.statements[len(told.statements) :]:
            tell(("statement", answers.Statement.of(statement)))
        told = draft

    def work(_: IsOver) -> None:
        tell(("reply", answers.Reply.of(_asked(library(), viewer, given, stop, hear))))

    def end(task: asyncio.Task[None]) -> None:
        queue.put_nowait(None)
        if not task.cancelled():
            task.exception()  # not logged

    task = asyncio.create_task(workers.run_while_connected(request, viewer, work, stop))
    task.add_done_callback(end)
    try:
        while event := await queue.get():
            yield event
        await task
    finally:
        stop.set()


def event_text(event: Event) -> bytes:
    """Return an event in the format of server-sent events."""
    return f"event: {event[0]}\ndata: {json.dumps(event[1], default=BaseModel.model_dump)}\n\n".encode()
