"""What a person sees in rich text (RTF) beside its paragraphs is read, too."""

from __future__ import annotations

from itertools import product
from pathlib import PurePosixPath

import pytest

from rag_core.extract import readers
from rag_core.types import Extracted

APART = {
    "footnote": "Footnotes",
    "*\\annotation": "Comments",
    "header": "Header and footer",
    "headerl": "Header and footer",
    "footerf": "Header and footer",
    "shptxt": "Text boxes",
}


def read(source: str | bytes) -> Extracted:
    return readers.read(
        source if isinstance(source, bytes) else source.encode("cp1251"), PurePosixPath("a.rtf")
    )


def under(found: Extracted, heading: str) -> str:
    return "\n".join(
        found.text[part.start : part.end] for part in found.segments if heading in part.heading_path
    )


@pytest.mark.parametrize(("group", "code_page"), [*product(APART, ("", "\\ansicpg1251"))])
def test_a_group_apart_is_read_below_its_heading(group: str, code_page: str) -> None:
    name = "\\'cf\\'f0\\'e8" if code_page else "\\u1055?\\u1088?\\u1080?"
    apart = f"{{\\{group} \\pard\\plain See {name} \\{{braces\\}} {{\\b first}}\\par}}"
    fonts = "{\\fonttbl{\\f0\\fcharset0 Arial;}}"
    found = read(f"{{\\rtf1\\ansi{code_page}{fonts}\\pard The {apart}levain rises.\\par}}")
    assert found.text.startswith("The levain rises.")
    assert under(found, APART[group]) == "See При {braces} first"


def test_the_bytes_of_a_picture_close_no_group() -> None:
    picture = b"{\\pict\\wmetafile8\\bin10 " + b"\xff\xff}}}}\\par" + b"}"
    assert read(b"{\\rtf1\\ansi Before " + picture + b"and after.\\par}").text == "Before and after."


def test_the_address_of_a_link_is_read_once() -> None:
    link = '{{\\field{{\\*\\fldinst HYPERLINK "{0}"}}{{\\fldrslt {1}}}}}'
    shown, hidden = "https://shown.example", "https://hidden.example/a"
    found = read(f"{{\\rtf1\\ansi {link.format(shown, shown)} and {link.format(hidden, 'this page')}\\par}}")
    assert found.text.startswith(f"{shown} and this page")
    assert under(found, "Links") == hidden


@pytest.mark.parametrize(
    "written",
    [
        '{{\\rtlch\\af0 \\ltrch\\insrsid12  HYPERLINK "{0}"}}',
        '{{HYPERLINK "{0}"}}',
        '{{HYPERLINK "{0}" \\\\o "tip"}}',
        ' HYPERLINK "{0}"',
    ],
)
@pytest.mark.parametrize("result", ["{{{0}}}", "\\ul\\cf2 {0}"])
def test_the_address_of_a_link_is_not_in_its_sentence(written: str, result: str) -> None:
    address = "https://example.org/r"
    field = f"{{\\field{{\\*\\fldinst{written.format(address)}}}{{\\fldrslt{result.format('gate house')}}}}}"
    found = read(f"{{\\rtf1\\ansi We met at the {field} before lunch\\par}}")
    assert found.text.startswith("We met at the gate house before lunch")
    assert read("{\\rtf1\\ansi The HYPERLINK of Excel.\\par}").text == "The HYPERLINK of Excel."
    assert under(found, "Links") == address


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_text_that_is_cut_off_is_read_so_far(cut: int) -> None:
    note = "{\\footnote \\pard Feed it twice a day, in the morning and at night.}"
    whole = f"{{\\rtf1\\ansi Levain rises. {note}\\par}}"
    assert read(whole[:-cut]).text.startswith("Levain rises.")


@pytest.mark.parametrize("begins", ["\\v ", "\\rtlch\\fcs1 \\af0 \\ltrch \\v\\insrsid12 "])
def test_hidden_text_is_left_out(begins: str) -> None:
    found = read(f"{{\\rtf1\\ansi Seen {{{begins}unseen {{\\b so}}}}{{\\vertalt again}}{{\\v0  here}}}}")
    assert "unseen" not in found.text
    assert found.text.split()[-1] == "here"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Seen \\v unseen \\'e4\\u228?\\v0 again", "Seen again"),
        ("Seen \\v unseen \\plain again", "Seen again"),
        ("Seen {\\b \\v unseen {\\i so}} again", "Seen again"),
        ("Seen {\\v unseen \\v0 here} again", "Seen here again"),
        ("Seen\\v\\{unseen\\}\\v0  \\{again\\}", "Seen {again}"),
        ("Seen {\\vertalt again}", "Seen again"),
        ("{\\fs2 .0}Seen {\\fs20 again}", "Seen again"),
        ("\\fs2 .0\\fs24 Seen \\fs1 .0\\plain again", "Seen again"),
        ("\\fs2{\\v .0\\v0 .1}\\fs3 Seen", "Seen"),
    ],
)
def test_hidden_text_ends_where_its_format_ends(written: str, shown: str) -> None:
    assert " ".join(read(f"{{\\rtf1\\ansi {written}\\par}}").text.split()) == shown


def test_a_font_that_is_set_in_hidden_text_holds_after_it() -> None:
    fonts = "{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204 Arial CYR;}}"
    assert "Ж" in read(f"{{\\rtf1\\ansi{fonts}\\f0 Seen \\v\\f1 unseen\\v0 \\'c6\\par}}").text


def test_properties_of_a_document_are_read() -> None:
    days = "{\\creatim\\yr2013\\mo5\\dy1\\hr2}{\\revtim\\yr2014\\mo6\\dy30}{\\printim\\yr2015\\mo1\\dy1}"
    info = f"{{\\info{{\\title The mizzen \\'e4st}}{{\\author Ada}}{{\\operator Bob}}{days}}}"
    found = read(f"{{\\rtf1\\ansi\\ansicpg1252{info} Body\\par}}")
    assert (found.title, found.date, found.metadata) == ("The mizzen äst", "2014-06-30", {"author": "Ada"})
    assert found.text.strip() == "Body"


def test_a_picture_without_its_size_costs_itself_alone() -> None:
    assert read("{\\rtf1\\ansi Seen {\\pict\\jpegblip\\bin ffd8ff} again\\par}").text.split() == [
        "Seen",
        "again",
    ]
