"""What a person sees in a spreadsheet is read: cells as their formats show them, and what stands beside
them. One damaged part costs itself alone."""

from __future__ import annotations

import struct
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from rag_core.extract import number_format, readers
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support import documents_made as made
from tests.support.documents_made import record

SHOWN: dict[str, list[tuple[float, str]]] = {
    "General": [(7, "7"), (0.1 + 0.2, "0.3"), (1 / 3, "0.333333333"), (1234567890123, "1234567890123")],
    "0.0%": [(0.075, "7.5%"), (-0.05, "-5.0%")],
    "00000": [(1067, "01067"), (0, "00000")],
    "#,##0.00": [(1234.5, "1,234.50"), (0.005, "0.01"), (-1234567, "-1,234,567.00")],
    '#,##0.00 "EUR"': [(1234.5, "1,234.50 EUR")],
    "#,##0.00\\ [$€-407]": [(1234.5, "1,234.50 €")],
    "[$$-409]#,##0": [(1234.5, "$1,235")],
    "#,##0_);[Red](#,##0)": [(1234, "1,234"), (-1234, "(1,234)")],
    '_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-': [
        (1234.5, "1,234.50 €"),
        (-5, "-5.00 €"),
        (0, "- €"),
    ],
    "#.##": [(0.5, ".5"), (2, "2.")],
    "#,##0,": [(1234567, "1,235")],
    '0.0,,"M"': [(1_000_000, "1.0M")],
    "# ?/?": [(1.5, "1 1/2"), (2, "2"), (0.25, "1/4")],
    "# ??/??": [(0.333, "1/3")],
    "# ?/8": [(1.75, "1 6/8")],
    "?/?": [(1.25, "5/4")],
    "0.00E+00": [(12345678, "1.23E+07"), (999_999, "1.00E+06")],
    "##0.0E+0": [(123456, "123.5E+3")],
    "000-00-0000": [(123456789, "123-45-6789")],
    "+## ### #######": [(491511234567, "+49 151 1234567")],
    '"INV-"0000': [(7, "INV-0007")],
    '0 "kg"': [(7, "7 kg"), (2.5, "3 kg"), (-2, "-2 kg")],
    '"Yes";"Below";"No"': [(1, "Yes"), (0, "No"), (-1, "Below")],
    '[<10]"low";[>=100]"high";"middle"': [(5, "low"), (500, "high"), (50, "middle")],
    ";;;": [(5, "")],
    "@": [(3, "3")],
    "yyyy-mm-dd": [(46096, "2026-03-15"), (59, "1900-02-28"), (1, "1900-01-01")],
    "dd.mm.yyyy hh:mm": [(46096.37847222222, "15.03.2026 09:05")],
    "m/d/yy": [(46096, "3/15/26")],
    "mmmm yyyy": [(46096, "March 2026")],
    "[$-407]d. mmmm yyyy": [(46096, "15. März 2026")],
    "[$-fr-FR]dddd d mmmm": [(46096, "dimanche 15 mars")],
    "ddd, d mmm yy": [(46096, "Sun, 15 Mar 26")],
    'yyyy"年"m"月"d"日"': [(46096, "2026年3月15日")],
    "h:mm AM/PM": [(0.75, "6:00 PM"), (0, "12:00 AM")],
    "[h]:mm": [(1.5, "36:00")],
    "[mm]:ss": [(0.0625, "90:00")],
    "mm:ss.0": [(0.0007, "01:00.5")],
    "m/d/yyyy h:mm": [(45000.5, "3/15/2023 12:00"), (0.99999999, "1/1/1900 0:00")],
    "no [ code \\": [(5, "5")],
}


@pytest.mark.parametrize(("code", "value", "text"), [(c, v, t) for c, rows in SHOWN.items() for v, t in rows])
def test_a_number_is_shown_in_its_format(code: str, value: float, text: str) -> None:
    if code.startswith("no "):
        assert number_format.displayed_number(value, code) != ""
    else:
        assert number_format.displayed_number(value, code) == text


def test_a_date_of_a_workbook_of_1904_is_shown() -> None:
    assert number_format.displayed_number(1, "yyyy-mm-dd", since_1904=True) == "1904-01-02"


def test_a_text_is_shown_in_its_format() -> None:
    assert number_format.displayed_text("tea", '0;0;0;"kind: "@') == "kind: tea"
    assert number_format.displayed_text("tea", "0.00") == "tea"


def read(data: bytes, name: str = "a.xlsx") -> Extracted:
    found = readers.read(data, PurePosixPath(name))
    assert all(found.text[each.start : each.end].strip() for each in found.segments)
    return found


def under(found: Extracted, heading: str) -> str:
    """The text below a heading."""
    return "\n".join(
        found.text[each.start : each.end] for each in found.segments if heading in each.heading_path
    )


def write_rich(book: Any, sheet: Any) -> None:
    """A sheet with one of everything."""
    sheet.write_row(0, 0, ["Loan", "Rate", "Sum"])
    sheet.write(1, 0, "House")
    sheet.write_number(1, 1, 0.075, book.add_format({"num_format": "0.0%"}))
    sheet.write_number(1, 2, 1234.5, book.add_format({"num_format": "#,##0.00"}))
    sheet.write_boolean(2, 0, True)
    sheet.write_formula(2, 1, "=1/0", None, "#DIV/0!")
    sheet.write_formula(2, 2, '=CONCAT("a","b")', None, "joined")
    sheet.merge_range(3, 0, 3, 2, "Merged once")
    sheet.write_number(4, 0, 46096, book.add_format({"num_format": "mmm yy"}))
    sheet.write_comment(1, 2, "Agreed with Berta", {"author": "Ada"})
    sheet.write_url(5, 0, "https://bank.example.org/terms", string="our terms", tip="Read them")
    sheet.write_url(5, 2, "https://shown.example.org")
    sheet.write_formula(6, 0, '=HYPERLINK("https://formula.example.org","there")', None, "there")
    sheet.insert_textbox(8, 0, "Remember the guarantee")
    sheet.insert_image(9, 0, "none.png", {"image_data": _dot(), "description": "Photo of the house"})
    sheet.set_header('&L&"Arial,Bold"&12Secret ledger&RPage &P of &N')
    sheet.set_footer("&CBread && tea")
    chart = book.add_chart({"type": "line"})
    chart.add_series({"name": "Falling debt", "values": "=Sheet!$B$2:$B$3"})
    chart.set_title({"name": "Repayment"})
    chart.set_x_axis({"name": "Years gone"})
    chart.set_y_axis({"name": "Still owed"})
    sheet.insert_chart(10, 0, chart)
    book.define_name("Interest_now", "=Sheet!$B$2")


def _dot() -> Any:
    import io

    from PIL import Image

    dot = io.BytesIO()
    Image.new("RGB", (2, 2)).save(dot, "PNG")
    return dot


RICH = made.workbook(write_rich)


@pytest.mark.parametrize("data", [RICH, made.strict(RICH)], ids=["transitional", "strict"])
def test_all_that_a_workbook_shows_is_read(data: bytes) -> None:
    found = read(data)
    rows = [
        "Loan\tRate\tSum",
        "House\t7.5%\t1,234.50",
        "TRUE\t#DIV/0!\tjoined",
        "Merged once",
        "Mar 26",
        "our terms\t\thttps://shown.example.org",
        "there",
    ]
    assert found.text.replace("\n\n", "\n").startswith("\n".join(rows))
    assert under(found, "Values").split("\n") == ["B2: 0.075", "C2: 1234.5", "A5: 2026-03-15"]
    assert under(found, "Comments") == "C2: Ada: Agreed with Berta"
    links = {"A6: https://bank.example.org/terms Read them", "A7: https://formula.example.org"}
    assert {*under(found, "Links").split("\n")} == links
    assert {*under(found, "Text boxes").split("\n")} == {"Remember the guarantee", "Photo of the house"}
    assert under(found, "Charts").split("\n") == ["Repayment", "Falling debt", "Years gone", "Still owed"]
    assert under(found, "Header and footer").split("\n") == ["Secret ledger Page of", "Bread & tea"]
    assert under(found, "Names") == "Interest_now = Sheet!$B$2"
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("part", "lost", "warning"),
    [
        ("xl/comments1.xml", "Berta", "'xl/comments1.xml' of the sheet 'Sheet' is missing or damaged."),
        ("charts/chart1.xml", "Repayment", "'xl/charts/chart1.xml' is missing or damaged."),
        ("drawings/drawing1.xml", "guarantee", "'xl/drawings/drawing1.xml' of the sheet 'Sheet' is"),
        ("xl/sharedStrings.xml", "House", "Its table of texts is damaged"),
        ("xl/styles.xml", "7.5%", "'xl/styles.xml' is missing or damaged"),
        ("sheet1.xml.rels", "Berta", "The comments and pictures of the sheet 'Sheet' are"),
        ("worksheets/sheet1.xml", "House", "The sheet 'Sheet' is missing or damaged."),
    ],
)
def test_one_damaged_part_costs_itself_by_name(part: str, lost: str, warning: str) -> None:
    found = read(made.damaged_part(RICH, part))
    assert lost not in found.text
    assert any(warning in each for each in found.warnings), found.warnings
    assert "Interest_now" in found.text


def test_of_a_sheet_that_breaks_off_the_rows_before_are_read() -> None:
    data = made.rewritten(RICH, "xl/worksheets/sheet1.xml", ('<row r="4"', '<row r="4" & "'))
    found = read(data)
    assert "#DIV/0!" in found.text
    assert found.warnings == ("The sheet 'Sheet' is missing or damaged after row 3.",)


def test_a_thread_of_comments_is_read_once() -> None:
    note = "[Threaded comment] Old programs show this"
    data = made.workbook(
        lambda _, sheet: sheet.write_comment(0, 0, note, {"author": "tc={1}"}) or sheet.write(0, 0, "x")
    )
    rels = "xl/worksheets/_rels/sheet1.xml.rels"
    kind = "http://schemas.microsoft.com/office/2017/10/relationships/threadedComment"
    data = made.rewritten(
        data,
        rels,
        ("</Relationships>", f'<Relationship Id="t" Type="{kind}" Target="../t.xml"/></Relationships>'),
    )
    space = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
    thread = f'<T xmlns="{space}"><threadedComment ref="A1"><text>Ask Berta</text></threadedComment></T>'
    assert under(read(made.added(data, {"xl/t.xml": thread})), "Comments") == "A1: Ask Berta"


def test_the_pronunciation_of_a_text_is_not_in_it() -> None:
    data = made.xlsx(Sheet=[["東京"]])
    data = made.rewritten(
        data,
        "xl/sharedStrings.xml",
        ("</si>", '<rPh sb="0" eb="2"><t>トウキョウ</t></rPh></si>'),
    )
    assert read(data).text == "東京"


SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
CELLS = {
    "text in pieces": ('<c t="inlineStr"><is><r><t>Hel</t></r><r><t>lo</t></r></is></c>', "Hello"),
    "an escape": ('<c t="str"><v>one_x000D_two</v></c>', "one two"),
    "a date": ('<c t="d"><v>2026-03-15T00:00:00</v></c>', "2026-03-15"),
    "a truth value": ('<c t="b"><v>1</v></c>', "TRUE"),
    "an error": ('<c t="e"><v>#N/A</v></c>', "#N/A"),
    "a number beyond all": ("<c><v>1e999</v></c>", "1e999"),
    "an index beyond the table of texts": ('<c t="s"><v>99</v></c><c><v>7</v></c>', "7"),
    "a formula without a value": ("<c><f>1+1</f></c><c><v>7</v></c>", "7"),
}


@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_is_read_as_any_program_writes_it(kind: str) -> None:
    cell, text = CELLS[kind]
    sheet = f'<worksheet xmlns="{SPACE}"><sheetData><row>{cell}</row></sheetData></worksheet>'
    data = made.damaged_part(made.xlsx(Sheet=[]), "worksheets/sheet1.xml", sheet.encode())
    assert read(data).text == text
    prefixed = sheet.replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x=")
    assert read(made.damaged_part(data, "worksheets/sheet1.xml", prefixed.encode())).text == text


def test_a_second_table_in_a_sheet_has_its_own_columns() -> None:
    def write(_: Any, sheet: Any) -> None:
        things = [["Item", "Cost", "Note"], ["Oak desk", 120, "with lamp"], []]
        people = [
            ["Person", "Role"],
            ["Anna Schmidt", "Head of Sales"],
            [],
            ["Bert Vogel", "Head of Repairs"],
        ]
        for number, row in enumerate([*things, *people]):
            sheet.write_row(number, 0, row)
        sheet.write_comment(6, 0, "since May", {"author": "Ada"})

    found = read(made.workbook(write))
    columns = {segment.anchor_ref: segment.heading_path[1:] for segment in found.segments[:5]}
    assert columns == {
        "Sheet!1": (),
        "Sheet!2": ("Item, Cost, Note",),
        "Sheet!4": (),
        "Sheet!5": ("Person, Role",),
        "Sheet!7": ("Person, Role",),
    }
    passages = cut(found, chunk_spec(256), None)
    [vogel] = [passage for passage in passages if "Vogel" in passage.text]
    assert (vogel.anchor_ref, vogel.heading_path[1:]) == ("Sheet!7", ("Person, Role",))


def test_a_sheet_begins_where_its_cells_begin() -> None:
    def write(_: Any, sheet: Any) -> None:
        sheet.write_row(4, 2, ["Kind", "Keeps"])
        sheet.write_row(5, 2, ["Green", 6])

    found = read(made.workbook(write))
    assert found.text == "Kind\tKeeps\nGreen\t6"
    assert found.segments[0].anchor_ref == "Sheet!5"


CELL = '<table:table-cell office:value-type="{}" office:{}="{}"><text:p>{}</text:p></table:table-cell>'
SHEET = (
    '<office:spreadsheet><table:table table:name="Loans"><table:shapes><draw:custom-shape><text:p>Remember'
    "</text:p></draw:custom-shape></table:shapes><table:table-row>"
    + CELL.format("percentage", "value", "0.075", "7,5 %")
    + '<table:table-cell table:number-columns-repeated="2"/>'
    + CELL.format("date", "date-value", "2026-03-15", "Mrz 26")
    + '</table:table-row><table:table-row table:number-rows-repeated="9"><table:table-cell/>'
    '</table:table-row><table:table-row><table:table-cell table:number-columns-spanned="2">'
    "<office:annotation><dc:creator>Ada</dc:creator><text:p>Agreed with Berta</text:p></office:annotation>"
    "<text:p>our "
    '<text:a xlink:href="https://bank.example.org">terms</text:a></text:p></table:table-cell>'
    '<table:covered-table-cell/><table:table-cell><draw:frame><draw:object xlink:href="./Object 1"/>'
    "<svg:desc>A falling line</svg:desc></draw:frame></table:table-cell></table:table-row></table:table>"
    '<table:table table:name="Empty"/></office:spreadsheet>'
)
CHART = (
    "<office:body><office:chart><chart:chart><chart:title><text:p>Repayment</text:p></chart:title>"
    '<table:table-cell office:value-type="float"><text:p>42</text:p></table:table-cell></chart:chart>'
    "</office:chart></office:body>"
)
MARGINS = (
    "<style:header><text:p>Secret ledger</text:p>"
    "<text:p>Page <text:page-number>1</text:page-number></text:p></style:header>"
)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("Page <text:page-number>1</text:page-number> / <text:page-count>9</text:page-count>", ""),
        ("頁 <text:page-number>1</text:page-number> / <text:page-count>9</text:page-count>", ""),
        ("<text:sheet-name>???</text:sheet-name> (<text:date>1.1.</text:date>)", ""),
        ("Secret ledger, page <text:page-number>1</text:page-number>", "Secret ledger, page"),
        ("Ledger", "Ledger"),
    ],
)
def test_margins_of_fields_alone_are_left_out(line: str, shown: str) -> None:
    styles = f"<style:header><text:p>{line}</text:p></style:header>"
    found = read(made.opendocument(SHEET, "spreadsheet", styles=styles), "a.ods")
    margins = [each for each in found.segments if each.heading_path == ("Header and footer",)]
    assert [found.text[each.start : each.end] for each in margins] == ([shown] if shown else [])


def test_all_that_an_opendocument_sheet_shows_is_read() -> None:
    parts = {"Object 1__content": CHART, "styles": MARGINS}
    found = read(made.opendocument(SHEET, "spreadsheet", **parts), "a.ods")
    assert found.text.startswith("7,5 %\t\t\tMrz 26\nour terms")
    assert [each.anchor_ref for each in found.segments][:1] == ["Loans!1"]
    assert under(found, "Values").split("\n") == ["7,5 %: 0.075", "Mrz 26: 2026-03-15"]
    assert under(found, "Comments") == "Ada: Agreed with Berta"
    assert under(found, "Links") == "terms: https://bank.example.org"
    assert under(found, "Text boxes").split("\n") == ["Remember", "A falling line"]
    assert under(found, "Charts") == "Repayment"
    assert under(found, "Header and footer") == "Secret ledger"
    assert found.warnings == ()


def test_a_missing_chart_of_an_opendocument_sheet_is_named() -> None:
    found = read(made.opendocument(SHEET, "spreadsheet"), "a.ods")
    assert "our terms" in found.text
    assert found.warnings == ("The chart 'Object 1' is missing or damaged.",)


def old_workbook() -> bytes:
    """A workbook of Excel 97 with formats, a comment and a link."""
    codes = {164: "0.0%", 165: "00000", 166: "dd.mm.yyyy"}
    shared = record(0x0031, struct.pack("<HHHHHBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0) + b"\x05\0Arial")
    for key, code in codes.items():
        shared += record(0x041E, struct.pack("<HHB", key, len(code), 0) + code.encode())
    for key in (0, *codes, 14):
        shared += record(0x00E0, struct.pack("<HHH", 0, key, 0) + bytes(14))
    values = [0.075, 1067, 46096, 46096]
    cells = b"".join(record(0x0203, struct.pack("<HHHd", n, 0, n + 1, each)) for n, each in enumerate(values))
    cells += record(0x0205, struct.pack("<HHHBB", 4, 0, 0, 1, 0))
    cells += record(0x0205, struct.pack("<HHHBB", 5, 0, 0, 7, 1))
    return made.xls_of(
        shared, Loans=cells + comment(0, 0, "Ada", "Agreed with Berta") + _link(1, "https://x.org")
    )


@pytest.mark.parametrize(
    ("key", "code", "shown"),
    [
        (14, "", "2026-03-15"),
        (14, "m/d/yy", "2026-03-15"),
        (14, "dd/mm/yyyy", "15/03/2026"),
        (22, "", "2026-03-15 12:00"),
        (22, "d.m.yy h:mm", "15.3.26 12:00"),
        (27, "", "2026-03-15"),
        (57, "", "2026-03-15"),
        (15, "", "15-Mar-26"),
        (17, "", "Mar-26"),
        (9, "", "4609650%"),
        (59, "", "46096.5"),
        (200, "", "46096.5"),
    ],
)
def test_a_cell_of_an_old_workbook_is_shown_as_its_format_says(key: int, code: str, shown: str) -> None:
    shared = record(0x0031, struct.pack("<HHHHHBBBB", 200, 0, 0x7FFF, 400, 0, 0, 0, 0, 0) + b"\x05\0Arial")
    if code:
        shared += record(0x041E, struct.pack("<HHB", key, len(code), 0) + code.encode())
    shared += record(0x00E0, struct.pack("<HHH", 0, key, 0) + bytes(14))
    cells = record(0x0203, struct.pack("<HHHd", 0, 0, 0, 46096.5))
    found = read(made.xls_of(shared, Loans=cells), "a.xls")
    assert found.text.partition("\n")[0] == shown
    assert not found.warnings


def comment(row: int, column: int, author: str, text: str) -> bytes:
    shape = record(0x005D, struct.pack("<HHHHH", 0x15, 18, 0x19, 1, 0) + bytes(12) + bytes(4))
    said = record(0x01B6, struct.pack("<HH6sHHH", 0, 0, b"", len(text), 16, 0))
    said += record(0x003C, b"\0" + text.encode()) + record(0x003C, bytes(16))
    body = struct.pack("<HHHHHB", row, column, 0, 1, len(author), 0) + author.encode() + b"\0"
    return shape + said + record(0x001C, body)


def _link(row: int, address: str) -> bytes:
    spelled = f"{address}\0".encode("utf-16-le")
    head = struct.pack("<HHHH", row, row, 0, 0) + bytes.fromhex("D0C9EA79F9BACE118C8200AA004BA90B")
    moniker = bytes.fromhex("E0C9EA79F9BACE118C8200AA004BA90B") + struct.pack("<I", len(spelled)) + spelled
    return record(0x01B8, head + struct.pack("<II", 2, 3) + moniker)


def test_all_that_an_old_workbook_shows_is_read() -> None:
    found = read(old_workbook(), "a.xls")
    assert under(found, "Loans").split("\n")[:6] == [
        "7.5%",
        "01067",
        "15.03.2026",
        "2026-03-15",
        "TRUE",
        "#DIV/0!",
    ]
    assert under(found, "Values").split("\n") == ["A1: 0.075", "A2: 1067"]
    assert under(found, "Comments") == "A1: Ada: Agreed with Berta"
    assert under(found, "Links") == "A2: https://x.org"


@pytest.mark.parametrize(
    "query",
    ["7.5%", "1,234.50", "1234.50", "1234.5", "0.075", "01067", "1067", "2026-03-15", "Mar 26", "36:00"],
)
def test_a_cell_is_found_by_what_it_shows_and_by_its_number(
    library: Library, notes: Path, query: str
) -> None:
    def write(book: Any, sheet: Any) -> None:
        values = {"0.0%": 0.075, "#,##0.00": 1234.5, "00000": 1067, "mmm yy": 46096, "[h]:mm": 1.5}
        for row, (code, value) in enumerate(values.items()):
            sheet.write_row(row, 0, ["Loan"])
            sheet.write_number(row, 1, value, book.add_format({"num_format": code}))

    (notes / "loans.xlsx").write_bytes(made.workbook(write))
    index(library, "s", notes)
    hits = library.search(OWNER, query, ["s"], mode="lexical").hits
    assert [hit.document.path for hit in hits if hit.relevant][:1] == ["loans.xlsx"]
