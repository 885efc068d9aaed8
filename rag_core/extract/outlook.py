"""A message saved by Outlook (MSG) → an ordinary mail. Read with python-oxmsg."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from oxmsg import Message
from striprtf.striprtf import rtf_to_text

from rag_core.extract.building import one_line
from rag_core.extract.tnef import unpacked

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_RTF_COMPRESSED = 0x1009
_DISPLAY_TO, _DISPLAY_CC = 0x0E04, 0x0E03
_SHOWN = ("From", "To", "Cc", "Date")


def outlook_message(data: bytes) -> EmailMessage:
    """Return the message in ``data`` with its attachments. If it is not an Outlook message, the package's own
    exception is raised."""
    saved = Message.load(data)
    found = EmailMessage()
    for header, said in _headers(saved).items():
        if said := one_line(said, 2000):
            with suppress(ValueError):  # an invalid mail address
                found[header] = said
    text, html = _read(lambda: saved.body, ""), _read(lambda: saved.html_body, "")
    if not text.strip() and not html:
        packed = _read(lambda: saved.properties.binary_prop_value(_RTF_COMPRESSED), b"")
        text = rtf_to_text(unpacked(packed).decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    found.set_content(_storable(text) + "\n")
    if html:
        found.add_alternative(_storable(html), subtype="html")
    for attachment in _read(lambda: saved.attachments, ()):
        _attach(found, attachment)
    return found


def _read(part: Callable[[], Any], instead: Any) -> Any:
    """Return a part of a message, or ``instead`` if it is missing or the package cannot read it."""
    with suppress(Exception):  # it may raise anything; the other parts are still read
        return part() or instead
    return instead


def _headers(saved: Message) -> dict[str, str]:
    """Return the headers that a mail program shows: those of the mail itself, or else Outlook's own."""
    headers = _read(lambda: saved.message_headers, {})
    sent = {name: headers.get(name) or "" for name in _SHOWN}
    everybody = _read(lambda: [f"{each.name} <{each.email_address}>" for each in saved.recipients], [])
    day = _read(lambda: saved.sent_date, None)
    own = {
        "Subject": _read(lambda: saved.subject, ""),
        "From": _read(lambda: saved.sender, ""),
        "To": _read(lambda: saved.properties.str_prop_value(_DISPLAY_TO), "") or ", ".join(everybody),
        "Cc": _read(lambda: saved.properties.str_prop_value(_DISPLAY_CC), ""),
        "Date": format_datetime(day) if day else "",
    }
    return {name: sent.get(name) or said for name, said in own.items()}


def _attach(found: EmailMessage, attachment: Any) -> None:
    with suppress(Exception):  # an unreadable attachment is skipped
        name = one_line(attachment.file_name or "") or "attachment"
        found.add_attachment(attachment.file_bytes or b"", "application", "octet-stream", filename=name)


def _storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()
