"""One request or websocket on its way through the gate: it can be ended from outside, its body is neither too
large nor too slow, and each message of a websocket is accounted for."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_core.types import Viewer
from ui.access import Refused, Sender, is_program
from ui.app_messages import without_path
from ui.guest_messages import is_for_guests
from ui.limits import TOO_SLOW, Limits

_UPLOAD: Final = "/_stcore/upload_file/"
_CODES: Final = {413: 1009}  # RFC 6455: message too big; all else is a violation of policy
_POLICY_VIOLATION: Final = 1008
_GRACE_S: Final = 2.0  # in which the app may end by itself what was ended

_passage: ContextVar[Passage | None] = ContextVar("passage", default=None)

OnMessage = Callable[["Passage"], Awaitable[None]]


class Passage:
    """A request of ``sender``, who was let in as ``viewer``; the app sees ``scope``.

    ``on_message`` is awaited before each message of a websocket is handed on.
    """

    def __init__(
        self,
        sender: Sender,
        viewer: Viewer,
        scope: Scope,
        limits: Limits,
        on_message: OnMessage | None = None,
    ) -> None:
        self.sender: Final = sender
        self.viewer: Final = viewer
        self.path: Final[str] = scope["path"]
        self.is_websocket: Final = scope["type"] == "websocket"
        self.session = _resumed(scope)
        self._scope = scope
        self._limits = limits
        self._on_message = on_message
        self._checks_body = not self.is_websocket and not is_upload(self.path)
        self._until = time.monotonic() + limits.body_timeout_s
        self._arrived = 0
        self._has_begun = False
        self._ended: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()

    def end(self, why: Refused) -> None:
        """Have nothing more go through."""
        if not self._ended.done():
            self._ended.set_result(why)

    async def run(self, app: ASGIApp, receive: Receive, send: Send) -> None:
        """Let ``app`` answer, until it has or this is ended."""
        _passage.set(self)
        work = asyncio.ensure_future(
            app(self._scope, lambda: self._receive(receive), lambda message: self._send(send, message))
        )
        awaited: set[asyncio.Future[Any]] = {work, self._ended}
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if self._ended.done():
                with suppress(OSError, RuntimeError, TimeoutError):  # the other end is gone, or reads nothing
                    await asyncio.wait_for(self._say_end(self._ended.result(), receive, send), _GRACE_S)
                await asyncio.wait({work}, timeout=_GRACE_S)
                work.add_done_callback(_heeded)
            else:
                work.result()
        finally:
            work.cancel()

    async def _say_end(self, why: Refused, receive: Receive, send: Send) -> None:
        if self.is_websocket:
            await send({"type": "websocket.close", "code": _CODES.get(why.status, _POLICY_VIOLATION)})
        elif self._has_begun:
            await send({"type": "http.response.body", "body": b""})
        else:
            await refuse(why, self._scope, receive, send)

    async def _send(self, send: Send, message: Message) -> None:
        if self._ended.done():
            raise OSError("The gate has ended this request.")
        self._has_begun = True
        if message["type"] == "websocket.send" and message.get("bytes"):
            data, session = without_path(message["bytes"])
            message, self.session = {**message, "bytes": data}, session or self.session
        await send(message)

    async def _receive(self, receive: Receive) -> Message:
        message = await self._next(receive)
        while message["type"] == "websocket.receive" and not await self._may_go_on(message):
            message = await self._next(receive)
        if message["type"] == "http.request" and self._checks_body:
            self._arrived += len(message.get("body", b""))
            self._checks_body = message.get("more_body", False)
            if self._arrived > self._limits.max_body:
                self.end(self._limits.too_large())
        return _gone(self.is_websocket) if self._ended.done() else message

    async def _may_go_on(self, message: Message) -> bool:
        """Whether a message of a websocket is handed on, or that it was ended in its place."""
        if self._on_message is None:
            return True
        await self._on_message(self)
        data = message.get("bytes") or b""
        if len(data or message.get("text") or "") > self._limits.max_body:
            self.end(self._limits.too_large())
        return self._ended.done() or self.viewer.is_owner or is_for_guests(data)

    async def _next(self, receive: Receive) -> Message:
        """What comes next; that the other end is gone when this was ended, or a body comes too slowly."""
        coming = asyncio.ensure_future(receive())
        patience = max(0.0, self._until - time.monotonic()) if self._checks_body else None
        awaited: set[asyncio.Future[Any]] = {coming, self._ended}
        try:
            await asyncio.wait(awaited, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                return coming.result()
            self.end(TOO_SLOW)
            return _gone(self.is_websocket)
        finally:
            coming.cancel()


def asking_session() -> str:
    """Streamlit's session of the page whose message is being handled, also in a thread that Streamlit starts
    to answer it; '' where there is none."""
    passage = _passage.get()
    return passage.session if passage is not None else ""


def _resumed(scope: Scope) -> str:
    """The session that a page names to go on with, as Streamlit reads it: the third of the protocols."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    named = [value for name, value in headers if name.lower() == b"sec-websocket-protocol"]
    parts = b",".join(named).decode("latin-1").split(",")
    return parts[2].strip() if len(parts) > 2 else ""


def is_upload(path: str) -> bool:
    """Whether a path is where Streamlit takes files."""
    return path.startswith(_UPLOAD)


def _gone(from_websocket: bool) -> Message:
    if from_websocket:
        return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
    return {"type": "http.disconnect"}


def _heeded(work: asyncio.Future[None]) -> None:
    """What goes wrong in a request that was ended is of no interest any more."""
    if not work.cancelled():
        work.exception()


async def refuse(why: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request or handshake that goes no further, and close its connection: a body may still come."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    body, kind = f"{why.said}\n".encode(), b"text/plain; charset=utf-8"
    if is_program(scope["path"]):
        body, kind = json.dumps(why.said.as_dict()).encode(), b"application/json"
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    if why.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if why.retry_after_s:
        headers.append((b"retry-after", b"%d" % why.retry_after_s))
    await send({"type": "http.response.start", "status": why.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
