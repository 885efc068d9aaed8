"""A mailbox (MBOX) → its messages. A line that begins with ``From`` is where one begins only if it names a
sender and a time, follows an empty line, and a header follows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_FROM_LINE = re.compile(rb"^From [^\n]*\n", re.M)
_TIME = re.compile(rb"\d\d?:\d\d")
_YEAR = re.compile(rb"\b(?:19|20)\d\d\b")
_WEEKDAYS = frozenset((b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"))
_HEADER = re.compile(rb">?[!-9;-~]+[: ]")
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_DATE = re.compile(rb"^Date:([^\n]{1,100})", re.M | re.I)
_MOST_OF_A_HEAD = 65_536


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a mailbox, as it was sent."""

    number: int  #: Its place in the file, from 1.
    raw: bytes
    sent: datetime  #: Of one that does not say so, when the one before it was sent.


def newest_first(mailbox: bytes) -> list[Message]:
    """The messages of a mailbox, the newest first."""
    found: list[Message] = []
    sent = datetime.min.replace(tzinfo=UTC)
    for number, raw in enumerate(_parts(mailbox), 1):
        sent = _time_of(raw) or sent
        found.append(Message(number, _ESCAPED.sub(rb"\1", raw), sent))
    return sorted(found, key=lambda message: (message.sent, message.number), reverse=True)


def _parts(mailbox: bytes) -> Iterator[bytes]:
    places = [match.span() for match in _FROM_LINE.finditer(mailbox) if _separates(mailbox, *match.span())]
    if not places and mailbox.strip():  # one message, perhaps after a line of another kind
        places = [(0, match.end() if (match := _FROM_LINE.match(mailbox)) else 0)]
    ends = [*(start for start, _ in places[1:]), len(mailbox)]
    for (_, start), end in zip(places, ends, strict=False):
        yield mailbox[start:end]


def _separates(mailbox: bytes, start: int, end: int) -> bool:
    """Whether the line from ``start`` to ``end`` stands before a message."""
    follows_empty = not start or mailbox[max(0, start - 3) : start].endswith((b"\n\n", b"\n\r\n"))
    return (
        follows_empty
        and _names_sender_and_time(mailbox[start:end][:1000])
        and bool(_HEADER.match(mailbox, end, end + 200))
    )


def _names_sender_and_time(line: bytes) -> bool:
    """Whether a line is ``From ada@example.org Sat Feb  3 10:00:00 2024`` or the like."""
    words = line.split()[1:]
    if not (_TIME.search(line) and _YEAR.search(line)):
        return False
    before = next((at for at, word in enumerate(words) if word.lower().rstrip(b",") in _WEEKDAYS), 0)
    is_address = b"@" in words[0] or words[0] == b"-"
    return is_address or before == 1 or (before == 3 and words[1] == b"at")  # Mailman writes "ada at home"


def _time_of(raw: bytes) -> datetime | None:
    """When a message was sent, by its header."""
    head = raw[:_MOST_OF_A_HEAD].replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    match = _DATE.search(head)
    try:
        sent = parsedate_to_datetime(match[1].decode("ascii", "replace").strip()) if match else None
        return sent if sent is None or sent.tzinfo else sent.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
