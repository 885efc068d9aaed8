"""Mail (EML, EMLX) → headers, body and attachments of a message; of a mailbox (MBOX) of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

from rag_core.errors import NotText
from rag_core.extract import binary, readers
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.extract.mail_parts import Attachment, bytes_of, content_of
from rag_core.types import Extracted

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_FIELDS = {"from": "From", "to": "To"}
_DEEPEST = 3
_MBOX_LINE = re.compile(rb"^From [^\n]*\n", re.M)


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
    """Add a message with its attachments. Returns what could not be read, a sentence each."""
    lines = (f"{name}: {text}" for name in _SHOWN if (text := _header(message, name)))
    builder.add("\n".join(lines))
    content = content_of(message)
    for text in content.texts:
        builder.add(text)
    unread = content.unread
    for attachment in content.attached:
        try:
            unread += _add_attachment(builder, attachment, depth)
        except Exception as error:  # whatever its parser raises, the mail is read
            builder.begin("attachment", attachment.name)
            builder.add(attachment.name)
            if not isinstance(error, NotText):
                unread.append(f"The attachment {attachment.name!r} cannot be read.")
    return unread


def _add_attachment(builder: Builder, attachment: Attachment, depth: int) -> list[str]:
    """Add an attachment as its own reader reads it. Returns what could not be read in it. Raises
    ExtractError."""
    name, part = attachment.name, attachment.part
    if part.get_content_type() == "message/rfc822":
        inner = part.get_content()
        subject = _header(inner, "Subject") or name
        builder.begin("attachment", subject, subject)
        if depth < _DEEPEST:
            return _add_message(builder, inner, depth + 1)
        builder.add(subject)
        return [f"The message {subject!r} is in too many others and is not read."]
    found = readers.read(bytes_of(part), PurePosixPath(name))
    builder.private = builder.private or found.private
    for segment in found.segments:
        place = f"{segment.anchor_type} {segment.anchor_ref}" if segment.anchor_ref else ""
        builder.begin("attachment", " › ".join(filter(None, (name, place))), name, *segment.heading_path)
        builder.add(found.text[segment.start : segment.end])
    return list(found.warnings)


def _header(message: EmailMessage, name: str) -> str:
    """A header in one line; '' where it is missing or beyond what the parser can read."""
    with suppress(ValueError, IndexError, AttributeError, LookupError, TypeError):
        return one_line(str(message.get(name, "")))
    return ""


def _day(message: EmailMessage) -> str | None:
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    return None
