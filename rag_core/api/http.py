"""What is asked of HTTP: the kinds of content, the size of a body, JSON that is sound, and errors as JSON.

Nothing of a body is ever logged, and an error repeats at most forty characters of it, to its sender.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rag_core.api.encoding import Value, json_bytes
from rag_core.api.requests import Request as Kind
from rag_core.errors import (
    EmbedderError,
    Forbidden,
    InUpkeep,
    InvalidInput,
    InvalidSettings,
    LLMError,
    NotFound,
    RagError,
    StoreBusy,
    StoreError,
    TooMany,
    VectorError,
)

JSON = "application/json"
EVENTS = "text/event-stream"
_LOG = logging.getLogger(__name__)
RETRY = {"retry-after": "5"}  # seconds, when too much was asked at once
MAX_BODY = 256 * 1024  # bytes; a question with a long conversation is a tenth of it

_STATUS: Mapping[type[RagError], int] = {
    InvalidSettings: 503,  # before what it is a kind of
    InvalidInput: 400,
    Forbidden: 403,
    NotFound: 404,
    TooMany: 429,
    EmbedderError: 502,
    LLMError: 502,
    VectorError: 503,
    StoreBusy: 503,
    InUpkeep: 503,
}
_WITHOUT_DETAILS: Mapping[int, RagError] = {
    500: RagError("Something went wrong.", "Try again later, or tell the owner of this library."),
    502: RagError("A model that is needed is not at hand just now.", "Try again later."),
    503: RagError("What was asked for cannot be reached just now.", "Try again later."),
}
UNFORESEEN = RagError(
    "Something went wrong.", "The log of the app says where; `commonplace doctor` may say why."
)
"""What is said of a fault that nobody foresaw."""


class Refused(RagError):
    """A request that is refused with a ``status`` of its own."""

    def __init__(self, status: int, message: str, suggestion: str) -> None:
        super().__init__(message, suggestion)
        self.status = status


# --- answers ----------------------------------------------------------------------------


def json_response(value: Value, status: int = 200, headers: Mapping[str, str] = {}) -> Response:
    """``value`` as JSON that no cache keeps."""
    headers = {"cache-control": "no-store", **headers}
    return Response(json_bytes(value), status, headers, media_type=JSON)


def refusal(error: RagError, *, for_owner: bool) -> tuple[int, RagError]:
    """The status of an error and what is said of it: to a guest nothing of servers and of this computer,
    which are nobody else's business."""
    if isinstance(error, Refused):
        return error.status, error
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
    if status == 500:
        _log(error)
    return status, error if status < 500 or for_owner else _WITHOUT_DETAILS[status]


def _log(error: RagError) -> None:
    if isinstance(error, StoreError) and error.store:
        why = error.__cause__ if isinstance(error.__cause__, StoreError) else error  # a guest is not told
        _LOG.warning("A request could not be answered: %s", why)
    else:
        _LOG.error("A request could not be answered.", exc_info=error)


# --- requests ---------------------------------------------------------------------------


def check_accept(request: Request, *offered: str) -> str:
    """The kind of answer that the sender takes; the first one offered where any will do. Raises Refused."""
    asked = ",".join(request.headers.getlist("accept")).strip()
    ranges = [_media_range(each) for each in asked.split(",") if each.strip()]
    ranked = sorted((_quality(ranges, kind), -number, kind) for number, kind in enumerate(offered))
    if asked and not ranked[-1][0]:
        raise Refused(
            406, "The Accept header takes nothing that is here.", f"Ask for {' or '.join(offered)}."
        )
    return ranked[-1][2] if asked else offered[0]


def _media_range(text: str) -> tuple[str, float]:
    kind, *parameters = (part.strip().lower() for part in text.split(";"))
    quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    try:
        return kind, float(quality)
    except ValueError:
        return kind, 0.0


def _quality(ranges: list[tuple[str, float]], kind: str) -> float:
    """How much the most exact range that fits ``kind`` wants it."""
    for pattern in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        for wanted, quality in ranges:
            if wanted == pattern:
                return quality
    return 0.0


async def body_of(request: Request) -> Any:
    """The JSON in the body. Raises Refused for another kind or one that is too large, InvalidInput for what
    is no JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise Refused(415, "The body is not JSON.", f"Send JSON with Content-Type: {JSON}.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "The body is compressed.", "Send it as it is.")
    return parsed(await _read(request))


async def _read(request: Request) -> bytes:
    said = request.headers.get("content-length", "0")
    too_large = Refused(413, f"The body is larger than {MAX_BODY // 1024} kB.", "Ask for less at once.")
    if said.isdecimal() and (len(said) > 15 or int(said) > MAX_BODY):
        raise too_large
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise too_large
    except ClientDisconnect:
        raise Refused(400, "The body ended too early.", "Send it again.") from None
    return bytes(body)


def parsed(body: bytes) -> Any:
    """JSON as the standard has it. Raises InvalidInput."""
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise InvalidInput("The body is not UTF-8.", "Send JSON in UTF-8.") from None
    except (ValueError, RecursionError):
        raise InvalidInput("The body is not JSON, or too deep.", "Send one JSON object.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises InvalidInput for a name that stands twice: of two values nobody knows which is meant."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"{name[:40]}: It is there twice.", "Send it once.")
        found[name] = value
    return found


def _no_number(name: str) -> None:
    raise ValueError(name)


def parameters_of(query: QueryParams, path: Mapping[str, str], kind: Kind) -> Any:
    """What the address holds, checked. Raises InvalidInput."""
    fields = kind.schema["properties"]
    found: dict[str, Any] = dict(path)
    for name in query:
        values = query.getlist(name)
        is_list = fields.get(name, {}).get("type") == "array"
        if name in path or (len(values) > 1 and not is_list):
            raise InvalidInput(f"{name[:40]}: It is there twice.", "Send it once.")
        found[name] = values if is_list else values[0]
    return kind.read(found)
