"""Shared code of the readers of Office files and e-books: members of limited size, XML without entities,
author and date, and the text in drawings and charts."""

from __future__ import annotations

import io
import posixpath
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from lxml import etree
from lxml.etree import _Element

from rag_core.extract.building import needs_password, one_line
from rag_core.extract.chart_labels import shown_numbers

_MOST_BYTES = 200_000_000  # maximum size of a member
_OLE = b"\xd0\xcf\x11\xe0"  # an OLE file, in which Office puts the encrypted archive, called so:
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_CACHES = ("{*}tx", "{*}strCache", "{*}multiLvlStrCache", "{*}strLit", "{*}txData")
"""Elements in which a chart stores the names of its series and categories."""

BROKEN = (KeyError, ValueError, BadZipFile, zlib.error, EOFError, OSError, RuntimeError, etree.XMLSyntaxError)
"""Errors that are raised by reading a missing or damaged part of an archive."""


def refuse_encrypted(data: bytes, path: PurePosixPath) -> None:
    """Raise ExtractError for a file that needs a password."""
    if data.startswith(_OLE) and _ENCRYPTED in data:
        raise needs_password(path)


def is_encrypted(archive: ZipFile) -> bool:
    """Whether a file of OpenDocument needs a password."""
    try:
        return b"encryption-data" in member(archive, "META-INF/manifest.xml")
    except BROKEN:
        return False


def core_properties(document: Any, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the title ('' if there is none), then ``date`` and ``metadata`` as fields of `Extracted`, from
    the properties of a document. If they are damaged, they are left out and a warning is added."""
    try:
        return _core_properties(document.core_properties)
    except (AttributeError, ValueError, TypeError):  # not the element that the library expects
        warnings.append("Its title, date and author are damaged.")
        return "", {}


def _core_properties(properties: Any) -> tuple[str, dict[str, Any]]:
    changed = properties.modified or properties.created
    author = one_line(properties.author or "")
    return one_line(properties.title or ""), {
        "date": changed.date().isoformat() if changed else None,
        "metadata": {"author": author} if author else {},
    }


def text_of_graphic(part: bytes) -> str:
    """Return the visible text of a drawing, one line for each piece. It is in text boxes, charts (title,
    axes, names and numbers that are shown), SmartArt and alternative texts of pictures. Raises ValueError if
    ``part`` is not XML."""
    root = xml(part)
    lines = (*_words_of_graphic(root), *shown_numbers(root))
    return "\n".join(dict.fromkeys(filter(None, map(one_line, lines))))


def _words_of_graphic(root: _Element) -> Iterator[str]:
    for element in root.iter("{*}p", "{*}cNvPr", *_CACHES):
        if next(element.iterancestors("{*}Fallback"), None) is not None:  # a copy for older programs
            continue
        match local_name(element):
            case "p":
                yield "".join(_pieces_of_paragraph(element))
            case "cNvPr":
                yield from (element.get("title") or "", element.get("descr") or "")
            case _:
                yield from (value.text or "" for value in element.iter("{*}v"))


def _pieces_of_paragraph(paragraph: _Element) -> Iterator[str]:
    """Yield the text of a paragraph of a drawing, with its equations."""
    for element in paragraph.iter("{*}t", "{*}br"):
        yield " " if local_name(element) == "br" else element.text or ""


def opened_package(data: bytes, open_document: Callable[[Any], Any]) -> tuple[Any, list[str]]:
    """Open an Open XML file with ``open_document``, a function of the library for its format. The library
    knows only the usual kinds and namespaces, and gives up at any damaged part. So the file is mended first
    if necessary.

    Returns the document, then a sentence for each part that had to be left out. Raises the library's errors
    if the document itself is damaged.
    """
    with ZipFile(io.BytesIO(data)) as archive:
        is_strict = _STRICT.search(member(archive, "_rels/.rels")) is not None
    if not is_strict:
        with suppress(Exception):  # the parser may raise anything
            return open_document(io.BytesIO(data)), []
    mended, warnings = _mended(data)
    return open_document(io.BytesIO(mended)), warnings


_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")


_FORMATS = b"application/vnd.openxmlformats-officedocument."
_KINDS = {
    re.compile(
        rb"application/vnd\.ms-word\.(?:document|template)\.macroEnabled(?:Template)?\.main\+xml"
        rb"|application/vnd\.openxmlformats-officedocument\.wordprocessingml\.template\.main\+xml"
    ): _FORMATS + b"wordprocessingml.document.main+xml",
    re.compile(
        rb"application/vnd\.ms-powerpoint\.(?:slideshow|template)\.macroEnabled\.main\+xml"
        rb"|application/vnd\.openxmlformats-officedocument\.presentationml\.(?:slideshow|template)\.main\+xml"
    ): _FORMATS + b"presentationml.presentation.main+xml",
}
"""Kind of a file with macros, a template or a slide show → the kind that its library opens. All are built
alike."""


def _mended(data: bytes) -> tuple[bytes, list[str]]:
    """Return an Open XML file with transitional namespaces and without its damaged parts, then a sentence for
    each of these parts."""
    parts: dict[str, bytes] = {}
    warnings: list[str] = []
    with ZipFile(io.BytesIO(data)) as archive:
        for name in dict.fromkeys(archive.namelist()):
            try:
                part = member(archive, name)
                if name.endswith((".xml", ".rels")):
                    part = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", part)
                    for kind, usual in _KINDS.items():
                        part = kind.sub(usual, part) if name == "[Content_Types].xml" else part
                    part = _written(salvaged(part, name, warnings))
                parts[name] = part
            except BROKEN:
                warnings.append(f"{name!r} is damaged.")
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name, part in parts.items():
            archive.writestr(name, _without_lost(name, part, parts) if name.endswith(".rels") else part)
    return packed.getvalue(), warnings


def _without_lost(name: str, relations: bytes, parts: Collection[str]) -> bytes:
    """Return the relations of a part without those to missing parts."""
    root = xml(relations)
    folder = posixpath.dirname(posixpath.dirname(name))
    for element in [*root.iter("{*}Relationship")]:
        target = posixpath.normpath(posixpath.join("/", folder, unquote(element.get("Target") or "")))
        above = element.getparent()
        if element.get("TargetMode") != "External" and target.lstrip("/") not in parts and above is not None:
            above.remove(element)
    return _written(root)


def _written(root: _Element) -> bytes:
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return written


@dataclass(frozen=True, slots=True)
class Relation:
    """A reference from a part of an Open XML file to another part or an address."""

    #: Last word of its type, such as ``comments``, which is the same in both namespaces of Open XML.
    kind: str
    target: str  #: Name of the part in the archive, or the address.
    is_external: bool  #: Whether the target is an address.


def relations(archive: ZipFile, part: str) -> dict[str, Relation]:
    """Return the references from a part to other parts, by id, or {} if it has none. The part '' is the file
    itself. Raises ValueError if the list of references is not XML."""
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
    """Return the name of the part with the document itself, or ``usual`` if the file names none. Raises
    ValueError if the list of the file's parts is not XML."""
    named = (each.target for each in relations(archive, "").values() if each.kind == "officeDocument")
    return next(named, usual)


def local_name(element: _Element | None) -> str:
    """Return the name of an element without its namespace, or '' for None, comments and instructions."""
    tag = None if element is None else element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def member(archive: ZipFile, name: str) -> bytes:
    """Return the bytes of a file in ``archive``. Raises ValueError if it unpacks to more than 200 MB, and
    KeyError if it is missing."""
    try:
        info = archive.getinfo(name)
    except KeyError:  # retry without case
        same = [each for each in archive.infolist() if each.filename.lower() == name.lower()]
        if not same:
            raise
        info = same[0]
    with archive.open(info) as packed:
        data = packed.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"{name} is too large")
    return data


def xml(data: bytes) -> _Element:
    """Return the root of an XML document. Nothing is fetched and no entity is expanded. Raises ValueError if
    ``data`` is not well-formed."""
    try:
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise ValueError(str(error)) from None


def salvaged(data: bytes, name: str, warnings: list[str]) -> _Element:
    """Return the root of an XML document. If the document is damaged, the readable part is returned, and a
    warning with its ``name`` is added. Raises ValueError if nothing can be read."""
    try:
        return xml(data)
    except ValueError:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        root: _Element | None = etree.fromstring(data, parser)
        if root is None or not len(root):
            raise
        warnings.append(f"{name!r} is damaged; some of it may be missing.")
        return root
