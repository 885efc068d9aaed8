"""OpenDocument spreadsheets (ODS) → each cell as it is shown, then comments, links, text boxes, charts,
headers and footers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from zipfile import ZipFile

from lxml import etree
from lxml.etree import _Element

from rag_core.extract import pictures
from rag_core.extract.building import Builder, needs_password, one_line
from rag_core.extract.office import BROKEN, is_encrypted, local_name, member, xml
from rag_core.extract.sheet_rows import MOST_COLUMNS, Beside, Row, add_rows, hidden_day, hidden_number

_MIME = b"application/vnd.oasis.opendocument.spreadsheet"
_APART_FROM_CELLS = tuple(f"{{*}}{name}" for name in "annotation a p object image title desc".split())
_CELLS = ("{*}table-cell", "{*}covered-table-cell")
_APART = frozenset({"annotation", "frame", "custom-shape", "object", "line", "rect"})
"""Elements in a cell that are not part of its text."""
_WORD = re.compile(r"\w+")
_FIELDS = (
    "{*}sheet-name",
    "{*}page-number",
    "{*}page-count",
    "{*}date",
    "{*}time",
    "{*}title",
    "{*}file-name",
)
_MOST_SPACES = 100


def is_spreadsheet(archive: ZipFile) -> bool:
    """Whether an archive is an OpenDocument spreadsheet."""
    try:
        return member(archive, "mimetype").strip().startswith(_MIME)
    except BROKEN:
        return "content.xml" in archive.namelist()


def read_into(builder: Builder, archive: ZipFile, path: PurePosixPath) -> list[str]:
    """Add the sheets to a document. Returns a sentence for each part that could not be read. Raises
    ExtractError if the file needs a password, and KeyError if it has no content."""
    if is_encrypted(archive):
        raise needs_password(path)
    reader = _Reader(archive)
    for name in iter(reader.next_sheet, None):
        beside = Beside()
        add_rows(builder, name, reader.rows(beside))
        beside.add_to(builder, name)
        if builder.is_full:
            break
    _add_margins(builder, archive, reader.warnings)
    return reader.warnings


class _Reader:
    """Reads the content of a spreadsheet, one sheet after the other."""

    def __init__(self, archive: ZipFile) -> None:
        self.warnings: list[str] = []  #: A sentence for each part that could not be read.
        self._archive = archive
        self._sheet = ""
        self._walk = iter(
            etree.iterparse(
                archive.open("content.xml"),
                events=("start", "end"),
                tag=["{*}table", "{*}table-row", "{*}shapes"],
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
                remove_pis=True,
            )
        )

    def next_sheet(self) -> str | None:
        """Go to the next sheet. Returns its name, or None after the last sheet."""
        for event, element in self._events():
            if event == "start" and local_name(element) == "table":
                self._sheet = one_line(_attribute(element, "name"))
                return self._sheet
        return None

    def rows(self, beside: Beside) -> Iterator[Row]:
        """Yield the rows of the sheet. Everything else that the sheet shows is added to ``beside``."""
        number = 1
        for event, element in self._events():
            kind = local_name(element)
            if event == "start":
                continue
            if kind == "table":
                return
            if kind == "shapes":
                self._read_apart(element, 1, beside)
            else:
                yield number, self._cells(element, number, beside)
                number += _count(element, "number-rows-repeated")
            element.clear()

    def _events(self) -> Iterator[tuple[str, _Element]]:
        """Yield the following elements. If the file is damaged, add a warning and stop there."""
        try:
            yield from self._walk
        except BROKEN:
            where = f" in the sheet {self._sheet!r}" if self._sheet else ""
            self.warnings.append(f"The file is damaged{where}; only the part before the damage is found.")
            self._walk = iter(())

    def _cells(self, row: _Element, number: int, beside: Beside) -> list[str]:
        cells: list[str] = []
        for cell in row.iterchildren(*_CELLS):
            text = _shown(cell) if local_name(cell) == "table-cell" else ""
            self._read_apart(cell, number, beside)
            if hidden := _hidden(cell, text):
                beside.add("Values", number, f"{text}: {hidden}")
            cells += [text] * min(_count(cell, "number-columns-repeated"), MOST_COLUMNS - len(cells))
        return cells

    def _read_apart(self, element: _Element, row: int, beside: Beside) -> None:
        """Read the comments, links, text boxes, pictures and charts in a cell or on a sheet."""
        for part in element.iter(*_APART_FROM_CELLS):
            match local_name(part):
                case "annotation":
                    author = part.findtext("{*}creator") or ""
                    text = " ".join(_text(each) for each in part.iter("{*}p"))
                    beside.add("Comments", row, f"{author}: {text}" if author else text)
                case "a":
                    address = _attribute(part, "href")
                    beside.add("Links", row, "" if address in _text(part) else f"{_text(part)}: {address}")
                case "object":
                    self._read_chart(_attribute(part, "href"), row, beside)
                case "image":
                    self._read_picture(_attribute(part, "href").removeprefix("./"), beside)
                case "p" if _is_in_a_shape(part):
                    beside.add("Text boxes", row, _text(part))
                case "title" | "desc":
                    beside.add("Text boxes", row, part.text or "")

    def _read_picture(self, name: str, beside: Beside) -> None:
        """Read the text in a picture. Pictures that are copies of charts are in another folder and are
        skipped."""
        if not name.startswith("Pictures/"):
            return
        try:
            beside.seen.append(pictures.text_of(member(self._archive, name), name, self.warnings))
        except BROKEN:
            self.warnings.append(f"The picture {name!r} is missing or damaged.")

    def _read_chart(self, place: str, row: int, beside: Beside) -> None:
        """Read the titles of a chart and the names of its series and categories."""
        name = place.removeprefix("./").rstrip("/")
        try:
            chart = xml(member(self._archive, f"{name}/content.xml"))
        except BROKEN:
            self.warnings.append(f"The chart {name!r} is missing or damaged.")
            return
        for paragraph in chart.iter("{*}p"):
            cell = next(paragraph.iterancestors("{*}table-cell"), None)
            if cell is None or _attribute(cell, "value-type") == "string":
                beside.add("Charts", row, _text(paragraph))


def _attribute(element: _Element, name: str) -> str:
    """Return an attribute in any namespace, or '' if there is none."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), "")


def _count(element: _Element, name: str) -> int:
    """Return the number of times that a cell, row or space is repeated."""
    text = _attribute(element, name)
    return int(text) if text.isdecimal() and len(text) < 8 else 1


def _is_in_a_shape(paragraph: _Element) -> bool:
    above = [local_name(each) for each in paragraph.iterancestors()]
    return "annotation" not in above and any(each in _APART for each in above)


def _shown(cell: _Element) -> str:
    """Return the text that a cell shows: its paragraphs, or its value if a program wrote no paragraphs."""
    paragraphs = [_text(each) for each in cell.iterchildren("{*}p")]
    if any(paragraphs):
        return " ".join(paragraphs)
    names = ("string-value", "date-value", "time-value", "boolean-value", "value")
    return next(filter(None, (_attribute(cell, name) for name in names)), "")


def _text(element: _Element) -> str:
    """Return the text of a paragraph with its spaces, without notes, comments and frames in it."""
    pieces = [element.text or ""]
    for child in element.iterchildren():
        match local_name(child):
            case "s":
                pieces.append(" " * min(_MOST_SPACES, _count(child, "c")))
            case "tab" | "line-break":
                pieces.append(" ")
            case name if name not in _APART:
                pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _hidden(cell: _Element, shown: str) -> str:
    """Return the number or day in a cell if a search for it would not find the text shown; otherwise ''."""
    if not shown:
        return ""
    if _attribute(cell, "value-type") == "date":
        return hidden_day(shown, _attribute(cell, "date-value")[:10])
    with suppress(ValueError, OverflowError):
        return hidden_number(shown, float(_attribute(cell, "value")))
    return ""


def _add_margins(builder: Builder, archive: ZipFile, warnings: list[str]) -> None:
    """Add the headers and footers of all sheets."""
    try:
        styles = xml(member(archive, "styles.xml"))
    except KeyError:
        return
    except BROKEN:
        warnings.append("The headers and footers are damaged.")
        return
    lines: dict[str, None] = {}
    for paragraph in styles.iter("{*}p"):
        fields = [*paragraph.iter(*_FIELDS)]
        for each in fields:
            each.text = ""
        text = one_line(_text(paragraph))
        if text and (not fields or len(_WORD.findall(text)) > 1):
            lines[text] = None
    builder.begin("heading", "Header and footer", "Header and footer")
    builder.add("\n".join(lines))
