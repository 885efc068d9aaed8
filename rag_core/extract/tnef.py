"""Outlook's ``winmail.dat`` (TNEF) → the message in it, according to MS-OXTNEF and MS-OXRTFCP."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage

from striprtf.striprtf import rtf_to_text

from rag_core.extract import encoding
from rag_core.extract.building import one_line

MAGIC = b"\x78\x9f\x3e\x22"

_SUBJECT, _BODY, _MESSAGE_PROPS, _CODE_PAGE = 0x8004, 0x800C, 0x9003, 0x9007
_ATTACH_TITLE, _ATTACH_DATA, _ATTACH_START, _ATTACH_PROPS = 0x8010, 0x800F, 0x9002, 0x9005
_SIZES = {0: 0, 1: 0, 2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 2, 20: 8, 0x40: 8, 0x48: 16}
"""Type of a value → its size in bytes. Other types have their length before the value."""
_FIRST_NAMED = 0x8000
_PROP_SUBJECT, _PROP_BODY, _PROP_RTF, _PROP_HTML = 0x37, 0x1000, 0x1009, 0x1013
_PROP_START, _PROP_END, _PROP_DATA = 0x60, 0x61, 0x3701
_PROP_FILE, _PROP_LONG_FILE = 0x3704, 0x3707
APPOINTMENT_NAMES = {0x8208: "where", 0x820D: "start", 0x820E: "end", 0x0002: "where"}
"""Properties of appointments that are identified by a number."""
_PROP_SENDER, _PROP_ADDRESS = 0x0C1A, 0x0C1F
_NEVER = 4500  # the year of a time that is not set
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_RTF_BEGINNING = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_MOST_RTF = 50_000_000  # maximum number of bytes
_MOST_VALUES = 10_000
_MOST_WORDS = 100_000  # maximum number of characters
_RUN = re.compile(rb"[ -~\t\r\n]{12,10000}")
_WIDE_RUN = re.compile(rb"(?:[ -~]\0){12,10000}")


@dataclass(slots=True)
class _Attached:
    name: str = ""
    data: bytes = b""


@dataclass(slots=True)
class _Parts:
    """The parts of the file."""

    props: dict[int | str, bytes | str] = field(default_factory=dict)
    subject: str = ""
    body: str = ""
    attached: list[_Attached] = field(default_factory=list)


def tnef_message(data: bytes) -> EmailMessage:
    """Return the message in ``data`` with its attachments. Raises ValueError if it is not a TNEF file."""
    if not data.startswith(MAGIC):
        raise ValueError("it does not begin as TNEF")
    attributes = [*_attributes(data)]
    codec = next((_codec(value) for number, value in attributes if number == _CODE_PAGE), "")
    parts = _Parts()
    with encoding.expecting(codec or encoding.expected()):
        for number, value in attributes:
            with suppress(struct.error, IndexError):  # a damaged attribute is skipped
                _add(parts, number, value)
        if not (parts.subject or parts.body or parts.props or parts.attached):
            raise ValueError("it holds no text or attachment that can be read")
        return _message(parts)


def _codec(value: bytes) -> str:
    """Return the codec of a code page of Windows, or '' if Python has none."""
    with suppress(LookupError):
        return encoding.codec_of(f"cp{int.from_bytes(value[:4], 'little')}")
    return ""


def _message(parts: _Parts) -> EmailMessage:
    found = EmailMessage()
    for header, said in (
        ("Subject", parts.subject),
        ("From", property_text(parts.props, _PROP_SENDER, _PROP_ADDRESS)),
    ):
        if said := one_line(said):
            found[header] = said
    html = parts.props.get(_PROP_HTML, b"")
    found.set_content("\n".join([*appointment_lines(parts.props), _body(parts)]).strip() + "\n")
    if html:
        page = html if isinstance(html, str) else encoding.decode(html, "html").text
        found.add_alternative(page.encode("utf-8", "replace").decode(), subtype="html")
    for attached in parts.attached:
        if attached.data:
            name = one_line(attached.name) or "attachment"
            found.add_attachment(attached.data, "application", "octet-stream", filename=name)
    return found


def readable_runs(data: bytes) -> str:
    """Return the runs of text in a damaged file, one on each line."""
    runs = [run.decode("ascii") for run in _RUN.findall(data)]
    runs += [run.decode("utf-16-le") for run in _WIDE_RUN.findall(data)]
    return "\n".join(runs)[:_MOST_WORDS]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes with their numbers. An attribute that is cut off ends at the end of the file."""
    place = 6
    while place + 9 <= len(data):
        number, _, length = struct.unpack_from("<HHI", data, place + 1)
        if data[place] not in (1, 2):
            return
        yield number, data[place + 9 : place + 9 + length]
        place += 11 + length


def _add(parts: _Parts, number: int, value: bytes) -> None:
    if number == _SUBJECT:
        parts.subject = _decoded(value)
    elif number == _BODY:
        parts.body = _decoded(value)
    elif number == _MESSAGE_PROPS:
        parts.props |= _known(value)
        parts.subject = property_text(parts.props, _PROP_SUBJECT) or parts.subject
        parts.body = parts.body or property_text(parts.props, _PROP_BODY)
    elif number == _ATTACH_START:
        parts.attached.append(_Attached())
    elif number in (_ATTACH_TITLE, _ATTACH_DATA, _ATTACH_PROPS):
        if not parts.attached:
            parts.attached.append(_Attached())
        attached = parts.attached[-1]
        if number == _ATTACH_TITLE:
            attached.name = attached.name or _decoded(value)
        elif number == _ATTACH_DATA:
            attached.data = value
        else:
            props = _known(value)
            attached.name = property_text(props, _PROP_LONG_FILE, _PROP_FILE) or attached.name
            held = props.get(_PROP_DATA, b"")
            attached.data = attached.data or (held if isinstance(held, bytes) else b"")


def _known(data: bytes) -> dict[int | str, bytes | str]:
    """Return the properties before the first one that is cut off."""
    found: dict[int | str, bytes | str] = {}
    with suppress(struct.error):
        for known in _properties(data):
            found.update((known,))
    return found


def _properties(data: bytes) -> Iterator[tuple[int | str, bytes | str]]:
    """Yield the properties that are texts, bytes or times, by number, or by name if they have one."""
    (count,) = struct.unpack_from("<I", data)
    place = 4
    for _ in range(min(count, _MOST_VALUES)):
        if place + 4 > len(data):
            return
        kind, number = struct.unpack_from("<HH", data, place)
        place += 4
        name: int | str = number
        if number >= _FIRST_NAMED:
            name, place = _name(data, place)
        is_list, kind = bool(kind & 0x1000), kind & 0x0FFF
        values = 1
        if is_list or kind not in _SIZES:
            (values,) = struct.unpack_from("<I", data, place)
            place += 4
        for _ in range(min(values, _MOST_VALUES)):
            value, place = _value(data, place, kind)
            if (said := _said(value, kind)) is not None:
                yield name, said


def _value(data: bytes, place: int, kind: int) -> tuple[bytes, int]:
    """Return the bytes of a value, then the offset of the next one. Raises struct.error at the end of the
    data."""
    size = _SIZES.get(kind, -1)
    if size < 0:
        (size,) = struct.unpack_from("<I", data, place)
        place += 4
    if place > len(data):
        raise struct.error("the value lies behind the end")
    return data[place : place + size], place + size + -size % 4


def _said(value: bytes, kind: int) -> bytes | str | None:
    """Return the content of a value: a text, bytes or a time; None for numbers."""
    match kind:
        case 0x1F:
            return value.decode("utf-16-le", "replace").rstrip("\0")
        case 0x1E:
            return _decoded(value)
        case 0x0D:
            return value[16:]
        case 0x102 | 0x40:
            return value
        case _:
            return None


def _name(data: bytes, place: int) -> tuple[str, int]:
    """Return the name of a named property, then the offset of its value."""
    kind, number = struct.unpack_from("<II", data, place + 16)
    place += 24
    return (APPOINTMENT_NAMES.get(number, ""), place) if kind == 0 else ("", place + number + -number % 4)


def property_text(props: Mapping[int | str, bytes | str], *names: int | str) -> str:
    """Return the first of these properties that is a text, or '' if none is."""
    return next((value for name in names if isinstance(value := props.get(name), str) and value), "")


def _decoded(value: bytes) -> str:
    with suppress(encoding.BinaryError, UnicodeError):
        return encoding.decode(value.rstrip(b"\0")).text
    return value.decode("latin-1").replace("\0", "")


def appointment_lines(props: Mapping[int | str, bytes | str]) -> Iterator[str]:
    """Yield the place and time of a meeting as they are shown. They are the properties ``where``, ``start``
    and ``end``, or those that every message may have."""
    if where := property_text(props, "where"):
        yield f"Where: {where}"
    times = [
        property_time(props.get(name, props.get(number)))
        for name, number in (("start", _PROP_START), ("end", _PROP_END))
    ]
    if said := " to ".join(filter(None, times)):
        yield f"When: {said}"


def property_time(value: bytes | str | None, *, with_clock: bool = True) -> str:
    """Return a time of Outlook as it is shown, or its day alone. Returns '' if it is not set."""
    if not isinstance(value, bytes) or len(value) != 8:
        return ""
    with suppress(OverflowError):
        moment = _EPOCH + timedelta(microseconds=int.from_bytes(value, "little") // 10)
        if moment.year < _NEVER:
            day = f"{moment:%A}, {moment.day} {moment:%B} {moment.year}"
            return f"{day}, {moment:%H:%M} (UTC)" if with_clock else day
    return ""


def _body(parts: _Parts) -> str:
    packed = parts.props.get(_PROP_RTF, b"")
    if parts.body.strip() or not isinstance(packed, bytes) or not packed:
        return parts.body
    text: str = rtf_to_text(unpacked(packed).decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return text


def unpacked(packed: bytes) -> bytes:
    """Return the decompressed RTF in an Outlook property, as far as it can be decompressed; b'' if nothing
    can."""
    if len(packed) < 16:
        return b""
    size, magic = struct.unpack_from("<4xI4s", packed)
    if magic == b"MELA":
        return packed[16 : 16 + size]
    window = bytearray(_RTF_BEGINNING.ljust(4096, b" "))
    written, place = len(_RTF_BEGINNING), 16
    found = bytearray()
    while place < len(packed) and len(found) < _MOST_RTF:
        control = packed[place]
        place += 1
        for bit in range(8):
            if place >= len(packed):
                break
            if not control >> bit & 1:
                taken = packed[place : place + 1]
                place += 1
            else:
                reference = int.from_bytes(packed[place : place + 2], "big")
                place += 2
                begin, length = reference >> 4, (reference & 15) + 2
                if begin == written % 4096:
                    return bytes(found)
                taken = b""
                for step in range(length):
                    taken += bytes((window[(begin + step) % 4096],))
                    window[(written + step) % 4096] = taken[-1]
            for char in taken:
                window[written % 4096] = char
                written += 1
            found += taken
    return bytes(found)
