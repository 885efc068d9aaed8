"""A message saved by Outlook (MSG) → an ordinary mail. Read with python-oxmsg."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from olefile import OleFileIO
from oxmsg import Message
from oxmsg.attachment import Attachment
from oxmsg.domain.encodings import encoding_from_codepage
from oxmsg.storage import Storage, Stream
from striprtf.striprtf import rtf_to_text

from rag_core.extract import encoding
from rag_core.extract.building import one_line
from rag_core.extract.outlook_items import item_lines, named_properties, properties_of
from rag_core.extract.tnef import property_text, unpacked

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_HTML, _RTF_COMPRESSED = 0x1013, 0x1009
_DISPLAY_TO, _DISPLAY_CC = 0x0E04, 0x0E03
_SENDER = (0x0C1A, 0x0042)  # the sender's name, or that of the person for whom it was sent
_ADDRESSES = (0x5D01, 0x0C1F, 0x5D02, 0x0065)
_ATTACHED_MESSAGE = "__substg1.0_3701000D"
_PAGE_OF_TEXTS, _LANGUAGE, _PAGE_OF_BODY = 0x3FFD, 0x3FF1, 0x3FDE
_CHINESE, _SIMPLIFIED = 0x04, (0x0804, 0x1004)
_PAGES = {
    **dict.fromkeys((0x05, 0x0E, 0x15, 0x18, 0x1A, 0x1B, 0x1C, 0x24), 1250),
    **dict.fromkeys((0x02, 0x19, 0x22, 0x23, 0x2F), 1251),
    **dict.fromkeys((0x01, 0x20, 0x29), 1256),
    **dict.fromkeys((0x25, 0x26, 0x27), 1257),
    0x08: 1253,
    0x1F: 1254,
    0x0D: 1255,
    0x2A: 1258,
    0x1E: 874,
    0x11: 932,
    0x12: 949,
}
"""Lowest bits of the number of a language → its code page, if it is not 1252."""
_TEXT, _TEXT_OF_BYTES = 0x001F, 0x001E  # kinds of properties
_OF_UNICODE, _OF_BYTES = f"{_TEXT:04X}", f"{_TEXT_OF_BYTES:04X}"
_UTF8 = 65001
_PROPERTIES = "__properties_version1.0"
_HEAD, _HEAD_OF_PART = 32, 8  # bytes before the properties of the file, and of a recipient or attachment
_HEAD_OF_ATTACHED = 24  # the same of an attached message
_SHOWN = ("From", "To", "Cc", "Date")
_DEEPEST = 5


def outlook_message(data: bytes, notes: list[str]) -> EmailMessage:
    """Return the message in ``data`` with its attachments. A sentence about a guessed code page is added to
    ``notes``. If it is not an Outlook message, the package's own exception is raised."""
    with OleFileIO(data) as file:
        written = Storage.from_ole(file)
        return _mail(written, _HEAD, notes, named_properties(written))


def _mail(
    written: Storage, head: int, notes: list[str], names: Mapping[int, str], depth: int = 0
) -> EmailMessage:
    """Return the message in a storage. Its properties have ``head`` bytes before them and these ``names``."""
    pages = _code_pages(written, head)
    storage = _in_unicode(written, head, _decoder(written, pages, notes))
    saved, props = Message(storage), properties_of(storage, _rows(storage, _HEAD), names)
    found = EmailMessage()
    for header, said in _headers(saved, props).items():
        if said := one_line(said, 2000):
            with suppress(ValueError):  # an invalid mail address
                found[header] = said
    text, html = _bodies(saved, pages[-1] if pages else "")
    found.set_content(_storable("\n".join([*item_lines(props), text])) + "\n")
    if html:
        found.add_alternative(_storable(html), subtype="html")
    for attachment in storage.iter_attachment_storages():
        _attach(found, attachment, notes, names, depth)
    return found


def _bodies(saved: Message, declared: str) -> tuple[str, str]:
    """Return the plain and the HTML version of a message. Of one in RTF alone the words are the plain one."""
    text, html = _read(lambda: saved.body, ""), _read(lambda: saved.html_body, "")
    if page := _read(lambda: saved.properties.binary_prop_value(_HTML), b""):
        html = _read(lambda: encoding.decode(page, "html", declared, is_sure=False).text, html)
    if not text.strip() and not html:
        packed = _read(lambda: saved.properties.binary_prop_value(_RTF_COMPRESSED), b"")
        text = rtf_to_text(unpacked(packed).decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    return text, html


def _code_pages(storage: Storage, head: int) -> list[str]:
    """Return the encodings that a message may have: that of its texts, that of its language, and last that
    of its body when it was sent."""
    pages: list[str] = []
    rows = {row[2:4]: row for row in _rows(storage, head)}
    for number in (_PAGE_OF_TEXTS, _LANGUAGE, _PAGE_OF_BODY):
        if row := rows.get(number.to_bytes(2, "little")):
            page = int.from_bytes(row[8:12], "little")
            page = _page_of_language(page) if number == _LANGUAGE else page
            with suppress(Exception):  # the package has an exception of its own for unknown ones
                pages.append(f"cp{page}" if _is_codec(f"cp{page}") else encoding_from_codepage(page))
    return pages


def _is_codec(name: str) -> bool:
    with suppress(LookupError):
        return bool(encoding.codec_of(name))
    return False


def _page_of_language(number: int) -> int:
    """Return the code page of Windows for the language with this number (LCID)."""
    if number & 0x3FF == _CHINESE:
        return 936 if number in _SIMPLIFIED else 950
    return _PAGES.get(number & 0x3FF, 1252)


def _rows(storage: Storage, head: int) -> Iterator[bytes]:
    """Yield the rows of 16 bytes that name the properties of a storage."""
    written = next((stream.bytes_ for stream in storage.streams if stream.name == _PROPERTIES), b"")
    for place in range(head, len(written), 16):
        yield written[place : place + 16]


def _in_unicode(storage: Storage, head: int, decode: Callable[[bytes], str]) -> Storage:
    """Return ``storage`` with its texts of bytes in Unicode, which the package reads without a code page.
    Attached messages are left as they are."""
    streams: list[Stream] = []
    for stream in storage.streams:
        if stream.name == _PROPERTIES:
            rows = b"".join(map(_row, _rows(storage, head)))
            before = stream.bytes_[:head].ljust(_HEAD_OF_PART if head == _HEAD_OF_PART else _HEAD, b"\0")
            streams.append(Stream(stream.path, before + rows))
        elif stream.name.endswith(_OF_BYTES):
            wide = decode(stream.bytes_.rstrip(b"\0")).encode("utf-16-le", "replace")
            streams.append(Stream(f"{stream.path.removesuffix(_OF_BYTES)}{_OF_UNICODE}", wide))
        else:
            streams.append(stream)
    parts = tuple(
        part if part.name == _ATTACHED_MESSAGE else _in_unicode(part, _HEAD_OF_PART, decode)
        for part in storage.storages
    )
    return replace(storage, streams=tuple(streams), storages=parts)


def _row(row: bytes) -> bytes:
    """Return the row of a property, as one of Unicode."""
    kind, number = int.from_bytes(row[:2], "little"), int.from_bytes(row[2:4], "little")
    if kind == _TEXT_OF_BYTES:
        return _TEXT.to_bytes(2, "little") + row[2:]
    return row[:8] + _UTF8.to_bytes(8, "little") if number in (_PAGE_OF_TEXTS, _PAGE_OF_BODY) else row


def _is_utf8(text: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        return bool(text.decode("utf-8"))
    return False


def _texts_of_bytes(storage: Storage) -> Iterator[bytes]:
    """Yield the texts of a message that are not in Unicode and have other bytes than ASCII."""
    for stream in storage.streams:
        if stream.name.endswith(_OF_BYTES) and not stream.bytes_.isascii():
            yield stream.bytes_.rstrip(b"\0")
    for part in storage.storages:
        if part.name != _ATTACHED_MESSAGE:
            yield from _texts_of_bytes(part)


def _decoder(storage: Storage, pages: Sequence[str], notes: list[str]) -> Callable[[bytes], str]:
    """Return a function that decodes the texts of a message. Those that are not UTF-8 have one encoding. A
    sentence about a guess is added to ``notes``."""
    held = dict.fromkeys(text for text in _texts_of_bytes(storage) if not _is_utf8(text))
    codec, texts = "utf-8", b"\n".join(held)
    with suppress(encoding.BinaryError, UnicodeError):
        tried = [encoding.decode(texts, "text", page, is_sure=False) for page in (*pages, "")]
        decoded = next((each for each in tried if not each.warning), tried[-1])
        codec = decoded.encoding
        notes += [decoded.warning] if decoded.warning and decoded.warning not in notes else []

    def decode(text: bytes) -> str:
        with suppress(UnicodeError):
            return text.decode("utf-8" if _is_utf8(text) else codec)
        with suppress(encoding.BinaryError, UnicodeError):
            return encoding.decode(text).text
        return text.decode("latin-1")

    return decode


def _read(part: Callable[[], Any], instead: Any) -> Any:
    """Return a part of a message, or ``instead`` if it is missing or the package cannot read it."""
    with suppress(Exception):  # it may raise anything; the other parts are still read
        return part() or instead
    return instead


def _headers(saved: Message, props: Mapping[int | str, bytes | str]) -> dict[str, str]:
    """Return the headers that a mail program shows: those of the mail itself, or else Outlook's own."""
    headers = _read(lambda: saved.message_headers, {})
    sent = {name: headers.get(name) or "" for name in _SHOWN}
    everybody = _read(lambda: [_person(each.name, each.email_address) for each in saved.recipients], [])
    day = _read(lambda: saved.sent_date, None)
    own = {
        "Subject": _read(lambda: saved.subject, ""),
        "From": _person(
            property_text(props, *_SENDER), *(property_text(props, number) for number in _ADDRESSES)
        ),
        "To": _people(property_text(props, _DISPLAY_TO)) or ", ".join(everybody),
        "Cc": _people(property_text(props, _DISPLAY_CC)),
        "Date": format_datetime(day) if day else "",
    }
    return {name: sent.get(name) or said for name, said in own.items()}


def _person(name: str, *addresses: str) -> str:
    """Return a name with the first mail address. An address inside Exchange is none."""
    shown = f'"{name}"' if "," in name and '"' not in name else name
    address = next((each for each in addresses if "@" in (each or "") and "/" not in each), "")
    return f"{shown} <{address}>".strip() if address else shown


def _people(shown: str) -> str:
    """Return the names that Outlook shows between semicolons as a header."""
    return ", ".join(_person(name.strip()) for name in shown.split(";") if name.strip())


def _attach(
    found: EmailMessage, storage: Storage, notes: list[str], names: Mapping[int, str], depth: int
) -> None:
    attachment = Attachment(storage)
    name = one_line(_read(lambda: attachment.file_name, "")) or "attachment"
    inner = next((part for part in storage.storages if part.name == _ATTACHED_MESSAGE), None)
    if inner is not None and depth < _DEEPEST and any(stream.name == _PROPERTIES for stream in inner.streams):
        found.add_attachment(_mail(inner, _HEAD_OF_ATTACHED, notes, names, depth + 1))
        return
    data = _read(lambda: attachment.file_bytes, b"")  # an empty one is named as not read
    with suppress(Exception):  # the mail package cannot write the name
        found.add_attachment(data, "application", "octet-stream", filename=name)


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()
