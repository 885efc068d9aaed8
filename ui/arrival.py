"""The HTTP connection of the app's own server: uvicorn's, with two guards that uvicorn lacks.

Threat 1, slow or endless heads. Somebody opens connections and sends nothing, or headers without an end.
Each connection would stay open, and its headers in memory, for as long as they like.

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

from ui.limits import MAX_HEADERS, Limits

GUARDED: Final = "commonplace.guarded"
_MOST: Final = 4 * MAX_HEADERS  # what the gate calls too large should reach it, as it says so
_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})


class UnsafeUpgrade(Exception):
    """A request asks for an upgrade and is not a plain websocket handshake."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection. It is closed when no whole head arrives within ``head_timeout_s`` of its start or of
    the last answer, and at the first request that asks for an upgrade other than a websocket."""

    head_timeout_s: ClassVar[float] = Limits().body_timeout_s

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.app_state = {**self.app_state, GUARDED: True}  # uvicorn copies it into each scope
        self._closing: asyncio.TimerHandle | None = None
        self._arrived = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._look(0)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._look(0)

    def data_received(self, data: bytes) -> None:
        """Read on, and see whether there is still no head."""
        super().data_received(data)
        self._look(len(data))

    def on_headers_complete(self) -> None:
        """Start to answer a request. Raises UnsafeUpgrade, on which uvicorn answers 400 and closes."""
        asks = self.parser.should_upgrade() or self.parser.get_method() == b"CONNECT" or self._upgrades()
        if asks and not self._is_handshake():
            raise UnsafeUpgrade
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer and close. While an earlier answer is under way only close: the two would be mixed."""
        if self._awaits_head():
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _is_handshake(self) -> bool:
        return (
            self.parser.get_method() == b"GET"
            and self.parser.should_upgrade()
            and self._should_upgrade()
            and [value.lower() for value in self._upgrades()] == [b"websocket"]
            and _BODY_HEADERS.isdisjoint(name for name, _ in self.headers)
        )

    def _upgrades(self) -> list[bytes]:
        return [value for name, value in self.headers if name == b"upgrade"]

    def _look(self, arrived: int) -> None:
        if not self._awaits_head():
            if self._closing is not None:
                self._closing.cancel()
            self._closing, self._arrived = None, 0
            return
        self._arrived += arrived
        if self._arrived > _MOST:
            self.transport.close()
        elif self._closing is None:
            self._closing = self.loop.call_later(self.head_timeout_s, self.transport.close)

    def _awaits_head(self) -> bool:
        """Also while the rest of a body comes that nobody reads any more. What became a websocket, or was
        closed, is not among the connections."""
        return self in self.connections and (self.cycle is None or self.cycle.response_complete)


def install(head_timeout_s: float) -> None:
    """Have every server that this process starts from now on use `GuardedProtocol`."""
    GuardedProtocol.head_timeout_s = head_timeout_s
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{GuardedProtocol.__name__}"
