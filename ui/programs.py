"""REST and MCP, answered before Streamlit sees who asks.

Streamlit refuses addresses with ``..`` and the like in its own words, whatever they are for. To REST they
are names as others are: of a document that is not there, most often, which it says in JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_core.api.requests import json_response
from rag_core.errors import RagError
from ui.access import is_program

_NOTHING: Final = RagError("There is nothing here.", "REST is below /api/v1, MCP at /mcp.")


class Programs:
    """ASGI middleware: ``routes`` for what programs ask over HTTP, ``app`` for all else."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self.app = app
        self._router = Router(routes, redirect_slashes=False, default=_nothing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass it on."""
        is_ours = scope["type"] == "http" and is_program(scope["path"])
        await (self._router if is_ours else self.app)(scope, receive, send)


async def _nothing(scope: Scope, receive: Receive, send: Send) -> None:
    await json_response(_NOTHING.as_dict(), 404)(scope, receive, send)
