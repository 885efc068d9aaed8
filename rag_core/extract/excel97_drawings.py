"""Reads the content of an old workbook (XLS) outside its cells: headers, footers, text boxes, titles and
names of charts, and pictures. xlrd ignores these records, which [MS-XLS] 2.4 and [MS-ODRAW] 2.2 define."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from rag_core.extract.workbook import margin_text

_SHEET, _CONTINUED, _OBJECT, _TEXT, _CHART_TEXT, _PICTURES = 0x85, 0x3C, 0x5D, 0x1B6, 0x100D, 0xEB
_MARGINS = (0x14, 0x15)  # header and footer
_COMMENT = 0x19  # a kind of object that xlrd reads
_WIDE = 1  # flag of a text with two bytes per character
_CONTAINER, _ENTRY, _JPEG, _PNG = 0xF, 0xF007, 0xF01D, 0xF01E  # types of drawing records
_HEAD_OF_ENTRY = 36
_SIGNATURES = b"\x89PNG\r\n", b"\xff\xd8\xff"


@dataclass
class Drawings:
    """The texts and pictures of a workbook outside its cells."""

    #: Name of a sheet → (heading, such as ``Charts``; text) of each text.
    texts: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    pictures: list[bytes] = field(default_factory=list)  #: The picture files of all sheets.


def read(stream: bytes) -> Drawings:
    """Read the stream of a workbook. If the stream is damaged, the part before the damage is read."""
    drawings = Drawings()
    sheet_at: dict[int, str] = {}
    name, kind, waiting = "", 0, 0
    pictures = bytearray()
    last = 0
    for place, record, content in _records(stream):
        name = sheet_at.get(place, name)
        if record == _SHEET and len(content) > 8:
            sheet_at[struct.unpack_from("<I", content)[0]] = _text(content[7:], content[6])
        elif record == _OBJECT and len(content) >= 6:
            kind = struct.unpack_from("<H", content, 4)[0]
        elif record == _TEXT and len(content) >= 12:
            waiting = struct.unpack_from("<H", content, 10)[0] if kind != _COMMENT else 0
        elif record == _CONTINUED and waiting and content:
            words = _text(content, waiting)
            waiting -= len(words)
            drawings.texts.setdefault(name, []).append(("Text boxes", words))
        elif record == _CHART_TEXT and len(content) > 4:
            drawings.texts.setdefault(name, []).append(("Charts", _text(content[3:], content[2])))
        elif record in _MARGINS and content:
            words = margin_text(_margin(content), name)
            drawings.texts.setdefault(name, []).append(("Header and footer", words))
        if record == _PICTURES or (record == _CONTINUED and last == _PICTURES):
            pictures += content
            record = _PICTURES
        last = record
    drawings.pictures = [*_pictures(bytes(pictures))]
    return drawings


def _records(stream: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the offset, type and content of each record."""
    place = 0
    while place + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, place)
        yield place, kind, stream[place + 4 : place + 4 + size]
        place += 4 + size


def _text(content: bytes, length: int) -> str:
    """Read up to ``length`` characters after the byte with their encoding."""
    if content[0] & _WIDE:
        return content[1 : 1 + 2 * length].decode("utf-16-le", "replace")
    return content[1 : 1 + length].decode("latin-1")


def _margin(content: bytes) -> str:
    """Read a header or footer. Its length takes two bytes in Excel 97 and later, and one byte before that."""
    if len(content) == 1 + content[0]:
        return content[1:].decode("cp1252", "replace")
    return _text(content[2:], struct.unpack_from("<H", content)[0]) if len(content) > 3 else ""


def _pictures(drawing: bytes) -> Iterator[bytes]:
    """Yield the pictures in a group of drawings."""
    place = 0
    while place + 8 <= len(drawing):
        head, kind, size = struct.unpack_from("<HHI", drawing, place)
        place += 8
        if head & 0xF == _CONTAINER:
            continue  # its records follow directly
        if kind == _ENTRY:  # the picture follows a name inside the entry
            place += min(size, _HEAD_OF_ENTRY + drawing[place + 33] if place + 33 < len(drawing) else size)
            continue
        blob = drawing[place : place + size]
        if kind in (_JPEG, _PNG):
            starts = [start for mark in _SIGNATURES if (start := blob.find(mark, 0, 64)) >= 0]
            if starts:
                yield blob[min(starts) :]
        place += size
