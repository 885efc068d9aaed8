"""Answering a question over HTTP, as one JSON value or as events.

Events: ``references`` (the passages, once), ``statement`` (each as soon as it is checked), then ``reply``
(the whole answer, as without events) or ``error``. The model stops when the client disconnects.
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

_LOOK_S: Final = 0.5  # between two checks for a disconnect


class Unanswered(LLMError):
    """No model answers; ``reply`` has the passages."""

    def __init__(self, reply: Reply) -> None:
        said = [notice.message for notice in reply.notices]
        super().__init__("No model answers.", said[-1] if said else "Search for the passages instead.")
        self.reply = reply


async def whole(
    request: Request, library: Callable[[], Library], viewer: Viewer, given: Question, workers: Workers
) -> Reply:
    """The whole reply. The model stops when the client disconnects. Raises InvalidInput, Unanswered."""
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


def _listener(send: Callable[[Event], None]) -> OnText:
    """Sends the passages once, and each statement of a growing draft once."""
    sent_passages, sent = False, 0

    def hear(draft: Draft) -> None:
        nonlocal sent_passages, sent
        if draft.references and not sent_passages:
            sent_passages = True
            send(("references", [answers.Reference.of(each) for each in draft.references]))
        for each in draft.statements[sent:]:
            send(("statement", answers.Statement.of(each)))
        sent = len(draft.statements)

    return hear


async def events(
    library: Callable[[], Library], viewer: Viewer, given: Question, workers: Workers
) -> AsyncGenerator[Event]:
    """The events of an answer; the last is ``reply``. Closing it stops the model. Raises as `whole`."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Event | None]()
    stop = threading.Event()

    def tell(event: Event | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    def work() -> None:
        try:
            reply = _asked(library(), viewer, given, stop, _listener(tell))
            tell(("reply", answers.Reply.of(reply)))
        finally:
            tell(None)

    task = asyncio.create_task(workers.run(viewer, work))
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # not logged
    try:
        while event := await queue.get():
            yield event
        await task
    finally:
        stop.set()


def written(event: Event) -> bytes:
    """An event in the format of server-sent events."""
    return f"event: {event[0]}\ndata: {json.dumps(event[1], default=BaseModel.model_dump)}\n\n".encode()
