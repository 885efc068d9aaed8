"""The numbers that Word puts before headings and items of lists are read as it shows them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import readers
from rag_core.extract.numerals import numeral
from tests.support import documents_made as made

Paragraph = tuple[str, int | None, str | None]
"""Its list, its level, its style; what it says is what Word shows before it."""


def level(depth: int, numerals: str, text: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{numerals}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


LISTS = {
    "1": level(0, "decimal", "%1", '<w:pStyle w:val="Heading1"/>')
    + level(1, "decimal", "%1.%2", '<w:pStyle w:val="Heading2"/>')
    + level(2, "lowerLetter", "%3)"),
    "2": level(0, "upperRoman", "Article %1.") + level(1, "decimalZero", "Section %1.%2", "<w:isLgl/>"),
    "3": level(0, "bullet", "\uf0b7") + level(1, "none", "") + level(2, "lowerRoman", "(%1%2%3)"),
    "4": level(0, "upperLetter", "%1") + level(1, "decimal", "%2", '<w:lvlRestart w:val="0"/>'),
    "5": level(0, "chineseCounting", "第%1章", '<w:suff w:val="nothing"/>'),
    "6": '<w:numStyleLink w:val="Legal"/>',
    "7": level(0, "decimal", "Annex %1:") + level(12, "decimal", "%1") + "<!-- none -->",
}
NUMS = {
    **{name: (name, "") for name in LISTS},
    "8": ("1", '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'),
    "9": ("7", f'<w:lvlOverride w:ilvl="0">{level(0, "upperLetter", "Annex %1:")}</w:lvlOverride>'),
    "10": ("404", ""),
    "x": ("1", '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="99999999999"/></w:lvlOverride>'),
}
STYLES = (
    '<w:style w:type="numbering" w:styleId="Legal"><w:name w:val="Legal"/>'
    '<w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
    '<w:style w:styleId="Chapter"><w:name w:val="Chapter"/><w:basedOn w:val="Heading1"/></w:style>'
    '<w:style w:styleId="Part"><w:name w:val="Part"/><w:basedOn w:val="Heading2"/>'
    "<w:pPr><w:numPr/></w:pPr></w:style>"
    '<w:style w:styleId="Circle"><w:name w:val="Circle"/><w:basedOn w:val="Circle"/></w:style>'
)
NUMBERED = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'


def document(*paragraphs: tuple[str, Paragraph], part: str = "") -> bytes:
    body = "".join(f"<w:p>{_format(how)}<w:r><w:t>{text}</w:t></w:r></w:p>" for text, how in paragraphs)
    data = made.rewritten(made.docx("The end"), "word/document.xml", ("<w:body>", f"<w:body>{body}"))
    lists = "".join(
        f'<w:abstractNum w:abstractNumId="{name}">{each}</w:abstractNum>' for name, each in LISTS.items()
    )
    nums = "".join(
        f'<w:num w:numId="{name}"><w:abstractNumId w:val="{which}"/>{more}</w:num>'
        for name, (which, more) in NUMS.items()
    )
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    written = part or f"<w:numbering {space}>{lists}{nums}</w:numbering>"
    styles = made.part_of(data, "word/styles.xml").decode()
    for heading in ("Heading1", "Heading2"):
        style = styles[styles.index(f'w:styleId="{heading}"') :]
        style = style[: style.index("</w:style>")]
        styles = styles.replace(style, style.replace("<w:pPr>", NUMBERED.removesuffix("</w:pPr>"), 1))
    styles = styles.replace("</w:styles>", f"{STYLES}</w:styles>")
    return made.added(data, {"word/numbering.xml": written, "word/styles.xml": styles})


def _format(how: Paragraph) -> str:
    name, depth, style = how
    of_style = f'<w:pStyle w:val="{style}"/>' if style else ""
    of_level = "" if depth is None else f'<w:ilvl w:val="{depth}"/>'
    of_list = f'<w:numId w:val="{name}"/>' if name else ""
    numbers = f"<w:numPr>{of_level}{of_list}</w:numPr>" if of_level or of_list else ""
    return f"<w:pPr>{of_style}{numbers}</w:pPr>"


DOCUMENTS: dict[str, list[tuple[str, Paragraph]]] = {
    "headings that are numbered by their styles": [
        ("1 ", ("", None, "Heading1")),
        ("1.1 ", ("", None, "Heading2")),
        ("1.2 ", ("", None, "Heading2")),
        ("a) ", ("1", 2, None)),
        ("b) ", ("1", 2, None)),
        ("2 ", ("", None, "Chapter")),
        ("2.1 ", ("", None, "Part")),
        ("", ("0", None, "Heading1")),
        ("", ("", None, "Circle")),
    ],
    "a list that begins again, and the one that it goes on from": [
        ("1 ", ("1", 0, None)),
        ("2 ", ("1", 0, None)),
        ("7 ", ("8", 0, None)),
        ("8 ", ("8", 0, None)),
        ("9 ", ("1", 0, None)),
    ],
    "articles with sections in digits": [
        ("Article I. ", ("2", 0, None)),
        ("Article II. ", ("6", 0, None)),
        ("Section 2.1 ", ("2", 1, None)),
    ],
    "a level that was passed over": [
        ("1.1 ", ("1", 1, None)),
        ("1.2 ", ("1", 1, None)),
        ("2 ", ("1", 0, None)),
    ],
    "bullets, and levels that show nothing": [
        ("", ("3", 0, None)),
        ("", ("3", 1, None)),
        ("(i) ", ("3", 2, None)),
    ],
    "a level that never begins again": [
        ("A ", ("4", 0, None)),
        ("1 ", ("4", 1, None)),
        ("B ", ("4", 0, None)),
        ("2 ", ("4", 1, None)),
    ],
    "nothing between the number and the text": [("第一章", ("5", 0, None)), ("第二章", ("5", 0, None))],
    "another form of the same list": [("Annex A: ", ("9", 0, None)), ("Annex 2: ", ("7", 0, None))],
    "lists that are not there": [("", ("10", 0, None)), ("", ("77", 0, None)), ("", ("1", 8, None))],
    "a start that is no number": [("1 ", ("x", 0, None))],
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_numbers_are_read_as_they_are_shown(kind: str) -> None:
    paragraphs = [(f"Walnut {place}", how) for place, (_, how) in enumerate(DOCUMENTS[kind])]
    found = readers.read(document(*paragraphs), PurePosixPath("a.docx"))
    shown = [f"{number}Walnut {place}" for place, (number, _) in enumerate(DOCUMENTS[kind])]
    assert found.text.split("\n\n") == [*shown, "The end"]
    assert found.warnings == ()


def test_a_paragraph_without_text_counts_but_is_not_read() -> None:
    item = ("1", 0, None)
    found = readers.read(document(("Walnut", item), ("", item), ("Hazel", item)), PurePosixPath("a.docx"))
    assert found.text == "1 Walnut\n\n3 Hazel\n\nThe end"


def test_a_number_is_part_of_the_heading() -> None:
    heading = ("Scope", ("", None, "Heading1"))
    found = readers.read(document(heading), PurePosixPath("a.docx"))
    assert found.title == "1 Scope"
    assert found.segments[0].heading_path == ("1 Scope",)


def test_damaged_lists_cost_only_the_numbers_by_name() -> None:
    heading = ("Scope", ("", None, "Heading1"))
    found = readers.read(document(heading, part="<no XML"), PurePosixPath("a.docx"))
    assert found.text == "Scope\n\nThe end"
    assert found.warnings == ("'word/numbering.xml' is damaged.",)


@pytest.mark.parametrize(
    ("number", "kind", "written"),
    [
        (4, "decimal", "4"),
        (4, "decimalZero", "04"),
        (4, "lowerLetter", "d"),
        (26, "upperLetter", "Z"),
        (27, "lowerLetter", "aa"),
        (53, "upperLetter", "AAA"),
        (1_000_000, "lowerLetter", "1000000"),
        (1994, "upperRoman", "MCMXCIV"),
        (4, "lowerRoman", "iv"),
        (5000, "upperRoman", "5000"),
        (0, "upperRoman", "0"),
        (3, "decimalEnclosedCircle", "③"),
        (21, "decimalEnclosedCircle", "21"),
        (10, "chineseCounting", "十"),
        (12, "chineseCountingThousand", "十二"),
        (35, "japaneseCounting", "三十五"),
        (7, "a kind of tomorrow", "7"),
    ],
)
def test_numerals_are_written_as_a_list_shows_them(number: int, kind: str, written: str) -> None:
    assert numeral(number, kind) == written
