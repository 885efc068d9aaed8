"""OpenDocument texts and presentations (ODT, ODP) → their text under its headings, or slide by slide."""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from zipfile import ZipFile

from lxml.etree import _Element

from rag_core.extract.building import Builder, needs_password, one_line
from rag_core.extract.office import member, xml
from rag_core.types import Extracted

_NAMESPACES = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
_TEXT, _TABLE, _DRAW, _OFFICE, _META, _PRESENTATION = (
    "{" + _NAMESPACES.format(name) + "}"
    for name in ("text", "table", "drawing", "office", "meta", "presentation")
)
_NOTES = f"{_TEXT}note", f"{_OFFICE}annotation"
_DC = "{http://purl.org/dc/elements/1.1/}"


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The document in ``data``. Raises ExtractError where it needs a password."""
    builder = Builder()
    with ZipFile(io.BytesIO(data)) as archive:
        if b"encryption-data" in member(archive, "META-INF/manifest.xml"):
            raise needs_password(path)
        content = xml(member(archive, "content.xml"))
        facts = xml(member(archive, "meta.xml")) if "meta.xml" in archive.namelist() else content
    _write_spaces(content)
    is_slides = path.suffix.lower() == ".odp"
    if is_slides:
        for number, page in enumerate(content.iter(f"{_DRAW}page"), 1):
            builder.begin("slide", number)
            _add(builder, page)
    else:
        body = content.find(f".//{_OFFICE}text")
        _add(builder, content if body is None else body)
    author = one_line(facts.findtext(f".//{_DC}creator") or "")
    made = (facts.findtext(f".//{_META}creation-date") or "")[:10]
    return builder.document(
        "slides" if is_slides else "word",
        path.name,
        facts.findtext(f".//{_DC}title") or ("" if is_slides else builder.opening),
        date=made if len(made) == 10 else None,
        metadata={"author": author} if author else {},
    )


def _write_spaces(content: _Element) -> None:
    """Write spaces, tabs and line breaks as text, part notes from words, and leave out what was deleted."""
    for deleted in [*content.iter(f"{_TEXT}tracked-changes")]:
        deleted.getparent().remove(deleted)
    for note in content.iter(*_NOTES):
        note.text = f" {note.text or ''}"  # it would run into the word before it
        note.tail = f" {note.tail or ''}"
    for spaces in content.iter(f"{_TEXT}s"):
        spaces.text = " " * min(100, int(spaces.get(f"{_TEXT}c", "1")))
    for mark in content.iter(f"{_TEXT}tab", f"{_TEXT}line-break"):
        mark.text = "\t" if mark.tag == f"{_TEXT}tab" else "\n"


def _add(builder: Builder, root: _Element) -> None:
    """Add the paragraphs, headings and tables below ``root`` in order."""
    in_table: set[_Element] = set()
    for element in root.iter():
        if element in in_table:
            continue
        if element.tag == f"{_TABLE}table-row":
            cells = [
                " ".join("".join(cell.itertext()).split())
                for cell in element.iterchildren(f"{_TABLE}table-cell")
            ]
            builder.add(" | ".join(cells), gap="\n")
            in_table.update(element.iter())
        elif element.tag == f"{_TEXT}h":
            builder.heading(int(element.get(f"{_TEXT}outline-level", "1")), "".join(element.itertext()))
        elif element.tag == f"{_TEXT}p" and not any(each.tag in _NOTES for each in element.iterancestors()):
            builder.add("".join(element.itertext()))  # with the notes in it
