"""PowerPoint presentations (PPTX) → the text of each slide, with its tables, charts, alternative texts,
links, comments and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from lxml.etree import _Element
from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import InvalidXmlError
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.picture import Picture

from rag_core.extract import equations, pictures
from rag_core.extract.building import Builder, one_line
from rag_core.extract.office import (
    BROKEN,
    core_properties,
    local_name,
    opened_package,
    refuse_encrypted,
    text_of_graphic,
    xml,
)
from rag_core.types import Extracted

_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_GRAPHICS = frozenset({"chart", "relIds"})
_OF_NOTHING = re.compile(
    r"((powerpoint |pptx? )?presentation|präsentation|slide|folie|diapositiv[ae])?( ?\d+)?", re.I
)
"""Titles that programs give by default."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the presentation in ``data``. A slide or chart that cannot be read is named in a warning."""
    refuse_encrypted(data, path)
    presentation, warnings = opened_package(data, Presentation)
    builder, first = Builder(), ""
    authors = _authors(presentation, warnings)
    entries = presentation.element.sldIdLst
    for number, entry in enumerate(() if entries is None else entries, 1):
        try:
            slide = presentation.part.related_slide(entry.rId)
            title = _title(slide)
            builder.begin("slide", number, title)
            _add_slide(builder, slide, authors, warnings)
        except (*BROKEN, AttributeError, TypeError):
            warnings.append(f"Slide {number} is missing or damaged.")
            continue
        first = first or title
    title, more = core_properties(presentation, warnings)
    if _OF_NOTHING.fullmatch(title):
        title = first
    return builder.document("slides", path.name, title, warnings=warnings, **more)


def _title(slide: Any) -> str:
    shape = slide.shapes.title
    return one_line(shape.text_frame.text) if shape is not None else ""


def _add_slide(builder: Builder, slide: Any, authors: dict[str, str], warnings: list[str]) -> None:
    """Add a slide: its content, then everything that belongs to it. ``authors`` wrote its comments."""
    for text in _texts(slide.shapes, warnings):
        builder.add_seen(text)
    for choice in slide.element.iter(
        "{*}Choice"
    ):  # content that older programs do not show, such as equations
        for paragraph in choice.iter("{*}p"):
            builder.add(_paragraph(paragraph), gap="\n")
    builder.add("\n".join(dict.fromkeys((*_alternatives(slide.element), *_links(slide)))))
    if slide.has_notes_slide:
        builder.add("\n".join(_notes(slide.notes_slide, warnings)))
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/comments"):
            builder.add("\n".join(_comments(relation.target_part, authors, warnings)))


def _texts(shapes: Iterable[Any], warnings: list[str]) -> Iterator[str]:
    """Yield the text of shapes in reading order: from top to bottom, then from left to right."""
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes, warnings)
        elif getattr(shape, "has_table", False):
            yield "\n".join(" | ".join(_cell(cell) for cell in row.cells) for row in shape.table.rows)
        elif isinstance(shape, GraphicFrame):
            yield from _texts_of_graphics(shape, warnings)
        elif isinstance(shape, Picture):
            try:
                yield pictures.text_of(shape.image.blob, shape.name, warnings)
            except InvalidXmlError:
                warnings.append(f"The picture {shape.name!r} is damaged.")
            except (ValueError, KeyError, AttributeError):  # a linked picture is not in the file
                continue
        elif shape.has_text_frame:
            yield _text(shape.text_frame._txBody)


def _notes(page: Any, warnings: list[str]) -> Iterator[str]:
    """The notes of a slide, then what else stands on their page, its header and its footer."""
    if page.notes_text_frame is not None:
        yield _text(page.notes_text_frame._txBody)
    yield from _texts((shape for shape in page.shapes if not shape.is_placeholder), warnings)
    for placeholder in page.placeholders:
        if placeholder.placeholder_format.type in (PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.FOOTER):
            yield _text(placeholder.text_frame._txBody)


def _cell(cell: Any) -> str:
    """Return the text of a cell in one line. A merged cell has it only once."""
    return "" if cell.is_spanned else " ".join(_text(cell._tc).split())


def _text(element: _Element) -> str:
    return "\n".join(_paragraph(paragraph) for paragraph in element.iter("{*}p"))


def _paragraph(paragraph: _Element) -> str:
    """Return the text of a paragraph with its equations."""
    pieces: list[str] = []
    for child in paragraph.iterchildren():
        match local_name(child):
            case "br":
                pieces.append("\n")
            case "m" | "oMath" | "oMathPara":
                pieces.append(f" {equations.linear(child)} ")
            case "t":
                pieces.append(child.text or "")
            case "r" | "fld" | "AlternateContent" | "Choice":
                pieces.append(_paragraph(child))
    return "".join(pieces)


def _texts_of_graphics(frame: GraphicFrame, warnings: list[str]) -> Iterator[str]:
    """Yield the text of the chart or SmartArt in a frame."""
    for element in frame.element.iter():
        name = element.get(f"{_RELATED}id") or element.get(f"{_RELATED}dm")
        if name and local_name(element) in _GRAPHICS:
            try:
                yield text_of_graphic(frame.part.related_part(name).blob)
            except BROKEN:
                warnings.append(f"The graphic {frame.name!r} is missing or damaged.")


def _alternatives(slide: _Element) -> Iterator[str]:
    """Yield the alternative texts of pictures and charts."""
    for properties in slide.iter("{*}cNvPr"):
        yield from filter(None, (one_line(properties.get(name, ""), 2000) for name in ("title", "descr")))


def _links(slide: Any) -> Iterator[str]:
    """Yield a line for each link whose text is not its address."""
    for link in slide.element.iter("{*}hlinkClick"):
        name = link.get(f"{_RELATED}id")
        relation = slide.part.rels.get(name)
        address = relation.target_ref if relation is not None and relation.is_external else ""
        run = next(link.iterancestors("{*}r"), None)
        text = one_line("".join(run.itertext("{*}t"))) if run is not None else ""
        if address and address.removeprefix("mailto:").rstrip("/") not in text:
            yield f"{text}: {address}" if text else address


def _authors(presentation: Any, warnings: list[str]) -> dict[str, str]:
    """Return the names of the authors of comments by id."""
    authors: dict[str, str] = {}
    for relation in presentation.part.rels.values():
        if relation.is_external or not relation.reltype.endswith(("/commentAuthors", "/authors")):
            continue
        try:
            for author in xml(relation.target_part.blob).iter("{*}cmAuthor", "{*}author"):
                authors[author.get("id", "")] = one_line(author.get("name", ""))
        except BROKEN:
            warnings.append(f"{relation.target_part.partname.lstrip('/')!r} is damaged.")
    return authors


def _comments(part: Any, authors: dict[str, str], warnings: list[str]) -> Iterator[str]:
    """Yield the comments on a slide with their authors, old and new ones."""
    try:
        comments = xml(part.blob)
    except BROKEN:
        warnings.append(f"{part.partname.lstrip('/')!r} is damaged.")
        return
    for element in comments.iter("{*}text", "{*}p"):
        by = next((above for above in element.iterancestors() if above.get("authorId")), None)
        author = "" if by is None else authors.get(by.get("authorId", ""), "")
        text = one_line("".join(element.itertext()), 2000)
        yield f"{author}: {text}" if author and text else text
