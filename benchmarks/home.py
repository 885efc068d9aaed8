"""How soon every text file of a mixed home is found by its words, with scans and pictures and without.

    python -m benchmarks.home [--write FOLDER]

The home is generated, the same for the same seed: 2,400 files, which are notes, mails, code, Office files, a
table of 60,000 rows, 60 PDFs of which 8 are scans of 40 pages, and 300 pictures. Scans and pictures stand
first by name, and by time both first and last, so that whatever order a run takes, it meets them first.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path, PurePosixPath

from docx import Document
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from benchmarks.notes import Author
from rag_core.config import Settings, load
from rag_core.extract import reader_in_worker
from rag_core.library import Library
from rag_core.types import OWNER, Job

NOTES = 1_500
MAILS = 140
SOURCES = 260
OFFICE_FILES = 139
PRINTED = 52
SCANS = 8
PAGES_A_SCAN = 40
SCREENSHOTS = 200
PHOTOS = 100
ROWS = 60_000
NOW = 1_790_000_000  # seconds since 1970
DAY = 86_400
PAGE = (1240, 1754)  # pixels of A4 at 150 dpi
_LINES_A_PAGE = 24


def write_home(folder: Path, *, with_pictures: bool = True, seed: int = 1) -> Path:
    """Write the home below ``folder``; returns ``folder``."""
    author = Author(seed)
    chance = random.Random(seed)
    for index, (name, content) in enumerate(_text_files(author, chance)):
        _write(folder / name, content, NOW - chance.randrange(5, 700) * DAY - index)
    if with_pictures:
        for index, (name, content) in enumerate(_pictures(author, chance)):
            _write(folder / name, content, NOW - index if index % 2 else NOW - 900 * DAY + index)
    return folder


def _write(path: Path, content: bytes, modified_s: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (modified_s, modified_s))


def _text_files(author: Author, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Every file whose text is read without OCR: its name and content."""
    for number in range(NOTES):
        status = chance.choice(["open", "done", "waiting"])
        front = f"---\nstatus: {status}\nrating: {chance.randrange(1, 6)}\n---\n"
        yield f"Notes/{number // 100:02}/note {number}.md", (front + author.note(number)).encode()
    for number in range(MAILS):
        yield f"Mail/{number}.eml", _mail(author, number)
    for number in range(SOURCES):
        body = "\n\n".join(_function(author, index) for index in range(12))
        yield f"Projects/p{number // 20}/module_{number}.py", f'"""{author.words(8)}."""\n\n{body}\n'.encode()
    for number in range(OFFICE_FILES):
        yield f"Documents/report {number}.docx", _docx(author, number)
    for number in range(PRINTED):
        yield f"Documents/paper {number}.pdf", _printed(author, 1 + number % 20)
    yield "Documents/payments.csv", _table(author, chance)


def _pictures(author: Author, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Every file that needs OCR: its name and content."""
    for number in range(SCANS):
        pages = [_page(author, f"Scan {number} page {page}") for page in range(1, PAGES_A_SCAN + 1)]
        content = io.BytesIO()
        pages[0].save(content, "PDF", save_all=True, append_images=pages[1:], resolution=150)
        yield f"00 Scans/scan {number}.pdf", content.getvalue()
    for number in range(SCREENSHOTS):
        yield f"00 Pictures/screenshot {number}.png", _encoded(_screenshot(author, number), "PNG")
    for number in range(PHOTOS):
        yield f"00 Pictures/IMG_{number:04}.jpg", _encoded(_photo(chance), "JPEG")


def _mail(author: Author, number: int) -> bytes:
    message = EmailMessage()
    message["From"] = f"{author.words(1).title()} <{author.words(1)}@example.org>"
    message["To"] = "owner@example.org"
    message["Subject"] = author.words(5).capitalize()
    message["Date"] = f"Tue, {1 + number % 28:02} Mar 2026 09:{number % 60:02}:00 +0000"
    message.set_content("\n\n".join(author.paragraph() for _ in range(3)))
    return message.as_bytes()


def _function(author: Author, index: int) -> str:
    name = author.words(2).replace(" ", "_")
    head = f"def {name}_{index}(value: int) -> int:"
    return f'{head}\n    """{author.words(14)}."""\n    return value + {index}'


def _docx(author: Author, number: int) -> bytes:
    document = Document()
    document.add_heading(f"Report {number}: {author.words(3)}", 1)
    for _ in range(6):
        document.add_paragraph(author.paragraph())
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def _printed(author: Author, pages: int) -> bytes:
    content = io.BytesIO()
    canvas = Canvas(content, invariant=1)
    for _ in range(pages):
        for line in range(40):
            canvas.drawString(72, 770 - 17 * line, author.words(11))
        canvas.showPage()
    canvas.save()
    return content.getvalue()


def _table(author: Author, chance: random.Random) -> bytes:
    lines = ["date,payee,purpose,amount"]
    for row in range(ROWS):
        day = f"202{row % 6}-{1 + row % 12:02}-{1 + row % 28:02}"
        lines.append(f"{day},{author.words(2)},{author.words(3)},{chance.randrange(100, 90_000) / 100:.2f}")
    return "\n".join(lines).encode()


def _page(author: Author, title: str) -> Image.Image:
    """A scanned page: a title and lines of text."""
    page = Image.new("L", PAGE, 255)
    draw = ImageDraw.Draw(page)
    draw.text((110, 110), title, fill=0, font=ImageFont.load_default(40))
    for line in range(_LINES_A_PAGE):
        draw.text((110, 200 + 60 * line), author.words(9), fill=0, font=ImageFont.load_default(26))
    return page


def _screenshot(author: Author, number: int) -> Image.Image:
    picture = Image.new("RGB", (1280, 720), (245, 245, 250))
    draw = ImageDraw.Draw(picture)
    draw.text((60, 40), f"Window {number}", fill=(10, 10, 60), font=ImageFont.load_default(32))
    for line in range(10):
        draw.text((60, 120 + 55 * line), author.words(8), fill=(20, 20, 20), font=ImageFont.load_default(24))
    return picture


def _photo(chance: random.Random) -> Image.Image:
    """Colours that run into each other, with noise: nothing to read in it."""
    size = (2000, 1500)
    corners = Image.new("RGB", (4, 3))
    corners.putdata([tuple(chance.randrange(256) for _ in range(3)) for _ in range(12)])
    noise = Image.effect_noise(size, 40).convert("RGB")
    return Image.blend(corners.resize(size, Image.Resampling.BICUBIC), noise, 0.2)


def _encoded(picture: Image.Image, kind: str) -> bytes:
    content = io.BytesIO()
    picture.save(content, kind)
    return content.getvalue()


@dataclass(frozen=True, slots=True)
class Run:
    """How a run over a home went, in seconds from its beginning."""

    named_s: float  #: Until every file is found by its name.
    text_s: float  #: Until every file that is read in this process is found by its words.


def run(home: Path, data: Path) -> Run:
    """Index a home until its files are read, by words alone."""
    known = load()
    library = Library.open(Settings(data, known.model_dir, known.roots))
    library.create_store(OWNER, "home", "minilm")
    library.add_source(OWNER, "home", home, ["**/*"])
    library.jobs.request(OWNER, "home")
    files = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    texts = sum(reader_in_worker(PurePosixPath(name)) is None for name in files)
    started = time.monotonic()
    named_s = text_s = 0.0

    def look(job: Job) -> None:
        nonlocal named_s, text_s
        seconds = time.monotonic() - started
        if not named_s and len(library.documents.all(OWNER, "home")) == len(files):
            named_s = seconds
        if not text_s and sum(job.counts.values()) >= texts:
            text_s = seconds

    library.jobs.run(OWNER, "home", look, stop=lambda: text_s > 0)
    library.close()
    return Run(named_s, text_s)


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--write", type=Path, help="only write the home into this folder")
    given = parser.parse_args()
    if given.write:
        write_home(given.write)
        return
    with tempfile.TemporaryDirectory() as place:
        runs: list[Run] = []
        for name, with_pictures in (("without pictures", False), ("with pictures", True)):
            home = write_home(Path(place) / name / "home", with_pictures=with_pictures)
            runs.append(run(home, Path(place) / name / "data"))
            print(
                f"{name:<17} all names {runs[-1].named_s:5.1f} s  all text by words {runs[-1].text_s:5.1f} s"
            )
    print(f"with ÷ without: {runs[1].text_s / runs[0].text_s:.2f}")


if __name__ == "__main__":
    main()
