"""What the readers of Office files and e-books share: members of bounded size, XML without entities, the
author and date, the text in charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZipFile

from lxml import etree
from lxml.etree import _Element

from rag_core.extract.building import needs_password, one_line

_MOST_BYTES = 200_000_000  # of a member
_OLE = b"\xd0\xcf\x11\xe0"  # an OLE file, in which Office puts the encrypted archive, called so:
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def refuse_encrypted(data: bytes, path: PurePosixPath) -> None:
    """Raise ExtractError for a file that needs a password."""
    if data.startswith(_OLE) and _ENCRYPTED in data:
        raise needs_password(path)


def core_properties(properties: Any) -> tuple[str, dict[str, Any]]:
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


def member(archive: ZipFile, name: str) -> bytes:
    """The bytes of a file in ``archive``. Raises ValueError if it unpacks to more than 200 MB, KeyError if it
    is not there."""
    with archive.open(name) as packed:
        data = packed.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{name} is too large")
    return data


def xml(data: bytes) -> _Element:
    """The root of an XML document; nothing is fetched and no entity is expanded. Raises ValueError."""
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from None
