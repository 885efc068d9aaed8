"""PDF → the text of each page in reading order, with the outline as headings. Read with PDFium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from ctypes import POINTER, cast, create_string_buffer
from datetime import date
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from statistics import median

from PIL.Image import Image
from pypdfium2 import PdfDocument, PdfImage, PdfiumError, PdfPage
from pypdfium2.raw import (
    FLAT_NORMALDISPLAY,
    FPDF_ANNOT_FREETEXT,
    FPDF_ANNOT_HIGHLIGHT,
    FPDF_ANNOT_SQUIGGLY,
    FPDF_ANNOT_STAMP,
    FPDF_ANNOT_STRIKEOUT,
    FPDF_ANNOT_TEXT,
    FPDF_ANNOT_UNDERLINE,
    FPDF_ANNOT_WIDGET,
    FPDF_PAGEOBJ_IMAGE,
    FPDF_WCHAR,
    FPDFAnnot_GetStringValue,
    FPDFAnnot_GetSubtype,
    FPDFPage_CloseAnnot,
    FPDFPage_Flatten,
    FPDFPage_GetAnnot,
    FPDFPage_GetAnnotCount,
    FPDFText_GetFontSize,
    FPDFText_GetUnicode,
)

from rag_core.extract import ocr
from rag_core.extract.building import Builder, needs_password, one_line
from rag_core.extract.ligatures import spelled, with_letters
from rag_core.types import Extracted

_SCAN_SCALE = 200 / 72  # a page is read at 200 dpi
_LONGEST_SIDE = 4000  # maximum pixels of a side of a rendered page
_LEAST_PICTURE = 100  # minimum pixels of the shorter side
_MOST_PICTURES = 20  # maximum number of pictures of a page
_TITLE_WITHIN = 3000  # number of characters of the first page that may contain the title
_TITLE_LENGTH = 6, 160
_FILLED_IN = {FPDF_ANNOT_WIDGET, FPDF_ANNOT_FREETEXT, FPDF_ANNOT_STAMP}
"""Annotations whose text is on the page: form fields, typed text, stamps."""
_COMMENTS = {
    FPDF_ANNOT_TEXT, FPDF_ANNOT_HIGHLIGHT, FPDF_ANNOT_UNDERLINE, FPDF_ANNOT_SQUIGGLY, FPDF_ANNOT_STRIKEOUT,
}  # fmt: skip
_WRONG_PASSWORD = 4  # FPDF_ERR_PASSWORD
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")
_OF_A_PROGRAM = re.compile(
    r"^(microsoft (word|powerpoint|excel) - |untitled|unbenannt|\((anonymous|unspecified)\)$)|\.\w{2,5}$",
    re.I,
)
_OF_A_PART = re.compile(
    r"(table of )?contents|cover( page)?|title page|index|untitled.*|(slide|page|document|chapter) ?\d*"
    r"|inhalt(sverzeichnis)?|table des matières|sommaire|índice|indice",
    re.IGNORECASE,
)
"""Texts that are not the title of a whole document. The file's name is then used."""
_BROKEN = re.compile(r"(?<!\w)(\w+)[\x02\ufffe\u00ad]\s*(\w+)")
"""A word that is broken over two lines, with PDFium's mark in place of the hyphen."""
_COMPOUND = re.compile(r"(?<!\w)\w+-\w+")


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the document in ``data``. Raises ExtractError if it needs a password."""
    try:
        pdf = PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == _WRONG_PASSWORD:
            raise needs_password(path) from None
        raise
    with pdf:
        with suppress(PdfiumError):  # then fields without an appearance are not read
            pdf.init_forms()
        builder, warnings = Builder(), []
        outline = _outline(pdf)
        compounds: set[str] = set()
        for number in range(1, len(pdf) + 1):
            if builder.is_full:
                break
            builder.begin("page", number, *outline[number])
            try:
                text, pictures = _text(pdf, number - 1)
                compounds.update(_COMPOUND.findall(text))
                builder.add(_BROKEN.sub(partial(_joined, compounds), text))
                for picture in pictures:
                    builder.add_seen(picture)
            except PdfiumError:
                warnings.append(f"Page {number} cannot be read.")
        known = pdf.get_metadata_dict(skip_empty=True)
        title, author = known.get("Title", "").strip(), one_line(known.get("Author", ""))
        if not title or _OF_A_PROGRAM.search(title):
            outermost = {path[:1] for path in outline.values()}
            title = outline[1][0] if len(outermost) == 1 and outline[1] else _largest_text(pdf)
        if _OF_A_PART.fullmatch(title):
            title = ""
        return builder.document(
            "pdf",
            path.name,
            title,
            date=_day(known.get("CreationDate", "")),
            metadata={"pages": len(pdf), **({"author": author} if author else {})},
            warnings=warnings,
        )


def _largest_text(pdf: PdfDocument) -> str:
    """Return the text in the largest letters of the first page, which is nearly always its title. Returns ''
    if these letters are hardly larger than most, or are too many or too few."""
    try:
        page = pdf[0].get_textpage()
    except PdfiumError:
        return ""
    count = min(page.count_chars(), _TITLE_WITHIN)
    sizes = [round(FPDFText_GetFontSize(page, index), 1) for index in range(count)]
    largest, usual = max(sizes, default=0), median(sizes or [0])
    letters = [
        chr(FPDFText_GetUnicode(page, at)) if size in (largest, 0) else "\n" for at, size in enumerate(sizes)
    ]
    title = " ".join(spelled("".join(letters)).split())
    return title if largest > 1.15 * usual and _TITLE_LENGTH[0] <= len(title) <= _TITLE_LENGTH[1] else ""


def _text(pdf: PdfDocument, index: int) -> tuple[str, list[str]]:
    """Return the text of a page with its form fields and comments, then the texts of its pictures.

    A page without text, such as a scan, is read as one picture. PDFium's memory of the page is freed
    immediately, because a document may have thousands of pages.
    """
    page = pdf[index]
    try:
        annotations = list(_annotations(page))
        if not _FILLED_IN.isdisjoint(kind for kind, _ in annotations):
            FPDFPage_Flatten(page, FLAT_NORMALDISPLAY)
            page.close()
            page = pdf[index]
        shown = page.get_textpage()
        text = with_letters(shown.get_text_bounded(), shown)
        comments = [said for kind, said in annotations if kind in _COMMENTS and said]
        if not text.strip():
            scanned = ocr.reader.text(f"page {index + 1}", partial(_drawn, page), is_page=True)
            return "", [scanned, *comments]
        return "\n\n".join([text, *comments]), list(_texts_of_pictures(page, index + 1))
    finally:
        page.close()


def _annotations(page: PdfPage) -> Iterator[tuple[int, str]]:
    """Yield the kind and text of each annotation on a page."""
    for index in range(FPDFPage_GetAnnotCount(page)):
        annotation = FPDFPage_GetAnnot(page, index)
        size = FPDFAnnot_GetStringValue(annotation, b"Contents", None, 0)  # size in bytes of UTF-16
        said = create_string_buffer(size)
        FPDFAnnot_GetStringValue(annotation, b"Contents", cast(said, POINTER(FPDF_WCHAR)), size)
        yield FPDFAnnot_GetSubtype(annotation), said.raw.decode("utf-16-le", "replace").rstrip("\0")
        FPDFPage_CloseAnnot(annotation)


def _drawn(page: PdfPage) -> Image:
    """Return a picture of a whole page."""
    scale = min(_SCAN_SCALE, _LONGEST_SIDE / max(page.get_size()))
    picture: Image = page.render(scale=scale).to_pil()
    return picture


def _texts_of_pictures(page: PdfPage, number: int) -> Iterator[str]:
    pictures = page.get_objects(filter=[FPDF_PAGEOBJ_IMAGE], max_depth=3)
    for index, picture in enumerate(islice(pictures, _MOST_PICTURES), 1):
        with suppress(PdfiumError, ValueError):  # PDFium cannot unpack some formats
            if min(picture.get_px_size()) >= _LEAST_PICTURE:
                yield ocr.reader.text(f"page {number} picture {index}", partial(_unpacked, picture))


def _unpacked(picture: PdfImage) -> Image:
    unpacked: Image = picture.get_bitmap().to_pil()
    return unpacked


def _joined(compounds: set[str], match: re.Match[str]) -> str:
    """Return a broken word in one piece. It keeps its hyphen if it is a name or if the document writes it
    with a hyphen elsewhere."""
    head, tail = match.groups()
    keeps = f"{head}-{tail}" in compounds or not tail[0].islower()
    return f"{head}-{tail}" if keeps else head + tail


def _outline(pdf: PdfDocument) -> dict[int, tuple[str, ...]]:
    """Return the headings of each page: page number → headings. They are those of the page's first outline
    entry, or of the last entry before the page."""
    found: dict[int, tuple[str, ...]] = {}
    path: list[str] = []
    for entry in pdf.get_toc(max_depth=6):
        path[entry.level :] = [entry.get_title()]
        target = entry.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            found.setdefault(page + 1, tuple(path))
    current: tuple[str, ...] = ()
    for number in range(1, len(pdf) + 1):
        current = found.setdefault(number, current)
    return found


def _day(written: str) -> str | None:
    if match := _DATE.match(written):
        with suppress(ValueError):
            return date(*map(int, match.groups())).isoformat()
    return None
