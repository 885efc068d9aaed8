"""Draws a small picture of a place in a file: a page of a PDF, a picture, or a picture on a slide. Runs in
the worker."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from PIL import Image, ImageOps

from rag_core.errors import NotText
from rag_core.extract import pictures
from rag_core.extract.filetypes import READER_MODULES

BYTES_A_PIXEL = 100
"""Maximum number of bytes for each pixel of the longer side. A picture of 400 pixels takes at most 40,000
bytes."""

_QUALITIES = (80, 60, 40, 20)
_SHARPNESS = 2  # a page is drawn larger than shown by this factor


def render_place(data: bytes, path: PurePosixPath, place: str, side: int) -> bytes:
    """Return ``place`` as WebP whose longer side is at most ``side`` pixels. A place is an anchor such as
    ``page 3``, or '' for the first page. Raises NotText if there is no picture."""
    kind, _, number = (place or "page 1").partition(" ")
    picture = None
    match READER_MODULES.get(path.suffix.lower()), kind:
        case "pdf", "page":
            picture = _page(data, int(number), side)
        case "pictures", "page":
            picture = _frame(data, path, int(number), side)
        case "slides", "slide":
            picture = _on_slide(data, int(number))
    if picture is None:
        raise NotText(f"{path.name!r} has no picture of {place or 'a page'}.", "Open the file itself.")
    return _packed(picture, side)


def _page(data: bytes, number: int, side: int) -> Image.Image | None:
    from pypdfium2 import PdfDocument

    with PdfDocument(data) as pdf:
        if not 0 < number <= len(pdf):
            return None
        page = pdf[number - 1]
        drawn: Image.Image = page.render(scale=_SHARPNESS * side / max(page.get_size())).to_pil()
        return drawn


def _frame(data: bytes, path: PurePosixPath, number: int, side: int) -> Image.Image | None:
    with Image.open(io.BytesIO(data), formats=pictures.formats(path)) as picture:
        if not 0 < number <= getattr(picture, "n_frames", 1):
            return None
        picture.seek(number - 1)
        picture.draft("RGB", (_SHARPNESS * side, _SHARPNESS * side))  # a JPEG is decoded at this size
        return ImageOps.exif_transpose(picture)


def _on_slide(data: bytes, number: int) -> Image.Image | None:
    """Return the largest picture on a slide, or None."""
    from pptx import Presentation

    slides = Presentation(io.BytesIO(data)).slides
    if not 0 < number <= len(slides):
        return None
    found = sorted(_pictures(slides[number - 1].shapes), key=lambda each: each.width * each.height)
    if not found:
        return None
    with Image.open(io.BytesIO(found[-1].image.blob), formats=pictures.FORMATS) as picture:
        picture.load()
        return picture


def _pictures(shapes: Any) -> Iterator[Any]:
    from pptx.shapes.picture import Picture

    for shape in shapes:
        if isinstance(shape, Picture):
            yield shape
        elif hasattr(shape, "shapes"):
            yield from _pictures(shape.shapes)


def _packed(picture: Image.Image, side: int) -> bytes:
    """Return ``picture`` on white, compressed as far as necessary."""
    if picture.has_transparency_data:
        with_holes = picture.convert("RGBA")
        picture = Image.new("RGB", picture.size, "white")
        picture.paste(with_holes, mask=with_holes)
    picture = picture.convert("RGB")
    while True:
        picture.thumbnail((side, side))
        for quality in _QUALITIES:
            packed = io.BytesIO()
            picture.save(packed, "WEBP", quality=quality)
            if packed.tell() <= BYTES_A_PIXEL * side:
                return packed.getvalue()
        picture = picture.reduce(2)  # the picture is almost only noise
