"""Spreadsheets (XLSX, XLSM, XLSB, XLS, ODS) → the rows of each sheet as they are shown.

Each format has a reader that formats cells: `workbook`, `binary_workbook`, `opendocument_sheets` and
`excel97`. Damaged and protected Excel 97 files that `excel97` refuses are read with calamine, which returns
values without formats.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from datetime import datetime, time
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZipFile, is_zipfile

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from rag_core.extract import binary_workbook, excel97, number_format, opendocument_sheets, workbook
from rag_core.extract.building import Builder, damaged, needs_password
from rag_core.extract.office import refuse_encrypted
from rag_core.extract.sheet_rows import Row, add_rows
from rag_core.types import Extracted

_OF_OLD_EXCEL = b"\xd0\xcf\x11\xe0", b"\x09\x00\x04\x00", b"\x09\x02\x06\x00", b"\x09\x04\x06\x00"
"""Beginnings of workbooks: the container of Excel 5 to 2003, and the plain files of Excel 2, 3 and 4."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the workbook in ``data``, with a line for each row that is not empty. Raises ExtractError if it
    needs a password."""
    refuse_encrypted(data, path)
    builder = Builder()
    warnings = _read_zipped(builder, data, path)
    if warnings is None:
        warnings = _read_excel97(builder, data)
    if warnings is None:
        warnings = _read_by_calamine(builder, data, path)
    document = builder.document("sheet", path.name, warnings=warnings)
    if warnings and not document.text:
        raise damaged(path, data)
    return document


def _read_zipped(builder: Builder, data: bytes, path: PurePosixPath) -> list[str] | None:
    """Read XLSX, XLSB or ODS, even with a wrong suffix. Returns a sentence for each part that could not be
    read, or None for other files."""
    if not is_zipfile(io.BytesIO(data)):
        return None
    with ZipFile(io.BytesIO(data)) as archive:
        if workbook.is_workbook(archive):
            return workbook.read_into(builder, archive)
        if binary_workbook.is_binary_workbook(archive):
            return binary_workbook.read_into(builder, archive)
        if opendocument_sheets.is_spreadsheet(archive):
            return opendocument_sheets.read_into(builder, archive, path)
    return None


def _read_excel97(builder: Builder, data: bytes) -> list[str] | None:
    """Read XLS. Returns a sentence for each part that could not be read, or None for other formats and if
    xlrd gives up."""
    if not data.startswith(_OF_OLD_EXCEL):
        return None
    try:
        return excel97.read_into(builder, data)
    except Exception:  # any error: calamine reads more damaged and protected files
        return None


def _read_by_calamine(builder: Builder, data: bytes, path: PurePosixPath) -> list[str]:
    """Read the other formats. Returns a sentence for each part that could not be read."""
    warnings: list[str] = []
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    except PasswordError:
        raise needs_password(path) from None
    except CalamineError:
        if excel97.is_encrypted(data):
            raise needs_password(path) from None
        raise
    for name in book.sheet_names:
        if builder.is_full:
            break
        try:
            rows = book.get_sheet_by_name(name).iter_rows()
        except CalamineError:
            warnings.append(f"The sheet {name!r} is damaged.")
            continue
        add_rows(builder, name, _rows(rows))
    return warnings


def _rows(rows: Iterable[list[Any]]) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        yield number, [_cell(value) for value in row]


def _cell(value: Any) -> str:
    """Return a value as a person reads it in its cell."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return number_format.plain_number(value)
        case datetime() if value.time() == time.min:
            return value.date().isoformat()
        case _:
            return str(value)
