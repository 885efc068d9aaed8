"""Serving assistants over HTTP, behind a gate that has let the request in and says whose it is.

No session is kept: each request is answered for whoever sent it. A session that outlived the gate's verdict
would serve the next one who knows its number. The checks of the package against other hosts and origins are
off, because they are the gate's, which also knows the hosts that are shared.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rag_core.api.http import MAX_BODY, json_response
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.types import Viewer

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"

ViewerOf = Callable[[Mapping[str, str]], Viewer | None]


class McpDoor:
    """An ASGI app at `PATH`. The package is loaded for the first who asks, which takes a moment.

    ``library`` gives the library of this process, which is asked in a worker thread.
    """

    def __init__(self, library: Callable[[], Library], viewer_of: ViewerOf) -> None:
        self._library = library
        self._viewer_of = viewer_of
        self._opening: asyncio.Task[StreamableHTTPSessionManager] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def routes(self) -> list[Route]:
        """Where it is found."""
        return [Route(PATH, self), Route(f"{PATH}/", self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; there is nothing to listen to between them."""
        if scope["method"] != "POST":
            said = RagError("Here is nothing to be read.", "Assistants send POST; docs/mcp.md says how.")
            await json_response(said.as_dict(), 405, {"allow": "POST"})(scope, receive, send)
            return
        manager = await self._open()
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End what is under way."""
        self._closing.set()
        if self._serving is not None:
            with suppress(asyncio.CancelledError):
                await self._serving
        self._opening, self._serving, self._closing = None, None, asyncio.Event()

    # --- loading ------------------------------------------------------------------------

    async def _open(self) -> StreamableHTTPSessionManager:
        if self._opening is None:
            self._opening = asyncio.create_task(self._load())
        return await asyncio.shield(self._opening)

    async def _load(self) -> StreamableHTTPSessionManager:
        manager: StreamableHTTPSessionManager = await asyncio.to_thread(self._manager)
        ready = asyncio.Event()
        self._serving = asyncio.create_task(self._serve(manager, ready))
        await ready.wait()
        return manager

    def _manager(self) -> Any:
        package = importlib.import_module("mcp.server.streamable_http_manager")
        answering = importlib.import_module("rag_core.api.mcp.server").server(
            self._library, self._viewer, lambda: self._library().settings.mcp_allow_writes
        )
        return package.StreamableHTTPSessionManager(answering, stateless=True, max_request_body_size=MAX_BODY)

    def _viewer(self, asked: Any) -> Viewer | None:
        request = asked.request
        return self._viewer_of(request.headers) if isinstance(request, Request) else None

    async def _serve(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        """Hold what answers open in one task, from the first request to the end of the app."""
        async with manager.run():
            ready.set()
            await self._closing.wait()
