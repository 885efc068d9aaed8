"""Whether anything cheap waits for something dear: a whole run over a mixed home.

    python -m benchmarks.home [--home FOLDER] [--write FOLDER]

It measures when every file is found by its name, when every text file is found by its words (also of the same
home without scans and pictures), which notes are embedded before the first row of the table, and how right
the run's own estimates are.

The home is generated, the same for the same seed: 2,400 files, which are notes, mails, code, Office files, a
table of 60,000 rows, 60 PDFs of which 8 are scans of 40 pages, and 300 pictures. Scans and pictures stand
first by name, and by time both first and last, so that whatever order a run takes, it meets them first.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path, PurePosixPath

from docx import Document
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from benchmarks.notes import Author
from rag_core.config import Settings, load
from rag_core.extract import reader_in_worker
from rag_core.extract.filetypes import NAMED
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
_FIRST_ESTIMATE_S = 60.0
_NAMES = "SELECT display, extractor FROM documents"
_EMBEDDED = """FROM chunks c JOIN documents d ON d.id = c.document_id
    JOIN embeddings e ON e.hash = c.embed_hash WHERE e.vector <> x''"""


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
class Moment:
    """What a run says while it goes on."""

    seconds: float  #: Since its beginning.
    eta: float | None  #: Seconds that it still takes, as it estimates.
    doing: str  #: Its phase and the steps that are done.


@dataclass(slots=True)
class Run:
    """How a run over a home went, in seconds from its beginning."""

    named_s: float = 0.0  #: Until every file is found by its name.
    text_s: float = 0.0  #: Until every file that is read in this process is found by its words.
    read_s: float = 0.0  #: Until every file is read, but for the text in pictures.
    whole_s: float = 0.0  #: Until the run ends.
    notes_first: float = 0.0  #: The share of the notes that are embedded before the first row of the table.
    moments: list[Moment] = field(default_factory=list)


def run(home: Path, data: Path, *, whole: bool) -> Run:
    """Index a home, ``whole`` or until its text is found."""
    known = load()
    library = Library.open(Settings(data, known.model_dir, known.roots))
    library.create_store(OWNER, "home", "minilm")
    library.add_source(OWNER, "home", home, ["**/*"])
    library.jobs.request(OWNER, "home")
    files = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    texts = {name for name in files if reader_in_worker(PurePosixPath(name)) is None}
    store = data / "stores" / "home.db"
    seen, started = Run(), time.monotonic()

    def look(job: Job) -> None:
        seconds = time.monotonic() - started
        doing = f"{job.progress.phase} {job.progress.done:,} of {job.progress.total:,}"
        seen.moments.append(Moment(seconds, job.progress.eta, doing))
        if seen.read_s:
            return
        found = _read_files(store)
        if not seen.named_s and len(found) == len(files):
            seen.named_s = seconds
        if not seen.text_s and all(found.get(name) for name in texts):
            seen.text_s = seconds
        if all(found.values()) and len(found) == len(files):
            seen.read_s = seconds

    library.jobs.run(OWNER, "home", look, stop=lambda: not whole and seen.text_s > 0)
    seen.whole_s = time.monotonic() - started
    library.close()
    if whole:
        seen.notes_first = _notes_before_rows(store)
    return seen


def _read_files(store: Path) -> dict[str, bool]:
    """The files that are found by their names: whether they are read, too."""
    with closing(sqlite3.connect(store)) as db:
        return {name: extractor != NAMED for name, extractor in db.execute(_NAMES)}


def _notes_before_rows(store: Path) -> float:
    """The share of the notes whose last passage was embedded before the first row of the table."""
    with closing(sqlite3.connect(store)) as db:
        (first_row,) = db.execute(f"SELECT min(e.id) {_EMBEDDED} AND d.display LIKE '%.csv'").fetchone()
        last_passages = db.execute(f"SELECT max(e.id) {_EMBEDDED} AND d.display LIKE 'Notes/%' GROUP BY d.id")
        return sum(int(last) < int(first_row) for (last,) in last_passages) / NOTES


def _estimates(seen: Run) -> Iterator[tuple[int, Moment, float]]:
    """Each fifth of a run after its first minute, what the run says then, and the seconds it took yet."""
    for fifth in range(1, 5):
        due = max(_FIRST_ESTIMATE_S, seen.whole_s * fifth / 5)
        moment = next((moment for moment in seen.moments if moment.seconds >= due), None)
        if moment:
            yield fifth, moment, seen.whole_s - moment.seconds


def _print(with_pictures: Run, without: Run) -> None:
    """Print each figure beside its target."""
    seen = with_pictures
    share = f"{100 * seen.named_s / seen.whole_s:.1f} % of the whole run of {seen.whole_s:,.0f} s"
    print(f"all files by name     {seen.named_s:7.1f} s, {share}")
    ratio = seen.text_s / without.text_s
    print(f"all text by words     {seen.text_s:7.1f} s, without pictures {without.text_s:.1f} s")
    print(f"  with ÷ without      {ratio:7.2f}    (at most 1.2)")
    print(f"all but pictures read {seen.read_s:7.1f} s")
    print(f"notes before rows     {100 * seen.notes_first:7.1f} %  (at least 90 %)")
    for fifth, moment, truth in _estimates(seen):
        said = "nothing" if moment.eta is None else f"{moment.eta:,.0f} s, {moment.eta / truth:.2f} times"
        print(f"{fifth}/5: left {truth:5,.0f} s, it says {said}  ({moment.doing})  (0.5 to 2 times)")


def main() -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--write", type=Path, help="only write the home into this folder")
    parser.add_argument("--home", type=Path, help="a folder that keeps both homes for the next measurement")
    given = parser.parse_args()
    if given.write:
        write_home(given.write)
        return
    with tempfile.TemporaryDirectory() as place:
        homes = given.home or Path(place)
        runs: dict[str, Run] = {}
        for name in ("without", "with"):
            if not (homes / name).exists():
                write_home(homes / name, with_pictures=name == "with")
            runs[name] = run(homes / name, Path(place) / f"data {name}", whole=name == "with")
    _print(runs["with"], runs["without"])


if __name__ == "__main__":
    main()
