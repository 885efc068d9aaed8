"""Mail (EML, MBOX) → headers, body and attachments of each message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

from rag_core.errors import NotText
from rag_core.extract import binary, readers, webpage
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.types import Extracted

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_FIELDS = {"from": "From", "to": "To"}
_DEEPEST = 3
_MBOX_LINE = re.compile(rb"^From [^\n]*\n", re.M)
_OUR_TEXT = ("text/plain", "text/html")


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The message in ``data``, or the messages of a mailbox."""
    if binary.signature(data):
        raise damaged(path, data)
    builder, warnings = Builder(), list[str]()
    is_mailbox = path.suffix.lower() == ".mbox" or data.startswith(b"From ")
    title, day, fields = "", None, {}
    for number, raw in enumerate(_messages(data) if is_mailbox else [data], 1):
        if builder.is_full:
            break
        message = message_from_bytes(raw, policy=policy.default)
        subject = _header(message, "Subject")
        if is_mailbox:
            builder.begin("message", f"{number} {subject}", subject)
        else:
            builder.begin("message", "")
            title = subject
            fields = {key: text for key, name in _FIELDS.items() if (text := _header(message, name))}
        day = _day(message) or day
        warnings += _add_message(builder, message)
    return builder.document("mail", path.name, title, date=day, metadata=fields, warnings=warnings)


def _messages(mailbox: bytes) -> Iterator[bytes]:
    """The messages of a mailbox (RFC 4155), oldest first."""
    places = [match.span() for match in _MBOX_LINE.finditer(mailbox)]
    ends = [start for start, _ in places[1:]]
    for (_, start), end in zip(places, [*ends, len(mailbox)], strict=bool(places)):
        yield mailbox[start:end]


def _add_message(builder: Builder, message: EmailMessage, depth: int = 0) -> list[str]:
    """Add a message with its attachments. Returns the parts that could not be read."""
    lines = (f"{name}: {text}" for name in _SHOWN if (text := _header(message, name)))
    builder.add("\n".join(lines))
    attached: list[tuple[str, MIMEPart]] = []
    texts: list[MIMEPart] = []
    for part in _parts(message):
        kind = part.get_content_type()
        name = one_line(str(part.get_filename("") or ""))
        is_body = kind in _OUR_TEXT and part.get_content_disposition() != "attachment"
        if is_body or (not name and part.get_content_maintype() == "text"):
            texts.append(part)
        elif name or kind == "message/rfc822":
            attached.append((name, part))
    builder.add(_body(texts))
    unread = []
    for name, part in attached:
        try:
            _add_attachment(builder, name, part, depth)
        except Exception as error:  # whatever its parser raises, the mail is read
            builder.begin("attachment", name)
            builder.add(name)
            if not isinstance(error, NotText):
                unread.append(f"The attachment {name!r} cannot be read.")
    return unread


def _body(parts: list[MIMEPart]) -> str:
    """What a message says: its plain text, else its HTML, else text of other kinds."""
    by_kind: dict[str, list[str]] = {"text/plain": [], "text/html": [], "": []}
    for part in parts:
        kind = part.get_content_type()
        by_kind[kind if kind in _OUR_TEXT else ""].append(_decoded(part))
    pages = map(webpage.visible_page, by_kind["text/html"])
    by_kind["text/html"] = ["\n".join(text for _, text in page.blocks) for page in pages]
    return next(filter(str.strip, map("\n\n".join, by_kind.values())), "")


def _parts(message: MIMEPart) -> Iterator[MIMEPart]:
    """The parts of a message that are not made of others; an attached message is one."""
    if message.get_content_maintype() != "multipart":
        yield message
        return
    for part in message.iter_parts():
        yield from _parts(part)


def _add_attachment(builder: Builder, name: str, part: MIMEPart, depth: int) -> None:
    """Add an attachment as its own reader reads it. Raises ExtractError."""
    if part.get_content_type() == "message/rfc822":
        inner = part.get_content()
        subject = _header(inner, "Subject") or name
        builder.begin("attachment", subject, subject)
        if depth < _DEEPEST:
            _add_message(builder, inner, depth + 1)
        return
    found = readers.read(_bytes(part), PurePosixPath(name))
    builder.private = builder.private or found.private
    for segment in found.segments:
        place = f"{segment.anchor_type} {segment.anchor_ref}" if segment.anchor_ref else ""
        builder.begin("attachment", " › ".join(filter(None, (name, place))), name, *segment.heading_path)
        builder.add(found.text[segment.start : segment.end])


def _decoded(part: MIMEPart) -> str:
    with suppress(LookupError):  # an unknown charset
        return _bytes(part).decode(part.get_content_charset("utf-8"), "replace")
    return _bytes(part).decode("utf-8", "replace")


def _bytes(part: MIMEPart) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _header(message: EmailMessage, name: str) -> str:
    """A header in one line; '' where it is missing or beyond what the parser can read."""
    with suppress(ValueError, IndexError, AttributeError, LookupError, TypeError):
        return one_line(str(message.get(name, "")))
    return ""


def _day(message: EmailMessage) -> str | None:
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    return None
