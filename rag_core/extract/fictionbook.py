"""E-books in FictionBook (FB2) → the text of each chapter."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from lxml import etree

from rag_core.extract import encoding
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARATION = re.compile(r"<\?xml[^<>]*>")
_PARAGRAPHS = frozenset(("p", "v", "text-author", "subtitle", "td", "th"))


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the book in ``data``. Raises ExtractError if it is not a FictionBook."""
    text = _DECLARATION.sub("", encoding.decode(data, "xml").text, count=1)
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
    )
    root = etree.fromstring(text.encode("utf-8", "replace"), parser) if text.strip() else None
    if root is None or _name(root) != "FictionBook":
        raise damaged(path, data)
    info = next((each for each in root.iter() if _name(each) == "title-info"), None)
    builder = Builder()
    for about_it in (each for each in (info if info is not None else ()) if _name(each) == "annotation"):
        _add_section(builder, about_it)
    for element in root:
        if _name(element) == "body":
            _add_section(builder, element)
    about = _about(info) if info is not None else {}
    title = about.pop("title", "")
    return builder.document("ebook", path.name, title, metadata=about)


def _add_section(builder: Builder, body: _Element) -> None:
    """Add the sections of a body in order, each under its titles."""
    depth = 0
    for event, element in etree.iterwalk(body, events=("start", "end")):
        name = _name(element)
        if name in ("section", "body"):
            depth += 1 if event == "start" else -1
            if name == "section" and event == "start" and _title(element) == "" and depth == 2:
                builder.begin("chapter", "")
        elif event == "start" and name == "title":
            builder.heading(max(1, depth), " ".join(_words(element)))
        elif event == "start" and name in _PARAGRAPHS and not _in_title(element):
            builder.add("".join(_words(element, apart=False)))


def _title(section: _Element) -> str:
    return " ".join(" ".join(_words(each)) for each in section if _name(each) == "title")


def _in_title(element: _Element) -> bool:
    return any(_name(above) == "title" for above in element.iterancestors())


def _words(element: _Element, *, apart: bool = True) -> list[str]:
    texts = [str(text) for text in element.itertext()]
    return [" ".join(text.split()) for text in texts if text.strip()] if apart else texts


def _about(info: _Element) -> dict[str, str]:
    """Return the title, author, series and language of a book."""
    found: dict[str, str] = {}
    for element in info:
        name, said = _name(element), one_line(" ".join(_words(element)))
        if name == "book-title":
            found["title"] = said
        elif name == "author":
            found["author"] = ", ".join(filter(None, (found.get("author"), said)))
        elif name == "sequence":
            found["series"] = one_line(element.get("name") or "")
        elif name == "lang":
            found["language"] = said
    return {key: said for key, said in found.items() if said}


def _name(element: _Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
