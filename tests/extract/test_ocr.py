"""The text in pictures and scans is read by the engine that is there."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest
from PIL import Image, ImageDraw, ImageFont

from rag_core.config import Settings
from rag_core.extract import Worker, extract, ocr, pictures
from rag_core.installation import install_line
from rag_core.library import Library
from rag_core.types import OWNER, Extracted

WORDS = "GREEN TEA KEEPS SIX MONTHS"


def picture(words: str = WORDS) -> Image.Image:
    image = Image.new("RGB", (900, 200), "white")
    ImageDraw.Draw(image).text((40, 70), words, fill="black", font=ImageFont.load_default(48))
    return image


def packed(image: Image.Image, kind: str) -> bytes:
    made = io.BytesIO()
    image.save(made, kind)
    return made.getvalue()


def slides(blob: bytes) -> bytes:
    from pptx import Presentation

    presentation, made = Presentation(), io.BytesIO()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.shapes.add_picture(io.BytesIO(blob), 0, 0)
    presentation.save(made)
    return made.getvalue()


def page_with_text(blob: bytes) -> bytes:
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    made = io.BytesIO()
    canvas = Canvas(made)
    canvas.drawString(72, 770, "About tea")
    canvas.drawImage(ImageReader(io.BytesIO(blob)), 72, 300, 450, 100)
    canvas.save()
    return made.getvalue()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ocr")


@pytest.fixture(scope="module")
def worker(kept: Path) -> Iterator[Worker]:
    if ocr.find_engine("auto") is None:
        pytest.skip("neither Tesseract nor RapidOCR is installed")
    with closing(Worker(limit_s=120, pictures=kept)) as made:
        yield made


FILES = {
    "photo.png": (lambda: packed(picture(), "PNG"), "page", "1"),
    "photo.jpg": (lambda: packed(picture(), "JPEG"), "page", "1"),
    "scan.pdf": (lambda: packed(picture(), "PDF"), "page", "1"),
    "figure.pdf": (lambda: page_with_text(packed(picture(), "PNG")), "page", "1"),
    "talk.pptx": (lambda: slides(packed(picture(), "PNG")), "slide", "1"),
}


@pytest.mark.parametrize("name", FILES)
def test_words_in_a_picture_are_found_at_its_place(worker: Worker, name: str) -> None:
    make, anchor_type, anchor_ref = FILES[name]
    found: Extracted = extract(make(), PurePosixPath(name), worker)
    assert set(WORDS.split()) <= set(found.text.upper().split())
    [place] = {(each.anchor_type, each.anchor_ref) for each in found.segments}
    assert place == (anchor_type, anchor_ref)


def test_a_picture_in_an_unknown_format_costs_its_document_nothing() -> None:
    assert pictures.text_of(b"no picture at all") == ""


@pytest.mark.parametrize(("most", "says"), [(2, ("Only its first 2 pages are read.",)), (3, ())])
def test_a_fax_with_more_pages_than_are_read_says_so(
    monkeypatch: pytest.MonkeyPatch, most: int, says: tuple[str, ...]
) -> None:
    monkeypatch.setattr(pictures, "_MOST_PAGES", most)
    first, *others = (picture(f"PAGE {number}") for number in range(3))
    made = io.BytesIO()
    first.save(made, "TIFF", save_all=True, append_images=others)
    document = pictures.read(made.getvalue(), PurePosixPath("fax.tiff"))
    assert tuple(note for note in document.warnings if "first" in note) == says
    assert document.in_part == bool(says)


def test_a_picture_is_read_once(worker: Worker, kept: Path) -> None:
    data = packed(picture("MINT LEAVES"), "PNG")
    extract(data, PurePosixPath("a.png"), worker)
    [text] = [each for each in kept.glob("*/*.txt") if "MINT" in each.read_text("utf-8").upper()]
    text.write_text("read before", "utf-8")
    assert extract(data, PurePosixPath("b.png"), worker).text == "read before"


@pytest.mark.parametrize(
    ("setting", "why"), [("off", "OCR is off"), ("tesseract", "Nothing is installed that reads the text")]
)
def test_without_an_engine_a_picture_waits_and_says_why(
    monkeypatch: pytest.MonkeyPatch, setting: str, why: str
) -> None:
    monkeypatch.setenv("PATH", "")
    with closing(Worker(ocr=setting)) as worker:
        document = extract(packed(picture(), "PNG"), PurePosixPath("a.png"), worker)
    assert (document.text, document.pictures_left) == ("", 1)
    assert document.waits.startswith(why)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("tesseract", "OCR (tesseract) reads 3 pictures and scanned pages of 2 PDF files."),
        ("off", "Not read, because the setting `ocr` is off: 3 pictures"),
        ("gemini", "OCR (gemini) reads 3 pictures"),
    ],
)
def test_a_preview_says_what_becomes_of_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, said: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/tesseract")
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", (), ocr=setting))
    counted = {".png": 1, ".jpg": 2, ".pdf": 2, ".md": 9}
    assert library.sources.said_of_pictures(OWNER, counted).startswith(said)
    assert library.sources.said_of_pictures(OWNER, {".md": 9}) == ""
    library.close()


def test_without_ocr_a_preview_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "find_engine", lambda _: None)
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    said = library.sources.said_of_pictures(OWNER, {".png": 1})
    assert said.startswith("Not read, because no OCR is installed: 1 picture. Install Tesseract, or run `")
    assert install_line("ocr") in said
    library.close()
