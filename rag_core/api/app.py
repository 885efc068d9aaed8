"""The routes of REST, behind a gate that has admitted the request and names its sender."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route

from rag_core.api import asking
from rag_core.api.answers import Reply
from rag_core.api.http import (
    EVENTS,
    UNFORESEEN,
    UNKNOWN_SENDER,
    IsOver,
    RequestWorkers,
    ViewerOf,
    body_of,
    json_response,
    parameters_of,
    picture_response,
    refusal,
)
from rag_core.api.openapi import API_PREFIX, DOCUMENT, document
from rag_core.api.operations import OPERATIONS, Operation
from rag_core.api.requests import Nothing
from rag_core.api.requests import RequestKind as Kind
from rag_core.errors import InvalidInput, NotFound, RagError
from rag_core.library import Library
from rag_core.types import Viewer

Handler = Callable[[Request], Awaitable[Response]]
_AT_ONCE = 6  # threads; more would only wait for each other, as Python computes in one
_ASKS_AT_ONCE = 16  # threads for questions, which wait for a model most of the time
_PICTURES_AT_ONCE = 4  # threads
_NO_PARAMETERS = Kind(Nothing)


def picture_workers() -> RequestWorkers:
    """Create the threads in which all interfaces wait for pictures."""
    return RequestWorkers(_PICTURES_AT_ONCE, "pictures")


def rest(
    library: Callable[[], Library], viewer_of: ViewerOf, pictures: RequestWorkers | None = None
) -> Mount:
    """Return the routes of all operations below `API_PREFIX`. ``library`` returns the library of this process
    and is called in worker threads. ``pictures`` are the threads of `picture_workers`; None for new ones."""
    root, _, version = API_PREFIX.rpartition("/")
    workers = RequestWorkers(_AT_ONCE, "rest")
    others = {"ask": RequestWorkers(_ASKS_AT_ONCE, "rest-asks"), "picture": pictures or picture_workers()}
    routes = [
        Route(
            f"/{version}{operation.path.replace('{path}', '{path:path}')}",  # it may contain slashes
            _handler(operation, library, viewer_of, others.get(operation.name, workers)),
            methods=[operation.method],
        )
        for operation in OPERATIONS
    ]

    async def described(_: Request, __: Viewer) -> Response:
        return json_response(document())

    app = Starlette(
        routes=[*routes, Route(f"/{version}{DOCUMENT}", _guarded(described, viewer_of))],
        exception_handlers={HTTPException: _failed, Exception: _failed},
    )
    app.router.redirect_slashes = False
    return Mount(root, app)


def _handler(
    operation: Operation, library: Callable[[], Library], viewer_of: ViewerOf, workers: RequestWorkers
) -> Handler:
    act = operation.act

    async def handle(request: Request, viewer: Viewer) -> Response:
        """Answer one request with JSON; for a question, also with a stream of events if requested. An error
        of a question includes the passages."""
        if operation.method == "POST":
            parameters_of(request.query_params, {}, _NO_PARAMETERS)
            given = operation.given.read(await body_of(request))
        else:
            given = parameters_of(request.query_params, request.path_params, operation.given)

        def draw(is_over: IsOver) -> bytes:
            return library().pictures.get(viewer, **given, is_over=is_over)

        if act is not None:
            return json_response(await workers.run(viewer, lambda: act(library(), viewer, given)))
        if operation.answer is bytes:
            return picture_response(await workers.run_while_connected(request, viewer, draw))
        if EVENTS in request.headers.get("accept", ""):
            return await _events(asking.events(request, library, viewer, given, workers), viewer)
        try:
            return json_response(Reply.of(await asking.whole_reply(request, library, viewer, given, workers)))
        except asking.Unanswered as error:
            status, sent = refusal(error, for_owner=viewer.is_owner)
            return json_response({**sent.as_dict(), **Reply.of(error.reply).model_dump()}, status)

    return _guarded(handle, viewer_of)


async def _events(told: AsyncGenerator[asking.Event], viewer: Viewer) -> Response:
    """Return a response that streams events. Raises RagError for an error before the first event."""
    first = await anext(told)

    async def stream() -> AsyncIterator[bytes]:
        async with aclosing(told):
            yield asking.event_text(first)
            try:
                async for event in told:
                    yield asking.event_text(event)
            except RagError as error:
                _, sent = refusal(error, for_owner=viewer.is_owner)
                yield asking.event_text(("error", sent.as_dict()["error"]))

    return StreamingResponse(stream(), headers={"cache-control": "no-store"}, media_type=EVENTS)


def _guarded(act: Callable[[Request, Viewer], Awaitable[Response]], viewer_of: ViewerOf) -> Handler:
    """Return a handler that calls ``act`` with the request's viewer, who must be known. A RagError becomes an
    error response."""

    async def handle(request: Request) -> Response:
        viewer = None
        try:
            viewer = await run_in_threadpool(viewer_of, request.headers)
            if viewer is None:
                raise UNKNOWN_SENDER
            return await act(request, viewer)
        except RagError as error:
            status, sent = refusal(error, for_owner=viewer is not None and viewer.is_owner)
            return json_response(sent.as_dict(), status, {"retry-after": "5"} if status == 429 else {})

    return handle


async def _failed(request: Request, error: Exception) -> Response:
    """Return the response to an unknown address or method, or to an unexpected exception. The server logs the
    exception."""
    if not isinstance(error, HTTPException):
        return json_response(UNFORESEEN.as_dict(), 500)
    status, headers = error.status_code, error.headers
    lists = f"{API_PREFIX}{DOCUMENT} lists all addresses."
    where: RagError = NotFound("There is nothing here.", lists)
    if status == 405:
        where = InvalidInput(f"This address does not accept the HTTP method {request.method}.", lists)
    return json_response(where.as_dict(), status, headers or {})
