"""Files that hold many documents: finds the span of each document, and returns its bytes as a separate file.

Such a document is called a part. It is named after its own content, so that it stays the same document when
the file grows. It is read as a file with the suffix of its format, such as ``.eml``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

from rag_core.extract import (
    binary,
    bookmarks,
    calendars,
    chats,
    contacts,
    content_lines,
    evernote,
    kindle,
    mailbox,
    references,
    telegram_days,
    telegram_pages,
)
from rag_core.extract.content import named_by_content
from rag_core.files.slices import Sliced

_HASH_DIGITS = 32
_HEAD = 65_536  # number of bytes by which a format is recognized
_NS = 1_000_000_000
_LATEST_S = 2**33  # the year 2242


@dataclass(frozen=True, slots=True)
class ContainedPart:
    """A document inside a file, such as a message of a mailbox."""

    name: str  #: Its name in the file: its id, or the beginning of its hash.
    number: int  #: Its position in the file, from 1.
    start: int  #: Offset of its first byte in the file.
    end: int
    data_hash: str  #: The sha256 of its bytes as a separate file.
    time_ns: int | None  #: When it was written, in nanoseconds since 1970; None if unknown.
    before: bytes = b""  #: Bytes to put before it in a separate file.


class _Format(NamedTuple):
    called: str  # the word for a part in a sentence
    suffix: str  # suffix of a part as a separate file
    parts: Callable[[Sliced], Iterator[ContainedPart]]
    as_file: Callable[[bytes], bytes]  # converts the bytes of a part to a separate file


def holds_parts(path: PurePosixPath) -> bool:
    """Whether a file holds many documents, judged by its name."""
    return path.suffix.lower() in _FORMATS


def container_path(beginning: bytes, path: PurePosixPath) -> PurePosixPath | None:
    """Return the name under which `parts_of` reads the file ``path``, judged by its first bytes,
    ``beginning``. It is ``path``, perhaps with a suffix of ours, such as ``.telegram``. Returns None if the
    file is one document."""
    if kindle.are_clippings(beginning):
        return path.with_name(path.name + kindle.CLIPPINGS)
    if order := chats.date_order(beginning):
        return path.with_name(f"{path.name}{_CHAT}{order}")
    if telegram_days.is_telegram(beginning):
        return path.with_name(path.name + telegram_days.CHATS_OF_TELEGRAM)
    page = beginning[:_HEAD].decode("utf-8", "replace")
    if bookmarks.are_bookmarks(page):
        return path.with_name(path.name + bookmarks.BOOKMARKS)
    if telegram_pages.is_telegram_page(page):
        return path.with_name(path.name + telegram_pages.PAGE_OF_TELEGRAM)
    named = named_by_content(beginning, path)
    return named if holds_parts(named) else None


def path_of_part(path: PurePosixPath) -> PurePosixPath:
    """Return the name under which each part of the file ``path`` is read: ``mails.eml`` for
    ``mails.mbox``."""
    return path.with_suffix(_FORMATS[path.suffix.lower()].suffix)


def part_called(path: PurePosixPath) -> str:
    """Return the word for a part of the file ``path`` in a sentence, such as ``message`` or ``event``."""
    return _FORMATS[path.suffix.lower()].called


def parts_of(data: Sliced, path: PurePosixPath) -> list[ContainedPart]:
    """Return the documents in a file, newest first; contacts and references are in the order of the file.
    Returns [] if there are none, or if the bytes are of a binary format."""
    if binary.signature(data[:_HEAD]):
        return []
    found = [*_FORMATS[path.suffix.lower()].parts(data)]
    return _called_apart(found)


def data_of(data: Sliced, path: PurePosixPath, part: ContainedPart) -> bytes | None:
    """Return the bytes of a part of the file ``path`` as a separate file, or None if the file has changed
    since `parts_of` found the part."""
    found = _FORMATS[path.suffix.lower()].as_file(part.before + data[part.start : part.end])
    return found if hashlib.sha256(found).hexdigest() == part.data_hash else None


def _called_apart(found: list[ContainedPart]) -> list[ContainedPart]:
    """Return ``found`` with unique names: a number is added to each name that an earlier part has. No other
    name contains the space before that number, so nobody can send a message that replaces another one."""
    seen = Counter[str]()
    names: dict[int, str] = {}
    for part in sorted(found, key=lambda part: part.number):
        seen[part.name] += 1
        names[part.number] = part.name if seen[part.name] == 1 else f"{part.name} {seen[part.name]}"
    return [replace(part, name=names[part.number]) for part in found]


def _messages(data: Sliced) -> Iterator[ContainedPart]:
    for message in mailbox.newest_first(data):
        digest = hashlib.sha256(message.raw(data)).hexdigest()
        name = mailbox.id_of(data, message) or digest[:_HASH_DIGITS]
        time_ns = _nanoseconds(message.sent)
        yield ContainedPart(name, message.number, message.start, message.end, digest, time_ns)


def _notes(data: Sliced) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, (start, end) in enumerate(evernote.note_spans(data), 1):
        note = data[start:end]
        digest = hashlib.sha256(note).hexdigest()
        created, title = evernote.made(note)
        name = f"{created}-{hashlib.sha256(title).hexdigest()[:8]}" if created else digest[:_HASH_DIGITS]
        time_ns = _nanoseconds(evernote.time_of(created))
        found.append(ContainedPart(name, number, start, end, digest, time_ns))
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _clippings(data: Sliced) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, (start, end) in enumerate(kindle.clipping_spans(data), 1):
        written = data[start:end]
        clipping = kindle.parse_clipping(written.decode("utf-8", "replace"))
        if clipping is None or not clipping.text:  # a bookmark without text
            continue
        digest = hashlib.sha256(_as_clippings(written)).hexdigest()
        time_ns = _nanoseconds(clipping.time)
        found.append(ContainedPart(digest[:_HASH_DIGITS], number, start, end, digest, time_ns))
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _as_clippings(entry: bytes) -> bytes:
    return entry.strip() + kindle.END


def _days_of_chat(data: Sliced, order: str) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, (day, start, end) in enumerate(chats.day_spans(data, order), 1):
        digest = hashlib.sha256(chats.with_plain_dates(data[start:end], order)).hexdigest()
        time_ns = _nanoseconds(datetime.combine(day, time(), UTC))
        found.append(ContainedPart(day.isoformat(), number, start, end, digest, time_ns))
    yield from reversed(found)


def _days_of_page(data: Sliced) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, day in enumerate(telegram_pages.page_days(data), 1):
        digest = hashlib.sha256(day.before + data[day.start : day.end]).hexdigest()
        time_ns = _nanoseconds(datetime.combine(day.day, time(), UTC))
        found.append(
            ContainedPart(day.day.isoformat(), number, day.start, day.end, digest, time_ns, day.before)
        )
    yield from reversed(found)


def _days_of_telegram(data: Sliced) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    if end := telegram_days.end_of_account(data):
        digest = hashlib.sha256(telegram_days.as_export(data[:end])).hexdigest()
        found.append(ContainedPart("account", 1, 0, end, digest, None))
    for number, day in enumerate(telegram_days.telegram_days(data), len(found) + 1):
        digest = hashlib.sha256(telegram_days.as_export(day.before + data[day.start : day.end])).hexdigest()
        time_ns = _nanoseconds(datetime.combine(day.day, time(), UTC))
        found.append(ContainedPart(day.name, number, day.start, day.end, digest, time_ns, day.before))
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _bookmarks(data: Sliced) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, span in enumerate(bookmarks.bookmark_spans(data), 1):
        digest = hashlib.sha256(span.before + data[span.start : span.end]).hexdigest()
        name = hashlib.sha256(span.address).hexdigest()[:_HASH_DIGITS]
        time_ns = _nanoseconds(span.time)
        found.append(ContainedPart(name, number, span.start, span.end, digest, time_ns, span.before))
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _entries(data: Sliced) -> Iterator[ContainedPart]:
    found = [*_named(data, calendars.entry_spans(data), content_lines.uid, calendars.start_of)]
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _contacts(data: Sliced) -> Iterator[ContainedPart]:
    return _named(data, contacts.contact_spans(data), content_lines.uid)


def _references(data: Sliced) -> Iterator[ContainedPart]:
    return _named(
        data,
        references.reference_spans(data),
        lambda part: references.citation_key(part[:_HEAD].decode("utf-8", "replace")),
    )


def _named(
    data: Sliced,
    spans: Iterator[tuple[int, int]],
    name_of: Callable[[bytes], str],
    time_of: Callable[[bytes], datetime | None] = lambda _: None,
) -> Iterator[ContainedPart]:
    """Yield the parts at ``spans`` in the order of the file. Each gets the name from ``name_of``, or the
    beginning of its hash."""
    for number, (start, end) in enumerate(spans, 1):
        part = data[start:end]
        digest = hashlib.sha256(part).hexdigest()
        name = name_of(part) or digest[:_HASH_DIGITS]
        yield ContainedPart(name, number, start, end, digest, _nanoseconds(time_of(part)))


def _nanoseconds(time: datetime | None) -> int | None:
    seconds = (time - mailbox.EPOCH).total_seconds() if time else 0
    return int(seconds) * _NS if 0 < seconds < _LATEST_S else None


def _chat(order: str) -> _Format:
    days, as_file = partial(_days_of_chat, order=order), partial(chats.with_plain_dates, order=order)
    return _Format("day", chats.DAY_OF_CHAT, days, as_file)


_CHAT = ".whatsapp-"
_CALENDAR = _Format("event", ".ics", _entries, bytes)
_FORMATS: dict[str, _Format] = {
    ".mbox": _Format("message", ".eml", _messages, mailbox.as_sent),
    ".enex": _Format("note", ".enex", _notes, bytes),
    ".ics": _CALENDAR,
    ".vcs": _CALENDAR,
    ".vcf": _Format("contact", ".vcf", _contacts, bytes),
    ".bib": _Format("reference", ".bib", _references, bytes),
    kindle.CLIPPINGS: _Format("highlight", ".txt", _clippings, _as_clippings),
    bookmarks.BOOKMARKS: _Format("bookmark", bookmarks.ONE_BOOKMARK, _bookmarks, bytes),
    telegram_days.CHATS_OF_TELEGRAM: _Format(
        "day", telegram_days.DAY_OF_TELEGRAM, _days_of_telegram, telegram_days.as_export
    ),
    telegram_pages.PAGE_OF_TELEGRAM: _Format("day", telegram_pages.DAY_OF_PAGE, _days_of_page, bytes),
    **{_CHAT + order: _chat(order) for order in ("dmy", "mdy", "ymd")},
}
"""Lower-case suffix → how the parts of such a file are found and read."""
