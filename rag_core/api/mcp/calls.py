"""Tool calls: from name and arguments to ``{success, data, error}``.

Every exception becomes an error. A RagError gives the same two sentences as on the other faces. Any other
exception is only logged, without the arguments.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from rag_core.api.encoding import json_text
from rag_core.api.http import UNFORESEEN, refusal
from rag_core.api.mcp.tools import TOOLS, Tool
from rag_core.errors import Forbidden, NotFound, RagError
from rag_core.library import Library
from rag_core.types import Viewer

_LOG = logging.getLogger(__name__)
_MAX_NAME = 40  # characters of an unknown tool's name that an error repeats

Who = Callable[[], Viewer | None]
"""Gives the sender of a request; may be slow, and may raise RagError."""


def listed(who: Who, allow_writes: Callable[[], bool]) -> list[Tool]:
    """The tools that the sender may use. Without a known sender there is none, and without readable settings
    none that writes."""
    viewer = None
    try:
        viewer = who()
        return _allowed(viewer, allow_writes=allow_writes())
    except RagError:
        return _allowed(viewer, allow_writes=False)


def _allowed(viewer: Viewer | None, *, allow_writes: bool) -> list[Tool]:
    if viewer is None:
        return []
    return [tool for tool in TOOLS if not tool.writes or (allow_writes and viewer.is_owner)]


def called(
    library: Callable[[], Library],
    who: Who,
    name: str,
    arguments: Mapping[str, Any] | None,
    *,
    allow_writes: Callable[[], bool],
    stop: threading.Event,
) -> dict[str, Any]:
    """The result of a call as JSON values. ``stop`` is set when the caller is gone."""
    viewer = None
    result: dict[str, Any] = {"success": False, "data": None}
    try:
        viewer = who()
        if viewer is None:
            raise Forbidden("Nobody is known by this name.", "Ask the owner of this library.")
        tool = _tool(viewer, name, allow_writes=allow_writes())
        given = tool.given.read({key: each for key, each in (arguments or {}).items() if each is not None})
        data = tool.act(library(), viewer, given, stop)
        result = {"success": True, "data": data, "error": None}
    except RagError as error:
        shown = error if viewer and viewer.is_owner else refusal(error, for_owner=False)[1]
        result |= shown.as_dict()
    except Exception as error:  # the server outlives any fault in a call
        _LOG.error("A tool failed.", exc_info=error)
        result |= UNFORESEEN.as_dict()
    sent: dict[str, Any] = json.loads(json_text(result).encode("utf-8", "replace"))  # no lone surrogates
    return sent


def _tool(viewer: Viewer, name: str, *, allow_writes: bool) -> Tool:
    """The tool called ``name``. Raises NotFound, Forbidden for one that this viewer may not use."""
    tool = next((each for each in TOOLS if each.name == name), None)
    allowed = _allowed(viewer, allow_writes=allow_writes)
    if tool in allowed:
        return tool
    if tool is None or not viewer.is_owner:
        names = ", ".join(each.name for each in allowed)
        raise NotFound(f"There is no tool called {name[:_MAX_NAME]!r}.", f"There are: {names}.")
    raise Forbidden(
        f"The tool {name!r} would change the index, which assistants may not here.",
        "The owner allows it with `commonplace mcp --allow-writes`, or `mcp_allow_writes: true` in"
        " config.yaml.",
    )
