"""Files that others made: each is found by a phrase that a person sees in it, or fails with the right reason.

COMMONPLACE_TEST_FORMATS names the folder that holds them. They are not in the repository.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.extract import ocr, pictures
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.stored import found

pytestmark = pytest.mark.thorough

FOLDER = os.environ.get("COMMONPLACE_TEST_FORMATS", "")
if not FOLDER:
    pytest.skip("COMMONPLACE_TEST_FORMATS names no folder of files to read", allow_module_level=True)

SEEN = {
    "contains-pictures.docx": "Some paragraph text that runs",
    "copy-protected.pdf": "Unified Toolkit for Deep",
    "docx-tables.docx": "Simple uniform table",
    "embedded-images.pdf": "Hands-free unlocking",
    "emoji.xlsx": "🤠😅",
    "example-steelJIS-datasheet-utf-16.html": "Chemical composition, standards and properties",
    "fake-email.eml": "Violets are blue",
    "fake-html-cp1252.html": "köstlich",
    "fake-memo.pdf": "200 laptops delivered",
    "fake-power-point-malformed.pptx": "Problem Date Placeholder",
    "fake-power-point-table.pptx": "Tangerine",
    "handbook-1p.docx": "INTRODUCTION",
    "header-test-doc.pdf": "Here is a lovely sentences",
    "ideas-page.html": "notice anomalies",
    "korean-text-with-tables.pdf": "커피전문점",
    "layout-parser-paper-fast.pdf": "document image analysis",
    "list-item-example.pdf": "Timescales and conduct of development",
    "multi-column-2p.pdf": "Dense Passage Retrieval for Open-Domain Question Answering",
    "science-exploration-1p.pptx": "Heliophysics Science Division",
    "simple.pptx": "Where have all the flowers gone?",
    "stanley-cups.xlsx": "Maple Leafs",
}
SEEN_IN_PICTURES = {
    "DA-1p.png": "We arrived in the dead of night",
    "english-and-korean.png": "Use the hashtag of Haruto",
    "picture.pptx": "python powered",
    "table-multi-row-column-cells.png": "Low Vision",
}
NO_TEXT = "example.jpg"
"""A photo of a flower: it is found by its name."""
FAILED = {"password.pdf": "'password.pdf' needs a password."}

needs_ocr = pytest.mark.skipif(
    ocr.find_engine("auto") is None, reason="neither Tesseract nor RapidOCR is installed"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    data = tmp_path_factory.mktemp("formats")
    opened = Library.open(Settings(data, data / "models", ()))
    index(opened, "s", Path(FOLDER))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", SEEN)
def test_what_a_person_sees_in_a_file_is_found(library: Library, name: str) -> None:
    assert name in found(library, SEEN[name])


@needs_ocr
@pytest.mark.parametrize("name", SEEN_IN_PICTURES)
def test_what_a_person_sees_in_a_picture_is_found(library: Library, name: str) -> None:
    assert name in found(library, SEEN_IN_PICTURES[name])


@needs_ocr
def test_a_picture_without_text_is_found_by_its_name_and_says_so(library: Library) -> None:
    first = library.search(OWNER, NO_TEXT).hits[0]
    assert (first.document.path, first.content) == (NO_TEXT, "")
    assert library.documents.get(OWNER, "s", NO_TEXT).warnings == (pictures.NO_TEXT,)


def test_what_cannot_be_read_says_why_and_every_file_is_in_the_table(library: Library) -> None:
    files = library.files.all(OWNER, "s")
    assert {each.path: each.reason for each in files if each.state == "failed"} == FAILED
    assert {each.path for each in files} == {*SEEN, *SEEN_IN_PICTURES, *FAILED, NO_TEXT}
