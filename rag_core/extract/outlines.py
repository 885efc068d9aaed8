"""Outlines (OPML) and mind maps (MM) → their entries, each under the entries above it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lxml import etree

from rag_core.extract import content, encoding, plain
from rag_core.extract.building import Builder, one_line
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARATION = re.compile(r"<\?xml[^<>]*>")
_TEXTS = ("text", "title", "TEXT")
_MORE = ("_note", "description", "htmlUrl", "xmlUrl", "url", "LINK")
_DEEPEST = 3  # number of levels that become headings


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the entries in ``data``. If it is not an outline, it is read as plain text."""
    decoded = encoding.decode(data, "xml")
    text = _DECLARATION.sub("", decoded.text, count=1)
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=True)
    root = etree.fromstring(text.encode("utf-8", "replace"), parser) if text.strip() else None
    if root is None or root.tag not in ("opml", "map"):
        named = path.with_name(f"{path.name}.xml")
        return content.with_its_name(plain.read(data, named), path, named)
    builder = Builder()
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag in ("outline", "node"):
            depth += 1 if event == "start" else -1
            if event == "start":
                _add_entry(builder, element, depth)
        elif event == "start" and element.tag == "richcontent":
            builder.add("\n".join(" ".join(part.split()) for part in element.itertext() if part.strip()))
    title = one_line(root.findtext(".//title") or "") or (builder.opening if root.tag == "map" else "")
    builder.notes += filter(None, [decoded.warning])
    return builder.document("text", path.name, title)


def _add_entry(builder: Builder, element: _Element, depth: int) -> None:
    said = next((str(element.get(name)) for name in _TEXTS if element.get(name)), "")
    has_more = any(child.tag in ("outline", "node") for child in element)
    if has_more and depth <= _DEEPEST and "\n" not in said:
        builder.heading(depth, said)
    else:
        builder.add("  " * max(0, depth - _DEEPEST) + said, gap="\n")
    for name in _MORE:
        if element.get(name):
            builder.add(str(element.get(name)), gap="\n")
