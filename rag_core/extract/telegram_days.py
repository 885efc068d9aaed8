"""Telegram's JSON export → each day of each chat as a separate export."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import NamedTuple

from rag_core.files.slices import Sliced, find_all

CHATS_OF_TELEGRAM = ".telegram"
"""Suffix that is added to the name of such an export, so that it is read as many documents."""
DAY_OF_TELEGRAM = ".telegram.json"
"""Suffix of a day of a chat as a separate file."""
_OF_TELEGRAM = re.compile(
    rb'\{\s{0,40}"id":\s?-?\d{1,20},\s{0,40}"type":\s?"(?:message|service)",\s{0,40}'
    rb'"date":\s?"(?P<day>\d{4}-\d\d-\d\d)T'
    rb'|(?:"name":\s?(?:"(?:[^"\\\n]|\\[^\n]){0,200}"|null),\s{0,40})?"type":\s?"[a-z_]{1,30}",\s{0,40}'
    rb'"id":\s?(?P<chat>-?\d{1,20}),\s{0,40}"messages":\s?\['
)
"""The beginning of a message, or of a chat up to its messages, as Telegram writes them."""
_OF_ACCOUNT = re.compile(
    rb'\s{0,40}\{\s{0,40}"about":\s?"[^"]{0,2000}",\s{0,40}'
    rb'"(?:personal_information|profile_pictures|stories|contacts|frequent_contacts|sessions|web_sessions)":'
)
"""The beginning of an export of all data of an account. Its chats follow somewhere."""
_CHATS = re.compile(r',\s*"chats":\s*\{')
_LONGEST = 1000
_HEAD = 65_536
_GAP = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder(strict=False)


class TelegramDay(NamedTuple):
    """The span of one day's messages of a chat in a file."""

    name: str  #: The number of the chat, then the day.
    day: date
    start: int
    end: int
    before: bytes  #: JSON to put before the messages to make an export of this chat.


def is_telegram(beginning: bytes) -> bool:
    """Whether a file with this ``beginning`` is Telegram's JSON export."""
    if _OF_ACCOUNT.match(beginning):
        return True
    found = {match.lastgroup for match in _OF_TELEGRAM.finditer(beginning)}
    return beginning.lstrip()[:1] == b"{" and found == {"chat", "day"}


def end_of_account(data: Sliced) -> int:
    """Return the offset of the first chat in an export of all data of an account. Contacts and the like come
    before it. Returns 0 for an export of chats alone."""
    if not _OF_ACCOUNT.match(data[:_HEAD]):
        return 0
    return next((place for place, written in find_all(data, _OF_TELEGRAM, _LONGEST)), 0)


def telegram_days(data: Sliced) -> Iterator[TelegramDay]:
    """Yield each day of each chat in a Telegram export, in order."""
    chat = before = last = b""
    begun = 0
    for place, written in find_all(data, _OF_TELEGRAM, _LONGEST):
        match = _OF_TELEGRAM.match(written)
        day = match["day"] or b"" if match else last
        if day and day == last:
            continue
        if last:
            yield from _day(chat, last, begun, place, before)
        begun, last = place, day
        if match and match["chat"]:
            chat, before = match["chat"], b"{" + written
    if last:
        yield from _day(chat, last, begun, len(data), before)


def _day(chat: bytes, day: bytes, start: int, end: int, before: bytes) -> Iterator[TelegramDay]:
    if not before:  # no chat has begun yet
        return
    with suppress(ValueError):
        of_day = date.fromisoformat(day.decode())
        yield TelegramDay(f"{chat.decode()}-{of_day}", of_day, start, end, before)


def as_export(written: bytes) -> bytes:
    """Return the JSON in ``written`` as a complete export: the beginning of a chat with some of its messages,
    or the data of an account without its chats. Text after these is cut off."""
    text = written.decode("utf-8", "replace")
    if _OF_ACCOUNT.match(written):
        last = max((match.start() for match in _CHATS.finditer(text)), default=len(text))
        return f"{text[:last]}}}".encode()
    end = place = text.index("[", text.index('"messages":')) + 1
    with suppress(ValueError, RecursionError):
        while gap := _GAP.match(text, place):
            _, place = _DECODER.raw_decode(text, gap.end())
            end = place
    return f"{text[:end]}]}}".encode()
