"""E-books (EPUB) → the text of each chapter."""

from __future__ import annotations

import io
import posixpath
import zlib
from pathlib import PurePosixPath
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from rag_core.extract import encoding, webpage
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.extract.office import member, xml
from rag_core.types import Extracted

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The book in ``data``; a chapter that cannot be read is named in a warning. Raises ExtractError where
    none can."""
    builder = Builder()
    warnings: list[str] = []
    readings: dict[str, None] = {}
    with ZipFile(io.BytesIO(data)) as archive:
        container = xml(member(archive, "META-INF/container.xml"))
        place = next(container.iter(f"{_CONTAINER}rootfile")).attrib["full-path"]
        book = xml(member(archive, place))
        files = {item.get("id"): item.get("href", "") for item in book.iter(f"{_OPF}item")}
        chapters = list(book.iter(f"{_OPF}itemref"))
        for number, chapter in enumerate(chapters, 1):
            file = unquote(files.get(chapter.get("idref"), "").partition("#")[0])
            name = posixpath.normpath(posixpath.join(posixpath.dirname(place), file))
            try:
                page = webpage.visible_page(encoding.decode(member(archive, name), "html").text)
            except (KeyError, ValueError, BadZipFile, zlib.error):
                warnings.append(f"Chapter {number} ({one_line(file)!r}) is missing or damaged.")
                continue
            builder.begin("chapter", page.first_heading or page.title or number)
            page.add_to(builder)
            readings.update(dict.fromkeys(page.readings))
    builder.add_lines("Readings", readings)
    if warnings and len(warnings) == len(chapters):
        raise damaged(path, data)
    author = one_line(book.findtext(f".//{_DC}creator") or "")
    return builder.document(
        "ebook",
        path.name,
        book.findtext(f".//{_DC}title") or "",
        warnings=warnings,
        metadata={"author": author} if author else {},
    )
