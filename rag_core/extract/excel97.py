"""Excel 97 to 2003 workbooks (XLS) → each cell as it is shown, comments, links, text boxes, charts and
pictures. Cells are read with xlrd."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import xlrd
from xlrd.formatting import Format, std_format_strings

from rag_core.extract import excel97_drawings, number_format, pictures
from rag_core.extract.building import Builder
from rag_core.extract.sheet_rows import MOST_COLUMNS, Beside, Row, add_rows, shown_number


def read_into(builder: Builder, data: bytes) -> list[str]:
    """Add the sheets of a workbook to a document. Returns a sentence for each sheet that could not be read.
    Raises xlrd's errors if the workbook itself cannot be read."""
    warnings: list[str] = []
    book = xlrd.open_workbook(
        file_contents=data, formatting_info=True, on_demand=True, ragged_rows=True, logfile=io.StringIO()
    )
    drawings = excel97_drawings.Drawings()
    if book.mem is not None:  # None for Excel 4 and older, which have no drawings
        drawings = excel97_drawings.read(bytes(book.mem[book.base : book.base + book.stream_len]))
    for index, name in enumerate(book.sheet_names()):
        if builder.is_full:
            break
        try:
            sheet = book.sheet_by_index(index)
            beside = Beside()
            add_rows(builder, name, _rows(book, sheet, beside))
            _read_beside(sheet, beside)
        except Exception:  # whatever a damaged sheet makes xlrd raise
            warnings.append(f"The sheet {name!r} is damaged.")
            continue
        _add_drawn(builder, name, beside, drawings.texts.pop(name, ()))
        book.unload_sheet(index)
    for name, texts in drawings.texts.items():  # for sheets that are charts
        _add_drawn(builder, name, Beside(), texts)
    if drawings.pictures:
        builder.begin("heading", "Pictures", "Pictures")
    for number, blob in enumerate(drawings.pictures, 1):
        builder.add_seen(pictures.text_of(blob, f"picture {number}", warnings))
    return warnings


def _add_drawn(builder: Builder, sheet: str, beside: Beside, texts: Iterable[tuple[str, str]]) -> None:
    """Add everything that a sheet shows besides its cells, including the texts of its drawings."""
    for heading, text in texts:
        beside.add(heading, 1, text)
    beside.add_to(builder, sheet)


def is_encrypted(data: bytes) -> bool:
    """Whether a file is a workbook that needs a password."""
    try:
        xlrd.open_workbook(file_contents=data, on_demand=True, logfile=io.StringIO())
    except xlrd.XLRDError as error:
        return "encrypted" in str(error)
    except Exception:  # whatever a damaged workbook makes xlrd raise
        return False
    return False


def _rows(book: Any, sheet: Any, beside: Beside) -> Iterator[Row]:
    for row in range(sheet.nrows):
        width = min(sheet.row_len(row), MOST_COLUMNS)
        yield row + 1, [_cell(book, sheet, row, column, beside) for column in range(width)]


def _cell(book: Any, sheet: Any, row: int, column: int, beside: Beside) -> str:
    """Return the text that a cell shows."""
    cell = sheet.cell(row, column)
    code = _code(book, cell.xf_index)
    match cell.ctype:
        case xlrd.XL_CELL_TEXT:
            return number_format.displayed_text(cell.value, code)
        case xlrd.XL_CELL_NUMBER | xlrd.XL_CELL_DATE:
            shown, hidden = shown_number(cell.value, code, bool(book.datemode))
            if hidden:
                beside.add("Values", row + 1, f"{_place(row, column)}: {hidden}")
            return shown
        case xlrd.XL_CELL_BOOLEAN:
            return "TRUE" if cell.value else "FALSE"
        case xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(cell.value, ""))
    return ""


def _code(book: Any, style: int | None) -> str:
    """Return the format code of a cell style: the one in the file, or else the usual one of its number. How a
    country writes the usual dates is not known, so they are shown as ISO dates."""
    if style is None or not 0 <= style < len(book.xf_list):
        return number_format.GENERAL
    key = book.xf_list[style].format_key
    known: Format | None = book.format_map.get(key)
    if known and known.format_str and known.format_str != std_format_strings.get(key):
        written: str = known.format_str
        return written
    return number_format.BUILT_IN.get(key, number_format.GENERAL)


def _place(row: int, column: int) -> str:
    return f"{xlrd.colname(column)}{row + 1}"


def _read_beside(sheet: Any, beside: Beside) -> None:
    """Read the comments and links of a sheet."""
    for (row, column), note in sorted(sheet.cell_note_map.items(), key=lambda each: each[0]):
        said = (
            note.text
            if not note.author or note.text.startswith(note.author)
            else f"{note.author}: {note.text}"
        )
        beside.add("Comments", row + 1, f"{_place(row, column)}: {said}")
    for link in sheet.hyperlink_list:
        address = link.url_or_path
        row, column = link.frowx, link.fcolx
        if isinstance(address, str) and address:
            beside.add("Links", row + 1, f"{_place(row, column)}: {address}")
