"""Mail (EML, EMLX, MSG, TNEF) → headers, body and attachments of a message. For a mailbox (MBOX), of each
message."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from itertools import chain
from pathlib import PurePosixPath

from rag_core.errors import NotText
from rag_core.extract import binary, encoding, mailbox, not_read, outlook, readers, tnef
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.extract.mail_parts import Attachment, bytes_of, content_of, message_in
from rag_core.types import Extracted

_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_FIELDS = {"from": "From", "to": "To"}
_LABELS = "X-Gmail-Labels", "X-Keywords", "Keywords"
_DEEPEST = 3
_MOST_SENDERS = 1000  # maximum senders of a mailbox for filters; all are found as words
_COUNT = re.compile(rb"\s*\d+[ \t]*\r?\n")


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the message in ``data``, or the messages of a mailbox."""
    builder = Builder()
    message = _of_outlook(data, path, builder.notes)
    if message is None and binary.signature(data):
        raise damaged(path, data)
    if path.suffix.lower() == ".mbox" or data.startswith(b"From "):
        return _read_mailbox(data, path)
    if path.suffix.lower() == ".emlx" and (count := _COUNT.match(data)):
        data = data[count.end() :][: int(count[0])]
    message = message or message_from_bytes(data.removeprefix(BOM_UTF8), policy=policy.default)
    builder.begin("message", "")
    warnings = _add_message(builder, message)
    fields = {key: text for key, name in _FIELDS.items() if (text := _header(message, name))}
    title = _header(message, "Subject")
    return builder.document(
        "mail",
        path.name,
        title,
        date=_day(message),
        metadata=fields,
        warnings=warnings,
        tags=_labels(message),
    )


def _of_outlook(data: bytes, path: PurePosixPath, notes: list[str]) -> EmailMessage | None:
    """Return the message in an Outlook file, or None for other files. A sentence about a guessed encoding is
    added to ``notes``. Raises ExtractError for a damaged file."""
    try:
        if data.startswith(outlook.MAGIC):
            return outlook.outlook_message(data, notes)
        return tnef.tnef_message(data) if data.startswith(tnef.MAGIC) else None
    except Exception:  # the package for such files may raise anything
        raise damaged(path, data) from None


def _read_mailbox(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the messages of a mailbox, newest first, each under its subject, sender and day."""
    builder, warnings = Builder(), list[str]()
    days, senders = list[str](), list[str]()
    messages = mailbox.newest_first(data)
    for place, each in enumerate(messages):
        try:
            message = message_from_bytes(each.raw(data), policy=policy.default)
            sender, day = _header(message, "From"), _day(message)
            warnings += _add_of_mailbox(builder, each.number, message, sender, day)
        except Exception:  # the mail package may raise anything; other messages are still read
            warnings.append(f"Message {each.number} is damaged; some or all of it cannot be read.")
            continue
        if builder.is_full:
            left = f"{len(messages) - place:,} of its {len(messages):,} messages"
            warnings.insert(
                0, f"The oldest messages are left out, at least in part: {left}. Split the mailbox."
            )
            break
        senders.append(sender)
        days += [day] if day else []
    fields = {"from": list(dict.fromkeys(filter(None, senders)))[:_MOST_SENDERS]}
    return builder.document(
        "mail", path.name, date=max(days, default=None), metadata=fields, warnings=warnings
    )


def _add_of_mailbox(
    builder: Builder, number: int, message: EmailMessage, sender: str, day: str | None
) -> list[str]:
    """Add a message of a mailbox under its subject, sender and day. Returns a sentence for each part that
    could not be read."""
    subject = _header(message, "Subject")
    headings = subject, ", ".join(filter(None, (sender, day)))
    builder.begin("message", f"{number} {subject}", *headings)
    return _add_message(builder, message, above=headings)


def _add_message(
    builder: Builder, message: EmailMessage, depth: int = 0, above: tuple[str, ...] = ()
) -> list[str]:
    """Add a message with its attachments, which are put under the headings ``above``. Returns a sentence for
    each part that could not be read."""
    lines = (f"{name}: {text}" for name in _SHOWN if (text := _header(message, name)))
    builder.add("\n".join(lines))
    content = content_of(message)
    for text in content.texts:
        builder.add(text)
    builder.notes += content.notes
    unread = content.unread
    for attachment in content.attached:
        try:
            unread += _add_attachment(builder, attachment, depth, above)
        except Exception as error:  # its parser may raise anything; the mail is still read
            readers.add_name(builder, attachment.name, above)
            suffix = PurePosixPath(attachment.name).suffix.lower()
            if not isinstance(error, NotText):
                unread.append(f"The attachment {attachment.name!r} cannot be read.")
            elif not_read.why_not_read(suffix, ""):
                kind = suffix[1:].upper()
                builder.notes.append(f"The attachment {attachment.name!r} ({kind}) is not read yet.")
    return unread


def _add_attachment(
    builder: Builder, attachment: Attachment, depth: int, above: tuple[str, ...]
) -> list[str]:
    """Add an attachment, read by the reader of its format. Returns a sentence for each part that could not be
    read. Raises ExtractError."""
    name, part = attachment.name, attachment.part
    if part.get_content_type() == "message/rfc822":
        inner = message_in(part)
        subject = _header(inner, "Subject") or name
        builder.begin("attachment", subject, *above, subject)
        if depth < _DEEPEST:
            return _add_message(builder, inner, depth + 1, (*above, subject))
        builder.add(subject)
        return [f"The attached message {subject!r} is nested too deeply to be read."]
    if not (data := bytes_of(part)):
        readers.add_name(builder, name, above)
        builder.notes.append(f"The attachment {name!r} is empty.")
        return []
    return readers.add(builder, data, PurePosixPath(name), above)


def _header(message: EmailMessage, name: str) -> str:
    """Return a header in one line, or '' if it is missing or the parser cannot read it.

    Bytes beyond ASCII, which old programs wrote without a charset, are decoded like those of a file.
    """
    with suppress(ValueError, OverflowError, AttributeError, LookupError, TypeError):
        shown = str(message.get(name, ""))
        if "\ufffd" in shown:
            written = next(value for key, value in message.raw_items() if key.lower() == name.lower())
            if not written.isascii():
                shown = encoding.decode(written.encode("utf-8", "surrogateescape")).text
        return one_line(shown)
    return ""


def _labels(message: EmailMessage) -> tuple[str, ...]:
    """Return the folders or labels under which the owner's mail program filed a message."""
    labels = chain.from_iterable(_header(message, name).split(",") for name in _LABELS)
    return tuple(dict.fromkeys(label.strip(' "') for label in labels if label.strip(' "')))


def _day(message: EmailMessage) -> str | None:
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    return None
