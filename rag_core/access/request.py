"""One running request or websocket behind the gate. The gate can end it at any moment. Its body is limited in
size and time, and each websocket message is checked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_core.access.decide import Refused, Sender
from rag_core.access.limits import TOO_SLOW, refuse_larger
from rag_core.access.programs import is_program
from rag_core.config import Settings
from rag_core.types import Viewer

_MESSAGE_TOO_BIG: Final = 1009  # both codes are of RFC 6455
_POLICY_VIOLATION: Final = 1008
_GRACE_S: Final = 2.0  # seconds for the app to finish after its request was ended

_current: ContextVar[ActiveRequest | None] = ContextVar("request", default=None)


@dataclass(frozen=True, slots=True)
class PageMessages:
    """Two functions that read the websocket messages of a page.

    ``guest_may_send`` returns whether a guest's message may pass. ``to_page`` returns a message without local
    paths, and the id of the session that the message starts ('' for most messages).
    """

    guest_may_send: Callable[[bytes], bool]
    to_page: Callable[[bytes], tuple[bytes, str]]


@dataclass(eq=False, repr=False)
class ActiveRequest:
    """A request that was admitted and is passed on to the app."""

    sender: Sender
    viewer: Viewer  #: The sender's viewer in the library.
    scope: Scope  #: The ASGI scope passed to the app.
    settings: Settings  #: The owner's settings when the request was admitted.
    messages: PageMessages  #: Functions that read the websocket messages of a page.
    #: Awaited before each websocket message is passed to the app; None for nothing.
    on_message: Callable[[ActiveRequest], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.path: str = self.scope["path"]
        self.is_websocket = self.scope["type"] == "websocket"
        asked = [value for name, value in self.scope["headers"] if name.lower() == b"sec-websocket-protocol"]
        protocols = [*b",".join(asked).decode("latin-1").split(","), "", "", ""]
        self.session = protocols[2].strip()  # the session that a page asks to resume, as Streamlit reads it
        self._checks_body = not self.is_websocket and not is_upload(self.path)
        self._body_deadline = time.monotonic() + self.settings.body_timeout_s
        self._body_size = 0
        self._has_begun = False
        self._ended: asyncio.Future[Refused] = asyncio.get_running_loop().create_future()

    def end(self, why: Refused) -> None:
        """Stop the request. From now on nothing passes in either direction. The client gets the refusal
        ``why``, unless the app's answer has begun."""
        if not self._ended.done():
            self._ended.set_result(why)

    async def run(self, app: ASGIApp, receive: Receive, send: Send) -> None:
        """Run ``app`` until it has answered or the request is ended."""
        _current.set(self)
        work = asyncio.ensure_future(
            app(self.scope, lambda: self._receive(receive), lambda message: self._send(send, message))
        )
        awaited: set[asyncio.Future[Any]] = {work, self._ended}
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            if not self._ended.done():
                work.result()
            else:
                with suppress(OSError, RuntimeError, TimeoutError):  # the client is gone, or reads nothing
                    await asyncio.wait_for(self._send_end(self._ended.result(), receive, send), _GRACE_S)
                await asyncio.wait({work}, timeout=_GRACE_S)
                work.add_done_callback(lambda done: done.cancelled() or done.exception())  # not logged
        finally:
            work.cancel()

    async def _send_end(self, why: Refused, receive: Receive, send: Send) -> None:
        if self.is_websocket:
            code = _MESSAGE_TOO_BIG if why.status == 413 else _POLICY_VIOLATION
            await send({"type": "websocket.close", "code": code})
        elif self._has_begun:
            await send({"type": "http.response.body", "body": b""})
        else:
            await refuse(why, self.scope, receive, send)

    async def _send(self, send: Send, message: Message) -> None:
        if self._ended.done():
            raise OSError("The gate has ended this request.")
        self._has_begun = True
        if message["type"] == "websocket.send" and message.get("bytes"):
            data, session = self.messages.to_page(message["bytes"])
            message, self.session = {**message, "bytes": data}, session or self.session
        await send(message)

    async def _receive(self, receive: Receive) -> Message:
        """Return the next message for the app. It is a disconnect if the request was ended, or if its body is
        too slow or too large."""
        while not self._ended.done():
            coming = asyncio.ensure_future(receive())
            timeout = max(0.0, self._body_deadline - time.monotonic()) if self._checks_body else None
            awaited: set[asyncio.Future[Any]] = {coming, self._ended}
            try:
                await asyncio.wait(awaited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    self.end(TOO_SLOW)
                elif await self._passes(coming.result()) and not self._ended.done():
                    return coming.result()
            finally:
                coming.cancel()
        if self.is_websocket:
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}
        return {"type": "http.disconnect"}

    async def _passes(self, message: Message) -> bool:
        """Whether a message may pass to the app. A message that is too large ends the request."""
        if message["type"] == "http.request" and self._checks_body:
            self._body_size += len(message.get("body", b""))
            self._checks_body = message.get("more_body", False)
            if refused := refuse_larger(self._body_size, self.settings):
                self.end(refused)
        if message["type"] != "websocket.receive" or self.on_message is None:
            return True
        await self.on_message(self)
        data = message.get("bytes") or b""
        if refused := refuse_larger(len(data or message.get("text") or ""), self.settings):
            self.end(refused)
            return False
        return self.viewer.is_owner or self.messages.guest_may_send(data)


def current_session() -> str:
    """Return the Streamlit session of the page whose message is being handled; '' without a message. It is
    also known in threads that Streamlit starts for the message."""
    request = _current.get()
    return request.session if request is not None else ""


def is_upload(path: str) -> bool:
    """Whether Streamlit accepts uploaded files at a path."""
    return path.startswith("/_stcore/upload_file/")


async def refuse(why: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request or handshake with a refusal. Then close its connection, because the rest of a body may
    still arrive."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    headers = {"connection": "close"}
    if why.status == 401:
        headers["www-authenticate"] = "Bearer"
    if why.retry_after_s:
        headers["retry-after"] = str(why.retry_after_s)
    answer: Response = PlainTextResponse(f"{why.error}\n", why.status, headers)
    if is_program(scope["path"]):
        answer = JSONResponse(why.error.as_dict(), why.status, headers)
    await answer(scope, receive, send)
