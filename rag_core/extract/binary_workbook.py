"""Workbooks in binary form (XLSB) → each cell as it is shown, comments and links. Drawings and charts have
the same form as in XLSX, and `workbook` reads them.

A part is a sequence of records ([MS-XLSB] 2.1.4). Each has a type and a size, written in groups of seven
bits, and content.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from zipfile import ZipFile

from rag_core.extract import number_format
from rag_core.extract.building import Builder, one_line
from rag_core.extract.office import BROKEN, Relation, main_part, member, relations
from rag_core.extract.sheet_rows import MOST_COLUMNS, Beside, Row, add_rows, shown_number
from rag_core.extract.workbook import Book, add_comment, margin_text, read_beside, related_parts

_BROKEN = (*BROKEN, struct.error, IndexError)
_SHEET, _PROPERTIES, _FORMAT, _STYLES, _END_OF_STYLES, _STYLE = 156, 153, 44, 617, 618, 47
_SHARED_TEXT, _ROW, _LINK, _MARGINS = 19, 0, 494, 479
_AUTHOR, _COMMENT, _TEXT_OF_COMMENT = 632, 635, 637
_FIXED, _ERROR, _TRUTH, _REAL, _TEXT, _NUMBERED_TEXT, _RICH_TEXT = 2, 3, 4, 5, 6, 7, 62
_OF_FORMULA = {8: _TEXT, 9: _REAL, 10: _TRUTH, 11: _ERROR}
"""Type of a cell with a formula → type of a cell without one that stores its result in the same way."""
_CELLS = frozenset((_FIXED, _ERROR, _TRUTH, _REAL, _TEXT, _NUMBERED_TEXT, _RICH_TEXT, *_OF_FORMULA))
_ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
}
_SINCE_1904 = 1  # a flag of a workbook


def is_binary_workbook(archive: ZipFile) -> bool:
    """Whether an archive is a workbook in binary form."""
    try:
        return main_part(archive, "").endswith("workbook.bin")
    except BROKEN:
        return False


def read_into(builder: Builder, archive: ZipFile) -> list[str]:
    """Add the sheets of a workbook to a document. Returns a sentence for each part that could not be read.
    Raises ValueError or KeyError if the workbook itself cannot be read."""
    part = main_part(archive, "xl/workbook.bin")
    related = relations(archive, part)
    book = Book(archive, [], [])
    for kind, content in _records(member(archive, part)):
        if kind == _PROPERTIES:
            book.since_1904 = bool(content[0] & _SINCE_1904)
        elif kind == _SHEET:
            identifier, name = _sheet(content)
            if relation := related.get(identifier):
                book.sheets.append((name, relation.target))
            else:
                book.warnings.append(f"The sheet {name!r} is missing.")
    _read_shared(book, related)
    for name, target in book.sheets:
        if not builder.is_full:
            _add_sheet(builder, book, name, target)
    return book.warnings


def _sheet(content: bytes) -> tuple[str, str]:
    """Return the id of a sheet's part, then the sheet's name. In the first versions of the format, one more
    number precedes them. Raises IndexError if there is no sheet."""
    for start in (8, 12):
        try:
            identifier, place = _string(content, start)
            name, end = _string(content, place)
        except _BROKEN:
            continue
        if end == len(content):
            return identifier, one_line(name)
    raise IndexError(len(content))


def _records(part: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and content of each record. Raises IndexError if the part is cut off."""
    place = 0
    while place < len(part):
        kind, place = _number(part, place, 2)
        size, place = _number(part, place, 4)
        if place + size > len(part):
            raise IndexError(place)
        yield kind, part[place : place + size]
        place += size


def _number(part: bytes, place: int, most: int) -> tuple[int, int]:
    """Read a number of up to ``most`` bytes. Each byte except the last has its highest bit set. Returns the
    number and the offset after it."""
    number = 0
    for index in range(most):
        byte = part[place + index]
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number, place + index + 1
    return number, place + most


def _string(content: bytes, place: int) -> tuple[str, int]:
    """Read a text with its length before it. Returns the text and the offset after it."""
    (length,) = struct.unpack_from("<I", content, place)
    if length == 0xFFFFFFFF:
        return "", place + 4
    end = place + 4 + 2 * length
    if end > len(content):
        raise IndexError(end)
    return content[place + 4 : end].decode("utf-16-le", "replace"), end


def _read_shared(book: Book, related: Mapping[str, Relation]) -> None:
    """Read the texts and formats that all sheets share."""
    for relation in related.values():
        try:
            if relation.kind == "sharedStrings":
                records = _records(member(book.archive, relation.target))
                book.texts = [_string(content, 1)[0] for kind, content in records if kind == _SHARED_TEXT]
            elif relation.kind == "styles":
                book.formats = _formats(member(book.archive, relation.target))
        except _BROKEN:
            book.warnings.append(
                f"Its part {relation.target!r} is missing or damaged, so some cells are missing or differ."
            )


def _formats(part: bytes) -> list[str]:
    """Return the format code of each style of cells."""
    codes = dict(number_format.BUILT_IN)
    formats: list[str] = []
    is_of_cells = False
    for kind, content in _records(part):
        if kind == _FORMAT:
            codes[struct.unpack_from("<H", content)[0]] = _string(content, 2)[0]
        elif kind in (_STYLES, _END_OF_STYLES):
            is_of_cells = kind == _STYLES
        elif kind == _STYLE and is_of_cells:
            formats.append(codes.get(struct.unpack_from("<H", content, 2)[0], number_format.GENERAL))
    return formats


def _add_sheet(builder: Builder, book: Book, name: str, part: str) -> None:
    """Add a sheet. If it is damaged, the rows before the damage are added."""
    beside = Beside()
    related = related_parts(book, name, part)
    add_rows(builder, name, _rows(book, name, part, related, beside))
    for relation in related.values():
        try:
            if relation.kind == "comments":
                _read_comments(member(book.archive, relation.target), beside)
            else:
                read_beside(book, relation, beside)
        except _BROKEN:
            book.warnings.append(f"{relation.target!r} of the sheet {name!r} is missing or damaged.")
    beside.add_to(builder, name)


def _rows(book: Book, name: str, part: str, related: Mapping[str, Relation], beside: Beside) -> Iterator[Row]:
    """Yield the rows of a sheet. Adds its links, headers and hidden numbers to ``beside``."""
    row = -1
    cells: list[str] = []
    try:
        for kind, content in _records(member(book.archive, part)):
            if kind == _ROW:
                if cells:
                    yield row + 1, cells
                row, cells = struct.unpack_from("<I", content)[0], []
            elif kind in _CELLS:
                column, style = struct.unpack_from("<II", content)
                if column < MOST_COLUMNS:
                    cells += [""] * (column + 1 - len(cells))
                    place = f"{_letters(column)}{row + 1}"
                    cells[column] = _cell(book, kind, content, style & 0xFFFFFF, place, row + 1, beside)
            elif kind == _LINK:
                _read_link(content, related, beside)
            elif kind == _MARGINS:
                _read_margins(content, name, beside)
    except _BROKEN:
        where = f" after row {row + 1}" if row >= 0 else ""
        book.warnings.append(f"The sheet {name!r} is missing or damaged{where}.")
    if cells:
        yield row + 1, cells


def _cell(book: Book, kind: int, content: bytes, style: int, place: str, row: int, beside: Beside) -> str:
    """Return the text that a cell shows."""
    code = book.formats[style] if style < len(book.formats) else number_format.GENERAL
    match _OF_FORMULA.get(kind, kind):
        case k if k in (_FIXED, _REAL):
            value = _fixed(content) if k == _FIXED else struct.unpack_from("<d", content, 8)[0]
            if abs(value) == float("inf") or value != value:
                return ""
            shown, hidden = shown_number(value, code, book.since_1904)
            if hidden:
                beside.add("Values", row, f"{place}: {hidden}")
            return shown
        case k if k == _TRUTH:
            return "TRUE" if content[8] else "FALSE"
        case k if k == _ERROR:
            return _ERRORS.get(content[8], "")
        case k if k == _NUMBERED_TEXT:
            (number,) = struct.unpack_from("<I", content, 8)
            text = book.texts[number] if number < len(book.texts) else ""
        case k:
            text = _string(content, 9 if k == _RICH_TEXT else 8)[0]
    return number_format.displayed_text(text, code)


def _fixed(content: bytes) -> float:
    """Return a number of 30 bits. It is an integer or the upper half of a float, and may be divided by
    100."""
    (written,) = struct.unpack_from("<i", content, 8)
    if written & 2:
        value = float(written >> 2)
    else:
        (value,) = struct.unpack("<d", bytes(4) + struct.pack("<i", written & ~3))
    return value / 100 if written & 1 else value


def _letters(column: int) -> str:
    """Return the name of a column by its number, from 0: 26 is AA."""
    letters = ""
    number = column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _read_link(content: bytes, related: Mapping[str, Relation], beside: Beside) -> None:
    row, _, column, _ = struct.unpack_from("<IIII", content)
    identifier, place = _string(content, 16)
    location, place = _string(content, place)
    tip, _ = _string(content, place)
    relation = related.get(identifier)
    address = relation.target if relation and relation.is_external else ""
    address = f"{address}#{location}" if location else address
    if words := " ".join(filter(None, (address, tip))):
        beside.add("Links", row + 1, f"{_letters(column)}{row + 1}: {words}")


def _read_margins(content: bytes, sheet: str, beside: Beside) -> None:
    """Read the headers and footers of a sheet, for odd, even and first pages."""
    place = 2
    while place < len(content):
        codes, place = _string(content, place)
        beside.add("Header and footer", 1, margin_text(codes, sheet))


def _read_comments(part: bytes, beside: Beside) -> None:
    authors: list[str] = []
    author = place = ""
    for kind, content in _records(part):
        if kind == _AUTHOR:
            authors.append(_string(content, 0)[0])
        elif kind == _COMMENT:
            number, row, _, column = struct.unpack_from("<IIII", content)
            author = authors[number] if number < len(authors) else ""
            place = f"{_letters(column)}{row + 1}"
        elif kind == _TEXT_OF_COMMENT and not author.startswith("tc="):  # a copy for older programs
            add_comment(beside, place, author, _string(content, 1)[0])
