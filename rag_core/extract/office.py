"""What the readers of Word and PowerPoint files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from rag_core.extract.building import needs_password, one_line
from rag_core.extract.zipped_xml import xml

if TYPE_CHECKING:
    from lxml.etree import _Element

_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # an OLE file, in which Office puts the encrypted archive
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def refuse_encrypted(data: bytes, path: PurePosixPath) -> None:
    """Raise ExtractError for a file that needs a password."""
    if data.startswith(_ENCRYPTED):
        raise needs_password(path)


def facts_of(properties: Any) -> tuple[str, dict[str, Any]]:
    """The title, and the date and author, in core properties."""
    changed = properties.modified or properties.created
    author = one_line(properties.author or "")
    return one_line(properties.title or ""), {
        "date": changed.date().isoformat() if changed else None,
        "metadata": {"author": author} if author else {},
    }


def text_of_graphic(part: bytes) -> str:
    """The text that a person sees in a chart (title, axes, names of series and categories) or in SmartArt,
    a line each. Raises ValueError."""
    return "\n".join(dict.fromkeys(filter(None, map(one_line, _words_of_graphic(xml(part))))))


def _words_of_graphic(root: _Element) -> Iterator[str]:
    names = f"{_CHART}strCache", f"{_CHART}multiLvlStrCache", f"{_CHART}strLit"
    for element in root.iter(f"{_DRAWING}p", *names):
        tag = f"{_DRAWING}t" if element.tag == f"{_DRAWING}p" else f"{_CHART}v"
        words = [each.text or "" for each in element.iter(tag)]
        yield from ["".join(words)] if tag == f"{_DRAWING}t" else words
