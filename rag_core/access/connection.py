"""The HTTP connection of the app's own server: uvicorn's, with two guards that uvicorn lacks.

Threat 1, slow or endless heads. A client opens connections and sends nothing, or headers without an end.
Each connection would stay open, and its headers in memory, for as long as the client likes.

Threat 2, request smuggling. The parser stops at an `Upgrade` or a `CONNECT` and leaves a declared body
unread. uvicorn keeps the connection, so the body would be parsed as a new request, with whatever headers its
author chose: no proxy header and `Host: 127.0.0.1` is the owner. So a connection is closed, before anything
is answered, when a request asks for an upgrade and is not a plain websocket handshake.

The gate honours identity headers only on a connection of this class (`GUARDED` in ``scope["state"]``).
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rag_core.access.limits import MAX_HEADERS

GUARDED: Final = "commonplace.guarded"
_MAX_HEAD: Final = 4 * MAX_HEADERS  # above the gate's limit, so that the gate can answer 431
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})


class UnsafeUpgrade(Exception):
    """The error for a request that asks for an upgrade but is not a plain websocket handshake."""


class GuardedProtocol(HttpToolsProtocol):
    """One HTTP connection. It is closed if no complete request head arrives within ``head_timeout_s`` after
    the start or the last answer, or if a request asks for an upgrade that is not a websocket."""

    head_timeout_s: ClassVar[float] = 30.0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.app_state = {**self.app_state, GUARDED: True}  # uvicorn copies it into each scope
        self._timeout: asyncio.TimerHandle | None = None
        self._head_size = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._guard_head(0)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._guard_head(0)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._guard_head(len(data))

    def on_headers_complete(self) -> None:
        """Let uvicorn answer the request. Raise UnsafeUpgrade if it asks for an upgrade other than a plain
        websocket; uvicorn then answers 400 and closes the connection."""
        upgrades = [value.lower() for name, value in self.headers if name == b"upgrade"]
        method = self.parser.get_method()
        if self.parser.should_upgrade() or method == b"CONNECT" or upgrades:
            is_handshake = (
                method == b"GET"
                and self.parser.should_upgrade()
                and self._should_upgrade()
                and upgrades == [b"websocket"]
                and _BODY_HEADERS.isdisjoint(name for name, _ in self.headers)
            )
            if not is_handshake:
                raise UnsafeUpgrade
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Send the answer and close the connection. While an earlier answer is being sent, only close,
        because the two would be mixed."""
        if self._awaits_head():
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _guard_head(self, arrived: int) -> None:
        """Start the timeout for a request's head, or cancel it if no head is awaited. Close the connection if
        a head of ``arrived`` more bytes is too large."""
        if not self._awaits_head():
            if self._timeout is not None:
                self._timeout.cancel()
            self._timeout, self._head_size = None, 0
            return
        self._head_size += arrived
        if self._head_size > _MAX_HEAD:
            self.transport.close()
        elif self._timeout is None:
            self._timeout = self.loop.call_later(self.head_timeout_s, self.transport.close)

    def _awaits_head(self) -> bool:
        """Whether the connection waits for a request's head, or for the rest of a body that nothing reads any
        more. It is always False for websockets and closed connections."""
        return self in self.connections and (self.cycle is None or self.cycle.response_complete)


def guard_connections(head_timeout_s: float) -> None:
    """Let all servers that this process starts from now on use `GuardedProtocol`, with this timeout in
    seconds."""
    GuardedProtocol.head_timeout_s = head_timeout_s
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{GuardedProtocol.__name__}"
