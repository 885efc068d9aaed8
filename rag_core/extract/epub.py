"""E-books (EPUB) → the text of each chapter."""

from __future__ import annotations

import io
import posixpath
from pathlib import PurePosixPath
from urllib.parse import unquote
from zipfile import ZipFile

from lxml.etree import _Element

from rag_core.extract import encoding, webpage
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.extract.office import BROKEN, member, salvaged, xml
from rag_core.types import Extracted


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the book in ``data``. A chapter that cannot be read is named in a warning. Raises ExtractError
    if no chapter can be read."""
    builder = Builder()
    warnings: list[str] = []
    readings: dict[str, None] = {}
    lost = 0
    with ZipFile(io.BytesIO(data)) as archive:
        place = _place(archive)
        book = salvaged(member(archive, place), place, warnings)
        chapters = _chapters(book)
        for number, file in enumerate(chapters, 1):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(place), file))
            try:
                page = webpage.visible_page(encoding.decode(member(archive, name), "html").text)
            except BROKEN:
                lost += 1
                warnings.append(f"Chapter {number} ({one_line(file)!r}) is missing or damaged.")
                continue
            builder.begin("chapter", page.first_heading or page.title or number)
            page.add_to(builder)
            readings.update(dict.fromkeys(page.readings))
    builder.add_lines("Readings", readings)
    if warnings and lost == len(chapters):
        raise damaged(path, data)
    author = _authors(book)
    return builder.document(
        "ebook",
        path.name,
        book.findtext(".//{*}title") or "",
        warnings=warnings,
        metadata={"author": author} if author else {},
    )


def _authors(book: _Element) -> str:
    """Return the authors of a book, or '' if none are named."""
    creators = (one_line(creator.text or "") for creator in book.iter("{*}creator"))
    return ", ".join(dict.fromkeys(filter(None, creators)))


def _chapters(book: _Element) -> list[str]:
    """Return the files of the chapters in the order of the book's list of chapters."""
    files = {item.get("id"): item.get("href", "") for item in book.iter("{*}item")}
    references = [chapter.get("idref") for chapter in book.iter("{*}itemref")]
    return [unquote(files.get(reference, "").partition("#")[0]) for reference in references]


def _place(archive: ZipFile) -> str:
    """Return the name of the file that lists the chapters. Raises KeyError."""
    try:
        container = xml(member(archive, "META-INF/container.xml"))
        place: str = next(container.iter("{*}rootfile")).attrib["full-path"]
    except (*BROKEN, StopIteration):
        place = next((name for name in archive.namelist() if name.endswith(".opf")), "")
    return place
