"""What holds of every passage of every document: random ones, and Python's own library."""

from __future__ import annotations

import random
import sysconfig
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.errors import ExtractError
from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.text.embedded import embedded_text
from rag_core.text.prose import blocks
from rag_core.types import Extracted, Passage
from tests.extract.test_chunk import count_tokens

pytestmark = pytest.mark.thorough

NAMES = ["a.md", "a.py", "a.json", "a.yaml", "a.csv", "a.rst", "a.html", "a.txt", "a.tex", "a.js"]
SPEC = chunk_spec(256)


def check_segments(document: Extracted) -> None:
    at = 0
    for segment in document.segments:
        assert at <= segment.start < segment.end <= len(document.text)
        check_gap(document, at, segment.start)
        at = segment.end
    check_gap(document, at, len(document.text))


def check_gap(document: Extracted, start: int, end: int) -> None:
    """Only front matter is outside the segments."""
    gap = document.text[start:end]
    is_front_matter = start == 0 and document.file_type == "markdown" and gap.startswith("---")
    assert is_front_matter or not gap.strip()


def check_passages(document: Extracted, passages: list[Passage]) -> None:
    text = document.text
    newline = "\n" if "\n" in text or "\r" not in text else "\r"
    line, at, covered = 1, 0, document.segments[0].start if document.segments else len(text)
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text == passage.text.rstrip()
        assert at <= passage.start
        line += text.count(newline, at, passage.start)
        assert (passage.start_line, passage.end_line) == (line, line + passage.text.count(newline))
        check_left_out(text, covered, passage.start)
        at, covered = passage.start, max(covered, passage.end)
    check_left_out(text, covered, len(text))
    starts = [passage.start for passage in passages]
    assert len(set(starts)) == len(starts)


def check_left_out(text: str, start: int, end: int) -> None:
    """Every word is in a passage, but for the most of large blocks of base64."""
    if text[start:end].strip():
        assert any(first < start and len(text[last:end].strip()) == 0 for first, last in blocks(text))


def check(document: Extracted) -> None:
    check_segments(document)
    passages = cut(document, SPEC, count_tokens)
    check_passages(document, passages)
    for passage in passages:
        assert (
            count_tokens(embedded_text(passage.prefix, passage.text, passage.anchor_type)) <= SPEC.max_tokens
        )


WORDS = [
    "# A\n",
    "## B\n",
    "\n",
    "\n\n",
    "\r\n",
    "    ",
    "word ",
    "中文，",
    "```\n",
    "---\n",
    "x: 1\n",
    "def f():\n",
]
WORDS += [
    "    pass\n",
    '{"a": ',
    "}",
    "a,b\n",
    "====\n",
    "<p>",
    "Sentence. ",
    "😀",
    "\t",
    "\f",
    "[[a]]",
    "#tag ",
    "$$",
]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 90)), max_size=30), st.sampled_from(NAMES))
@settings(deadline=None)
def test_any_document_of_real_parts_is_cut_exactly(parts: list[tuple[str, int]], name: str) -> None:
    check(extract("".join(word * times for word, times in parts).encode(), PurePosixPath(name)))


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=1500), st.sampled_from(NAMES)
)
@settings(deadline=None)
def test_any_text_is_cut_exactly(text: str, name: str) -> None:
    check(extract(text.encode(), PurePosixPath(name)))


@pytest.mark.parametrize("unit", ["a", "word ", "中", "<b>x</b>"])
def test_one_line_of_two_megabytes_is_cut_in_linear_time(unit: str) -> None:
    """Searching every piece from the start would be 10^10 steps here."""
    document = extract((unit * (2_000_000 // len(unit))).encode(), PurePosixPath("a.html"))
    check_passages(document, cut(document, SPEC, None))


def test_pythons_own_library_is_cut_exactly() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(path for path in root.glob("*/*") if path.suffix != ".pyc" and path.is_file())
    read = 0
    for path in random.Random(7).sample(files, min(300, len(files))):
        if path.stat().st_size > 60_000:
            continue
        try:
            document = extract(path.read_bytes(), PurePosixPath(path))
        except ExtractError:
            continue
        check(document)
        read += 1
    assert read > 50
