"""What a calendar program shows of an event is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import ExtractError
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.extract.test_readers import place_of, read


def calendar(*events: str, head: str = "") -> bytes:
    inside = "".join(f"BEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\n" for event in events)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n{head}{inside}END:VCALENDAR\r\n".encode()


def folded(line: str, width: int) -> str:
    return "\r\n ".join(line[at : at + width] for at in range(0, len(line), width))


@pytest.mark.parametrize("width", [5, 20, 74])
@pytest.mark.parametrize(
    "text",
    ["Bring the passport and the paperwork", "Straße, Zürich; Hütte\nzweite Zeile", "礼拝堂で練習します"],
)
def test_folded_and_escaped_values_are_shown_whole(text: str, width: int) -> None:
    written = text.replace(",", "\\,").replace(";", "\\;").replace("\n", "\\n")
    event = f"SUMMARY:Border\r\n{folded('DESCRIPTION:' + written, width)}\r\nDTSTART:20261211T093000Z"
    assert text in read(calendar(event), "a.ics").text


@pytest.mark.parametrize("text", ["Zusatzstühle für Zürich", "礼拝堂で練習します", "Дача в Звенигороде"])
def test_lines_are_folded_inside_letters_of_several_bytes(text: str) -> None:
    line = f"SUMMARY:{text}".encode()
    pieces = b"\r\n ".join(line[at : at + 1] for at in range(len(line)))
    assert text in read(calendar("SUMMARY:x").replace(b"SUMMARY:x", pieces), "a.ics").text


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ("DTSTART:20261211T093000Z", "Friday, 11 December 2026, 09:30 (UTC)"),
        ("DTSTART:20261211T093000", "Friday, 11 December 2026, 09:30"),
        (
            "DTSTART;TZID=Europe/Berlin:20261211T093000\r\nDTEND;TZID=Europe/Berlin:20261211T110000",
            "Friday, 11 December 2026, 09:30 to 11:00 (Europe/Berlin)",
        ),
        (
            "DTSTART;TZID=W. Europe Standard Time:20261211T093000\r\nDURATION:PT45M",
            "Friday, 11 December 2026, 09:30 to 10:15 (W. Europe Standard Time)",
        ),
        ("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261225", "Thursday, 24 December 2026"),
        ("DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261224", "Thursday, 24 December 2026"),
        ("DTSTART:20261211T093000Z\r\nDURATION:P999999999D", "Friday, 11 December 2026, 09:30 (UTC)"),
        (
            "DTSTART;VALUE=DATE:20261224\r\nDTEND;VALUE=DATE:20261227",
            "Thursday, 24 December 2026 to Saturday, 26 December 2026",
        ),
    ],
)
def test_day_and_time_are_shown_as_written(lines: str, when: str) -> None:
    assert f"When: {when}\n" in read(calendar(f"{lines}\r\nSUMMARY:Tea\r\nLOCATION:x"), "a.ics").text


def test_each_event_is_a_part_of_its_own() -> None:
    found = read(
        calendar("SUMMARY:Tea", "SUMMARY:Coffee\r\nLOCATION:Hall 4", head="X-WR-CALNAME:Home\r\n"), "a.ics"
    )
    assert place_of(found, "Hall 4") == ("event", "Coffee", ("Coffee",))
    assert found.title == "Home"
    assert read(calendar("SUMMARY:Tea"), "a.ics").title == "Tea"


def test_a_calendar_is_found_by_its_name(library: Library, notes: Path) -> None:
    head = "X-WR-CALNAME:Rowing club\r\nX-WR-CALDESC:Regattas and\r\n  repairs\r\n"
    (notes / "club.ics").write_bytes(calendar("UID:1\r\nSUMMARY:Tea", "UID:2\r\nSUMMARY:Cake", head=head))
    index(library, "notes", notes)
    for query in ("rowing", '"regattas and repairs"'):
        hits = library.search(OWNER, query).hits
        assert [hit.document.title for hit in hits if hit.relevant] == ["Rowing club"]
        assert hits[0].content == "Rowing club\nRegattas and repairs"
    assert library.search(OWNER, "cake").hits[0].document.title == "Cake"


ZONE = (
    "BEGIN:VTIMEZONE\r\nTZID:Europe/Vienna\r\nBEGIN:DAYLIGHT\r\nDTSTART:19700329T020000\r\n"
    "RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\nEND:DAYLIGHT\r\nEND:VTIMEZONE\r\n"
)


@pytest.mark.parametrize("head", [ZONE, f"X-WR-CALNAME:Sprints\r\n{ZONE}"])
@pytest.mark.parametrize(
    ("event", "day"), [("DTSTART;TZID=Europe/Vienna:20120213T100000\r\n", "2012-02-13"), ("", None)]
)
def test_the_rule_of_a_time_zone_dates_nothing(
    library: Library, notes: Path, head: str, event: str, day: str | None
) -> None:
    data = calendar(f"UID:1\r\n{event}SUMMARY:Tea", head=head)
    assert read(data, "a.ics").date == day
    (notes / "club.ics").write_bytes(data)
    index(library, "notes", notes)
    days = {hit.document.date for query in ("tea", "sprints") for hit in library.search(OWNER, query).hits}
    assert not {day for day in days if day and day.startswith("1970")}


def test_people_repetition_and_categories_are_found() -> None:
    event = (
        "SUMMARY:Tea\r\nRRULE:FREQ=WEEKLY;COUNT=3\r\nCATEGORIES:Choir,Garden\r\n"
        "ORGANIZER;CN=Ada:mailto:ada@example.org\r\nATTENDEE;CN=Bob:mailto:bob@example.org\r\n"
        "ATTENDEE:mailto:eve@example.org"
    )
    text = read(calendar(event), "a.ics").text
    for line in (
        "Repeats: weekly",
        "Categories: Choir, Garden",
        "Organizer: Ada <ada@example.org>",
        "Attendees: Bob <bob@example.org>, eve@example.org",
    ):
        assert line in text


def test_quoted_printable_values_of_old_calendars_are_decoded() -> None:
    event = "SUMMARY;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Gr=C3=BC=\r\n=C3=9Fe=0D=0Azwei"
    assert "Grüße zwei" in read(calendar(event), "a.vcs").text


@pytest.mark.parametrize(
    "broken",
    [
        "DTSTART:yesterday",
        "RRULE:FREQ=OFTEN",
        "no colon here",
        "BEGIN:",
        "DTSTART;TZID=Europe:20261211T093000",
    ],
)
def test_a_damaged_line_costs_at_most_itself(broken: str) -> None:
    found = read(calendar(f"{broken}\r\nSUMMARY:Tea\r\nLOCATION:Hall 4", "SUMMARY:Coffee"), "a.ics")
    assert "Hall 4" in found.text
    assert "Coffee" in found.text


@pytest.mark.parametrize(
    "cut", ["", "BEGIN:VEVENT\r\nSUMMARY:Coffee\r\nEND:VEVENT\r\n"], ids=["at the end", "before another"]
)
def test_an_event_that_does_not_end_is_found_and_said(cut: str) -> None:
    found = read(f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nLOCATION:Hall 4\r\n{cut}".encode(), "a.ics")
    assert "Hall 4" in found.text
    assert ("Coffee" in found.text) == bool(cut)
    assert any("damaged" in warning for warning in found.warnings)


def test_a_picture_named_as_a_calendar_is_refused() -> None:
    with pytest.raises(ExtractError):
        read(b"GIF89a" + bytes(100), "a.ics")
