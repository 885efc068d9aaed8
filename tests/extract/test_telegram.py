"""Telegram's exports, JSON and pages: each day of a chat is a document, with all that the app shows."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from rag_core.extract import extract
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.trees import write


def read(text: str, name: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


def days(found: Extracted) -> list[str]:
    """The headings of a chat, each once."""
    return list(dict.fromkeys(" > ".join(segment.heading_path) for segment in found.segments))


DAYS = ["2025-11-08 (Saturday, 8 November 2025)", "2025-11-25 (Tuesday, 25 November 2025)"]
TELEGRAM: dict[str, Any] = {
    "name": "Walks",
    "type": "private_group",
    "id": 1,
    "messages": [
        {"id": 1, "type": "service", "date": "2025-11-08T10:00:00", "actor": "Anna",
         "action": "create_group", "text": ""},
        {"id": 2, "type": "message", "date": "2025-11-08T10:15:00", "from": "Anna Müller",
         "text": ["See ", {"type": "bold", "text": "walnuts"}, " at ",
                  {"type": "text_link", "text": "the shop", "href": "https://example.org"}]},
        {"id": 3, "type": "message", "date": "2025-11-25T22:05:00", "from": "Bob", "text": "Good night"},
        {"id": 4, "type": "message", "date": "2025-11-25T22:06:00", "from": "Bob", "text": "",
         "media_type": "sticker"},
        {"id": 5, "type": "message", "date": "2025-11-25T22:07:00", "from": "Bob", "text": "",
         "poll": {"question": "When?", "answers": [{"text": "Sunday"}]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("indent", [None, 1])
def test_the_json_of_telegram_is_read_as_a_chat(several: bool, indent: int | None) -> None:
    value = {"about": "…", "chats": {"list": [TELEGRAM]}} if several else TELEGRAM
    found = read(json.dumps(value, indent=indent), "result.json")
    assert (found.title, found.date) == ("Walks", "2025-11-25")
    assert days(found) == DAYS
    assert "10:15 Anna Müller: See walnuts at the shop (https://example.org)" in found.text
    assert "22:06 Bob: sticker\n22:07 Bob: When?\n- Sunday" in found.text
    assert "10:00 Anna – create group\n" in found.text


SECOND: dict[str, Any] = {**TELEGRAM, "name": "Boats", "id": -2, "messages": TELEGRAM["messages"][3:]}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    ("value", "titles"),
    [
        (TELEGRAM, ["Walks, 25 November 2025", "Walks, 8 November 2025"]),
        ({"chats": {"about": "…", "list": [TELEGRAM, SECOND]}, "left_chats": {}},
         ["Boats, 25 November 2025", "Walks, 25 November 2025", "Walks, 8 November 2025"]),
        ({**TELEGRAM, "name": None},
         ["Chat: Bob, 25 November 2025", "Chat: Anna Müller, 8 November 2025"]),
    ],
)  # fmt: skip
def test_each_day_of_telegram_is_a_document(
    library: Library, notes: Path, value: Any, titles: list[str], indent: int | None
) -> None:
    write(notes, {"result.json": json.dumps(value, indent=indent, ensure_ascii=bool(indent))})
    index(library, "notes", notes)
    parts = library.documents.get(OWNER, "notes", "result.json").parts
    assert sorted(part.title for part in parts) == sorted(titles)
    [hit] = library.search(OWNER, "walnuts before:2025-11-20").hits
    assert hit.document.date == "2025-11-08"
    assert "See walnuts at the shop" in hit.content
    assert not library.search(OWNER, '"good night" before:2025-11-20').hits
    assert library.search(OWNER, '"good night" after:2025-11-20').hits


OTHER: list[tuple[dict[str, Any], str]] = [
    ({"location_information": {"latitude": 46.2, "longitude": 6.1}}, "Bob: Location: 46.2, 6.1"),
    ({"place_name": "Wren Café", "address": "Quay 4",
      "location_information": {"latitude": 1.5, "longitude": 2}}, "Bob: Wren Café\nQuay 4\nLocation: 1.5, 2"),
    ({"contact_information": {"first_name": "Zoe", "last_name": "Ash", "phone_number": "+41 79 1"}},
     "Bob: +41 79 1\nZoe Ash"),
    ({"poll": {"question": "Which boat?", "answers": [{"text": "Heron"}, {"text": "Tern"}]}},
     "Bob: Which boat?\n- Heron\n- Tern"),
    ({"todo_list": {"title": "Pack", "items": [{"text": "Rope"}]}}, "Bob: Pack\n- Rope"),
    ({"game_title": "Chess", "game_description": "Two players"}, "Bob: Chess\nTwo players"),
    ({"invoice_information": {"title": "Berth", "description": "One night", "amount": 900}},
     "Bob: Berth\nOne night"),
    ({"forwarded_from": "Harbour", "text": "Fog"}, "Bob: Fog\nForwarded from Harbour"),
    ({"media_type": "voice_message", "duration_seconds": 4}, "Bob: voice message"),
    ({"type": "service", "actor": "Bob", "action": "pin_message"}, "Bob pinned a message"),
    ({"type": "service", "actor": "Bob", "action": "create_group", "title": "Bike <workshop> & {x}",
      "members": ["Bob", "Zoe"]}, "Bob created the group “Bike <workshop> & {x}”"),
    ({"type": "service", "actor": "Bob", "action": "invite_members", "members": ["Zoe", None, "Ann"]},
     "Bob added Zoe, Ann"),
    ({"type": "service", "actor": "Bob", "action": "remove_members"}, "Bob – remove members"),
    ({"type": "service", "actor": "Bob", "action": "set_chat_theme", "title": "Sea"},
     "Bob – set chat theme (Sea)"),
    ({"type": "service", "action": "phone_call"}, "Bob – phone call"),
]  # fmt: skip
"""Other messages of Telegram, and what is read of each."""
PLACE = {"id": 6, "type": "message", "date": "2025-11-12T08:00:00", "from": "Bob", "text": ""}


@pytest.mark.parametrize(("more", "text"), OTHER)
def test_what_telegram_shows_besides_text_is_read(more: dict[str, Any], text: str) -> None:
    value = {**TELEGRAM, "messages": [*TELEGRAM["messages"], PLACE | more]}
    assert f"08:00 {text}\n" in f"{read(json.dumps(value), 'result.json').text}\n"


def test_a_day_of_telegram_with_a_wrong_time_leaves_the_others_readable(
    library: Library, notes: Path
) -> None:
    wrong = PLACE | {"date": "2025-11-12T99:00:00", "text": "Never"}
    messages = [*TELEGRAM["messages"][:2], wrong, *TELEGRAM["messages"][2:]]
    write(notes, {"result.json": json.dumps({**TELEGRAM, "messages": messages}, indent=1)})
    report = index(library, "notes", notes)
    assert not report.failed
    assert library.search(OWNER, "walnuts before:2025-11-20").hits
    assert library.search(OWNER, '"good night" after:2025-11-20').hits


def test_the_days_of_an_account_are_documents_wherever_its_chats_begin(library: Library, notes: Path) -> None:
    contacts = [{"first_name": "Zoe", "phone_number": f"+41 79 {number}"} for number in range(3000)]
    value = {
        "about": "Here is the data you requested.",
        "personal_information": {"user_id": 1},
        "contacts": {"about": "Your contacts", "list": [*contacts, {"first_name": "Cormorant"}]},
        "chats": {"about": "Your chats", "list": [TELEGRAM]},
    }
    write(notes, {"result.json": json.dumps(value, indent=1)})
    index(library, "notes", notes)
    parts = library.documents.get(OWNER, "notes", "result.json").parts
    assert {part.title for part in parts} == {
        "Walks, 25 November 2025",
        "Walks, 8 November 2025",
        "result.json",
    }
    assert "Cormorant" in library.search(OWNER, "cormorant").hits[0].content
    assert library.search(OWNER, "walnuts before:2025-11-20").hits[0].document.date == "2025-11-08"


def message_of_page(day: str, who: str, text: str, more: str = "") -> str:
    named = f'<div class="from_name">\n{who}\n</div>' if who else ""
    return (
        f'<div class="message default clearfix{"" if who else " joined"}" id="message7">\n'
        f'<div class="body">\n<div class="pull_right date details" title="{day} UTC+01:00">\n10:15\n</div>'
        f"{named}{more}"
        f'<div class="text">\n{text}\n</div></div></div>\n'
    )


def media_of_page(kind: str, **lines: str) -> str:
    inside = "".join(f'<div class="{name} details">\n{line}\n</div>' for name, line in lines.items())
    return (
        f'<div class="media_wrap clearfix"><div class="media clearfix {kind}"><div class="fill"></div>'
        f'<div class="body">{inside}</div></div></div>'
    )


def service(text: str) -> str:
    return f'<div class="message service" id="message-1"><div class="body details">\n{text}\n</div></div>\n'


FORWARDED = (
    '<div class="forwarded body"><div class="from_name">Harbour <span class="details"> 07.11.2025 09:00:00'
    '</span></div><div class="text">Fog</div></div>'
)
PAGE = (
    '<!DOCTYPE html><html><head><title>Exported Data</title></head><body><div class="page_wrap">'
    '<div class="page_header"><div class="content"><div class="text bold">\nWalks\n</div></div></div>'
    '<div class="page_body chat_page"><div class="history">'
    + service("8 November 2025")
    + service("Anna created group «Walks»")
    + message_of_page("08.11.2025 10:15:00", "Anna Müller", "Bring <strong>wal</strong>nuts<br>and bread")
    + message_of_page("08.11.2025 10:16:00", "", "Soon")
    + message_of_page("08.11.2025 10:17:00", "", "", FORWARDED)
    + message_of_page("08.11.2025 10:18:00", "", "See you")
    + service("25 November 2025")
    + message_of_page("25.11.2025 22:05:00", "Bob", "Good night")
    + message_of_page(
        "25.11.2025 22:06:00", "", "", media_of_page("media_contact", title="Zoe Ash", status="+41 79 1")
    )
    + message_of_page(
        "25.11.2025 22:07:00", "", "",
        '<div class="media_wrap"><div class="media_poll"><div class="question bold">Which boat?</div>'
        '<div class="answer">- Heron</div><div class="answer">- Tern</div></div></div>',
    )
    + '<a class="pagination block_link" href="messages2.html">Next messages</a></div></div></body></html>'
)  # fmt: skip


def test_a_page_of_telegram_is_read_as_a_chat() -> None:
    found = read(PAGE, "messages.html")
    assert (found.title, found.date, found.file_type) == ("Walks", "2025-11-25", "html")
    assert days(found) == DAYS
    assert "Anna created group «Walks»\n10:15 Anna Müller: Bring walnuts\nand bread" in found.text
    assert "10:16 Anna Müller: Soon" in found.text
    assert "10:17 Anna Müller: Harbour 07.11.2025 09:00:00\nFog\n10:18 Anna Müller: See you" in found.text
    assert "22:06 Bob: Zoe Ash\n+41 79 1\n22:07 Bob: Which boat?\n- Heron\n- Tern" in found.text


def test_each_day_of_a_page_of_telegram_is_a_document(library: Library, notes: Path) -> None:
    second = PAGE.replace("25.11.2025", "26.11.2025").replace("25 November", "26 November")
    write(notes, {"messages.html": PAGE, "messages2.html": second.replace("Good night", "Good morning")})
    index(library, "notes", notes)
    parts = library.documents.get(OWNER, "notes", "messages.html").parts
    assert sorted(part.title for part in parts) == ["Walks, 25 November 2025", "Walks, 8 November 2025"]
    [hit] = library.search(OWNER, '"good night"').hits
    assert (hit.document.title, hit.document.date) == ("Walks, 25 November 2025", "2025-11-25")
    assert "walnuts" not in hit.content
    [hit] = library.search(OWNER, '"good morning" after:2025-11-25').hits
    assert hit.document.date == "2025-11-26"
