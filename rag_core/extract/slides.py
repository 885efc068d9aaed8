"""PowerPoint presentations (PPTX) → the text of each slide, with its tables and notes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from pptx import Presentation
from pptx.shapes.picture import Picture

from rag_core.extract import pictures
from rag_core.extract.building import Builder, TooLong, one_line
from rag_core.extract.office import facts_of, refuse_encrypted
from rag_core.types import Extracted

_OF_NOTHING = re.compile(
    r"((powerpoint |pptx? )?presentation|präsentation|slide|folie|diapositiv[ae])?( ?\d+)?", re.I
)
"""Titles that programs give."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The presentation in ``data``."""
    refuse_encrypted(data, path)
    presentation = Presentation(io.BytesIO(data))
    builder, warnings = Builder(), tuple[str, ...]()
    first = ""
    try:
        for number, slide in enumerate(presentation.slides, 1):
            shape = slide.shapes.title
            title = one_line(shape.text_frame.text) if shape is not None else ""
            first = first or title
            builder.begin("slide", number, title)
            for text in _texts(slide.shapes):
                builder.add(text)
            if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
                builder.add(slide.notes_slide.notes_text_frame.text)
    except TooLong:
        warnings = ("Only its first slides are read: it is too long.",)
    title, more = facts_of(presentation.core_properties)
    if _OF_NOTHING.fullmatch(title):
        title = first
    return builder.document("slides", path.name, title, warnings=warnings, **more)


def _texts(shapes: Iterable[Any]) -> Iterator[str]:
    """The text of shapes as they are read: from top to bottom, then from left to right."""
    for shape in sorted(shapes, key=lambda each: (each.top or 0, each.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif getattr(shape, "has_table", False):
            rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in shape.table.rows]
            yield "\n".join(rows)
        elif getattr(shape, "has_chart", False):
            with suppress(ValueError, KeyError, AttributeError):  # of a kind that python-pptx does not know
                yield "\n".join(_chart(shape.chart))
        elif isinstance(shape, Picture):
            with suppress(ValueError, KeyError, AttributeError):  # a linked one is not in the file
                yield pictures.text_of(shape.image.blob)
        elif shape.has_text_frame:
            yield shape.text_frame.text


def _chart(chart: Any) -> Iterator[str]:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield chart.chart_title.text_frame.text
    for plot in chart.plots:
        yield " | ".join(str(category) for category in plot.categories)
        yield from (str(series.name) for series in plot.series)
