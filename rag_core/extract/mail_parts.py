"""The parts of a message → texts in order and attachments, as a mail program shows them.

Of an *alternative* one version is used; of all other multiparts each part.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart

from rag_core.extract import encoding, mail_text, tnef, webpage
from rag_core.extract.building import one_line
from rag_core.extract.signed import signed_content

_HELD = 0.8
"""Minimum share of an HTML version's words in its plain version. With fewer, the plain version is only a
stub."""
_WORD = re.compile(r"\w+")

_BOUNDARY = re.compile(r"^--([^\s\"]{1,70})[ \t]{0,9}\r?\nContent-[A-Za-z-]{1,40}:", re.M)
"""The line before a part of a multipart."""
_NAME_BY_KIND = {
    "text/calendar": "invitation.ics",
    "text/vcard": "contact.vcf",
    "text/x-vcard": "contact.vcf",
    "text/rtf": "text.rtf",
    "application/rtf": "text.rtf",
    "application/pdf": "attachment.pdf",
    "application/ms-tnef": "winmail.dat",
}
"""Content type → name of a part without a name of its own. The name's suffix chooses the reader."""

_ALWAYS_ATTACHED = frozenset({"text/calendar", "text/vcard", "text/x-vcard", "text/rtf"})
_SIGNATURES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_SEALED = frozenset({"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"})
_TNEF = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_SENTENCE_SEALED = "Its text is encrypted, or signed in a form that is not read."
_SENTENCE_TNEF = (
    "'winmail.dat' is damaged; only some of its text is found. Ask the sender for HTML or plain text."
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part of a message, with the name under which it is shown."""

    name: str
    part: MIMEPart


@dataclass(slots=True)
class Content:
    """The visible content of a part and of the parts in it."""

    texts: list[str] = field(default_factory=list)
    attached: list[Attachment] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  #: A sentence for each part that is not read.
    kinds: set[str] = field(default_factory=set)  #: Content types of its texts.
    notes: list[str] = field(default_factory=list)  #: Sentences about guessed encodings of its texts.
    is_of_outlook: bool = False  #: Whether it is the content of a ``winmail.dat``.

    def add(self, other: Content, *, with_texts: bool = True) -> None:
        """Add the content of another part after this one. Without ``with_texts``, only its attachments and
        its sentences are added, because its text is another version of a text that is already here."""
        if with_texts:
            self.texts += other.texts
            self.kinds |= other.kinds
            self.notes += other.notes
        self.attached += other.attached
        self.unread += other.unread


def content_of(part: MIMEPart) -> Content:
    """Return the visible content of a part."""
    kind = part.get_content_type()
    name = _name_of(part)
    if kind in _SIGNATURES:
        return Content()
    if kind in _SEALED:
        return _of_sealed(part)
    if kind in _TNEF or name.lower() == "winmail.dat":
        return _of_outlook(part, name)
    if part.get_content_maintype() == "multipart":
        part = part if part.is_multipart() else _with_its_boundary(part)
    if part.is_multipart() and part.get_content_maintype() == "multipart":
        contents = [content_of(inner) for inner in part.iter_parts()]
        return _one_version(contents) if kind == "multipart/alternative" else _all_of(contents)
    return _leaf(part, kind, name)


def _with_its_boundary(part: MIMEPart) -> MIMEPart:
    """Return a multipart split at the lines between its parts, if these differ from the declared boundary.
    Returns ``part`` itself if there are none."""
    payload = part.get_payload()
    begun = _BOUNDARY.search(payload) if isinstance(payload, str) else None
    if begun is None:
        return part
    written = f'Content-Type: {part.get_content_type()}; boundary="{begun[1]}"\n\n{payload}'
    found = message_from_bytes(written.encode("utf-8", "surrogateescape"), policy=policy.default)
    return found if found.is_multipart() else part


def _of_sealed(part: MIMEPart) -> Content:
    """Return the content of a message that was signed as a whole. An encrypted one is named as not read."""
    written = signed_content(_raw(part))
    if written is None:
        return Content(unread=[_SENTENCE_SEALED])
    return content_of(message_from_bytes(written, policy=policy.default))


def _of_outlook(part: MIMEPart, name: str) -> Content:
    """Return the text and the attachments in a ``winmail.dat``."""
    try:
        return replace(content_of(tnef.tnef_message(_raw(part))), is_of_outlook=True)
    except (ValueError, LookupError, TypeError):
        held = [name, tnef.readable_runs(_raw(part))]
        return Content([text for text in held if text], unread=[_SENTENCE_TNEF])


def _name_of(part: MIMEPart) -> str:
    """Return the file name of a part, or '' if it declares none or the mail package cannot read it."""
    with suppress(IndexError, ValueError, TypeError, LookupError, AttributeError):
        return one_line(str(part.get_filename("") or ""))
    return ""


def _all_of(contents: Iterable[Content]) -> Content:
    whole = Content()
    for content in contents:
        is_repeated = content.is_of_outlook and _words(content) == _words(whole)
        whole.add(content, with_texts=not is_repeated)
    return whole


def _words(content: Content) -> list[str]:
    return "\n".join(content.texts).split()


def _one_version(versions: list[Content]) -> Content:
    """Return the best of several versions of one text, with the attachments of all."""
    with_words = [version for version in versions if any(map(str.strip, version.texts))]
    pages = [version for version in with_words if "text/html" in version.kinds]
    plain = [version for version in with_words if version.kinds == {"text/plain"}]
    if pages and plain:
        best = plain[0] if _holds(plain[0], pages[-1]) else pages[-1]
    else:
        best = next(iter(pages[-1:] or plain or with_words), Content())
    whole = Content()
    for version in versions:
        whole.add(version, with_texts=version is best)
    return whole


def _holds(plain: Content, page: Content) -> bool:
    """Whether a plain version contains the text of the HTML version."""
    words = set(_WORD.findall("\n".join(page.texts).casefold()))
    held = words & set(_WORD.findall("\n".join(plain.texts).casefold()))
    return len(held) >= _HELD * len(words)


def _leaf(part: MIMEPart, kind: str, name: str) -> Content:
    """Return the visible content of a part without parts in it, or of a message inside a message."""
    is_text = part.get_content_maintype() in ("text", "multipart") and kind not in _ALWAYS_ATTACHED
    if kind == "message/delivery-status":
        return Content(["\n".join(map(str, part.walk()))], kinds={kind})
    if is_text and not name and part.get_content_disposition() != "attachment":
        text, note = _decoded(part)
        if kind == "text/html":
            text = "\n".join(block for _, block in webpage.visible_page(text).blocks)
            content = Content([text], kinds={kind})
        else:
            content = _plain(part, text, kind)
        content.notes += filter(None, [note])
        return content
    name = name or _NAME_BY_KIND.get(kind, "attachment.txt" if is_text else "")
    return Content(attached=[Attachment(name, part)] if name or kind == "message/rfc822" else [])


def _plain(part: MIMEPart, text: str, kind: str) -> Content:
    """Return the visible text of a plain part, and the files encoded in it."""
    found = mail_text.without_files(text)
    if str(part.get_param("format", "")).lower() == "flowed":
        found.text = mail_text.unflowed(found.text, delsp=str(part.get_param("delsp", "")).lower() == "yes")
    attached: list[Attachment] = []
    for name, data in found.files:
        inner = MIMEPart()
        inner.set_content(data, maintype="application", subtype="octet-stream")
        attached.append(Attachment(name, inner))
    return Content([found.text, *found.names], attached, found.unread, {kind})


def message_in(part: MIMEPart) -> EmailMessage:
    """Return the message that is attached as ``part``. It may be encoded in base64, as GroupWise does."""
    inner: EmailMessage = part.get_content()
    written = inner.get_payload()
    if inner.keys() or not isinstance(written, str):
        return inner
    with suppress(ValueError):
        return message_from_bytes(b64decode("".join(written.split()), validate=True), policy=policy.default)
    return inner


def bytes_of(part: MIMEPart) -> bytes:
    """Return the bytes of a part. Text is converted to UTF-8 if its declared charset is correct."""
    if part.get_content_maintype() == "text" and part.get_content_charset():
        with suppress(LookupError, ValueError):
            return _raw(part).decode(part.get_content_charset("utf-8")).encode()
    return _raw(part)


def _decoded(part: MIMEPart) -> tuple[str, str]:
    """Return the text of a part in its declared charset. If that is wrong, it is decoded like a file, and a
    sentence that says so follows."""
    data = _raw(part)
    with suppress(LookupError, ValueError):
        return data.decode(part.get_content_charset("utf-8")), ""
    with suppress(encoding.BinaryError, UnicodeError):
        decoded = encoding.decode(data)
        return decoded.text, decoded.warning
    return data.decode("utf-8", "replace"), ""


def _raw(part: MIMEPart) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else str(part.get_payload()).encode("utf-8", "surrogateescape")
