"""The pages that Telegram exports as HTML (``messages.html``, ``messages2.html``) → each day of a chat as a
separate page, and the messages on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time
from typing import TYPE_CHECKING, NamedTuple

from rag_core.extract.building import one_line
from rag_core.extract.chats import ExportedMessage, chat_document
from rag_core.files.slices import Sliced, find_all
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

PAGE_OF_TELEGRAM = ".telegrampage"
"""Suffix that is added to the name of such a page, so that it is read as many documents."""
DAY_OF_PAGE = ".telegram.html"
"""Suffix of a day of a chat as a separate page."""
_MESSAGE = r'<div class="message (?:default|service)\b'
_SENT = r'<div class="pull_right date details"\s{1,20}title="(\d\d)\.(\d\d)\.(\d{4})[ ](\d\d:\d\d)'
_DAY_OF_APP = r'<div class="body details">\s{0,40}(?P<day>\d{1,2} [A-Z][a-z]{2,8} \d{4})\s{0,40}<'
_NAME = r'<div class="text bold">\s{0,40}(?P<chat>[^<]{1,500})'
_TOKEN = re.compile(f"(?P<message>{_MESSAGE})|{_SENT}|{_DAY_OF_APP}|{_NAME}".encode())
_LONGEST_TOKEN = 1000
_TITLE_DAY = re.compile(r"(\d\d)\.(\d\d)\.(\d{4})[ ](\d\d:\d\d)")
_SHOWN = ("media_wrap", "text", "signature")
"""Classes of the parts of a message with its words."""


class PageDay(NamedTuple):
    """The span of one day's messages on a page."""

    day: date
    start: int
    end: int
    before: bytes  #: Markup to put before the messages to make a page of this chat.


def is_telegram_page(beginning: str) -> bool:
    """Whether a page with this ``beginning`` was exported by Telegram."""
    has_header = 'class="page_header' in beginning and re.search(_MESSAGE, beginning)
    return bool(has_header and re.search(_SENT, beginning))


def page_days(data: Sliced) -> Iterator[PageDay]:
    """Yield each day of the messages on a page, in order."""
    before, last, begun, message = b"", None, 0, -1
    for place, written in find_all(data, _TOKEN, _LONGEST_TOKEN):
        match = _TOKEN.match(written)
        if match is None:
            continue
        if match["message"]:
            message = place
        elif match["chat"] and not before:
            name = match["chat"].strip()
            before = b'<div class="page_header"><div class="text bold">' + name + b"</div></div>\n"
        elif message >= 0 and (day := _day(match)):
            if last and day != last:
                yield PageDay(last, begun, message, before)
            begun = begun if day == last else message
            last, message = day, -1
    if last:
        yield PageDay(last, begun, len(data), before)


def _day(match: re.Match[bytes]) -> date | None:
    with suppress(ValueError):
        if match["day"]:
            return datetime.strptime(match["day"].decode(), "%d %B %Y").date()
        return date(int(match[4]), int(match[3]), int(match[2])) if match[2] else None
    return None


def read_telegram_page(root: _Element, name: str) -> Extracted | None:
    """Return the document for a page that Telegram exported, or None for any other page."""
    messages: list[ExportedMessage] = []
    who, day = "", None
    for element in root.iter("div"):
        classes = element.get("class", "").split()
        body = _inner(element, "body") if "message" in classes else None
        if body is None:
            continue
        if "service" in classes:
            day = _add_of_app(messages, _text_of(body), day)
            continue
        sent = _TITLE_DAY.match(_title_of(_inner(body, "date")))
        if sent is None:
            continue
        who = one_line(_text_of(_inner(body, "from_name"))) or who
        with suppress(ValueError):
            day = date(int(sent[3]), int(sent[2]), int(sent[1]))
            clock = time.fromisoformat(sent[4]).strftime("%H:%M")
            messages.append(ExportedMessage(day, clock, who, _words_of(body)))
    if day is None:
        return None
    header = next((part for part in root.iter("div") if "page_header" in part.get("class", "").split()), None)
    title = one_line(_text_of(header))
    return chat_document("html", name, title, [message for message in messages if message.text])


def _add_of_app(messages: list[ExportedMessage], said: str, day: date | None) -> date | None:
    """Add what the app itself says between messages. Returns the day that begins there, or ``day``."""
    with suppress(ValueError):
        return datetime.strptime(said, "%d %B %Y").date()
    if day:
        messages.append(ExportedMessage(day, "", "", said))
    return day


def _words_of(body: _Element) -> str:
    """Return the words of a message: what it forwards, its media and its text."""
    lines: list[str] = []
    if (forwarded := _inner(body, "forwarded", "body")) is not None:
        lines += [_text_of(_inner(forwarded, "from_name")), _words_of(forwarded)]
    lines += [_text_of(part) for part in body if not set(_SHOWN).isdisjoint(part.get("class", "").split())]
    return "\n".join(filter(None, lines))


def _inner(element: _Element, *classes: str) -> _Element | None:
    """Return the first child of an element that has these classes."""
    return next((part for part in element if {*classes} <= {*part.get("class", "").split()}), None)


def _title_of(element: _Element | None) -> str:
    return "" if element is None else element.get("title", "")


def _text_of(element: _Element | None) -> str:
    """Return the text of an element, with a line for each block in it."""
    if element is None:
        return ""
    lines = "".join(_pieces(element)).split("\u2028")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _pieces(element: _Element) -> Iterator[str]:
    for part in element.iter():
        if part.tag in ("br", "div"):
            yield "\u2028"
        yield part.text or "" if isinstance(part.tag, str) else ""
        if part is not element:
            yield part.tail or ""
