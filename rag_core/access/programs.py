"""REST and MCP: their paths and tokens, and the router that answers them before Streamlit does.

Streamlit would refuse addresses with ``..`` in its own words. REST accepts them as names and answers in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_core.access.decide import Header
from rag_core.errors import NotFound

API: Final = "/api/"
MCP: Final = "/mcp"
_NOTHING: Final = NotFound("There is nothing here.", "REST is below /api/v1, MCP at /mcp.")


def is_program(path: str) -> bool:
    """Whether a path belongs to REST or MCP, and not to a page."""
    return path.startswith((API, f"{MCP}/")) or path == MCP


def sent_token(path: str, headers: Iterable[Header]) -> str | None:
    """Return the token in a request to REST or MCP: None without credentials, '' for other or several
    credentials. Pages accept no tokens, so it is always None for them."""
    sent = [value for name, value in headers if name.lower() == "authorization"]
    if not is_program(path) or not sent:
        return None
    scheme, _, token = sent[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(sent) == 1 else ""


class Programs:
    """ASGI middleware that sends REST and MCP requests over HTTP to ``routes``, and everything else to
    ``app``."""

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self.app = app
        nothing = JSONResponse(_NOTHING.as_dict(), 404, {"cache-control": "no-store"})
        self._router = Router(routes, redirect_slashes=False, default=nothing)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_ours = scope["type"] == "http" and is_program(scope["path"])
        await (self._router if is_ours else self.app)(scope, receive, send)
