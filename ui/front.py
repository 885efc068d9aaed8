"""Streamlit's HTML page for addresses below the root, such as ``/index``, and the app's own icon.

There Streamlit's front end does not know where the server is and first tries ``/index/_stcore/…``: two errors
in the console, and a wait. One inline script before its own names the root, so the page connects at once.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

ICON: Final = Path(__file__).with_name("icon.png")
_HEAD: Final = "<head>"
_ROOT_SCRIPT: Final = '<script>window.__streamlit = {BACKEND_BASE_URL: location.origin + "/"}</script>'


class _PageName(StringConvertor):
    """One segment that is no file: ``index``, not ``favicon.png`` and not ``static/js/…``."""

    regex = "[a-z][a-z0-9-]*"


@cache
def front_page() -> str:
    """The installed Streamlit page, told where its server is."""
    page = files("streamlit").joinpath("static", "index.html").read_text(encoding="utf-8")
    return page.replace(_HEAD, _HEAD + _ROOT_SCRIPT, 1)


def page_routes() -> list[Route]:
    """Routes for pages opened by their address. They match any one-segment path, so they come last."""
    register_url_convertor("page", _PageName())
    fresh = {"cache-control": "no-cache"}

    def to_root(request: Request) -> Response:
        # The default page lives at the root only; at its own name Streamlit says "Page not found".
        return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/")

    return [
        Route("/favicon.png", lambda _: FileResponse(ICON, headers=fresh)),
        Route("/search", to_root),
        Route("/{name:page}", lambda _: HTMLResponse(front_page(), headers=fresh)),
    ]
