"""Each message of a mailbox is found, below its own subject, sender and day."""

from __future__ import annotations

import pytest

from rag_core.extract import building
from tests.extract.test_readers import place_of, read


def message(subject: str, body: str, day: int = 2, sender: str = "Dana <dana@example.org>") -> str:
    date = f"Date: Mon, {day} Mar 2026 10:00:00 +0000\n" if day else ""
    return f"From: {sender}\nSubject: {subject}\n{date}\n{body}\n\n"


SEPARATORS = [
    "From dana@example.org Mon Mar  2 10:00:00 2026",
    "From - Mon Mar 02 10:00:00 2026",
    "From MAILER-DAEMON Mon Mar 2 10:00:00 2026",
    "From 1700000000000000001@xxx Mon Mar 02 10:00:00 +0000 2026",
    "From dana at example.org  Mon Mar  2 10:00:00 2026",
    "From dana@example.org Mon, 2 Mar 2026 10:00:00 +0100",
    "From dana@example.org 2026-03-02 10:00",
]
BODIES = [
    "the yard is closed.\nFrom Wednesday on please park behind the barn.\nImportant: the code is 4471",
    "the yard is closed.\n\nFrom Wednesday on please park behind the barn.\n\nThe code is 4471",
    "Hello\n\nFrom what we know in 2026, at 10:00\nall: the code is 4471",
    "Hello\nFrom dana@example.org Mon Mar  2 10:00:00 2026\nwas the line, and the code is 4471",
]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("body", BODIES)
def test_only_a_real_separator_begins_a_message(separator: str, body: str, end: str) -> None:
    text = "".join(
        f"{separator}\n{each}" for each in (message("Rules", body), message("Re: Rules", "Thanks"))
    )
    found = read(text.replace("\n", end).encode(), "all.mbox")
    assert place_of(found, "4471")[1] == "1 Rules"
    assert place_of(found, "Thanks")[1] == "2 Re: Rules"


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize(("error", "is_believed"), [(0, True), (-9, False), (7, False), (10**9, False)])
def test_a_length_is_believed_where_a_message_ends_there(end: str, error: int, is_believed: bool) -> None:
    body = f"The log said:\n\n{SEPARATORS[0]}\nFrom: root\nSubject: fake\n\ncode 4471\n".replace("\n", end)
    head = f"{SEPARATORS[1]}\nFrom: Dana\nSubject: Log\nContent-Length: {len(body) + error}\n\n"
    last = f"{SEPARATORS[0]}\n{message('Bye', 'Thanks')}"
    text = head.replace("\n", end) + body + end + last.replace("\n", end)
    for whole in (text, text[: len(text) - len(last.replace("\n", end))]):
        found = read(whole.encode(), "all.mbox")
        assert place_of(found, "4471")[1] == ("1 Log" if is_believed else "2 fake")


def mbox(*messages: str) -> bytes:
    return "".join(f"{SEPARATORS[0]}\n{each}" for each in messages).encode()


def test_an_escaped_line_is_shown_as_it_was_written() -> None:
    assert (
        "\nFrom here\n>From there" in read(mbox(message("A", "x\n>From here\n>>From there")), "a.mbox").text
    )


def test_the_newest_message_comes_first_below_its_sender_and_day() -> None:
    data = mbox(message("Two", "second", 3), message("Three", "third", 9), message("One", "first", 1))
    found = read(data, "a.mbox")
    assert [each.anchor_ref for each in found.segments] == ["2 Three", "1 Two", "3 One"]
    assert place_of(found, "third")[2] == ("Three", "Dana <dana@example.org>, 2026-03-09")
    assert found.date == "2026-03-09"


def test_a_message_without_a_date_stays_after_the_one_before_it() -> None:
    found = read(mbox(message("A", "a", 1), message("B", "b", 0), message("C", "c", 5)), "a.mbox")
    assert [each.anchor_ref for each in found.segments] == ["3 C", "2 B", "1 A"]


def test_a_mailbox_has_each_of_its_senders() -> None:
    found = read(mbox(message("A", "a"), message("B", "b", 3, "Eli <eli@x.org>")), "a.mbox")
    assert found.metadata["from"] == ["Eli <eli@x.org>", "Dana <dana@example.org>"]


def test_what_a_large_mailbox_leaves_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_TEXT", 4000)
    messages = [message(f"Number {day}", "word " * 200, day) for day in range(1, 10)]
    found = read(mbox(*messages), "a.mbox")
    assert "Number 9" in found.text
    assert any("6 of its 9 messages" in warning for warning in found.warnings)


@pytest.mark.parametrize("first", ["From someone\n", ""])
def test_a_mailbox_without_a_separator_is_one_message(first: str) -> None:
    found = read((first + message("Alone", "the ferry")).encode(), "a.mbox")
    assert place_of(found, "the ferry")[1] == "1 Alone"


def test_a_message_of_apple_mail_ends_before_its_property_list() -> None:
    inner = message("Tea", "the ferry is late").encode()
    found = read(b"%-11d\n" % len(inner) + inner + b"<?xml version='1.0'?><plist>flags</plist>", "12.emlx")
    assert (found.title, "the ferry is late" in found.text, "plist" in found.text) == ("Tea", True, False)


def test_a_message_that_cannot_be_read_costs_itself_alone() -> None:
    deep = "".join(f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(3000))
    bomb = f"From: x\nSubject: Bomb\n{deep}\nx\n\n"
    found = read(mbox(message("One", "first"), bomb, message("Three", "third")), "a.mbox")
    assert "first" in found.text
    assert "third" in found.text
    assert "Message 2 is damaged; some or all of it cannot be read." in found.warnings


@pytest.mark.parametrize(
    "date", ["Fri, 11 Dec 99999999999 09:30:00 +0100", "Fri, 11 Dec 2026 09:30:00 +99999999999999", "soon"]
)
def test_an_impossible_date_costs_no_message(date: str) -> None:
    found = read(mbox(f"From: x\nSubject: Tea\nDate: {date}\n\nthe kettle\n\n"), "a.mbox")
    assert "the kettle" in found.text
    assert found.warnings == ()
