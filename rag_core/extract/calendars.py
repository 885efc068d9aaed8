"""Calendars (ICS, VCS) → each event with its title, day, time, place and description. Read with icalendar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from icalendar import Component

from rag_core.extract import content_lines
from rag_core.extract.building import Builder, one_line
from rag_core.files.slices import Sliced
from rag_core.types import Extracted

_ENTRIES = frozenset({"VEVENT", "VTODO", "VJOURNAL"})
_NAME = re.compile(r"^(?:X-WR-CALNAME|NAME)(?:;[^:\n]*)?:(.+)$", re.M)
_SAID = re.compile(r"^(?:X-WR-CALNAME|NAME|X-WR-CALDESC|DESCRIPTION)(?:;[^:\n]*)?:(.+)$", re.M)
_NAMED = re.compile(rb"^(?:X-WR-CALNAME|NAME)[;:]", re.M)
_LONGEST_HEAD = 65_536  # bytes
_TEXTS = {
    "LOCATION": "Where: ",
    "DESCRIPTION": "",
    "COMMENT": "",
    "CONTACT": "Contact: ",
    "CATEGORIES": "Categories: ",
    "STATUS": "Status: ",
    "URL": "",
    "ATTACH": "",
}
"""Properties that are shown, in this order → the label before each."""

_BEGINS = re.compile(rb"^BEGIN:(?:VEVENT|VTODO|VJOURNAL)[ \t]{0,50}\r?$", re.M | re.I)
_STARTS = re.compile(rb"^(?:DTSTART|DUE)(?:;[^:\r\n]{0,200})?:(\d{8})(?:T(\d{4}))?", re.M | re.I)

_PEOPLE = {"ORGANIZER": "Organizer: ", "ATTENDEE": "Attendees: "}


def entry_spans(data: Sliced) -> Iterator[tuple[int, int]]:
    """Yield the start and end offset of each event, task and journal entry of a calendar. If the lines before
    the first entry name the calendar, their offsets come first."""
    for number, (start, end) in enumerate(content_lines.component_spans(data, "|".join(sorted(_ENTRIES)))):
        if number == 0 and start <= _LONGEST_HEAD and _NAMED.search(data[:start]):
            yield 0, start
        yield start, end


def start_of(entry: bytes) -> datetime | None:
    """Return the time when an event begins or a task is due, as it is written in the calendar but marked as
    UTC: time zones are ignored, and their rules date nothing. None if the entry has no such time."""
    begins = _BEGINS.search(entry)
    match = _STARTS.search(entry, begins.end()) if begins else None
    if match is None:
        return None
    with suppress(ValueError):
        return datetime.strptime((match[1] + (match[2] or b"0000")).decode("ascii"), "%Y%m%d%H%M").replace(
            tzinfo=UTC
        )
    return None


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the calendar in ``data``, with a part for each event, task and journal entry. If there is only
    one entry, the document has its date, and its title unless the calendar has a name."""
    text = content_lines.unfolded(content_lines.decoded(data, path))
    builder, warnings = Builder(), list[str]()
    titles = [_add_entry(builder, entry, warnings) for entry in _entries(text)]
    named = _NAME.search(text)
    if not titles:  # no calendar: read as text; a head alone: only its name
        builder.begin("text", "")
        said = [content_lines.shown(match[1]) for match in _SAID.finditer(text)] if named else [text]
        builder.add("\n".join(dict.fromkeys(said)))
    title = content_lines.shown(named[1]) if named else titles[0] if len(titles) == 1 else ""
    day = start_of(text.encode()) if len(titles) == 1 else None
    return builder.document(
        "calendar",
        path.name,
        title,
        warnings=list(dict.fromkeys(warnings)),
        date=day.date().isoformat() if day else None,
    )


def _entries(text: str) -> Iterator[str]:
    """Yield the lines of each event, task and journal entry, even of one without an end."""
    lines, kind = list[str](), ""
    for line in text.split("\n"):
        word, _, name = line.strip().upper().partition(":")
        if word == "BEGIN" and name in _ENTRIES:
            if kind:
                yield "\n".join(lines)
            lines, kind = [], name
        if kind:
            lines.append(line)
        if word == "END" and name == kind:
            yield "\n".join(lines)
            kind = ""
    if kind:
        yield "\n".join(lines)


def _add_entry(builder: Builder, entry: str, warnings: list[str]) -> str:
    """Add an event. Returns its title."""
    try:
        event = Component.from_ical(entry)
    except Exception:  # whatever the package raises (a TZID that names a folder), an event costs itself
        builder.begin("event", "")
        builder.add(content_lines.shown(entry))
        warnings.append("An event is damaged; its lines are searched as plain text.")
        return ""
    damaged_lines = dict.fromkeys(name for name, _ in event.errors if name)
    as_written = [f"{name}: {event.pop(name)}" for name in damaged_lines if name in event]
    title = one_line(_values(event, "SUMMARY"))
    when = _when(event)
    builder.begin("event", " ".join(filter(None, (title, when))), title)
    builder.add("\n".join(filter(None, (title, *_lines(event, when), *as_written))))
    warnings += [f"The line {name} of the event {title!r} cannot be read." for name in damaged_lines]
    return title


def _lines(event: Any, when: str) -> Iterator[str]:
    if when:
        yield f"When: {when}"
    often = [
        value for rule in _all(event, "RRULE") if isinstance(rule, dict) for value in rule.get("FREQ", [])
    ]
    if often:
        yield f"Repeats: {' '.join(str(value).lower() for value in often)}"
    for name, before in _TEXTS.items():
        if value := _values(event, name):
            yield before + value
    for name, before in _PEOPLE.items():
        if people := ", ".join(map(_person, _all(event, name))):
            yield before + people


def _all(event: Any, name: str) -> list[Any]:
    """Return all values of a property."""
    value = event.get(name, [])
    return value if isinstance(value, list) else [value]


def _values(event: Any, name: str) -> str:
    values = [each for value in _all(event, name) for each in getattr(value, "cats", [value])]
    return ", ".join(str(value).strip() for value in values if isinstance(value, str))


def _person(value: Any) -> str:
    """Return an attendee as ``Ada <ada@example.org>``."""
    address = re.sub(r"^mailto:", "", str(value), flags=re.I)
    name = str(value.params.get("CN", "")).strip()
    return f"{name} <{address}>" if name and name != address else address


def _when(event: Any) -> str:
    """Return the day and time of an event as written in the file, with its time zone."""
    start, end = (getattr(event.get(name), "dt", None) for name in ("DTSTART", "DTEND"))
    due = getattr(event.get("DUE"), "dt", None)
    lasts = getattr(event.get("DURATION"), "dt", None)
    if not isinstance(start, date):
        return f"due {_moment(due)}" if isinstance(due, date) else ""
    if isinstance(lasts, timedelta) and end is None:
        with suppress(OverflowError):
            end = start + lasts
    if isinstance(end, date) and type(start) is type(end) is date and end > start:
        end -= timedelta(1)  # the file stores the day after the last
    zone = _zone(event.get("DTSTART"))
    parts = [_moment(start)]
    if isinstance(end, date) and end != start and type(end) is type(start):
        parts.append(_clock(end) if _day(end) == _day(start) else _moment(end))
    due_then = f", due {_moment(due)}" if isinstance(due, date) else ""
    return " to ".join(parts) + (f" ({zone})" if zone else "") + due_then


def _moment(moment: date) -> str:
    """Return a time as ``Friday, 11 December 2026, 09:30``."""
    return f"{_day(moment)}, {_clock(moment)}" if isinstance(moment, datetime) else _day(moment)


def _day(moment: date) -> str:
    return f"{moment:%A}, {moment.day} {moment:%B} {moment.year}"


def _clock(moment: date) -> str:
    return f"{moment:%H:%M}"


def _zone(value: Any) -> str:
    if not isinstance(value.dt, datetime):
        return ""
    return str(value.params.get("TZID", "")) or ("UTC" if value.dt.tzinfo else "")
