"""One odd part of a document costs that part, by name."""

from __future__ import annotations

import io
import json
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZipFile

import pytest

from rag_core.errors import ExtractError
from rag_core.extract import epub, notebook, ocr, pictures, readers, webpage
from tests.support import documents_made as made


def changed_book(**pages: bytes | None) -> bytes:
    """A book of two chapters, in which these pages are replaced or missing."""
    with ZipFile(io.BytesIO(made.epub("Ferry", one="<h1>Anselm</h1>rows", two="<p>Last boat</p>"))) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    for name, page in pages.items():
        del parts[f"OEBPS/{name}.xhtml"]
        if page is not None:
            parts[f"OEBPS/{name}.xhtml"] = page
    packed = io.BytesIO()
    with ZipFile(packed, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    return packed.getvalue()


def test_a_missing_chapter_is_named_and_the_others_are_read() -> None:
    found = epub.read(changed_book(two=None), PurePosixPath("ferry.epub"))
    assert found.text == "Anselm\n\nrows"
    assert found.warnings == ("Chapter 2 ('two.xhtml') is missing or damaged.",)


@pytest.mark.parametrize("container", [b"<no XML", b"<container/>"])
def test_a_book_whose_container_is_damaged_is_read(container: bytes) -> None:
    data = made.damaged_part(changed_book(), "META-INF/container.xml", container)
    assert epub.read(data, PurePosixPath("ferry.epub")).text.endswith("Last boat")


def test_a_book_in_an_unknown_namespace_is_read() -> None:
    data = made.rewritten(changed_book(), "OEBPS/book.opf", ("http://www.idpf.org/2007/opf", "urn:other"))
    assert epub.read(data, PurePosixPath("ferry.epub")).text.endswith("Last boat")


def test_what_stands_before_the_damage_of_a_text_is_read() -> None:
    odt = made.odt("<text:p>First words</text:p><text:p>Last words</text:p>")
    cut = made.part_of(odt, "content.xml").partition(b"Last")[0]
    found = readers.read(made.damaged_part(odt, "content.xml", cut), PurePosixPath("a.odt"))
    assert (found.text, len(found.warnings)) == ("First words", 1)
    docx = made.docx("First words", "Last words")
    cut = made.part_of(docx, "word/document.xml").partition(b"Last")[0]
    found = readers.read(made.damaged_part(docx, "word/document.xml", cut), PurePosixPath("a.docx"))
    assert found.text.startswith("First words")
    assert found.warnings == ("'word/document.xml' is damaged; some of it may be missing.",)


def test_a_damaged_picture_of_a_document_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> str:
        raise OSError("truncated")

    monkeypatch.setattr(ocr.reader, "text", fails)
    warnings: list[str] = []
    assert pictures.text_of(b"\x89PNG no more", "media/one.png", warnings) == ""
    assert pictures.text_of(b"a drawing", "media/two.emf", warnings) == ""
    assert warnings == ["The picture 'media/one.png' is damaged."]


def test_a_book_without_any_chapter_is_damaged() -> None:
    with pytest.raises(ExtractError, match="damaged"):
        epub.read(changed_book(one=None, two=None), PurePosixPath("ferry.epub"))


@pytest.mark.parametrize("codec", ["windows-1251", "utf-16", "koi8-r", "utf-8"])
def test_a_chapter_is_read_in_its_encoding(codec: str) -> None:
    page = f'<?xml version="1.0" encoding="{codec}"?><html><body><p>Паромщик ждал</p></body></html>'
    found = epub.read(changed_book(two=page.encode(codec)), PurePosixPath("ferry.epub"))
    assert found.text.endswith("Паромщик ждал")


def test_an_equation_of_a_page_is_read_as_a_person_types_it() -> None:
    math = (
        "<math><semantics><mrow><msub><mi>F</mi><mi>grav</mi></msub><mo>=</mo><mfrac><mi>m</mi><msup><mi>r</mi>"
        "<mn>2</mn></msup></mfrac></mrow><annotation encoding='application/x-tex'>F_{grav}</annotation>"
        "</semantics></math>"
    )
    page = webpage.visible_page(f"<p>so {math} holds</p>")
    assert page.blocks == [(0, "so Fgrav=m/r2 holds")]


def book_of(*outputs: Any, source: Any = "show()") -> bytes:
    cells = [
        {"cell_type": "code", "source": source, "outputs": outputs},
        {"cell_type": "raw", "source": "end"},
    ]
    return json.dumps({"cells": cells}).encode()


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"data": {"text/html": ["<table><tr><td>goldfinch</td></tr></table>"]}}, "goldfinch"),
        ({"data": {"text/markdown": "**rose**", "text/plain": "<Markdown object>"}}, "**rose**"),
        ({"data": {"text/plain": "42", "image/png": "aGk="}}, "42"),
        ({"output_type": "stream", "text": ["\x1b[32mgreen\x1b[0m owl"]}, "green owl"),
        (
            {
                "output_type": "error",
                "ename": "KeyError",
                "evalue": "'wren'",
                "traceback": ["\x1b[0;31mFile a.py\x1b[0m"],
            },
            "KeyError: 'wren'\nFile a.py",
        ),
    ],
)
def test_what_a_cell_shows_is_read(output: dict[str, Any], text: str) -> None:
    assert notebook.read(book_of(output), PurePosixPath("a.ipynb")).text == f"show()\n\n{text}\n\nend"


def test_an_odd_cell_is_named_and_the_others_are_read() -> None:
    found = notebook.read(book_of(source=[1, 2]), PurePosixPath("a.ipynb"))
    assert found.text == "end"
    assert found.warnings == ("Cell 1 is damaged.",)


@pytest.mark.parametrize("depth", [10, 600, 2_100, 5_000])
@pytest.mark.parametrize("tags", ["div", "b", "font", "table tr td", "ul li", "blockquote p"])
@pytest.mark.parametrize("is_closed", [True, False])
def test_a_page_is_read_however_deep_its_elements_are(depth: int, tags: str, is_closed: bool) -> None:
    begin = "".join(f"<{tag}>" for tag in tags.split())
    end = "".join(f"</{tag}>" for tag in reversed(tags.split())) * is_closed
    inside = "<p>walnuts</p><script>no()</script><div style='display: none'>hidden</div><!-- <div> -->"
    page = webpage.visible_page(f"<p>before</p>{begin * depth}{inside}{end * depth}<p>after</p>")
    text = " ".join(" ".join(block.split()) for _, block in page.blocks)
    assert text == "before walnuts after"
