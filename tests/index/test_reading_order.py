"""Nothing cheap waits for something dear: names, then text, then documents, then pictures."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.extract import ocr, plain
from rag_core.index.estimate import Estimate, Pace
from rag_core.index.job_log import JobLog
from rag_core.library import Library
from rag_core.store import jobs
from rag_core.types import OWNER, FileResult, Job, Progress, Viewer
from rag_core.wording import progress, still
from tests.conftest import index
from tests.extract.eyes import OllamaEyes
from tests.extract.test_ocr import packed, picture
from tests.extract.test_remote_ocr import library_with
from tests.support.documents_made import docx
from tests.support.standin import serving

GUEST = Viewer("ann", stores=frozenset({"s"}))
PAGES = 10


@pytest.fixture
def eyes(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaEyes]:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(OllamaEyes()) as running:
        yield running


@pytest.fixture
def seeing(tmp_path: Path, eyes: OllamaEyes) -> Iterator[Library]:
    """A library whose pictures a server reads."""
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=eyes.url) as library:
        yield library


def write(folder: Path, name: str, content: bytes | str, modified_s: int = 1_700_000_000) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, (modified_s, modified_s))


def scan(pages: int) -> bytes:
    """A PDF of scanned pages, each another picture."""
    drawn = [picture(f"PAGE {number} OF TEN") for number in range(1, pages + 1)]
    made = io.BytesIO()
    drawn[0].save(made, "PDF", save_all=True, append_images=drawn[1:])
    return made.getvalue()


def found(library: Library, words: str, viewer: Viewer = OWNER) -> list[str]:
    hits = library.search(viewer, words, ["s"], mode="lexical").hits
    return [hit.document.path for hit in hits if hit.relevant]


def asked(eyes: OllamaEyes) -> int:
    return len(eyes.bodies("/api/chat"))


def test_every_file_is_found_by_its_name_before_any_is_read(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["heron.md", "walrus.md", "badger.csv", "otter.docx", "lynx.png", "kestrel.mp3"]
    for name in names:
        write(notes, name, docx("Text.") if name.endswith("docx") else b"It is read.")
    before: list[list[str]] = []
    states: list[str] = []
    read = plain.read

    def look(*given: Any) -> Any:
        if not before:
            before.extend(found(library, name.partition(".")[0]) for name in names)
            states.extend(hit.document.state for hit in library.search(OWNER, "walrus", ["s"]).hits)
            assert found(library, "walrus", GUEST) == [], "whether it is private is not known yet"
        return read(*given)

    monkeypatch.setattr(plain, "read", look)
    index(library, "s", notes)
    assert before == [[name] for name in names]
    assert states == ["waiting"]
    assert found(library, "walrus", GUEST) == ["walrus.md"]


@pytest.mark.parametrize(
    ("name", "content", "state"),
    [("song.mp3", b"\0\1\2ID3" * 99, "skipped"), ("broken.pdf", b"%PDF-1.4 broken", "failed")],
)
def test_a_file_that_cannot_be_read_is_found_by_its_name_and_says_why(
    library: Library, notes: Path, name: str, content: bytes, state: str
) -> None:
    write(notes, name, content)
    write(notes, "note.md", "A note.")
    index(library, "s", notes)
    [hit] = [hit for hit in library.search(OWNER, name, ["s"]).hits if hit.relevant]
    assert (hit.document.path, hit.document.state, hit.document.chunks) == (name, state, 0)
    assert hit.document.reason
    assert found(library, name, GUEST) == []
    assert library.stores.info(OWNER, "s").chunk_count == 1


def test_text_is_read_before_documents_and_these_before_pictures(library: Library, notes: Path) -> None:
    write(notes, "a.png", packed(picture(), "PNG"), 1_800_000_000)
    write(notes, "b.docx", docx("A report."), 1_800_000_000)
    write(notes, "large.csv", "a,b\n" + "1,2\n" * 60_000, 1_800_000_000)
    write(notes, "old.md", "It is old.", 1_600_000_000)
    write(notes, "new.md", "It is new.", 1_700_000_000)
    index(library, "s", notes)
    with library._shared.stores.open(OWNER, "s").store.read() as db:
        order = [row[0] for row in db.execute("SELECT source_file FROM job_results ORDER BY id")]
    assert order == ["new.md", "old.md", "large.csv", "b.docx", "a.png"]


def test_a_note_is_found_and_embedded_while_a_server_looks_at_a_picture(
    seeing: Library, eyes: OllamaEyes, notes: Path
) -> None:
    eyes.goes_on.clear()
    write(notes, "a.png", packed(picture(), "PNG"))
    write(notes, "note.md", "The heron waits.\n\n![](a.png)\n")
    seen: dict[str, object] = {}

    def look(job: Job) -> None:
        if asked(eyes) and not seen:
            seen["words"] = found(seeing, "heron")
            seen["pending"] = seeing.stores.info(OWNER, "s").pending
            write(notes, "later.md", "A walrus arrives.")
            seeing.jobs.request_path(OWNER, "s", str(notes / "later.md"))
        elif "later" not in seen and found(seeing, "walrus"):
            seen["later"] = asked(eyes)
            eyes.goes_on.set()

    seeing.create_store(OWNER, "s", "hashing")
    seeing.add_source(OWNER, "s", notes, ["**/*"])
    seeing.jobs.request(OWNER, "s")
    job = seeing.jobs.run(OWNER, "s", look)
    assert job is not None
    assert job.state == "done"
    assert seen == {"words": ["note.md"], "pending": 0, "later": 1}
    assert found(seeing, "boarding pass") == ["note.md"], "the picture itself is a copy"
    assert asked(eyes) == 1


def test_a_scan_is_read_page_by_page_and_no_page_twice(
    seeing: Library, eyes: OllamaEyes, notes: Path
) -> None:
    write(notes, "scan.pdf", scan(PAGES))
    seeing.create_store(OWNER, "s", "hashing")
    seeing.add_source(OWNER, "s", notes, ["**/*"])
    seeing.jobs.request(OWNER, "s")
    said: list[str] = []

    def stop() -> bool:
        return asked(eyes) > PAGES // 2 and bool(found(seeing, "boarding"))

    job = seeing.jobs.run(OWNER, "s", lambda job: said.append(job.progress.current), stop=stop)
    assert job is not None
    assert job.state == "interrupted"
    assert found(seeing, "boarding") == ["scan.pdf"]
    before = asked(eyes)
    assert before < PAGES
    job = seeing.index(OWNER, "s")
    assert job is not None
    assert job.state == "done"
    assert asked(eyes) <= PAGES + 1, "one page may have been read when the run was stopped"
    seeing.index(OWNER, "s")
    assert asked(eyes) <= PAGES + 1


def test_pictures_wait_while_ocr_is_off_and_are_read_when_it_is_on(
    tmp_path: Path, eyes: OllamaEyes, notes: Path
) -> None:
    write(notes, "a.png", packed(picture(), "PNG"))
    write(notes, "scan.pdf", scan(2))
    write(notes, "note.md", "# Oslo\n\n![](a.png)\n")
    with library_with(tmp_path, ocr="off") as library:
        job = index(library, "s", notes)
        assert (job.failed, job.message) == (0, "")
        assert found(library, "scan") == ["scan.pdf"]
        [problem] = library.jobs.problems(OWNER, "s")
        assert problem.reason == "OCR is off, so the text in pictures is not read."
        assert set(problem.files) == {"a.png", "scan.pdf"}
        assert library.search(OWNER, "scan.pdf", ["s"]).hits[0].document.state == "waiting"
    with library_with(tmp_path, ocr="ollama:eyes", ollama_url=eyes.url) as library:
        library.index(OWNER, "s")
        for name in ("a.png", "note.md", "scan.pdf"):
            chunks = library.documents.get(OWNER, "s", name).chunks
            assert "Boarding pass" in "".join(chunk.content for chunk in chunks)
        assert library.jobs.problems(OWNER, "s") == []


def test_a_picture_on_which_a_reader_fails_says_so_and_is_left_alone(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # no Tesseract
    write(notes, "note.md", "A note.")
    index(library, "s", notes)
    with library._shared.stores.open(OWNER, "s").store.write() as db:
        db.execute("UPDATE documents SET pictures_left = 3")

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rag_core.index.reading.ocr.find_engine", lambda _: "tesseract")
    monkeypatch.setattr("rag_core.extract.plain.read", broken)
    job = library.index(OWNER, "s")
    assert job is not None
    assert job.state == "done"
    in_part, warning = library.documents.get(OWNER, "s", "note.md").warnings
    assert in_part == "Some of this document could not be read."
    assert warning.startswith("The text in its pictures could not be read.")
    assert found(library, "note") == ["note.md"]


def test_reading_gives_way_to_a_note_that_is_saved(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.index.reading._LEAST_S", 0.0)
    for number in range(20):
        write(notes, f"old {number}.md", f"Note {number}.")
    order: list[str] = []
    read = plain.read

    def look(data: bytes, path: Any) -> Any:
        order.append(path.name)
        if len(order) == 3:
            write(notes, "saved.md", "A walrus.", 1_600_000_000)
            library.jobs.request_path(OWNER, "s", str(notes / "saved.md"))
        return read(data, path)

    monkeypatch.setattr(plain, "read", look)
    job = index(library, "s", notes)
    assert order[3] == "saved.md"
    assert sorted(order) == sorted(["saved.md", *(f"old {number}.md" for number in range(20))])
    assert job.counts["added"] == 21


# --- how long still ---------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pace_is_that_of_the_last_minute() -> None:
    clock = Clock()
    pace = Pace(0.0, clock, left=1000)
    for _ in range(60):
        clock.now += 1
        pace.note(10)
    assert pace.rate == pytest.approx(10, rel=0.05)
    for _ in range(120):
        clock.now += 1
        pace.note(1)
    assert pace.rate == pytest.approx(1, rel=0.05)
    clock.now += 70
    assert (pace.rate, pace.seconds) == (0.0, None)


@pytest.mark.parametrize("texts_a_second", [5.0, 40.0])
@pytest.mark.parametrize("alone", [1.0, 3.0])
@pytest.mark.parametrize("share", [0.7, 0.25, 0.1])
def test_what_is_left_is_within_a_factor_of_two(texts_a_second: float, alone: float, share: float) -> None:
    """Texts are embedded while pictures are read slowly beside them, and faster when the texts are done."""
    clock = Clock()
    estimate = Estimate(clock)
    estimate.texts.left, estimate.pictures.left = 6000, 400
    said: list[tuple[float, float]] = []
    while estimate.texts.left or estimate.pictures.left:
        clock.now += 5
        beside = estimate.texts.left > 0
        estimate.texts.note(min(estimate.texts.left, 5 * texts_a_second))
        computing_s = 5 * (share if beside else 1)
        count = min(estimate.pictures.left, computing_s / alone)
        estimate.pictures.note(count, 5, computing_s, beside=beside)
        left = estimate.seconds
        assert left is not None
        said.append((clock.now, left))
    whole = clock.now
    for fifth in range(1, 5):
        moment, left = next(each for each in said if each[0] >= max(60, whole * fifth / 5))
        assert 0.5 <= left / (whole - moment) <= 2


@pytest.mark.parametrize(("a_picture", "a_page"), [(0.1, 1.5), (0.6, 2.4), (2.0, 3.0)])
def test_pages_of_scans_after_pictures_are_counted_apart(a_picture: float, a_page: float) -> None:
    clock = Clock()
    estimate = Estimate(clock)
    estimate.pictures.left, estimate.pages.left = 300, 320
    said: list[tuple[float, float]] = []
    while estimate.pictures.left or estimate.pages.left:
        kind, each = (estimate.pictures, a_picture) if estimate.pictures.left else (estimate.pages, a_page)
        clock.now += 4 * each
        kind.note(4, 4 * each, 4 * each, beside=False)
        left = estimate.seconds
        assert left is not None
        said.append((clock.now, left))
    whole = clock.now
    for fifth in range(1, 5):
        moment, left = next(each for each in said if each[0] >= whole * fifth / 5)
        assert 0.5 <= left / (whole - moment) <= 2


def test_a_run_says_how_long_as_a_range_and_that_it_stands_still() -> None:
    assert still(300) == "3–7 min left"
    assert still(20) == "less than a minute left"
    assert progress(Progress("scanning", 0, 0)) == "Looking for files"
    now = Progress("reading", 600, 2400, 0.5, 300, "scan.pdf", 2)
    assert progress(now) == "Reading files · 600 of 2,400 · 30 a minute · 3–7 min left"
    assert progress(replace(now, idle=180)) == "Reading files · 600 of 2,400 · nothing finished for 3 min"


def test_a_run_that_says_nothing_for_long_stands_still(library: Library, notes: Path) -> None:
    write(notes, "note.md", "A note.")
    index(library, "s", notes)
    store = library._shared.stores.open(OWNER, "s").store
    with store.note() as db:
        number, _ = jobs.start_job(db)
        db.execute(
            "UPDATE jobs SET start_time = '2026-01-01T10:00:00Z', duration_ms = 5000 WHERE id = ?", (number,)
        )
    with store.hold("index"):
        [job, *_] = library.jobs.all(OWNER, "s")
    assert job.state == "running"
    assert "nothing finished for" in progress(job.progress)


def test_what_waits_for_ocr_says_why_by_the_setting_of_now(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "gate.png").write_bytes(packed(picture(), "PNG"))
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")

    def said(setting: str) -> tuple[str, str, list[str]]:
        with library_with(tmp_path, ocr=setting) as library:
            index(library, "s", None if "s" in library.stores.names(OWNER) else notes)
            assert library.files.get(OWNER, "s", "oslo.md").state == "fresh"
            gate = library.files.get(OWNER, "s", "gate.png")
            [why] = library.upkeep.explain(OWNER, str(notes / "gate.png"))
            return gate.state, gate.reason, [step.sentence for step in why.steps if step.state != "ok"]

    with monkeypatch.context() as patch:  # the run ends before a picture is read
        patch.setattr("rag_core.index.pictures.PictureQueue.advance", lambda _: False)
        state, reason, notices = said("auto")
    assert (state, reason) == ("waiting", "")
    assert notices[0].startswith("It is a picture whose text is not read yet.")
    is_off, none_installed = ocr.REASONS
    state, reason, notices = said("off")
    assert (state, reason, notices[0]) == ("waiting", is_off, is_off)
    with library_with(tmp_path) as library, library._shared.stores.open(OWNER, "s").store.write() as db:
        db.execute("UPDATE documents SET reason = ? WHERE reason <> ''", (none_installed,))
    assert said("off")[1] == is_off
    state, reason, notices = said("auto")
    assert (state, reason) == ("fresh", "")
    assert is_off not in notices


@pytest.mark.parametrize(("embedder", "most"), [("hashing", 3), ("minilm", 0)])
def test_texts_count_for_the_time_left_only_if_they_will_be_embedded(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch, embedder: str, most: int
) -> None:
    left: list[float] = []

    class Watched(JobLog):
        def count(self, result: FileResult) -> None:
            super().count(result)
            left.append(self.estimate.texts.left)

    monkeypatch.setattr("rag_core.index.index.JobLog", Watched)
    for number in range(3):
        write(notes, f"note-{number}.md", f"A note of number {number}.")
    library.create_store(OWNER, "s", embedder)
    index(library, "s", notes)
    assert (len(left), max(left)) == (3, most)
