"""A chart shows its numbers where it has data labels or a table of data, and comments have their authors."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import readers
from rag_core.extract.office import text_of_graphic
from tests.support import documents_made as made

SPACE = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'


def cache(kind: str, *values: object, code: str = "") -> str:
    points = "".join(f'<c:pt idx="{index}"><c:v>{each}</c:v></c:pt>' for index, each in enumerate(values))
    format_code = f"<c:formatCode>{code}</c:formatCode>" if code else ""
    return f"<c:{kind}Ref><c:{kind}Cache>{format_code}{points}</c:{kind}Cache></c:{kind}Ref>"


def chart(labels: str, *values: object, code: str = "General", names: str = "", more: str = "") -> bytes:
    names = names or cache("str", "North", "South")
    series = (
        f"<c:ser><c:tx>{cache('str', 'Sales')}</c:tx>{labels}<c:cat>{names}</c:cat>"
        f"<c:val>{cache('num', *values, code=code)}</c:val></c:ser>"
    )
    plot = f"<c:pieChart>{series}{more}</c:pieChart>"
    return f"<c:chartSpace {SPACE}><c:chart><c:plotArea>{plot}</c:plotArea></c:chart></c:chartSpace>".encode()


def labels(*shown: str, inside: str = "") -> str:
    flags = "".join(f'<c:{name} val="1"/>' for name in shown)
    return f"<c:dLbls>{inside}{flags}</c:dLbls>"


MONEY = '<c:numFmt formatCode="#,##0.00 &quot;CHF&quot;" sourceLinked="0"/>'
TABLE = [
    ("no labels", chart("", 4.3, 2.5), []),
    ("labels of names", chart(labels("showCatName"), 4.3, 2.5), []),
    ("values", chart(labels("showVal"), 4.3, 2.5), ["Sales: North 4.3, South 2.5"]),
    ("values as in the sheet", chart(labels("showVal"), 0.4, 0.6, code="0%"),
     ["Sales: North 40%, South 60%"]),
    ("a format of their own", chart(labels("showVal", inside=MONEY), 1204.5, 2), [
        "Sales: North 1,204.50 CHF, South 2.00 CHF"]),
    ("percentages", chart(labels("showPercent"), 3, 1), ["Sales: North 75%, South 25%"]),
    ("labels of all series", chart("", 4, 2, more=labels("showVal")), ["Sales: North 4, South 2"]),
    ("one label", chart(labels(inside='<c:dLbl><c:idx val="1"/><c:showVal val="1"/></c:dLbl>'), 4, 2),
     ["Sales: South 2"]),
    ("a deleted label", chart(
        labels("showVal", inside='<c:dLbl><c:idx val="0"/><c:delete val="1"/></c:dLbl>'), 4, 2),
     ["Sales: South 2"]),
    ("a table of data", chart("", 4, 2, more="<c:dTable/>"), ["Sales: North 4, South 2"]),
    ("numbers that name categories", chart("", 4, 2, names=cache("num", 2023, 2024)), ["2023", "2024"]),
    ("days that name categories", chart(labels("showVal"), 4, 2, names=cache("num", 45000, 45001,
     code="d mmm yyyy")), ["15 Mar 2023", "16 Mar 2023", "Sales: 15 Mar 2023 4, 16 Mar 2023 2"]),
    ("gaps", chart(labels("showVal"), "nan", 2.5, "INF"), ["Sales: South 2.5"]),
    ("no number", chart(labels("showVal"), "", "x"), []),
]  # fmt: skip


@pytest.mark.parametrize(("part", "lines"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_chart_shows_the_numbers_of_its_labels(part: bytes, lines: list[str]) -> None:
    assert [
        line for line in text_of_graphic(part).split("\n") if line not in ("Sales", "North", "South")
    ] == lines


RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NEWER = "http://schemas.microsoft.com/office/2018/10/relationships"
COMMENTS = {
    "older": (
        f"{RELATIONS}/commentAuthors",
        '<p:cmAuthorLst xmlns:p="p"><p:cmAuthor id="0" name="Ada"/><p:cmAuthor id="1" name="Berta"/>'
        "</p:cmAuthorLst>",
        f"{RELATIONS}/comments",
        '<p:cmLst xmlns:p="p"><p:cm authorId="1"><p:text>Ask again</p:text></p:cm><p:cm authorId="0"><p:text>'
        "I did</p:text></p:cm></p:cmLst>",
    ),
    "newer": (
        f"{NEWER}/authors",
        '<p:authorLst xmlns:p="p"><p:author id="{A}" name="Ada"/><p:author id="{B}" name="Berta"/>'
        "</p:authorLst>",
        f"{NEWER}/comments",
        '<p:cmLst xmlns:p="p" xmlns:a="a"><p:cm authorId="{B}"><p:replyLst><p:reply authorId="{A}"><p:txBody>'
        "<a:p><a:r><a:t>I did</a:t></a:r></a:p></p:txBody></p:reply></p:replyLst><p:txBody><a:p><a:r>"
        "<a:t>Ask again</a:t></a:r></a:p></p:txBody></p:cm></p:cmLst>",
    ),
}


@pytest.mark.parametrize("kind", COMMENTS)
def test_comments_of_slides_have_their_authors(kind: str) -> None:
    names, authors, of_slide, comments = COMMENTS[kind]
    data = made.pptx(("Plan", "rows", ""))
    for part, relation in (
        ("ppt/_rels/presentation.xml.rels", f'<Relationship Id="n" Type="{names}" Target="authors.xml"/>'),
        ("ppt/slides/_rels/slide1.xml.rels", f'<Relationship Id="c" Type="{of_slide}" Target="../c.xml"/>'),
    ):
        data = made.rewritten(data, part, ("</Relationships>", f"{relation}</Relationships>"))
    data = made.added(data, {"ppt/authors.xml": authors, "ppt/c.xml": comments})
    text = readers.read(data, PurePosixPath("plan.pptx")).text
    assert "Berta: Ask again" in text
    assert "Ada: I did" in text
