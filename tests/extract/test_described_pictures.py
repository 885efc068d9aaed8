"""`ocr_describe`: pictures are found by what a model says that they show; no answer quotes that."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.extract.building import DESCRIBED
from rag_core.library import Library
from rag_core.models.ocr import DESCRIBING, PROMPT
from rag_core.types import DESCRIPTION, OWNER, Hit, Viewer
from tests.conftest import index
from tests.extract.eyes import OllamaEyes
from tests.extract.test_ocr import packed, page_with_text, picture, slides
from tests.support.documents_made import mail
from tests.support.standin import serving

PNG = packed(picture("GATE B12"), "PNG")
SAYS = f"GATE B12\n{DESCRIBED}\nA bar chart of the rainfall in Bergen; October is the wettest month."
QUESTION = "Which month is the wettest in Bergen?"


@pytest.fixture
def eyes(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaEyes]:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    with serving(OllamaEyes(says=SAYS, prompt=DESCRIBING)) as running:
        yield running


def library_with(folder: Path, url: str, *, describe: bool = True) -> Library:
    known = {"ocr": "ollama:eyes", "ollama_url": url, "ocr_describe": describe}
    return Library.open(Settings(folder / "data", folder / "models", (), **known))


def described(library: Library) -> list[Hit]:
    hits = library.search(OWNER, "wettest Bergen rainfall", mode="lexical").hits
    return [hit for hit in hits if hit.relevant]


def word(blob: bytes) -> bytes:
    from docx import Document

    document, made = Document(), io.BytesIO()
    document.add_picture(io.BytesIO(blob))
    document.save(made)
    return made.getvalue()


KINDS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "chart.png": (lambda: PNG, "page", "1"),
    "scan.pdf": (lambda: packed(picture("GATE B12"), "PDF"), "page", "1"),
    "report.pdf": (lambda: page_with_text(PNG), "page", "1"),
    "talk.pptx": (lambda: slides(PNG), "slide", "1"),
    "letter.docx": (lambda: word(PNG), "heading", "Pictures"),
    "post.eml": (lambda: mail("Rain", "", attached={"c.png": PNG}), "attachment", "c.png › page 1"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_picture_is_found_by_what_it_shows_as_a_passage_of_its_own(
    tmp_path: Path, notes: Path, eyes: OllamaEyes, name: str
) -> None:
    make, anchor, place = KINDS[name]
    (notes / name).write_bytes(make())
    library = library_with(tmp_path, eyes.url)
    index(library, "s", notes)
    [hit] = described(library)
    assert (hit.document.path, hit.anchor_type, hit.anchor_ref) == (name, anchor, place)
    assert hit.heading_path[-1] == DESCRIPTION
    assert hit.content.startswith("A bar chart"), "apart from the words in the picture"
    [by_words] = [each for each in library.search(OWNER, "gate B12", mode="lexical").hits if each.relevant]
    assert DESCRIPTION not in by_words.heading_path
    library.close()


def test_the_picture_of_a_note_is_described_below_the_heading_that_shows_it(
    tmp_path: Path, notes: Path, eyes: OllamaEyes
) -> None:
    (notes / "chart.png").write_bytes(PNG)
    (notes / "rain.md").write_text("# Rain\n\n## In Norway\n\n![[chart.png]]\n", "utf-8")
    library = library_with(tmp_path, eyes.url)
    index(library, "s", notes, "**/*.md")
    [hit] = described(library)
    assert (hit.document.path, hit.anchor_ref) == ("rain.md", "chart.png")
    assert hit.heading_path == ("Rain", "In Norway", DESCRIPTION)
    library.close()


def test_a_description_is_never_quoted_as_if_a_file_said_it(
    tmp_path: Path, notes: Path, eyes: OllamaEyes
) -> None:
    (notes / "chart.png").write_bytes(PNG)
    text = "# Weather\n\n## What the picture shows\n\nIn Bergen the wettest month is December, says Ada.\n"
    (notes / "note.md").write_text(text, "utf-8")  # a heading that anybody may write
    library = library_with(tmp_path, eyes.url)
    index(library, "s", notes)
    reply = library.ask(OWNER, QUESTION)
    quoted = " ".join(statement.text for statement in reply.statements)
    assert "December" in quoted
    assert "October" not in quoted
    assert "chart.png" in {reference.rel_path for reference in reply.references}
    library.close()


def test_pictures_that_were_read_before_are_described_when_all_is_read_again(
    tmp_path: Path, notes: Path, eyes: OllamaEyes
) -> None:
    (notes / "chart.png").write_bytes(PNG)
    eyes.prompt, eyes.says = PROMPT, "GATE B12"
    before = library_with(tmp_path, eyes.url, describe=False)
    index(before, "s", notes)
    assert described(before) == []
    before.close()
    eyes.prompt, eyes.says = DESCRIBING, SAYS
    after = library_with(tmp_path, eyes.url)
    index(after, "s", force=True)
    assert len(described(after)) == 1
    after.close()


def test_a_private_note_is_described_by_a_model_on_this_computer_and_stays_private(
    tmp_path: Path, notes: Path, eyes: OllamaEyes
) -> None:
    (notes / "chart.png").write_bytes(PNG)
    library = library_with(tmp_path, eyes.url)
    library.create_store(OWNER, "s", "hashing")
    library.privacy.set(OWNER, "s", ["chart.png"])
    library.add_source(OWNER, "s", notes, ["**/*"])
    library.index(OWNER, "s")
    assert len(described(library)) == 1
    guest = Viewer("ann", stores=frozenset({"s"}))
    assert not [hit for hit in library.search(guest, "wettest Bergen rainfall").hits if hit.relevant]
    library.close()
