"""What the readers of Office files and e-books share: members of bounded size, XML without entities, the
author and date, the text in drawings and charts."""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree
from lxml.etree import _Element

from rag_core.extract.building import needs_password, one_line

_MOST_BYTES = 200_000_000  # of a member
_OLE = b"\xd0\xcf\x11\xe0"  # an OLE file, in which Office puts the encrypted archive, called so:
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_CACHES = ("{*}tx", "{*}strCache", "{*}multiLvlStrCache", "{*}strLit", "{*}txData")
"""Where a chart keeps the names of its series and categories."""

BROKEN = (KeyError, ValueError, BadZipFile, zlib.error, EOFError, OSError, RuntimeError, etree.XMLSyntaxError)
"""What reading a missing or damaged part of an archive raises."""


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
    """The text that a person sees in a drawing: in its text boxes, in a chart (title, axes, names of series
    and categories) or in SmartArt, and the alternative texts of pictures, a line each. Raises ValueError."""
    return "\n".join(dict.fromkeys(filter(None, map(one_line, _words_of_graphic(xml(part))))))


def _words_of_graphic(root: _Element) -> Iterator[str]:
    for element in root.iter("{*}p", "{*}cNvPr", *_CACHES):
        if next(element.iterancestors("{*}Fallback"), None) is not None:  # the same for older programs
            continue
        match local_name(element):
            case "p":
                yield "".join(_pieces_of_paragraph(element))
            case "cNvPr":
                yield from (element.get("title") or "", element.get("descr") or "")
            case _:
                yield from (value.text or "" for value in element.iter("{*}v"))


def _pieces_of_paragraph(paragraph: _Element) -> Iterator[str]:
    """The text of a paragraph of a drawing, with its equations."""
    for element in paragraph.iter("{*}t", "{*}br"):
        yield " " if local_name(element) == "br" else element.text or ""


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part of a file in Open XML says of another part, or of an address."""

    kind: str  #: The last word of its type, such as ``comments``, the same in both namespaces of Open XML.
    target: str  #: The name of the part in the archive, or the address.
    is_external: bool  #: Whether the target is an address.


def relations(archive: ZipFile, part: str) -> dict[str, Relation]:
    """The relations of a part by their ids; none if it has none. '' is the file itself. Raises ValueError."""
    folder, name = posixpath.split(part)
    try:
        root = xml(member(archive, posixpath.join(folder, "_rels", f"{name}.rels")))
    except KeyError:
        return {}
    found = {}
    for element in root.iter("{*}Relationship"):
        is_external = element.get("TargetMode") == "External"
        target = element.get("Target") or ""
        if not is_external:
            target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
        kind = (element.get("Type") or "").rsplit("/", 1)[-1]
        found[element.get("Id") or ""] = Relation(kind, target, is_external)
    return found


def main_part(archive: ZipFile, usual: str) -> str:
    """The name of the part with the document itself, ``usual`` if the file names none. Raises ValueError."""
    named = (each.target for each in relations(archive, "").values() if each.kind == "officeDocument")
    return next(named, usual)


def local_name(element: _Element | None) -> str:
    """The name of an element without its namespace; '' for None, comments and instructions."""
    tag = None if element is None else element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


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
