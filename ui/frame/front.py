"""Streamlit's HTML page with our style and script, and the app's own icon.

At an address such as ``/index`` Streamlit's front end does not know the server's root, and first tries
``/index/_stcore/…``. This would cause two errors in the console, and a wait. So a script before Streamlit's
own script names the root.

The style is loaded before anything is drawn, so nothing moves later. It comes after Streamlit's style and
overrides it.
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

from rag_core import __version__

_ASSETS: Final = Path(__file__).parents[1] / "assets"
ICON: Final = _ASSETS / "icon.png"
_HEAD: Final = "<head>"
_END: Final = "</body>"
_ROOT: Final = '<div id="root">'
_WAITING: Final = '<div class="cp-waiting"></div>'
"""An element shown until Streamlit draws, if that takes a while."""

_SCRIPT: Final = _ASSETS / "frame.js"
_STYLES: Final = (_ASSETS / "hits.css", _ASSETS / "note.css", _ASSETS / "search.css")


_VERSION: Final = f':root {{ --version: "Commonplace {__version__}"; }}'
"""The text that hits.css writes into the bar of every page."""


class _PageName(StringConvertor):
    """A path segment that can be a page: ``index``, but not ``favicon.png`` or ``static/js/…``."""

    regex = "[a-z][a-z0-9-]*"


@cache
def front_page() -> str:
    """Return the HTML of the installed Streamlit page, with our script at its beginning and our style at its
    end."""
    page = files("streamlit").joinpath("static", "index.html").read_text(encoding="utf-8")
    style = "".join(path.read_text(encoding="utf-8") for path in _STYLES) + _VERSION
    page = page.replace(_HEAD, f"{_HEAD}<script>{_SCRIPT.read_text(encoding='utf-8')}</script>", 1)
    page = page.replace(_ROOT, _ROOT + _WAITING, 1)
    return page.replace(_END, f"<style>{style}</style>{_END}", 1)


def page_routes() -> list[Route]:
    """Return routes for pages opened by their address. They match any path of one segment, so they must come
    last."""
    register_url_convertor("page", _PageName())
    fresh = {"cache-control": "no-cache"}

    def to_root(request: Request) -> Response:
        # The default page lives at the root only; at its own name Streamlit says "Page not found".
        return RedirectResponse(f"/?{request.url.query}" if request.url.query else "/")

    return [
        Route("/favicon.png", lambda _: FileResponse(ICON, headers=fresh)),
        Route("/search", to_root),
        Route("/", lambda _: HTMLResponse(front_page(), headers=fresh)),
        Route("/{name:page}", lambda _: HTMLResponse(front_page(), headers=fresh)),
    ]
