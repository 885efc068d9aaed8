"""What people see in a document is found, at the place where it stands."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest

from rag_core.errors import ExtractError
from rag_core.extract import extract, readers, worker
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import Run, index
from tests.support import documents_made as made


def read(data: bytes, name: str) -> Extracted:
    found = readers.read(data, PurePosixPath(name))
    assert all(found.text[each.start : each.end].strip() for each in found.segments)
    return found


def place_of(found: Extracted, phrase: str) -> tuple[str, str, tuple[str, ...]]:
    """(anchor type, anchor, headings) of the segment that holds a phrase."""
    at = found.text.index(phrase)
    one = next(each for each in found.segments if each.start <= at < each.end)
    return one.anchor_type, one.anchor_ref, one.heading_path


PHRASE = "Green tea keeps for six months"
SAMPLES: dict[str, tuple[bytes, str, str]] = {
    "report.pdf": (made.pdf("The first page", PHRASE), "page", "2"),
    "letter.docx": (made.docx("Dear Ada", "# Tea", PHRASE), "heading", "Tea"),
    "talk.pptx": (made.pptx(("Hello", "World", ""), ("Tea", PHRASE, "")), "slide", "2"),
    "stock.xlsx": (made.xlsx(Tea=[["Kind", "Keeps"], ["Black", 24], [PHRASE, 6]]), "row", "Tea!3"),
    "stock.ods": (made.ods(Tea=[["Kind", "Keeps"], ["Black", 24], [PHRASE, 6]]), "row", "Tea!3"),
    "stock.xls": (made.xls(Tea=[["Kind", "Keeps"], ["Black", 24], [PHRASE, 6]]), "row", "Tea!3"),
    "letter.odt": (made.odt(f"<text:h>Tea</text:h><text:p>{PHRASE}</text:p>"), "heading", "Tea"),
    "talk.odp": (made.odp("", f"<text:p>{PHRASE}</text:p>"), "slide", "2"),
    "book.epub": (made.epub("Leaves", one="<h1>Trees</h1>", two=f"<h1>Tea</h1>{PHRASE}"), "chapter", "Tea"),
    "note.eml": (made.mail("Tea", PHRASE), "message", ""),
    "html.eml": (made.mail("Tea", "", f"<p>{PHRASE}"), "message", ""),
    "all.mbox": (made.mbox(made.mail("Hello", "Hi"), made.mail("Tea", PHRASE)), "message", "2 Tea"),
    "notes.enex": (made.enex(("Hello", "Hi"), ("Tea", PHRASE)), "heading", "Tea"),
    "note.rtf": (made.rtf(PHRASE), "text", ""),
    "tea.ipynb": (made.notebook(("markdown", "# Tea"), ("code", "x"), printed=PHRASE), "cell", "2"),
    "files.zip": (made.zipped({f"{PHRASE}.txt": ""}), "text", ""),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_phrase_is_found_at_its_place(name: str) -> None:
    data, anchor_type, anchor_ref = SAMPLES[name]
    assert place_of(read(data, name), PHRASE)[:2] == (anchor_type, anchor_ref)


def test_the_outline_of_a_pdf_gives_its_headings() -> None:
    found = read(made.pdf("One", "Two", "Three", title="Leaves", outline=[("Tea", 2)]), "a.pdf")
    assert [each.heading_path for each in found.segments] == [(), ("Tea",), ("Tea",)]
    assert (found.title, found.metadata["pages"]) == ("Leaves", 3)


def test_a_pdf_that_needs_a_password_says_so() -> None:
    with pytest.raises(ExtractError, match=r"needs a password\."):
        read(made.pdf("Secret", password="open"), "a.pdf")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.xlsm", "a.xlsb"])
def test_an_encrypted_office_file_says_so(name: str) -> None:
    with pytest.raises(ExtractError, match=r"needs a password\."):
        read(made.encrypted_office(), name)


def test_tables_notes_and_footers_of_word_are_read() -> None:
    found = read(made.docx("Text", [["Kind", "Months"], ["Green", "6"]], footer="Page of Ada"), "a.docx")
    assert "Kind | Months\nGreen | 6" in found.text
    assert "Page of Ada" in found.text


def test_the_notes_of_a_slide_are_read() -> None:
    found = read(made.pptx(("Tea", "Kinds", "Tell them about mint")), "a.pptx")
    assert place_of(found, "Tell them about mint") == ("slide", "1", ("Tea",))
    assert found.title == "Tea"


def test_rows_of_a_sheet_stand_below_the_names_of_its_columns() -> None:
    rows = [["Kind", "Keeps"], *([f"kind {n} of tea", n] for n in range(120))]
    found = read(made.xlsx(Stock=rows), "a.xlsx")
    assert place_of(found, "kind 110 of tea")[2] == ("Stock", "Kind, Keeps")


def test_what_is_attached_to_a_mail_is_read_by_its_own_reader() -> None:
    report = made.pdf("Nothing", PHRASE)
    found = read(
        made.mail("Tea", "See below", attached={"report.pdf": report, "b.docx": made.docx("Mint")}), "a.eml"
    )
    assert place_of(found, "Green tea keeps")[:2] == ("attachment", "report.pdf › page 2")
    assert place_of(found, "Mint")[:2] == ("attachment", "b.docx")
    assert (found.title, found.date, found.metadata["from"]) == ("Tea", "2024-02-03", "Ada <ada@example.org>")


def test_the_pictures_of_a_notebook_are_left_out() -> None:
    assert "iVBOR" not in read(made.notebook(("code", "plot()")), "a.ipynb").text


def test_of_a_web_page_stays_what_is_seen() -> None:
    page = (
        "<title>Tea</title><nav>Home</nav><h1>Green</h1><p>Keeps <b>six</b>\n months<script>alert(1)</script>"
    )
    from rag_core.extract import webpage

    found = webpage.visible_page(page + "<p hidden>not this</p><table><tr><td>a<td>b</table>")
    assert found.title == "Tea"
    assert found.blocks == [(1, "Green"), (0, "Keeps six months"), (0, "a | b")]


def test_a_document_that_is_too_long_says_so_on_its_page_and_when_asked_why(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = "from rag_core.extract import building; building.MOST_TEXT = 100; main(int"
    monkeypatch.setattr(worker, "_START", worker._START.replace("main(int", short))
    (notes / "tea.html").write_text(f"<p>{PHRASE}</p>" * 5, "utf-8")
    index(library, "s", notes)
    said = "This document is longer than 100 characters; searches find only its beginning."
    assert said in library.documents.get(OWNER, "s", "tea.html").warnings
    [why] = library.upkeep.explain(OWNER, str(notes / "tea.html"))
    assert said in [step.sentence for step in why.steps]


def test_pages_and_definitions_are_filters(library: Library, notes: Path) -> None:
    (notes / "tea.pdf").write_bytes(made.pdf("Green tea", "Black tea"))
    (notes / "water").mkdir()
    (notes / "water" / "pool.py").write_text(
        "class Pool:\n    def open_it(self):\n        return 'tea'\n\n\n"
        "def open_it():\n    return 'tea'\n\n\ndef openXit():\n    return 'tea'\n",
        "utf-8",
    )
    index(library, "s", notes)
    assert [hit.anchor for hit in library.search(OWNER, "tea page:2").hits] == ["page 2"]
    places = {
        query: {hit.heading_path for hit in library.search(OWNER, f"tea symbol:{query}").hits}
        for query in ("Pool.open_it", "open_it", "pool.open_it", "water.pool.Pool.open_it")
    }
    method, function = ("pool", "Pool", "open_it"), ("pool", "open_it")
    assert places == {
        "Pool.open_it": {method, function},
        "open_it": {method, function},
        "pool.open_it": {method, function},
        "water.pool.Pool.open_it": {method},
    }


def test_a_pdf_without_a_title_has_that_of_its_outline_or_its_largest_letters() -> None:
    assert read(made.pdf("One", "Two", outline=[("Leaves of tea", 1)]), "a.pdf").title == "Leaves of tea"
    assert read(made.pdf("All of one size", "Two"), "a.pdf").title == "a.pdf"
    assert read(made.pdf("Body text\nand more", headline="Leaves of tea"), "a.pdf").title == "Leaves of tea"


def test_a_folder_of_which_nothing_could_be_read_does_not_end_as_done(run: Run, notes: Path) -> None:
    (notes / "locked.pdf").write_bytes(made.pdf("Secret", password="open"))
    (notes / "song.mp3").write_bytes(b"ID3\x03\x00\x00")
    result = run("init", notes, "--store", "s")
    assert "Nothing could be read." in result.err
    assert "locked.pdf: It needs a password." in result.out
    (notes / "tea.md").write_text("Green tea.\n", "utf-8")
    assert "Nothing could be read." not in run("index", "--store", "s").err


def test_a_long_cell_is_kept_whole() -> None:
    long = "word " * 100 + "at its very end"
    assert long in read(made.xlsx(Tea=[[long, 1]]), "a.xlsx").text


def test_a_mail_is_private_with_a_private_note_in_it() -> None:
    def attached(note: bytes) -> Extracted:
        return read(made.mail("Diary", "See below", attached={"diary.md": note}), "a.eml")

    assert attached(b"---\nprivate: true\n---\nBuried.").private
    assert not attached(b"---\nprivate: false\n---\nBuried.").private


def test_one_damaged_attachment_or_an_empty_mailbox_costs_nothing_else() -> None:
    data = made.mail("Tea", PHRASE, attached={"bad.docx": b"PK no archive", "bad.pdf": b"%PDF no"})
    found = read(data, "a.eml")
    assert PHRASE in found.text
    assert "bad.docx" in found.text
    assert len(found.warnings) == 2
    assert read(b"", "empty.mbox").segments == ()


def test_deleted_text_of_a_document_is_not_read_and_notes_once() -> None:
    body = (
        "<text:tracked-changes><text:p>Struck out</text:p></text:tracked-changes>"
        "<text:p>Tea<text:note><text:p>A remark</text:p></text:note> keeps</text:p>"
    )
    text = read(made.odt(body), "a.odt").text
    assert text.split() == "Tea keeps A remark".split()


def test_deeply_nested_and_large_web_pages_lose_nothing() -> None:
    from rag_core.extract import webpage

    deep = "<font>" * 300 + "deep" + "</font>" * 300 + "<p>after"
    assert [text for _, text in webpage.visible_page(deep).blocks] == ["deep", "after"]


def test_what_is_filled_in_and_commented_in_a_pdf_is_read() -> None:
    data = made.pdf("The page", filled_in="Ada Lovelace", comment="Ask her again")
    assert read(data, "form.pdf").text.split("\n") == ["The page", "Ada Lovelace", "", "Ask her again"]


@pytest.mark.parametrize("smart_art", [False, True], ids=["chart", "SmartArt"])
def test_the_words_of_a_chart_and_of_smart_art_are_read_once(smart_art: bool) -> None:
    data = made.pptx_chart("Sold", "Leaves", ["Green", "Black", "Green"], smart_art=smart_art)
    assert read(data, "a.pptx").text.split() == ["Sold", "Leaves", "Green", "Black"]


def test_a_heading_at_the_very_top_is_the_title_of_a_document_that_has_none() -> None:
    assert read(made.docx("# Tea", PHRASE, "# Coffee"), "a.docx").title == "Tea"
    assert read(made.docx("# Tea", PHRASE, title="Leaves"), "a.docx").title == "Leaves"
    assert read(made.docx(PHRASE, "# Tea"), "a.docx").title == "a.docx"
    assert read(made.odt(f"<text:h>Tea</text:h><text:p>{PHRASE}</text:p>"), "a.odt").title == "Tea"


def test_of_a_mail_without_plain_text_or_html_other_text_is_read() -> None:
    invitation = b"Content-Type: text/calendar\n\nSUMMARY:" + PHRASE.encode()
    assert PHRASE in read(b"Subject: Tea\n" + invitation, "a.eml").text
    both = (
        b"Content-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>Come\n--x\n"
        + invitation
        + b"\n--x--\n"
    )
    assert read(both, "b.eml").text.startswith("Come")
    assert PHRASE in read(both, "b.eml").text, "an invitation is no version of the text"


@pytest.mark.parametrize(
    "title", ["Table of Contents", "Contents", "Microsoft Word - plan.doc", "untitled", "Slide 1"]
)
def test_a_pdf_without_a_title_of_its_own_is_called_by_its_file(title: str) -> None:
    document = read(made.pdf("The plan of the garden is here.", title=title), "plan.pdf")
    assert (document.title, document.title_from) == ("plan.pdf", "file name")


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (made.docx(), "a.docx", True),
        (made.xlsx(Tea=[]), "a.xlsx", True),
        (made.opendocument(""), "a.odt", True),
        (b"<html><body><p></p></body></html>", "a.html", True),
        (b" \n", "a.html", False),
        (b" \n", "a.md", False),
        (made.docx("Tea"), "a.docx", False),
    ],
)
def test_a_document_without_text_says_so_once(data: bytes, name: str, says: bool) -> None:
    with closing(worker.Worker()) as process:
        found = extract(data, PurePosixPath(name), process)
    assert found.warnings == (("No text was found in this file.",) if says else ())


QUARTZ = {0x21: 0x21B5, 0x22: 0}
"""Codes of TeX's ligatures "ff" and "ffi" in PDFs that macOS has saved."""


@pytest.mark.parametrize(
    ("codes", "meant", "shown"),
    [
        (b"the o\x0ece e\x0bort \x0crst ba\x0fed sni\x0b", {}, "the office effort first baffled sniff"),
        (b"the e\x1bort \x1crst o\x1ece ba\x1fed", {}, "the effort first office baffled"),
        (b"an o!-the-shelf, di!erent, e\"cient, a\"uent one", QUARTZ,
         "an off-the-shelf, different, efficient, affluent one"),
        (b"fly ! or Enter! and \" or x\" now", QUARTZ, "fly \u21b5 or Enter\u21b5 and  or x now"),
        (b"o!ce o\"er", {0x21: 0xFB03, 0x22: 0xFB00}, "office offer"),
    ],
)  # fmt: skip
def test_ligatures_in_a_pdf_are_letters(codes: bytes, meant: dict[int, int], shown: str) -> None:
    found = read(made.pdf_in_codes(codes, meant), "a.pdf")
    assert found.text == shown


def test_a_lost_character_in_another_font_is_no_ligature() -> None:
    lost = made.pdf_in_codes(b"the informa!on", {0x21: 0}, "Carlito")
    assert read(lost, "a.pdf").text == "the informaon"
