"""E-books (EPUB) → the text of each chapter."""

from __future__ import annotations

import io
import posixpath
from pathlib import PurePosixPath
from urllib.parse import unquote
from zipfile import ZipFile

from rag_core.extract import webpage
from rag_core.extract.building import Builder, one_line
from rag_core.extract.office import member, xml
from rag_core.types import Extracted

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The book in ``data``."""
    builder = Builder()
    with ZipFile(io.BytesIO(data)) as archive:
        container = xml(member(archive, "META-INF/container.xml"))
        place = next(container.iter(f"{_CONTAINER}rootfile")).attrib["full-path"]
        book = xml(member(archive, place))
        files = {item.get("id"): item.get("href", "") for item in book.iter(f"{_OPF}item")}
        for number, chapter in enumerate(book.iter(f"{_OPF}itemref"), 1):
            file = unquote(files[chapter.get("idref")].partition("#")[0])
            data = member(archive, posixpath.normpath(posixpath.join(posixpath.dirname(place), file)))
            page = webpage.visible_page(data.decode("utf-8", "replace"))
            builder.begin("chapter", page.first_heading or page.title or number)
            page.add_to(builder)
    author = one_line(book.findtext(f".//{_DC}creator") or "")
    return builder.document(
        "ebook",
        path.name,
        book.findtext(f".//{_DC}title") or "",
        metadata={"author": author} if author else {},
    )
