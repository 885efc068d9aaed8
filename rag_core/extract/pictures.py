"""Pictures (PNG, JPEG, WebP, GIF, TIFF, BMP, HEIC) → the text in them."""

from __future__ import annotations

import hashlib
import io
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import PurePosixPath

from PIL import Image, ImageOps, ImageSequence

from rag_core.extract import glance, ocr
from rag_core.extract.building import Builder
from rag_core.types import Extracted

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
"""Formats, as Pillow names them, that are opened. For other formats Pillow might start other programs."""
NO_TEXT = "No text was found in this picture."
_MOST_PAGES = 500  # maximum pages of a TIFF; of an animation only the first picture is read
_FURTHER_PAGES = "Only its first {:,} pages are read."


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the text in a picture, page by page for a TIFF."""
    builder = Builder()
    with Image.open(io.BytesIO(data), formats=formats(path)) as picture:
        is_paged, warnings = picture.format == "TIFF", []
        frames = ImageSequence.Iterator(picture)
        for number, frame in enumerate(islice(frames, _MOST_PAGES + 1 if is_paged else 1), 1):
            if number > _MOST_PAGES:
                warnings.append(_FURTHER_PAGES.format(_MOST_PAGES))
                break
            builder.begin("page", number)
            preview = partial(_preview, data, formats(path)) if not is_paged else None
            draw = partial(_upright, frame)
            builder.add_seen(ocr.reader.text(f"page {number}", draw, is_page=True, preview=preview))
        size = {"width": picture.width, "height": picture.height}
        found = builder.document("picture", path.name, warnings=warnings, metadata=size)
        says_why = found.warnings or ocr.reader.left or ocr.reader.notes
        if found.text or says_why:
            return found
        return replace(found, warnings=(NO_TEXT,))


def _preview(data: bytes, formats: tuple[str, ...]) -> Image.Image:
    """Return a copy of a picture to check for text. A JPEG of a large photo is decoded at a smaller size."""
    with Image.open(io.BytesIO(data), formats=formats) as picture:
        by = glance.factor(picture.size)
        picture.draft("L", (picture.width // by, picture.height // by))
        return picture.copy()


def _upright(frame: Image.Image) -> Image.Image:
    """Return a picture rotated as its camera was held."""
    return ImageOps.exif_transpose(frame)


def formats(path: PurePosixPath) -> tuple[str, ...]:
    """Return the formats, as Pillow names them, that the picture at ``path`` may have. HEIF is included for
    its suffixes if its reader is installed."""
    if path.suffix.lower() in (".heic", ".heif"):
        with suppress(ImportError):
            from pillow_heif import register_heif_opener

            register_heif_opener()
            return (*FORMATS, "HEIF")
    return FORMATS


_SIGNATURES = b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"
"""Beginnings of picture files that can be opened. Drawings, such as EMF, begin differently."""


def text_of(blob: bytes, name: str = "", warnings: list[str] | None = None) -> str:
    """Return the text of a picture inside a document, or '' if it has none or cannot be opened. A damaged
    picture is named in ``warnings``."""
    try:
        preview = partial(_preview, blob, FORMATS)
        return ocr.reader.text(hashlib.sha256(blob).hexdigest(), lambda: _opened(blob), preview=preview)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        if warnings is not None and blob.startswith(_SIGNATURES):
            warnings.append(f"The picture {name!r} is damaged.")
        return ""


def _opened(blob: bytes) -> Image.Image:
    with Image.open(io.BytesIO(blob), formats=FORMATS) as picture:
        return picture.convert("RGB")
