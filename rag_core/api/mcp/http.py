"""MCP over HTTP, behind a gate that has admitted the request and names its sender.

There are no sessions: a session could outlive the gate's decision, and would serve anyone who knows its
number. The package's own checks of hosts and origins are off, because the gate checks both and knows the
shared hosts.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rag_core.api.http import MAX_BODY, ViewerOf, json_response
from rag_core.errors import RagError
from rag_core.library import Library

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH: Final = "/mcp"


class McpDoor:
    """An ASGI app at `PATH`. It imports the package ``mcp`` at the first request. ``library`` returns the
    library of this process and is called in worker threads."""

    def __init__(self, library: Callable[[], Library], viewer_of: ViewerOf) -> None:
        self._library = library
        self._viewer_of = viewer_of
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    def routes(self) -> list[Route]:
        return [Route(PATH, self), Route(f"{PATH}/", self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. GET is refused: without sessions there is no stream to read."""
        if scope["method"] != "POST":
            error = RagError("There is nothing to read here.", "Assistants send POST; docs/mcp.md says how.")
            await json_response(error.as_dict(), 405, {"allow": "POST"})(scope, receive, send)
            return
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._manager))
        manager = await asyncio.shield(self._manager)
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End the running requests."""
        self._closing.set()
        if self._serving is not None:
            with suppress(asyncio.CancelledError):
                await self._serving
        self._manager, self._serving, self._closing = None, None, asyncio.Event()

    async def _serve(self, opened: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Keep a session manager open from the first request until the app ends."""
        try:
            manager = await asyncio.to_thread(self._load)
        except Exception as error:
            opened.set_exception(error)
            return
        async with manager.run():
            opened.set_result(manager)
            await self._closing.wait()

    def _load(self) -> Any:
        package = importlib.import_module("mcp.server.streamable_http_manager")
        answering = importlib.import_module("rag_core.api.mcp.server").server(
            self._library,
            lambda asked: self._viewer_of(asked.request.headers),
            lambda: self._library().settings.mcp_allow_writes,
        )
        return package.StreamableHTTPSessionManager(answering, stateless=True, max_request_body_size=MAX_BODY)
