"""Exports of other apps → documents as the apps show them: Google Keep, Obsidian's canvas, Kindle clippings,
browser bookmarks, chats. Each is recognized by its content."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from rag_core.extract import bookmarks, chats, escapes, kindle, telegram_days, telegram_pages
from rag_core.extract.building import Builder, one_line
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

_LOOKED_AT = 20_000  # number of characters that are examined
_KEEP_KEYS = ("userEditedTimestampUsec", "createdTimestampUsec", "isTrashed", "isPinned")
_OF_AN_APP = re.compile(r'"(?:userEditedTimestampUsec|isTrashed|date_unixtime|nodes|from_id|messages)"')


def read_text(text: str, name: str) -> Extracted | None:
    """Return the document for an export in a text file, or None for any other text."""
    return kindle.read(text, name) or chats.read_whatsapp(text, name)


def read_json(text: str, path: PurePosixPath) -> Extracted | None:
    """Return the document for a JSON file exported from Google Keep or Telegram, or for an Obsidian canvas.
    Returns None for any other JSON."""
    if not _OF_AN_APP.search(text[:_LOOKED_AT]) and not _OF_AN_APP.search(text[-_LOOKED_AT:]):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    if found := chats.telegram_chats(value):
        chat = chats.read_telegram(found, path.name)
        is_day = path.name.endswith(telegram_days.DAY_OF_TELEGRAM)
        return chats.with_its_day(chat) if is_day else chat
    if any(key in value for key in _KEEP_KEYS) and not {"title", "textContent", "listContent"}.isdisjoint(
        value
    ):
        return _read_keep(value, path.name)
    if path.suffix.lower() == ".canvas" and isinstance(value.get("nodes"), list):
        return _read_canvas(value, path.name)
    return None


def page_reader(markup: str, name: str) -> Callable[[_Element, str], Extracted | None] | None:
    """Return the function that reads a page exported from an app, judged by its ``markup`` and its file
    ``name``, or None for any other page. The function takes the root element and the name."""
    if bookmarks.are_bookmarks(markup):
        return bookmarks.read_bookmarks
    if name.endswith(telegram_pages.DAY_OF_PAGE):
        return _read_day_of_page
    return telegram_pages.read_telegram_page if telegram_pages.is_telegram_page(markup) else None


def _read_day_of_page(root: _Element, name: str) -> Extracted | None:
    chat = telegram_pages.read_telegram_page(root, name)
    return chats.with_its_day(chat) if chat else None


# --- Google Keep ------------------------------------------------------------------------


def _read_keep(note: dict[str, Any], name: str) -> Extracted:
    builder = Builder()
    title = one_line(str(note.get("title") or ""))
    builder.heading(1, title)
    builder.add(str(note.get("textContent") or ""))
    for item in _dicts(note.get("listContent")):
        builder.add(f"- [{'x' if item.get('isChecked') else ' '}] {item.get('text') or ''}", gap="\n")
    for link in _dicts(note.get("annotations")):
        said = [str(link[key]) for key in ("title", "description", "url") if link.get(key)]
        builder.add("\n".join(said))
    labels = [str(label["name"]) for label in _dicts(note.get("labels")) if label.get("name")]
    people = [str(person["email"]) for person in _dicts(note.get("sharees")) if person.get("email")]
    states = [key[2:].lower() for key in ("isArchived", "isTrashed", "isPinned") if note.get(key) is True]
    about = {"shared with": people} if people else {}
    return builder.document(
        "text",
        name,
        title,
        tags=tuple(labels),
        date=_day_of_microseconds(note.get("createdTimestampUsec"))
        or _day_of_microseconds(note.get("userEditedTimestampUsec")),
        metadata={**about, **({"status": states} if states else {})},
    )


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _day_of_microseconds(value: Any) -> str | None:
    with suppress(ValueError, TypeError, OverflowError, OSError):
        return datetime.fromtimestamp(int(value) / 1e6, UTC).date().isoformat()
    return None


# --- the canvas of Obsidian -------------------------------------------------------------


def _read_canvas(canvas: dict[str, Any], name: str) -> Extracted:
    """Return a canvas with its cards in reading order, under the groups that contain them."""
    builder = Builder()
    nodes = _dicts(canvas.get("nodes"))
    groups = [node for node in nodes if node.get("type") == "group" and node.get("label")]
    names: dict[str, str] = {}
    above = ""
    for node in sorted(nodes, key=_place):
        text = _text_of_node(node)
        names[str(node.get("id"))] = one_line(text.lstrip("# "), 60)
        group = next((one_line(str(each["label"])) for each in groups if _lies_in(node, each)), "")
        if text and group != above:
            builder.heading(1, group)
            above = group
        builder.add(escapes.shown(text, "markdown", PurePosixPath(name)))
    for edge in _dicts(canvas.get("edges")):
        if edge.get("label"):
            ends = (names.get(str(edge.get(key)), "") for key in ("fromNode", "toNode"))
            builder.add(" → ".join(filter(None, (next(ends), str(edge["label"]), next(ends)))))
    return builder.document("markdown", name, name.removesuffix(".canvas"))


def _text_of_node(node: dict[str, Any]) -> str:
    if node.get("type") == "file":
        return f"{node.get('file') or ''}{node.get('subpath') or ''}"
    return str(node.get("text") or node.get("url") or "") if node.get("type") != "group" else ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e12 else 0.0


def _place(node: dict[str, Any]) -> tuple[float, float]:
    return _number(node.get("y")), _number(node.get("x"))


def _lies_in(node: dict[str, Any], group: dict[str, Any]) -> bool:
    inside = True
    for place, size in (("x", "width"), ("y", "height")):
        begin = _number(group.get(place))
        inside = inside and begin <= _number(node.get(place)) <= begin + _number(group.get(size))
    return inside
