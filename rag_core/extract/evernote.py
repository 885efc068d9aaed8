"""Evernote exports (ENEX) → the text of each note under its title, with its tags and attachments."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from mimetypes import guess_extension
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag_core.errors import NotText
from rag_core.extract import binary, encoding, readers, webpage
from rag_core.extract.building import Builder, damaged, one_line
from rag_core.files.slices import Sliced, find_all
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

_TAG = re.compile(rb"<note[\s>]|</note>")
_END = b"</note>"
_CONTENT = re.compile(rb"<en-note[\s>]")
_PROLOGUE = re.compile(r"\A.*?(?=<en-note[\s>])", re.S)
_NOT_IN_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_FIELD = rb"<%s>([^<]{1,500})</%s>"
_CREATED, _TITLE = (re.compile(_FIELD % (name, name)) for name in (b"created", b"title"))
_HEAD = 5000  # number of bytes of a note that contain its title
_BOX = re.compile(r"<en-todo\b([^<>]*)>(?:\s*</en-todo>)?")
_MEDIA = re.compile(r"</?en-media\b[^<>]*>")
_DAY = "%Y%m%dT%H%M%SZ"
_CRYPT_START, _CRYPT_END = "<en-crypt", "</en-crypt>"
_ENCRYPTED = "A part of the note {!r} is encrypted in Evernote and is not read."


def note_spans(data: Sliced) -> Iterator[tuple[int, int]]:
    """Yield the span of each note of an export."""
    begun: int | None = None
    for place, tag in find_all(data, _TAG, len(_END)):
        if tag != _END:
            begun = place if begun is None else begun
        elif begun is not None:
            yield begun, place + len(_END)
            begun = None
    if begun is not None:
        yield begun, len(data)


def made(note: bytes) -> tuple[str, bytes]:
    """Return the creation time of a note as written (``20240301T101500Z``), then its title. A missing one is
    empty, and so is a time in another form."""
    title, created = _TITLE.search(note[:_HEAD]), _CREATED.search(note)
    written = created[1].decode("ascii", "replace").strip() if created else ""
    return written if time_of(written) else "", title[1] if title else b""


def time_of(written: str) -> datetime | None:
    """Return a time as exports write it (``20240301T101500Z``), or None for any other text."""
    with suppress(ValueError):
        return datetime.strptime(written, _DAY).replace(tzinfo=UTC)
    return None


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the notes in ``data``. If there is a single note, the document has its title, day and tags."""
    notes = [_parsed(data[start:end]) for start, end in note_spans(data)]
    if not notes and _CONTENT.search(data):
        notes = [_bare(data)]
    if binary.signature(data) or not notes:
        raise damaged(path, data)
    builder, warnings = Builder(), list[str]()
    for note in notes:
        title = one_line(note.findtext("title") or "")
        if len(notes) > 1:
            builder.begin("heading", title, title)
        warnings += _add_note(builder, note, title)
    if len(notes) > 1:
        return builder.document("evernote", path.name, warnings=warnings)
    author = one_line(notes[0].findtext("note-attributes/author") or "")
    return builder.document(
        "evernote",
        path.name,
        notes[0].findtext("title") or "",
        warnings=warnings,
        tags=tuple(filter(None, (one_line(tag.text or "") for tag in notes[0].iter("tag")))),
        date=_day(notes[0]),
        metadata={"author": author} if author else {},
    )


def _parsed(note: bytes) -> _Element:
    """Return a note as XML. Nothing is fetched, and no entity is expanded."""
    from lxml import etree  # imported here because it is slow to import

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True, huge_tree=True)
    root = etree.fromstring(note, parser)
    return etree.Element("note") if root is None else root


def _bare(content: bytes) -> _Element:
    """The note that has this content, and nothing else."""
    from lxml import etree

    note = etree.Element("note")
    decoded = encoding.decode(content, "xml").text
    etree.SubElement(note, "content").text = _NOT_IN_XML.sub("", _PROLOGUE.sub("", decoded))
    return note


def _day(note: _Element) -> str | None:
    times = (time_of((note.findtext(name) or "").strip()) for name in ("created", "updated"))
    return next((time.date().isoformat() for time in times if time), None)


def _add_note(builder: Builder, note: _Element, title: str) -> list[str]:
    """Add the text of a note, the address of the page that it was clipped from, and its attachments. Returns
    a sentence for each part that could not be read."""
    builder.add(title)
    markup, is_encrypted = _readable(note.findtext("content") or "")
    webpage.visible_page(markup).add_to(builder)
    builder.add(note.findtext("note-attributes/source-url") or "")
    unread = [_ENCRYPTED.format(title)] if is_encrypted else []
    for number, resource in enumerate(note.iter("resource"), 1):
        unread += _add_resource(builder, resource, number, title)
    return unread


def _readable(markup: str) -> tuple[str, bool]:
    """Return the markup of a note for the reader of web pages, and whether part of it was encrypted."""
    pieces = markup.split(_CRYPT_START)
    shown = pieces[0] + "".join(piece.partition(_CRYPT_END)[2] for piece in pieces[1:])
    shown = _BOX.sub(lambda box: "[x] " if 'checked="true"' in box[1] else "[ ] ", shown)
    return _MEDIA.sub(" ", shown), len(pieces) > 1


def _add_resource(builder: Builder, resource: _Element, number: int, title: str) -> list[str]:
    """Add an attachment, read by the reader of its format. Returns a sentence for each part that could not be
    read."""
    kind = (resource.findtext("mime") or "").strip().lower()
    name = one_line(resource.findtext("resource-attributes/file-name") or "")
    name = name or f"Attachment {number}{guess_extension(kind) or ''}"
    try:
        data = base64.b64decode(resource.findtext("data") or "")
        return readers.add(builder, data, PurePosixPath(name), (title,) if title else ())
    except NotText:
        readers.add_name(builder, name, (title,) if title else ())
        return []
    except Exception:  # its parser may raise anything; the note is still read
        readers.add_name(builder, name, (title,) if title else ())
        return [f"The attachment {name!r} cannot be read."]
