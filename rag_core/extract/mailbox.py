"""A mailbox (MBOX) → its messages. A line that begins with ``From`` starts a message only if it names a
sender and a time, follows an empty line, and is followed by a header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from rag_core.files.slices import Sliced, find_all

_FROM_LINE = re.compile(rb"^From [^\n]{,1000}\n", re.M)
_LONGEST_LINE = 1_006
_TIME = re.compile(rb"\d\d?:\d\d")
_YEAR = re.compile(rb"\b(?:19|20)\d\d\b")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The start of Unix time."""
_WEEKDAYS = frozenset((b"mon", b"tue", b"wed", b"thu", b"fri", b"sat", b"sun"))
_HEADER = re.compile(rb">?[!-9;-~]+[: ]")
_ESCAPED = re.compile(rb"^>(>*From )", re.M)
_DATE = re.compile(rb"^Date:([^\n]{1,100})", re.M | re.I)
_ID = re.compile(rb"^Message-ID:[ \t]*(?:\n[ \t]+)?<?([!-=?-~]{1,200})>?[ \t]*$", re.M | re.I)
_HEAD = re.compile(rb"(?s:.*?)\n\r?\n")
_LENGTH = re.compile(rb"^Content-Length:[ \t]*(\d{1,12})[ \t]*\r?$", re.M | re.I)
_MOST_OF_A_HEAD = 65_536
_LONGEST_NAME = 200  # maximum characters of the name of a header field


@dataclass(frozen=True, slots=True)
class Message:
    """The span of a message in a mailbox, and the time when it was sent."""

    number: int  #: Its position, from 1.
    start: int  #: Offset of its headers.
    end: int
    sent: datetime  #: When it was sent; if its headers do not say that, the time of the message before it.

    def raw(self, mailbox: Sliced) -> bytes:
        """Return the message as it was sent."""
        return as_sent(mailbox[self.start : self.end])


def as_sent(message: bytes) -> bytes:
    """Return a message without the ``>`` that a mailbox adds before lines beginning with ``From``."""
    return _ESCAPED.sub(rb"\1", message)


def newest_first(mailbox: Sliced) -> list[Message]:
    """Return the messages of a mailbox, newest first."""
    found: list[Message] = []
    sent = datetime.min.replace(tzinfo=UTC)
    for number, (start, end) in enumerate(_spans(mailbox), 1):
        sent = _time_of(_head(mailbox, start, end)) or sent
        found.append(Message(number, start, end, sent))
    return sorted(found, key=lambda message: (message.sent, message.number), reverse=True)


def id_of(mailbox: Sliced, message: Message) -> str:
    """Return the id in the message's headers, or '' if it is missing or malformed."""
    match = _ID.search(_head(mailbox, message.start, message.end))
    return match[1].decode("ascii") if match else ""


def _spans(mailbox: Sliced) -> Iterator[tuple[int, int]]:
    lines = find_all(mailbox, _FROM_LINE, _LONGEST_LINE)
    places: list[tuple[int, int]] = []
    body_end = 0  # of the message before, if that says so
    for start, line in lines:
        if start >= body_end and _separates(mailbox, start, line):
            places.append((start, start + len(line)))
            body_end = _declared_end(mailbox, start + len(line))
    beginning = mailbox[:_MOST_OF_A_HEAD]
    if not places and beginning.strip():  # a single message, perhaps after another line
        places = [(0, match.end() if (match := _FROM_LINE.match(beginning)) else 0)]
    ends = [*(start for start, _ in places[1:]), len(mailbox)]
    for (_, start), end in zip(places, ends, strict=False):
        yield start, end


def _declared_end(mailbox: Sliced, start: int) -> int:
    """Return where the message from ``start`` ends by its Content-Length (format *mboxcl2*, whose bodies may
    have lines that begin with ``From``). Returns 0 if it does not say so, or if no message begins there."""
    beginning = mailbox[start : start + _MOST_OF_A_HEAD]
    head = _HEAD.match(beginning)
    if not head or not (length := _LENGTH.search(head[0])):
        return 0
    end = start + head.end() + int(length[1])
    behind = mailbox[end : end + _LONGEST_NAME].lstrip(b"\r\n")
    is_end = behind.startswith(b"From ") if behind else end <= len(mailbox)
    return end if is_end else 0


def _head(mailbox: Sliced, start: int, end: int) -> bytes:
    """Return the headers of the message from ``start`` to ``end``, with plain line ends."""
    beginning = mailbox[start : min(end, start + _MOST_OF_A_HEAD)]
    return beginning.replace(b"\r\n", b"\n").partition(b"\n\n")[0]


def _separates(mailbox: Sliced, start: int, line: bytes) -> bool:
    """Whether the ``line`` at ``start`` separates two messages."""
    follows_empty = not start or mailbox[max(0, start - 3) : start].endswith((b"\n\n", b"\n\r\n"))
    end = start + len(line)
    return (
        follows_empty
        and _names_sender_and_time(line)
        and bool(_HEADER.match(mailbox[end : end + _LONGEST_NAME]))
    )


def _names_sender_and_time(line: bytes) -> bool:
    """Whether a line looks like ``From ada@example.org Sat Feb  3 10:00:00 2024``."""
    words = line.split()[1:]
    if not (_TIME.search(line) and _YEAR.search(line)):
        return False
    before = next((at for at, word in enumerate(words) if word.lower().rstrip(b",") in _WEEKDAYS), 0)
    is_address = b"@" in words[0] or words[0] == b"-"
    return is_address or before == 1 or (before == 3 and words[1] == b"at")  # Mailman writes "ada at home"


def _time_of(head: bytes) -> datetime | None:
    """Return the time when a message was sent, from its headers, or None."""
    match = _DATE.search(head)
    try:
        sent = parsedate_to_datetime(match[1].decode("ascii", "replace").strip()) if match else None
        return sent if sent is None or sent.tzinfo else sent.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
