"""Word documents (DOCX) → their text under its headings, with tables, text boxes, notes and comments."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from docx import Document
from docx.oxml import parse_xml

from rag_core.extract import pictures
from rag_core.extract.building import Builder
from rag_core.extract.office import core_properties, refuse_encrypted, text_of_graphic
from rag_core.types import Extracted

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING = re.compile(r"(?:heading|title|überschrift|titre|título|titolo) ?(\d?)", re.I)
_BESIDE = {"footnotes": "Footnotes", "endnotes": "Endnotes", "comments": "Comments"}
_GRAPHICS = ("/chart", "/diagramData")
_CHARACTERS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The document in ``data``."""
    refuse_encrypted(data, path)
    document = Document(io.BytesIO(data))
    builder = Builder()
    _add_body(builder, document)
    _add_margins(builder, document)
    title, more = core_properties(document.core_properties)
    return builder.document("word", path.name, title or builder.opening, **more)


def _add_body(builder: Builder, document: Any) -> None:
    levels = {style.style_id: _level(style) for style in document.styles}
    for block in document.element.body.iterchildren():
        if block.tag == f"{_W}tbl":
            _add_table(builder, block)
            continue
        for paragraph in [block] if block.tag == f"{_W}p" else block.iter(f"{_W}p"):
            text = _text(paragraph)
            level = levels.get(paragraph.style or "") if hasattr(paragraph, "style") else None
            if level:
                builder.heading(level, text)
            else:
                builder.add(text)


def _level(style: Any) -> int | None:
    """The level of the headings that have this style, None for other paragraphs."""
    match = _HEADING.fullmatch(style.name or "")
    return int(match[1] or 1) if match else None


def _add_table(builder: Builder, table: Any) -> None:
    """A table, one line a row. A table inside a cell is in that cell's line."""
    rows = [row for row in table.iter(f"{_W}tr") if next(row.iterancestors(f"{_W}tbl")) is table]
    for number, row in enumerate(rows):
        inside = [cell for cell in row.iter(f"{_W}tc") if next(cell.iterancestors(f"{_W}tr")) is row]
        cells = [" ".join(_text(cell).split()) for cell in inside]
        builder.add(" | ".join(cells), gap="\n" if number else "\n\n")


def _add_margins(builder: Builder, document: Any) -> None:
    """Footnotes, endnotes, comments, the text in pictures and charts, each different header and footer."""
    for part in document.part.rels.values():
        name = part.reltype.rsplit("/", 1)[-1]
        if not part.is_external and name in _BESIDE:
            builder.begin("heading", _BESIDE[name], _BESIDE[name])
            for note in parse_xml(part.target_part.blob).iterchildren():
                builder.add(_text(note))
    builder.begin("heading", "Pictures", "Pictures")
    for part in document.part.rels.values():
        if not part.is_external and part.reltype.endswith("/image"):
            builder.add_seen(pictures.text_of(part.target_part.blob))
    builder.begin("heading", "Charts", "Charts")
    for part in document.part.rels.values():
        if not part.is_external and part.reltype.endswith(_GRAPHICS):
            with suppress(ValueError):  # it is damaged
                builder.add(text_of_graphic(part.target_part.blob))
    margins = dict.fromkeys(
        _text(paragraph)
        for section in document.sections
        for margin in (section.header, section.footer)
        for paragraph in margin._element.iter(f"{_W}p")
    )
    builder.begin("text", "")
    for text in margins:
        builder.add(text)


def _text(element: Any) -> str:
    """The text of an element, text boxes included, a line for each paragraph."""
    return "".join(_characters(element)).strip()


def _characters(element: Any) -> Iterator[str]:
    for child in element.iterchildren():
        if child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        elif child.tag not in (_FALLBACK, f"{_W}del"):  # a text box is there twice; deleted text is not seen
            yield from _characters(child)
            if child.tag == f"{_W}p":
                yield "\n"
