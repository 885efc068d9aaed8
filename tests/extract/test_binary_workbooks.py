"""What a person sees in an old workbook (XLS) beside its cells, and in one in binary form (XLSB)."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from rag_core.errors import ExtractError
from rag_core.extract import pictures
from tests.extract.test_sheets_as_shown import comment, read, under
from tests.support import documents_made as made
from tests.support.documents_made import record

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def _text_box(kind: int, text: str, *, is_wide: bool) -> bytes:
    shape = record(0x005D, struct.pack("<HHHHH", 0x15, 18, kind, 1, 0) + bytes(12) + bytes(4))
    written = b"\1" + text.encode("utf-16-le") if is_wide else b"\0" + text.encode("latin-1")
    said = record(0x01B6, struct.pack("<HH6sHHH", 0, 0, b"", len(text), 16, 0))
    return shape + said + record(0x003C, written) + record(0x003C, bytes(16))


def _chart(*titles: str) -> bytes:
    begun = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x20, 0x0DBB, 0x07CC, 0, 6))
    named = [struct.pack("<HBB", 0, len(title), 1) + title.encode("utf-16-le") for title in titles]
    return begun + b"".join(record(0x100D, name) for name in named) + record(0x000A, b"")


def _pictures_of(blob: bytes) -> bytes:
    picture = struct.pack("<HHI", 0x6E00, 0xF01E, len(blob) + 17) + bytes(17) + blob
    entry = struct.pack("<HHI", 0x62, 0xF007, 36 + len(picture)) + bytes(36) + picture
    group = struct.pack("<HHI", 0xF, 0xF000, len(entry)) + entry
    return record(0x00EB, group[:60]) + record(0x003C, group[60:])


def drawn_workbook() -> bytes:
    """An XLS with text boxes, a chart, a comment and a picture."""
    cells = record(0x0205, struct.pack("<HHHBB", 0, 0, 0, 1, 0))
    boxes = _text_box(6, "Prüfung läuft", is_wide=False) + _text_box(0x1E, "価格 bis Mai", is_wide=True)
    head, foot = b'&L&"Arial"Erntebuch &P', "&C価格 von &A".encode("utf-16-le")
    margins = record(0x14, struct.pack("<HB", len(head), 0) + head)
    margins += record(0x15, struct.pack("<HB", len(foot) // 2, 1) + foot)
    plan = cells + margins + boxes + _chart("Ernte in Tonnen", "Äpfel") + comment(0, 0, "Ada", "A comment")
    return made.xls_of(_pictures_of(PNG), Plan=plan, Empty=cells)


def test_what_an_old_workbook_draws_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    def text_of(blob: bytes, *_: object) -> str:
        seen.append(blob)
        return "Scanned receipt"

    monkeypatch.setattr(pictures, "text_of", text_of)
    found = read(drawn_workbook(), "a.xls")
    assert under(found, "Text boxes").split("\n") == ["Prüfung läuft", "価格 bis Mai"]
    assert under(found, "Charts").split("\n") == ["Ernte in Tonnen", "Äpfel"]
    assert under(found, "Header and footer").split("\n") == ["Erntebuch", "価格 von Plan"]
    assert under(found, "Comments") == "A1: Ada: A comment"
    assert under(found, "Pictures") == "Scanned receipt"
    assert seen == [PNG]


def test_a_workbook_of_excel_4_is_read() -> None:
    begun = record(0x0409, struct.pack("<HHH", 0, 0x10, 0))
    style = record(0x0443, bytes(12))
    cell = record(0x0204, struct.pack("<HHHH", 0, 0, 0, 7) + b"Harvest")
    assert "Harvest" in read(begun + style + cell + record(0x000A, b""), "a.xls").text


def test_an_old_workbook_with_a_password_says_so() -> None:
    locked = made.xls_of(record(0x002F, struct.pack("<HHHH", 1, 1, 1, 0) + bytes(48)), Plan=b"")
    with pytest.raises(ExtractError, match="needs a password"):
        read(locked, "a.xls")


# --- binary workbooks -------------------------------------------------------------------


def _binary(kind: int, content: bytes = b"") -> bytes:
    head = bytes([kind & 0x7F | 0x80, kind >> 7]) if kind > 0x7F else bytes([kind])
    size, length = b"", len(content)
    while length > 0x7F:
        size, length = size + bytes([length & 0x7F | 0x80]), length >> 7
    return head + size + bytes([length]) + content


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _binary_styles() -> bytes:
    codes = {164: "0.0%", 165: "00000", 166: "dd.mm.yyyy"}
    styles = b"".join(_binary(44, struct.pack("<H", key) + _wide(code)) for key, code in codes.items())
    return (
        styles
        + _binary(617)
        + b"".join(_binary(47, struct.pack("<HH", 0, key) + bytes(12)) for key in (0, *codes, 14))
    )


def _binary_rows() -> bytes:
    cells = [
        (7, 0, struct.pack("<I", 0)),
        (5, 1, struct.pack("<d", 0.075)),
        (2, 2, struct.pack("<i", 1067 << 2 | 2)),
        (9, 3, struct.pack("<d", 46096) + bytes(4)),
        (2, 4, struct.pack("<i", 4609600 << 2 | 3)),
        (4, 0, b"\1"),
        (3, 0, b"\7"),
        (8, 0, _wide("a result") + bytes(4)),
        (62, 0, b"\0" + _wide("a rich text")),
    ]
    rows = b""
    for row, (kind, style, value) in enumerate(cells):
        rows += _binary(0, struct.pack("<I", row) + bytes(13))
        rows += _binary(kind, struct.pack("<II", 1, style) + value)
    return rows


def binary_workbook(texts: str = "xl/sharedStrings.bin") -> bytes:
    """A workbook in binary form with formats, a comment, a link and a drawing; its table of texts is called
    ``texts`` in the archive."""
    link = struct.pack("<IIII", 1, 1, 1, 1) + _wide("rId1") + _wide("") + _wide("Read me") + _wide("")
    comment = _binary(632, _wide("Ada")) + _binary(635, struct.pack("<IIIII", 0, 2, 2, 1, 1) + bytes(16))
    empty = b"\xff" * 4
    margins = _binary(479, bytes(2) + _wide("&LLedger of Ada") + _wide("Page &P") + empty * 4)
    sheet = _binary(156, struct.pack("<II", 0, 1) + _wide("rId1") + _wide("Loans"))
    shared = {
        "worksheet": "worksheets/sheet1.bin",
        "styles": "styles.bin",
        "sharedStrings": "sharedStrings.bin",
    }
    beside = {
        "hyperlink": "https://x.org",
        "comments": "../comments1.bin",
        "drawing": "../drawings/drawing1.xml",
    }
    return made.zipped(
        {
            "_rels/.rels": _related({"officeDocument": "xl/workbook.bin"}),
            "xl/workbook.bin": _binary(153, bytes(12)) + sheet,
            "xl/_rels/workbook.bin.rels": _related(shared),
            "xl/styles.bin": _binary_styles(),
            texts: _binary(19, b"\0" + _wide("Rückzahlung")),
            "xl/worksheets/sheet1.bin": _binary_rows() + _binary(494, link) + margins,
            "xl/worksheets/_rels/sheet1.bin.rels": _related(beside),
            "xl/comments1.bin": comment + _binary(637, b"\0" + _wide("Agreed")),
            "xl/drawings/drawing1.xml": '<d xmlns="x"><p><t>A text box</t></p></d>',
            "xl/drawings/_rels/drawing1.xml.rels": _related({"image": "../media/a.png"}),
            "xl/media/a.png": PNG,
        }
    )


def _related(targets: dict[str, str]) -> str:
    rows = ""
    for number, (kind, target) in enumerate(targets.items(), 1):
        mode = ' TargetMode="External"' if "://" in target else ""
        rows += f'<Relationship Id="rId{number}" Type="http://x/{kind}" Target="{target}"{mode}/>'
    return f"<Relationships>{rows}</Relationships>"


@pytest.mark.parametrize("texts", ["xl/sharedStrings.bin", "xl/SharedStrings.bin"])
def test_all_that_a_binary_workbook_shows_is_read(monkeypatch: pytest.MonkeyPatch, texts: str) -> None:
    monkeypatch.setattr(pictures, "text_of", lambda *_: "Scanned receipt")
    found = read(binary_workbook(texts), "a.xlsb")
    assert found.warnings == ()
    assert under(found, "Loans").split("\n")[:9] == [
        "Rückzahlung",
        "7.5%",
        "01067",
        "15.03.2026",
        "2026-03-15",
        "TRUE",
        "#DIV/0!",
        "a result",
        "a rich text",
    ]
    assert under(found, "Comments") == "B3: Ada: Agreed"
    assert under(found, "Header and footer") == "Ledger of Ada"
    assert under(found, "Links") == "B2: https://x.org Read me"
    assert under(found, "Text boxes") == "A text box"
    assert under(found, "Pictures") == "Scanned receipt"


@pytest.mark.parametrize(
    "part",
    [
        "xl/worksheets/sheet1.bin",
        "xl/worksheets/_rels/sheet1.bin.rels",
        "xl/styles.bin",
        "xl/comments1.bin",
    ],
)
def test_a_damaged_part_of_a_binary_workbook_costs_itself_alone(part: str) -> None:
    with zipfile.ZipFile(io.BytesIO(binary_workbook())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    del parts["xl/media/a.png"]
    found = read(made.zipped({**parts, part: parts[part][:-3], "xl/media/a.png": b""}), "a.xlsb")
    assert "Rückzahlung" in found.text
    assert [part.rsplit("/", 1)[1] in said or "Loans" in said for said in found.warnings] == [True]
