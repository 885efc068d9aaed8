"""HTTP for REST: worker threads, a bounded body, strict JSON, and errors as JSON. Bodies are never logged. An
error repeats at most forty characters of a body, to its sender."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rag_core import errors
from rag_core.api.encoding import JsonValue, json_bytes
from rag_core.api.requests import RequestKind as Kind
from rag_core.errors import InvalidInput, RagError, Stopped
from rag_core.types import Viewer

JSON = "application/json"
EVENTS = "text/event-stream"
PICTURE = "image/webp"
_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")
IsOver = Callable[[], bool]
"""Returns whether work must end early. Any thread may call it."""
ViewerOf = Callable[[Mapping[str, str]], Viewer | None]
"""Returns the sender of a request from the headers set by the gate; None if unknown."""
MAX_BODY = 256 * 1024  # bytes; a question with a long conversation is a tenth of it

_STATUS: Mapping[type[RagError], int] = {
    errors.InvalidSettings: 503,  # a subclass comes before its base
    InvalidInput: 400,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.TooMany: 429,
    errors.EmbedderError: 502,
    errors.LLMError: 502,
    errors.VectorError: 503,
    errors.StoreBusy: 503,
    errors.InUpkeep: 503,
    errors.Stopped: 503,
}
_WITHOUT_DETAILS: Mapping[int, RagError] = {
    500: RagError("Something went wrong.", "Try again later, or tell the owner of this library."),
    502: RagError("A model that is needed is not available just now.", "Try again later."),
    503: RagError("The library cannot answer this request just now.", "Try again later."),
}
UNKNOWN_SENDER = errors.Forbidden(
    "You have no access to this library.", "Ask its owner to share a store with you."
)
UNFORESEEN = RagError("Something went wrong.", "The log of the app says where.")


class RequestWorkers:
    """Threads that answer requests: ``at_once`` for the owner, and half as many for guests. So the owner
    never waits for guests."""

    def __init__(self, at_once: int, name: str) -> None:
        self._of_owner = ThreadPoolExecutor(at_once, name)
        self._of_guests = ThreadPoolExecutor(at_once // 2, f"{name}-guests")
        self._ending = threading.Event()

    async def run(self, viewer: Viewer | None, work: Callable[[], _T]) -> _T:
        """Run ``work`` in a thread for the owner or for guests (also if ``viewer`` is None), and return its
        result. If the caller is cancelled, the thread still finishes."""
        threads = self._of_owner if viewer is not None and viewer.is_owner else self._of_guests
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    async def run_while_connected(
        self,
        request: Request,
        viewer: Viewer | None,
        work: Callable[[IsOver], _T],
        hung_up: threading.Event | None = None,
    ) -> _T:
        """Run ``work(is_over)`` in a thread and return its result. ``is_over()`` becomes True when the client
        disconnects or the app ends; ``work`` should then stop.

        If this happens before a thread is free, ``work`` is never called. ``hung_up`` is set when the result
        is no longer needed.

        Raises:
            RequestRefused: the client disconnected.
            Stopped: the app is ending.

        """
        hung_up = hung_up or threading.Event()

        def is_over() -> bool:
            return hung_up.is_set() or self._ending.is_set()

        def begin() -> _T:
            if is_over():
                raise Stopped
            return work(is_over)

        working = asyncio.ensure_future(self.run(viewer, begin))
        watching = asyncio.ensure_future(_disconnect(request))
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise RequestRefused(499, "The client hung up.", "Ask again.")
            return working.result()
        finally:
            hung_up.set()
            working.cancel()
            watching.cancel()

    def end(self) -> None:
        """Stop current and future calls of `run_while_connected`. Any thread may call this."""
        self._ending.set()


async def _disconnect(request: Request) -> None:
    """Wait until the client of a request disconnects. The body must have been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class RequestRefused(RagError):
    """A refused request with its HTTP ``status``."""

    def __init__(self, status: int, message: str, suggestion: str) -> None:
        super().__init__(message, suggestion)
        self.status = status


def json_response(value: JsonValue, status: int = 200, headers: Mapping[str, str] = {}) -> Response:
    """Return a response with ``value`` as JSON. The response is not cached."""
    headers = {"cache-control": "no-store", **headers}
    return Response(json_bytes(value), status, headers, media_type=JSON)


def picture_response(picture: bytes) -> Response:
    """Return a response with a picture. It is not cached, and browsers must not treat it as another type."""
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return Response(picture, 200, headers, media_type=PICTURE)


def refusal(error: RagError, *, for_owner: bool) -> tuple[int, RagError]:
    """Return the HTTP status of an error, and the error to send. Unless ``for_owner``, server errors are
    replaced by an error without details such as servers and paths."""
    if isinstance(error, RequestRefused):
        return error.status, error
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    if status == 500 and isinstance(error, errors.StoreError) and error.store:
        why = error.__cause__ if isinstance(error.__cause__, errors.StoreError) else error
        _LOG.warning("A request could not be answered: %s", why)  # not shown to a guest
    elif status == 500:
        _LOG.error("A request could not be answered.", exc_info=error)
    return status, error if status < 500 or for_owner else _WITHOUT_DETAILS[status]


async def body_of(request: Request) -> Any:
    """Return the JSON value in the body. Raises RequestRefused for another content type or a body that is too
    large, and InvalidInput for invalid JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise RequestRefused(415, "The body is not JSON.", f"Send JSON with Content-Type: {JSON}.")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise RequestRefused(
                    413, f"The body is larger than {MAX_BODY // 1024} kB.", "Ask for less at once."
                )
    except ClientDisconnect:
        raise RequestRefused(400, "The body ended too early.", "Send it again.") from None
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "The body is not JSON in UTF-8, or is nested too deeply.", "Send one JSON object."
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object from its pairs. Raises InvalidInput for a repeated name."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidInput("A field is sent twice.", "Send each field once.")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(name)


def parameters_of(query: QueryParams, path: Mapping[str, str], kind: Kind) -> Any:
    """Validate and return the parameters in an address. Raises InvalidInput for an unknown, repeated or
    missing parameter, and for a value that cannot be used."""
    fields = kind.schema["properties"]
    parameters: dict[str, Any] = dict(path)
    for name in query:
        values = query.getlist(name)
        is_list = fields.get(name, {}).get("type") == "array"
        if name in path or (len(values) > 1 and not is_list):
            raise InvalidInput(f"{name[:40]}: It is sent twice.", "Send it once.")
        parameters[name] = values if is_list else values[0]
    return kind.read(parameters)
