"""The route for pictures in notes and of places in documents, behind the gate like every page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rag_core.access import viewer_of
from rag_core.api.http import RequestWorkers
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.library.originals import Picture
from rag_core.types import Viewer
from ui.frame.links import PICTURES

_SIDE: Final = 1400  # pixels of a page's longer side
_HEADERS: Final = {"cache-control": "private, max-age=60", "content-disposition": "inline"}


def picture_route(library: Callable[[], Library], workers: RequestWorkers) -> Route:
    """``GET /note-picture?store=&path=&target=``: return the picture that a document embeds as ``target``.

    With ``place=``, return a picture of a page, a slide or another place. The response is empty if there is
    no picture. ``workers`` read all pictures, so that pages never wait for them.
    """

    async def answer(request: Request) -> Response:
        try:
            viewer = await run_in_threadpool(viewer_of, request.headers, library)
            if viewer is None:
                return Response(status_code=403)
            find = partial(_find, library, request, viewer)
            picture = await workers.run_while_connected(request, viewer, find)
        # pictures that do not exist and pictures that this viewer may not see get the same answer
        except RagError:
            return Response(status_code=204)
        return Response(picture.data, media_type=picture.media_type, headers=_HEADERS)

    return Route(f"/{PICTURES}", answer)


def _find(
    library: Callable[[], Library], request: Request, viewer: Viewer, is_over: Callable[[], bool]
) -> Picture:
    """Return the requested picture. Raises RagError."""
    asked = request.query_params
    store, path, target = (asked.get(name, "") for name in ("store", "path", "target"))
    if (place := asked.get("place")) is None:
        return library().originals.picture(viewer, store, path, target)
    return Picture(library().pictures.get(viewer, store, path, place, _SIDE, is_over), "image/webp")
