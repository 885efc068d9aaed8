"""Files that hold many documents: where each of them is in the file, and its bytes as a file of its own.

A part is called by what it says of itself, so that it stays the same document however the file grows, and is
read as a file whose suffix is that of its format: a message of a mailbox as ``.eml``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

from rag_core.extract import binary, evernote, mailbox

_HASH_DIGITS = 32
_NS = 1_000_000_000
_LATEST_S = 2**33  # the year 2242


@dataclass(frozen=True, slots=True)
class ContainedPart:
    """A part of a file that is a document of its own."""

    name: str  #: What it is called in the file: its id, or the beginning of its hash.
    number: int  #: Its place in the file, from 1.
    data: Callable[[], bytes]  #: Its bytes as a file of its own.
    data_hash: str  #: Their sha256.
    size: int  #: Bytes.
    time_ns: int | None  #: When it was written, in nanoseconds since 1970; None if it does not say so.


def holds_parts(path: PurePosixPath) -> bool:
    """Whether a file is read as many documents, by its name."""
    return path.suffix.lower() in _FORMATS


def path_of_part(path: PurePosixPath) -> PurePosixPath:
    """The name under which each part of the file ``path`` is read."""
    return path.with_suffix(_FORMATS[path.suffix.lower()][0])


def parts_of(data: bytes, path: PurePosixPath) -> list[ContainedPart]:
    """The parts of a file, the newest first; none if it is not of its format, or holds nothing."""
    if binary.signature(data):
        return []
    found = [*_FORMATS[path.suffix.lower()][1](data)]
    return _called_apart(found)


def _called_apart(found: list[ContainedPart]) -> list[ContainedPart]:
    """``found`` with a number behind each name that an earlier part of the file has. The space before it is
    in no other name, so nobody can send a message that takes the place of another one."""
    seen = Counter[str]()
    names: dict[int, str] = {}
    for part in sorted(found, key=lambda part: part.number):
        seen[part.name] += 1
        names[part.number] = part.name if seen[part.name] == 1 else f"{part.name} {seen[part.name]}"
    return [replace(part, name=names[part.number]) for part in found]


def _messages(data: bytes) -> Iterator[ContainedPart]:
    for message in mailbox.newest_first(data):

        def raw(message: mailbox.Message = message) -> bytes:
            return message.raw(data)

        digest = hashlib.sha256(raw()).hexdigest()
        name = mailbox.id_of(data, message) or digest[:_HASH_DIGITS]
        time_ns = _nanoseconds(message.sent)
        yield ContainedPart(name, message.number, raw, digest, message.end - message.start, time_ns)


def _notes(data: bytes) -> Iterator[ContainedPart]:
    found: list[ContainedPart] = []
    for number, (start, end) in enumerate(evernote.spans(data), 1):

        def raw(start: int = start, end: int = end) -> bytes:
            return data[start:end]

        digest = hashlib.sha256(raw()).hexdigest()
        created, title = evernote.made(raw())
        name = f"{created}-{hashlib.sha256(title).hexdigest()[:8]}" if created else digest[:_HASH_DIGITS]
        found.append(
            ContainedPart(name, number, raw, digest, end - start, _nanoseconds(evernote.time_of(created)))
        )
    yield from sorted(found, key=lambda part: (part.time_ns or 0, part.number), reverse=True)


def _nanoseconds(time: datetime | None) -> int | None:
    seconds = (time - mailbox.EPOCH).total_seconds() if time else 0
    return int(seconds) * _NS if 0 < seconds < _LATEST_S else None


_FORMATS: dict[str, tuple[str, Callable[[bytes], Iterator[ContainedPart]]]] = {
    ".mbox": (".eml", _messages),
    ".enex": (".enex", _notes),
}
"""Lower-case suffix → the suffix of a part, and what finds the parts."""
