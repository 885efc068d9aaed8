"""Spreadsheets (XLSX, XLSM, XLSB, XLS, ODS) → the rows of each sheet. Read with calamine."""

from __future__ import annotations

import io
from datetime import datetime, time
from pathlib import PurePosixPath
from typing import Any

from python_calamine import CalamineWorkbook, PasswordError

from rag_core.extract.building import Builder, needs_password
from rag_core.extract.office import refuse_encrypted
from rag_core.types import Extracted

_ROWS = 50
_ROWS_SIZE = 700
"""Rows and characters after which a passage of rows ends."""
_HEADER_SIZE = 150
_MOST_COLUMNS = 1000


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The workbook in ``data``, a line for each row that is not empty. Raises ExtractError where it needs
    a password."""
    refuse_encrypted(data, path)
    builder = Builder()
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    except PasswordError:
        raise needs_password(path) from None
    for name in book.sheet_names:
        if not builder.is_full:
            _add_sheet(builder, name, book.get_sheet_by_name(name).iter_rows())
    return builder.document("sheet", path.name)


def _add_sheet(builder: Builder, sheet: str, rows: Any) -> None:
    """The rows of a sheet in parts of at most 50, each below the names of the columns."""
    header = ""
    count = size = 0
    for number, row in enumerate(rows, 1):
        if builder.is_full:
            return
        cells = [_cell(value) for value in row[:_MOST_COLUMNS]]
        line = "\t".join(cells).rstrip()
        if not line.strip():
            continue
        is_header = not header and len(names := [each for each in cells if each]) > 1
        if is_header or not count or count >= _ROWS or size + len(line) > _ROWS_SIZE:
            builder.begin("row", f"{sheet}!{number}", sheet, header)
            count = size = 0
        if is_header:
            header = ", ".join(names)[:_HEADER_SIZE]
        builder.add(line, gap="\n")
        count += 1
        size += len(line)


def _cell(value: Any) -> str:
    """A value as a person reads it in its cell."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime() if value.time() == time.min:
            return value.date().isoformat()
        case _:
            return " ".join(str(value).split())
