"""Workbooks in Open XML (XLSX, XLSM), transitional and strict → each cell as it is shown, then comments,
links, text boxes, charts, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from zipfile import ZipFile

from lxml import etree
from lxml.etree import _Element

from rag_core.extract import number_format, pictures
from rag_core.extract.building import Builder, one_line
from rag_core.extract.office import (
    BROKEN,
    Relation,
    local_name,
    main_part,
    member,
    relations,
    text_of_graphic,
    xml,
)
from rag_core.extract.sheet_rows import MOST_COLUMNS, Beside, Row, add_rows, epoch_of, shown_number

_REFERENCE = re.compile(r"([A-Z]{1,3})(\d{1,7})")
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_LINK_FORMULA = re.compile(r'\bHYPERLINK\(\s*"([^"]+)"', re.IGNORECASE)
_MARGIN_CODE = re.compile(
    r'&"[^"]*"|&K(?:[0-9A-Fa-f]{6}|\d\d[+-]\d{3})|&\d{1,3}|&(?P<letter>[A-Za-z&])', re.IGNORECASE
)
_MARGINS = frozenset("oddHeader oddFooter evenHeader evenFooter firstHeader firstFooter".split())
_READ = ("row", "hyperlink", *sorted(_MARGINS))
_TRUE = frozenset({"1", "true", "on"})


@dataclass(slots=True)
class Book:
    """A workbook with the data that its sheets share."""

    archive: ZipFile
    sheets: list[tuple[str, str]]  #: Name and part of each sheet, in order.
    names: list[str]  #: A line for each name defined in the workbook: ``Rate = 0.19``.
    texts: Sequence[str] = ()  #: The table of shared texts.
    formats: Sequence[str] = ()  #: Format code of each cell style.
    people: dict[str, str] = field(default_factory=dict)  #: Author's id → author of comments.
    since_1904: bool = False  #: Whether days are counted from 1904, not from 1900.
    warnings: list[str] = field(default_factory=list)  #: A sentence for each part that could not be read.


def read_into(builder: Builder, archive: ZipFile) -> list[str]:
    """Add the sheets of a workbook to a document. Returns a sentence for each part that could not be read.
    Raises ValueError or KeyError if the workbook itself cannot be read."""
    book = _opened(archive)
    for name, part in book.sheets:
        if not builder.is_full:
            _add_sheet(builder, book, name, part)
    if book.names:
        builder.begin("heading", "Names", "Names")
        builder.add("\n".join(book.names))
    return book.warnings


def is_workbook(archive: ZipFile) -> bool:
    """Whether an archive is a workbook in XML, which this module reads."""
    try:
        return local_name(xml(member(archive, main_part(archive, "xl/workbook.xml")))) == "workbook"
    except BROKEN:
        return False


def _opened(archive: ZipFile) -> Book:
    part = main_part(archive, "xl/workbook.xml")
    root = xml(member(archive, part))
    related = relations(archive, part)
    book = Book(archive, [], [])
    for sheet in root.iter("{*}sheet"):
        name = one_line(sheet.get("name") or "")
        relation = related.get(_related_id(sheet))
        if relation is None:
            book.warnings.append(f"The sheet {name!r} is missing.")
        else:
            book.sheets.append((name, relation.target))
    for defined in root.iter("{*}definedName"):
        name = defined.get("name") or ""
        if name and not name.startswith("_xl") and defined.get("hidden") not in _TRUE:
            book.names.append(f"{name} = {defined.text or ''}")
    properties = root.find("{*}workbookPr")
    book.since_1904 = properties is not None and properties.get("date1904") in _TRUE
    _read_shared(book, related.values())
    return book


def _related_id(element: _Element) -> str:
    """Return the id of the part that an element names, or '' if it names none."""
    return next((value for key, value in element.items() if key.endswith("}id")), "")


def _read_shared(book: Book, related: Iterable[Relation]) -> None:
    """Read the parts of a workbook that its sheets share."""
    for relation in related:
        try:
            match relation.kind:
                case "sharedStrings":
                    book.texts = _texts(book, relation.target)
                case "styles":
                    book.formats = _formats(xml(member(book.archive, relation.target)))
                case "person":
                    people = xml(member(book.archive, relation.target)).iter("{*}person")
                    book.people = {each.get("id", ""): each.get("displayName", "") for each in people}
        except BROKEN:
            book.warnings.append(
                f"Its part {relation.target!r} is missing or damaged, so some cells are missing or differ."
            )


def _texts(book: Book, part: str) -> list[str]:
    """Return the table of texts. If it is damaged, the part before the damage is returned."""
    texts: list[str] = []
    try:
        for item in _elements(book.archive, part, "si"):
            texts.append(_text(item))
            item.clear()
    except BROKEN:
        book.warnings.append("Its table of texts is damaged, so some cells are not read.")
    return texts


def _elements(archive: ZipFile, part: str, *names: str) -> Iterator[_Element]:
    """Yield the elements with these names, one after the other. Raises ValueError and KeyError."""
    with archive.open(part) as file:
        tags = [f"{{*}}{name}" for name in names]
        walk = etree.iterparse(
            file,
            tag=tags,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
        )
        for _, element in walk:
            yield element
            above = element.getparent()
            while above is not None and above[0] is not element:
                above.remove(above[0])


def _text(item: _Element) -> str:
    """Return a text from the table, a cell or a comment, without its pronunciation."""
    pieces = (
        each.text or "" for each in item.iter("{*}t") if next(each.iterancestors("{*}rPh"), None) is None
    )
    return _unescaped("".join(pieces))


def _unescaped(text: str) -> str:
    """Return a text without escapes such as ``_x000D_``."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _formats(root: _Element) -> list[str]:
    """Return the format code of each style of cells."""
    codes = dict(number_format.BUILT_IN)
    for custom in root.iter("{*}numFmt"):
        if local_name(custom.getparent()) == "numFmts":
            codes[_whole(custom.get("numFmtId"))] = custom.get("formatCode") or number_format.GENERAL
    styles = root.find("{*}cellXfs")
    if styles is None:
        return []
    numbers = [_whole(style.get("numFmtId")) for style in styles.iterchildren("{*}xf")]
    return [codes.get(number, number_format.GENERAL) for number in numbers]


def _whole(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0


# --- a sheet ----------------------------------------------------------------------------


def related_parts(book: Book, name: str, part: str) -> dict[str, Relation]:
    """Return the references from a sheet to its comments, drawings and the like, by id. If they are damaged,
    returns {} and adds a warning to ``book``."""
    try:
        return relations(book.archive, part)
    except BROKEN:
        book.warnings.append(f"The comments and pictures of the sheet {name!r} are missing or damaged.")
        return {}


def _add_sheet(builder: Builder, book: Book, name: str, part: str) -> None:
    """Add a sheet. If it is damaged, the rows before the damage are added."""
    beside = Beside()
    related = related_parts(book, name, part)
    add_rows(builder, name, _rows(book, name, part, related, beside))
    for relation in related.values():
        try:
            read_beside(book, relation, beside)
        except BROKEN:
            book.warnings.append(f"{relation.target!r} of the sheet {name!r} is missing or damaged.")
    beside.add_to(builder, name)


def _rows(book: Book, name: str, part: str, related: dict[str, Relation], beside: Beside) -> Iterator[Row]:
    """Yield the rows of a sheet. Its links, headers and hidden numbers are added to ``beside``."""
    number = 0
    addresses: set[str] = set()
    try:
        for element in _elements(book.archive, part, *_READ):
            kind = local_name(element)
            if kind == "row" and local_name(element.getparent()) == "sheetData":
                number = _whole(element.get("r")) or number + 1
                cells = _cells(book, element, number, beside)
                addresses.update(cell for cell in cells if "://" in cell or "@" in cell)
                yield number, cells
                element.clear()
            elif kind == "hyperlink":
                _read_link(element, related, addresses, beside)
            elif kind in _MARGINS:
                beside.add("Header and footer", 1, margin_text(element.text or "", name))
    except BROKEN:
        where = f" after row {number}" if number else ""
        book.warnings.append(f"The sheet {name!r} is missing or damaged{where}.")


def _cells(book: Book, row: _Element, number: int, beside: Beside) -> list[str]:
    """Return the cells of a row, from column A on."""
    cells: list[str] = []
    for cell in row.iterchildren("{*}c"):
        reference = _REFERENCE.match(cell.get("r") or "")
        column = _column(reference[1]) if reference else len(cells)
        if column >= MOST_COLUMNS:
            break
        cells += [""] * (column - len(cells))
        shown = _cell(book, cell, number, beside)
        if column < len(cells):
            cells[column] = shown
        else:
            cells.append(shown)
    return cells


@lru_cache(maxsize=2000)
def _column(letters: str) -> int:
    """Return the number of a column, from 0: AA is 26."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _cell(book: Book, cell: _Element, row: int, beside: Beside) -> str:
    """Return the text that a cell shows."""
    value = formula = ""
    for child in cell:
        name = local_name(child)
        if name == "v":
            value = child.text or ""
        elif name == "f":
            formula = child.text or ""
    place = cell.get("r") or f"row {row}"
    if "HYPERLINK" in formula.upper():
        for address in _LINK_FORMULA.findall(formula):
            beside.add("Links", row, f"{place}: {address}")
    kind, code = cell.get("t") or "n", _code(book, cell)
    if kind == "d" and not number_format.format_shows_date(code):
        return value.removesuffix("T00:00:00")
    if kind in ("n", "d"):
        return _shown_number(book, value, code, place, row, beside) if value else ""
    return _shown_text(book, kind, value or _text(cell), code)


def _shown_text(book: Book, kind: str, value: str, code: str) -> str:
    """Return a text, truth value or error as its cell shows it."""
    match kind:
        case "s":
            index = _whole(value)
            is_there = value != "" and index < len(book.texts)
            return number_format.displayed_text(book.texts[index], code) if is_there else ""
        case "inlineStr" | "str":
            return number_format.displayed_text(_unescaped(value), code)
        case "b":
            return "TRUE" if value in _TRUE else "FALSE" if value else ""
    return value


def _code(book: Book, cell: _Element) -> str:
    """Return the format code of a cell."""
    style = _whole(cell.get("s"))
    return book.formats[style] if style < len(book.formats) else number_format.GENERAL


def _shown_number(book: Book, value: str, code: str, place: str, row: int, beside: Beside) -> str:
    """Return a number or date as its cell shows it. The hidden value is added to ``beside``."""
    number = _number(value, since_1904=book.since_1904)
    if number is None:
        return value
    shown, hidden = shown_number(number, code, book.since_1904)
    if hidden:
        beside.add("Values", row, f"{place}: {hidden}")
    return shown


def _number(value: str, *, since_1904: bool) -> float | None:
    """Return the number in a cell. An ISO date is converted to days. Returns None if it is neither."""
    try:
        number = float(value)
    except ValueError:
        try:
            moment = datetime.fromisoformat(value).replace(tzinfo=None)
        except ValueError:
            return None
        return (moment - epoch_of(since_1904)) / timedelta(days=1)
    return number if abs(number) < float("inf") else None


# --- beside the cells -------------------------------------------------------------------


def _read_link(
    link: _Element, related: dict[str, Relation], addresses: Collection[str], beside: Beside
) -> None:
    """Read the address and tip of a link, unless a cell shows the address. ``addresses`` are the addresses
    that cells show."""
    relation = related.get(_related_id(link))
    address = relation.target if relation and relation.is_external else ""
    if location := link.get("location"):
        address = f"{address}#{location}"
    if address.removeprefix("mailto:") in addresses or address.rstrip("/") in addresses:
        address = ""
    words = " ".join(filter(None, (address, link.get("tooltip"))))
    place = link.get("ref") or ""
    reference = _REFERENCE.match(place)
    if words:
        beside.add("Links", int(reference[2]) if reference else 1, f"{place}: {words}")


def margin_text(codes: str, sheet: str) -> str:
    """Return a header or footer without the codes for fonts, pages and dates; '' if only a page number or the
    sheet's name is left."""

    def shown(match: re.Match[str]) -> str:
        letter = (match["letter"] or "").upper()
        return {"&": "&", "L": " ", "C": " ", "R": " ", "A": sheet}.get(letter, "")

    text = one_line(_MARGIN_CODE.sub(shown, codes))
    is_number = text.casefold() in ("page", "page of", "seite", "seite von", sheet.casefold())
    return "" if is_number else text


def read_beside(book: Book, relation: Relation, beside: Beside) -> None:
    """Add the content of a part that belongs to a sheet to ``beside``: comments, or a drawing with its
    charts. Other parts are ignored."""
    if relation.is_external:
        return
    match relation.kind:
        case "comments":
            _read_comments(book, relation.target, beside)
        case "threadedComment":
            for comment in xml(member(book.archive, relation.target)).iter("{*}threadedComment"):
                author = book.people.get(comment.get("personId", ""), "")
                add_comment(beside, comment.get("ref", ""), author, comment.findtext("{*}text") or "")
        case "drawing":
            _read_drawing(book, relation.target, beside)


def _read_comments(book: Book, part: str, beside: Beside) -> None:
    root = xml(member(book.archive, part))
    authors = [author.text or "" for author in root.iter("{*}author")]
    for comment in root.iter("{*}comment"):
        number = _whole(comment.get("authorId"))
        author = authors[number] if number < len(authors) else ""
        if not author.startswith("tc="):  # a copy of a thread for older programs
            add_comment(beside, comment.get("ref", ""), author, _text(comment))


def add_comment(beside: Beside, place: str, author: str, text: str) -> None:
    """Add a comment on the cell at ``place``, such as ``B7``."""
    reference = _REFERENCE.match(place)
    said = text if not author or text.startswith(author) else f"{author}: {text}"
    beside.add("Comments", int(reference[2]) if reference else 1, f"{place}: {said}")


def _read_drawing(book: Book, part: str, beside: Beside) -> None:
    """Read the text boxes, pictures, alternative texts, charts and SmartArt in a drawing."""
    for line in text_of_graphic(member(book.archive, part)).split("\n"):
        beside.add("Text boxes", 1, line)
    for relation in relations(book.archive, part).values():
        if relation.kind == "image" and not relation.is_external:
            blob = member(book.archive, relation.target)
            beside.seen.append(pictures.text_of(blob, relation.target, book.warnings))
        if relation.kind not in ("chart", "chartEx", "diagramData"):
            continue
        try:
            lines = text_of_graphic(member(book.archive, relation.target)).split("\n")
        except BROKEN:
            book.warnings.append(f"{relation.target!r} is missing or damaged.")
            continue
        for line in lines:
            beside.add("Charts", 1, line)
