"""PowerPoint presentations (PPTX) → the text of each slide, with its tables and notes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from pptx import Presentation
from pptx.shapes.graphfrm import GraphicFrame
from pptx.shapes.picture import Picture

from rag_core.extract import pictures
from rag_core.extract.building import Builder, one_line
from rag_core.extract.office import core_properties, refuse_encrypted, text_of_graphic
from rag_core.types import Extracted

_RELATED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_GRAPHICS = (
    "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart",
    "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds",
)
_OF_NOTHING = re.compile(
    r"((powerpoint |pptx? )?presentation|präsentation|slide|folie|diapositiv[ae])?( ?\d+)?", re.I
)
"""Titles that programs give."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The presentation in ``data``."""
    refuse_encrypted(data, path)
    presentation = Presentation(io.BytesIO(data))
    builder, first = Builder(), ""
    for number, slide in enumerate(presentation.slides, 1):
        shape = slide.shapes.title
        title = one_line(shape.text_frame.text) if shape is not None else ""
        first = first or title
        builder.begin("slide", number, title)
        for text in _texts(slide.shapes):
            builder.add_seen(text)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            builder.add(slide.notes_slide.notes_text_frame.text)
    title, more = core_properties(presentation.core_properties)
    if _OF_NOTHING.fullmatch(title):
        title = first
    return builder.document("slides", path.name, title, **more)


def _texts(shapes: Iterable[Any]) -> Iterator[str]:
    """The text of shapes as they are read: from top to bottom, then from left to right."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif getattr(shape, "has_table", False):
            rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in shape.table.rows]
            yield "\n".join(rows)
        elif isinstance(shape, GraphicFrame):
            yield from _texts_of_graphics(shape)
        elif isinstance(shape, Picture):
            with suppress(ValueError, KeyError, AttributeError):  # a linked one is not in the file
                yield pictures.text_of(shape.image.blob)
        elif shape.has_text_frame:
            yield shape.text_frame.text


def _texts_of_graphics(frame: GraphicFrame) -> Iterator[str]:
    """The text of the chart or the SmartArt in a frame."""
    for element in frame.element.iter():
        name = element.get(f"{_RELATED}id") or element.get(f"{_RELATED}dm")
        if name and element.tag in _GRAPHICS:
            with suppress(ValueError, KeyError):  # it is damaged, or not in the file
                yield text_of_graphic(frame.part.related_part(name).blob)
