"""Hooks of schemathesis: some of the requests that it makes up are for what is there, which no schema says.

Only what may be asked is changed to what else may be asked: what must be refused stays as it is.

Loaded by its command through ``SCHEMATHESIS_HOOKS``.
"""

from __future__ import annotations

from typing import Any

import schemathesis

PATHS = ("harbour.md", "below/tea.md", "a:b & ü?#%.md")


@schemathesis.hook
def map_path_parameters(context: Any, given: Any) -> Any:
    """A store that is there, in every second request with a document of it."""
    if not given or not all(map(_is_name, given.values())) or len(str(given)) % 2:
        return given
    there = {"store": "notes", "path": PATHS[len(str(given)) // 2 % len(PATHS)]}
    if context.operation.path.startswith("/pictures/"):
        there = {"store": "album", "path": "tea.pdf"}
    return {name: there[name] for name in given}


@schemathesis.hook
def map_query(_: Any, given: Any) -> Any:
    """A store that is there."""
    return {**given, "store": "notes"} if given and _is_name(given.get("store")) else given


@schemathesis.hook
def map_body(context: Any, given: Any) -> Any:
    """The same, where there is a list of them; and a document of it in every second request."""
    if not isinstance(given, dict):
        return given
    lists = {name: ["notes"] for name in ("stores", "vaults") if _is_list(given.get(name))}
    if context.operation.path == "/similar" and len(str(given)) % 2:
        there = {"store": "notes", "path": PATHS[0]}
        if all(_is_name(value) for name, value in given.items() if name != "limit"):
            return {**{name: value for name, value in given.items() if name == "limit"}, **there}
    return {**given, **lists}


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 100 and all(map(_is_name, value))


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) < 64
