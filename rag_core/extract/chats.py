"""Exported chats (WhatsApp, Telegram) → a section for each day and a line for each message. In a text file
from WhatsApp each day is a document."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import groupby
from typing import Any

from rag_core.extract.building import Builder, one_line
from rag_core.extract.telegram_services import service_sentence
from rag_core.files.slices import Sliced, find_all
from rag_core.text.embedded import CHAT
from rag_core.types import Extracted

_LINE = re.compile(
    r"[\u200e\u200f\ufeff]*\[?(?!\d{1,2}[./-]\d{1,2}[./-]\d(?!\d))(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})"
    r"(?:,| um| at|,? a las| \u00e0|(?<!-\d\d)(?<!-\d))[ ]{1,2}(?:上午|午前|(?P<late>下午|午後))?"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.]\d\d)?"
    r"(?:[ \u202f\u00a0]?(?P<half>[AaPp])\.?[ \u202f\u00a0]?[Mm]\.?)?(?:[ ]Uhr)?"
    r"(?:\][ ]?|[ ][-\u2013][ ])"
)
"""The beginning of a WhatsApp message. A log that writes ``2025-11-08 10:15 - `` has no comma."""
_WHO = re.compile(r"[\u200e\u200f]*([^:\n]{1,80}):[ ]")
_LOOKED_AT = 20_000  # number of characters that are examined
_LEAST = 0.2  # minimum share of a chat's lines that begin a message
_MOST_SENDERS = 200
_LEAST_OF_TALK, _MOST_OF_TALK = 3, 8  # number of messages in a part
_LONG_TALK = 400  # characters
_SILENCE = 60  # minutes
DAY_OF_CHAT = ".whatsapp.txt"
"""Suffix of a day of a chat as a separate file."""
_LONGEST_SERVICE = 2000  # characters
_SHOWN_OF_TELEGRAM = (
    *("file_name", "title", "place_name", "address", "game_title", "game_description"),
    "contact_information.phone_number",
    *("invoice_information.title", "invoice_information.description", "poll.question", "todo_list.title"),
)
"""Keys of a message in Telegram's JSON whose values the app shows."""
_BEGINNING_OF_LINE = re.compile(rb"^[^\n]{1,80}", re.M)
_LONGEST_BEGINNING = 80


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """A message of a chat."""

    day: date
    clock: str  #: Time as 10:15; '' if unknown.
    who: str  #: The sender; '' for a message from the app itself.
    text: str


def line_of_day(day: date) -> str:
    """Return the line with the date that is put above the messages of a day. Searches find it by words, but
    it is neither embedded nor shown in a snippet (`rag_core.text.syntax`)."""
    return f"{day.isoformat()} ({day:%A}, {day.day} {day:%B} {day.year})"


def chat_document(file_type: str, name: str, title: str, messages: Sequence[ExportedMessage]) -> Extracted:
    """Return a document of type ``file_type`` with the messages in order, under their days."""
    builder = Builder()
    for day, of_day in groupby(messages, key=lambda message: message.day):
        heading = line_of_day(day)
        for number, part in enumerate(_talks(of_day)):
            if number:
                builder.begin(CHAT, day.isoformat(), heading)
            else:
                builder.begin(CHAT, day.isoformat())
                builder.heading(1, heading)
            for message in part:
                said = f"{message.who}: {message.text}" if message.who else message.text
                builder.add(f"{message.clock} {said}".strip(), gap="\n")
    senders = list(dict.fromkeys(message.who for message in messages if message.who))
    newest = max((message.day for message in messages), default=None)
    return builder.document(
        file_type,
        name,
        title or ("Chat: " + ", ".join(senders[:5]) if senders else ""),
        date=newest.isoformat() if newest else None,
        metadata={"from": senders[:_MOST_SENDERS]} if senders else {},
    )


def _talks(messages: Iterable[ExportedMessage]) -> Iterator[list[ExportedMessage]]:
    """Yield the messages of a day in parts of a few messages that are likely to have one subject. An hour of
    silence begins a new part, if the part is long enough to show its subject."""
    talk: list[ExportedMessage] = []
    for message in messages:
        is_long = len(talk) >= _MOST_OF_TALK or sum([len(each.text) for each in talk]) > _LONG_TALK
        if is_long or (len(talk) >= _LEAST_OF_TALK and _minutes(talk[-1], message) > _SILENCE):
            yield talk
            talk = []
        talk.append(message)
    yield talk


def _minutes(before: ExportedMessage, after: ExportedMessage) -> int:
    """Return the minutes between two messages of a day, or 0 if the time of one is unknown."""
    hours = [message.clock.partition(":") for message in (before, after) if message.clock]
    minutes = [60 * int(hour) + int(minute) for hour, _, minute in hours]
    return minutes[1] - minutes[0] if len(minutes) > 1 else 0


# --- WhatsApp ---------------------------------------------------------------------------


def date_order(beginning: bytes) -> str:
    """Return the order of day, month and year in the dates of a WhatsApp chat, given the first bytes of the
    file: ``dmy``, ``mdy`` or ``ymd``. Returns '' if the file is no such chat."""
    try:
        text = getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return ""
    matches = _beginnings(text.splitlines())
    return _order(matches) if matches else ""


def _beginnings(lines: Sequence[str]) -> list[re.Match[str]]:
    """Return the matches of messages in the lines of a chat, or [] for any other text."""
    first = next((line for line in lines if line.strip("\ufeff")), "")
    if not _LINE.match(first):
        return []
    matches = [match for line in lines if (match := _LINE.match(line))]
    return matches if len(matches) >= max(2, _LEAST * len(lines)) else []


def day_spans(data: Sliced, order: str) -> Iterator[tuple[date, int, int]]:
    """Yield the day, start offset and end offset of each day's messages in a WhatsApp chat. ``order`` is the
    result of `date_order`."""
    begun, last = 0, None
    for place, line in find_all(data, _BEGINNING_OF_LINE, _LONGEST_BEGINNING):
        match = _LINE.match(line.decode("utf-8", "replace"))
        day = _day(match, order) if match else None
        if day is None or day == last:
            continue
        if last:
            yield last, begun, place
        begun, last = place, day
    if last:
        yield last, begun, len(data)


def with_plain_dates(written: bytes, order: str) -> bytes:
    """Return the messages of one day of a chat with their dates rewritten as ISO dates, which can be read
    in one way only. ``order`` is the order of day, month and year in the original."""
    lines: list[str] = []
    for line in written.decode("utf-8", "replace").splitlines():
        match = _LINE.match(line)
        day = _day(match, order) if match else None
        lines.append(f"{day}, {_clock(match)} - {line[match.end() :]}" if match and day else line)
    return "\n".join(lines).encode()


def read_whatsapp(text: str, name: str) -> Extracted | None:
    """Return the document for a chat that WhatsApp exported as text, or for one day of it if ``name`` ends in
    `DAY_OF_CHAT`. Returns None if the text is no such chat."""
    is_day = name.endswith(DAY_OF_CHAT)
    if not is_day and not _beginnings(text[:_LOOKED_AT].splitlines()):
        return None
    matched = [(_LINE.match(line), line) for line in text.splitlines()]
    order = _order([match for match, _ in matched if match])
    messages: list[ExportedMessage] = []
    held: list[str] = []
    begun: tuple[date, str] | None = None
    for match, line in matched:
        if match and (day := _day(match, order)):
            messages += [_message(*begun, held)] if begun else []
            begun, held = (day, _clock(match)), [line[match.end() :]]
        else:
            held.append(line)
    messages += [_message(*begun, held)] if begun else []
    title = _title_of(name)
    if is_day and begun:
        title = f"{title or 'Chat'}, {begun[0].day} {begun[0]:%B %Y}"
    document = chat_document("text", name, title, messages)
    return replace(document, title_from="file name") if title and not is_day else document


def _title_of(name: str) -> str:
    """Return the title of a chat from the ``name`` of its file, or '' if the name contains none."""
    title = re.sub(r"\.txt$", "", name.removesuffix(DAY_OF_CHAT), flags=re.I)
    return "" if title.lower().startswith("_chat") else title


def _message(day: date, clock: str, lines: Sequence[str]) -> ExportedMessage:
    """Create a message from its lines. The first line begins with the sender."""
    body = "\n".join(lines).strip()
    who = _WHO.match(body)
    text = body[who.end() :].strip() if who else body
    return ExportedMessage(day, clock, one_line(who[1]) if who else "", text.replace("\u200e", ""))


def _order(matches: Sequence[re.Match[str]]) -> str:
    """Return the order of dates in a chat: ``dmy``, ``mdy`` or ``ymd``."""
    if any(len(match[1]) == 4 for match in matches):
        return "ymd"
    if any(int(match[1]) > 12 for match in matches):
        return "dmy"
    if any(int(match[3]) > 12 for match in matches):
        return "mdy"
    is_american = any(match["half"] for match in matches) and matches[0][2] == "/"
    return "mdy" if is_american else "dmy"


def _day(match: re.Match[str], order: str) -> date | None:
    numbers = dict(zip(order, (int(match[1]), int(match[3]), int(match[4])), strict=True))
    year = numbers["y"] + (2000 if numbers["y"] < 100 else 0)
    with suppress(ValueError):
        return date(year, numbers["m"], numbers["d"])
    return None


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if match["half"] or match["late"]:
        hour = hour % 12 + 12 * (match["half"] in (None, *"pP"))
    return f"{hour:02}:{match['minute']}"


def with_its_day(chat: Extracted) -> Extracted:
    """Return a chat of one day with the day added to its title. A chat without a date, none of whose messages
    can be shown, is returned unchanged."""
    if not chat.date:
        return chat
    day = date.fromisoformat(chat.date)
    title = chat.title if chat.title_from == "heading" else "Chat"
    return replace(chat, title=f"{title}, {day.day} {day:%B %Y}", title_from="heading")


# --- Telegram ---------------------------------------------------------------------------


def telegram_chats(value: Any) -> list[dict[str, Any]]:
    """Return the chats in the value of a Telegram ``result.json``, or [] for any other JSON."""
    if not isinstance(value, dict):
        return []
    several = value.get("chats")
    chats = several.get("list") if isinstance(several, dict) else [value]
    if not isinstance(chats, list):
        return []
    found = [chat for chat in chats if isinstance(chat, dict) and isinstance(chat.get("messages"), list)]
    return [chat for chat in found if any(_is_of_telegram(each) for each in chat["messages"][:20])]


def _is_of_telegram(message: Any) -> bool:
    return isinstance(message, dict) and {"date", "type"} <= message.keys() and "text" in message


def read_telegram(chats: Sequence[dict[str, Any]], name: str) -> Extracted:
    """Return the document for chats from Telegram's JSON export."""
    messages = [found for chat in chats for each in chat["messages"] if (found := _telegram_message(each))]
    messages.sort(key=lambda message: message.day)  # for several chats; stable within a day
    names = [one_line(str(chat.get("name") or "")) for chat in chats]
    return chat_document("text", name, ", ".join(filter(None, names[:5])), messages)


def _telegram_message(value: Any) -> ExportedMessage | None:
    if not isinstance(value, dict):
        return None
    try:
        sent = datetime.fromisoformat(str(value.get("date")))
    except ValueError:
        return None
    if value.get("type") == "service" and (action := str(value.get("action") or "")):
        text = one_line(service_sentence(value, action), _LONGEST_SERVICE)
        return ExportedMessage(sent.date(), f"{sent:%H:%M}", "", text) if text else None
    parts = [_plain(value.get("text")), *_media_of(value)]
    if not any(parts):
        action = value.get("media_type") or ("photo" if value.get("photo") else "")
        parts = [str(action).replace("_", " ")]
    who = one_line(str(value.get("from") or value.get("actor") or ""))
    text = "\n".join(filter(None, parts)).strip()
    return ExportedMessage(sent.date(), f"{sent:%H:%M}", who, text) if text else None


def _media_of(message: dict[str, Any]) -> Iterator[str]:
    """Yield what a message shows besides its text: files, contacts, places, polls, games and bills."""
    if message.get("forwarded_from"):
        yield f"Forwarded from {message['forwarded_from']}"
    for key in _SHOWN_OF_TELEGRAM:
        holder, _, name = key.rpartition(".")
        inside = message.get(holder) if holder else message
        if isinstance(inside, dict) and inside.get(name):
            yield _plain(inside[name])
    if isinstance(contact := message.get("contact_information"), dict):
        yield " ".join(str(contact[name]) for name in ("first_name", "last_name") if contact.get(name))
    place = message.get("location_information")
    if isinstance(place, dict):
        yield f"Location: {place.get('latitude')}, {place.get('longitude')}"
    for holder, items in (("poll", "answers"), ("todo_list", "items")):
        inside = message.get(holder)
        held = inside.get(items) if isinstance(inside, dict) else None
        yield from (f"- {_plain(each.get('text'))}" for each in held or () if isinstance(each, dict))


def _plain(text: Any) -> str:
    """Return the words of a text with entities, with the addresses of its links."""
    if isinstance(text, dict):
        words = str(text.get("text") or "")
        return f"{words} ({text['href']})" if text.get("href") else words
    return "".join(map(_plain, text)) if isinstance(text, list) else str(text or "")
