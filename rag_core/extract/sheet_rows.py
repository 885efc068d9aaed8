"""Shared code of all readers of spreadsheets: turns the rows of a sheet, and everything else that it shows,
into passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache

from rag_core.extract import number_format
from rag_core.extract.building import MOST_TEXT, Builder
from rag_core.extract.tables import names_columns, stand_alone
from rag_core.text.numbers import numbers
from rag_core.text.words import split_words

MOST_COLUMNS = 1000
_ROWS = 50
_ROWS_SIZE = 700
"""A passage of rows ends after `_ROWS` rows or this many characters."""
_HEADER_SIZE = 150
_MOST_DECIMALS = 4
"""A number with more decimals was computed, and nobody types it."""
_NOT_OF_A_NUMBER = re.compile(r"[^\d.-]+")

Row = tuple[int, Sequence[str]]
"""The number of a row, from 1, then the text of its cells, from the first column on."""
Note = tuple[int, str]
"""The number of a row, then a text that belongs to it."""


class Beside:
    """The texts that a sheet shows besides its rows, under headings such as `Comments` and `Links`."""

    def __init__(self) -> None:
        self._notes: dict[str, dict[Note, None]] = {}
        self.seen: list[str] = []
        """Texts in the pictures of the sheet."""

    def add(self, heading: str, row: int, text: str) -> None:
        """Add a text that belongs to a row. The row is 1 for a text that belongs to none."""
        if text := " ".join(text.split()):
            self._notes.setdefault(heading, {})[row, text] = None

    def add_to(self, builder: Builder, sheet: str) -> None:
        """Add the texts to a document, under the sheet and their heading."""
        for heading, notes in self._notes.items():
            size = _ROWS_SIZE
            for row, text in notes:
                if size >= _ROWS_SIZE:
                    builder.begin("row", f"{sheet}!{row}", sheet, heading)
                    size = 0
                builder.add(text, gap="\n")
                size += len(text)
        builder.begin("row", f"{sheet}!1", sheet, "Pictures")
        for text in self.seen:
            builder.add_seen(text)


def add_rows(builder: Builder, sheet: str, rows: Iterable[Row]) -> None:
    """Add the rows of a sheet under the names of its columns. Each row is a separate part if `stand_alone`
    says so; otherwise a part has at most 50 rows.

    Empty rows, and empty columns before the first, are left out.
    """
    held = _held(rows)
    lines, headers = _lines(held), _headers(held)
    most = 1 if stand_alone([line for _, line in lines]) else _ROWS
    columns = ""
    count = size = 0
    for number, line in lines:
        if number in headers or not count or count >= most or size + len(line) > _ROWS_SIZE:
            gap = "\n" if most == 1 and count else "\n\n"
            heading = "" if number in headers else columns
            builder.begin("row", f"{sheet}!{number}", sheet, heading, gap=gap)
            count = size = 0
        columns = headers.get(number, columns)
        builder.add(line, gap="\n")
        if builder.is_full:
            return
        count += 1
        size += len(line)


def _lines(rows: Sequence[Row]) -> list[tuple[int, str]]:
    """Return the number of each row, and its cells separated by tabs. Columns before the first column that is
    not empty are left out."""
    first = min((_first_filled(cells) for _, cells in rows), default=0)
    return [(number, "\t".join(cells[first:]).rstrip()) for number, cells in rows]


def _headers(rows: Sequence[Row]) -> dict[int, str]:
    """The rows that name the columns of what follows, by their numbers: the first of several cells, and where
    another table begins after an empty row, with names and with another number of columns."""
    headers: dict[int, str] = {}
    before = width = 0
    for number, cells in rows:
        names = [cell for cell in cells if cell]
        is_next = number > before + 1 and len(names) != width and names_columns(names)
        if len(names) > 1 and (not headers or is_next):
            headers[number] = ", ".join(names)[:_HEADER_SIZE]
            width = len(names)
        before = number
    return headers


def _held(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that are not empty, until they exceed the maximum size of a document."""
    held: list[Row] = []
    size = 0
    for number, row in rows:
        cells = [" ".join(cell.split()) for cell in row[:MOST_COLUMNS]]
        if any(cells):
            held.append((number, cells))
            size += sum(map(len, cells)) + len(cells)
        if size > MOST_TEXT + _ROWS_SIZE:
            break
    return held


def _first_filled(cells: Sequence[str]) -> int:
    return next(index for index, cell in enumerate(cells) if cell)


# --- numbers ----------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def shown_number(number: float, code: str, since_1904: bool) -> tuple[str, str]:
    """Return a number or date as a cell with this format code shows it, then the plain number or ISO date.
    The second text is '' if a search for it would find the first one."""
    shown = number_format.displayed_number(number, code, since_1904=since_1904)
    if code == number_format.GENERAL:
        return shown, ""
    if not number_format.format_shows_date(code):
        return shown, hidden_number(shown, number)
    if number < 1:  # a time of day
        return shown, ""
    with suppress(OverflowError):
        day = epoch_of(since_1904) + timedelta(days=int(number))
        return shown, hidden_day(shown, day.date().isoformat())
    return shown, ""


def epoch_of(since_1904: bool) -> datetime:
    """Return the day that is number 0 in a workbook."""
    return datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)


def hidden_number(shown: str, value: float) -> str:
    """Return the number in a cell, such as ``0.075``, if a search for it would not find the text shown, such
    as ``7.5%``. Otherwise returns ''."""
    plain = number_format.plain_number(value)
    whole, _, decimals = plain.partition(".")
    if len(decimals) > _MOST_DECIMALS or "e" in plain:
        return ""
    is_folded = "," not in shown or len(decimals) in (0, 2)  # spellings that a search treats as one number
    if is_folded and plain in _NOT_OF_A_NUMBER.split(shown.replace(",", "")):
        return ""
    return "" if whole and _is_found(plain, shown) else plain


def hidden_day(shown: str, day: str) -> str:
    """Return an ISO date if a search for it would not find the text shown, such as ``Mar 26``. Otherwise
    returns ''."""
    return "" if _is_found(day, shown) else day


def _is_found(wanted: str, shown: str) -> bool:
    """Whether a search for the number or date ``wanted`` finds the text ``shown``."""
    wholes = {whole for number in numbers(wanted) for whole in number.wholes}
    words = {*split_words(shown, parts=True)}
    return (wholes or {*split_words(wanted)}) <= words
