"""How requests arrive, before the gate sees them: the head of one is waited for only so long, and holds only
so much. uvicorn, which reads them, knows no such limits.

Threat. Somebody opens connections and sends nothing, or headers without an end: each would stay open, and
what came of it would stay in memory, for as long as they like.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ui.limits import MAX_HEADERS, Limits

_MOST: Final = 4 * MAX_HEADERS  # what the gate calls too large should reach it, as it says so


class PromptProtocol(HttpToolsProtocol):
    """One connection, which is closed when no whole head has come in ``patience_s`` since it was opened or a
    request on it was answered and more came. While one is answered its body is the gate's business."""

    patience_s: ClassVar[float] = Limits().body_timeout_s

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
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
            self._closing = self.loop.call_later(self.patience_s, self.transport.close)

    def _awaits_head(self) -> bool:
        """Also while the rest of a body comes that nobody reads any more. What became a websocket, or was
        closed, is not among the connections."""
        return self in self.connections and (self.cycle is None or self.cycle.response_complete)


def wait_only(patience_s: float) -> None:
    """Have every server that is started from now on in this process wait only so long for a head."""
    PromptProtocol.patience_s = patience_s
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{PromptProtocol.__name__}"
