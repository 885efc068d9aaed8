"""A call of a tool, from what was sent to what is answered: ``{success, data, error}``.

Nothing that goes wrong leaves here as an exception. An error is the two sentences that every face says; of
a fault that nobody foresaw it only says that there was one, and the log has where, without what was asked.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from rag_core.api.encoding import Value, json_text
from rag_core.api.http import UNFORESEEN, refusal
from rag_core.api.mcp.tools import TOOLS, Tool
from rag_core.errors import Forbidden, NotFound, RagError
from rag_core.library import Library
from rag_core.types import Viewer

_LOG = logging.getLogger(__name__)
_MANY = 40  # characters of a name that is none


Who = Callable[[], Viewer | None]
"""Whose a request is; it may take a moment, and raise RagError."""


def listed(who: Who, allow_writes: Callable[[], bool]) -> list[Tool]:
    """The tools that the sender may use: none where nobody can say who that is, and none that writes where
    nobody can say whether it may."""
    viewer = None
    try:
        viewer = who()
        return _open_to(viewer, allow_writes=allow_writes())
    except RagError:
        return _open_to(viewer, allow_writes=False)


def _open_to(viewer: Viewer | None, *, allow_writes: bool) -> list[Tool]:
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
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """What a call comes to, fit for JSON. ``allow_writes`` is asked anew for each; ``stop`` is set when
    nobody waits for the answer any more."""
    viewer = None
    try:
        viewer = who()
        if viewer is None:
            raise Forbidden("Nobody is known by this name.", "Ask the owner of this library.")
        tool = _tool(viewer, name, allow_writes=allow_writes())
        given = tool.given.read({key: each for key, each in (arguments or {}).items() if each is not None})
        data = tool.act(library(), viewer, given, stop or threading.Event())
    except RagError as error:
        return _failed(error if viewer and viewer.is_owner else refusal(error, for_owner=False)[1])
    except Exception as error:  # the server outlives whatever is wrong with one call
        _LOG.error("A tool failed.", exc_info=error)
        return _failed(UNFORESEEN)
    return _sound({"success": True, "data": data, "error": None})


def _tool(viewer: Viewer, name: str, *, allow_writes: bool) -> Tool:
    """The tool called ``name``. Raises NotFound, Forbidden for one that this viewer may not use."""
    tool = next((each for each in TOOLS if each.name == name), None)
    known = _open_to(viewer, allow_writes=allow_writes)
    if tool in known:
        return tool
    if tool is None or not viewer.is_owner:
        names = ", ".join(each.name for each in known)
        raise NotFound(f"There is no tool called {name[:_MANY]!r}.", f"There are: {names}.")
    raise Forbidden(
        f"The tool {name!r} would change the index, which assistants may not here.",
        "The owner allows it with `commonplace mcp --allow-writes`, or `mcp_allow_writes: true` in"
        " config.yaml.",
    )


def _failed(error: RagError) -> dict[str, Any]:
    return _sound({"success": False, "data": None, **error.as_dict()})


def _sound(value: Value) -> dict[str, Any]:
    """``value`` as it can be sent: no half of a character in it."""
    found: dict[str, Any] = json.loads(json_text(value).encode("utf-8", "replace"))
    return found
