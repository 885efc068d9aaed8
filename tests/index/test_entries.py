"""Calendars, contacts and references are files of many documents, each found, dated and titled on its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.extract.test_calendars import calendar
from tests.support.consistency import check_library
from tests.support.stored import outcomes

FERRY = "UID:ferry@x\r\nSUMMARY:Ferry to the island\r\nDTSTART:20260612T074500\r\nLOCATION:Pier 3"
CHOIR = "UID:choir@x\r\nSUMMARY:Choir\r\nDTSTART;VALUE=DATE:20260302\r\nDESCRIPTION:bring the Rutter"
NO_NAME = "SUMMARY:Bins out\r\nDTSTART:20260401T060000Z"
TASK = "BEGIN:VTODO\r\nUID:tax\r\nSUMMARY:Tax return\r\nDUE:20260531T120000\r\nEND:VTODO\r\n"
ALARM = "UID:bus@x\r\nSUMMARY:Bus\r\nDTSTART:20260703T080000\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nEND:VALARM"
CARDS = (
    "BEGIN:VCARD\nVERSION:3.0\nUID:1\nFN:Halvor Bakken\nTITLE:Plumber\nTEL:+47 912 44 018\nEND:VCARD\n"
    "BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B8rn\nNOTE:Baker\nEND:VCARD\n"
)
WORKS = """% my library

@string{asr = "Annals of Soil"}

@article{olsen2022,
  author = {Olsen, Kari},
  title = {Wooden {Bridges} in Salt Air},
  year = 2022
}

@Book(rowe2019,
  title = "Why Hens Stop Laying"
)
"""


@pytest.mark.parametrize(
    ("name", "content", "query", "part", "title", "date"),
    [
        ("a.ics", calendar(FERRY, CHOIR), "pier 3", "ferry@x", "Ferry to the island", "2026-06-12"),
        ("a.ics", calendar(FERRY, CHOIR), "rutter", "choir@x", "Choir", "2026-03-02"),
        ("a.ics", calendar(FERRY, ALARM), "bus", "bus@x", "Bus", "2026-07-03"),
        ("one.ics", calendar(FERRY, head="X-WR-CALNAME:Home\r\n"), "pier", "ferry@x", None, "2026-06-12"),
        ("todo.ics", TASK.encode(), "tax return", "tax", "Tax return", "2026-05-31"),
        ("old.vcs", calendar(CHOIR), "rutter", "choir@x", "Choir", "2026-03-02"),
        ("calendar", calendar(CHOIR, FERRY), "pier 3", "ferry@x", None, "2026-06-12"),
        ("p.vcf", CARDS.encode(), "plumber", "1", "Halvor Bakken", None),
        ("p.vcf", CARDS.encode(), "baker", None, "Jørn", None),
        ("l.bib", WORKS.encode(), "salt air", "olsen2022", "Wooden Bridges in Salt Air", None),
        ("m.bib", b'@book(n, author="N{\\"o}ther", title="On rings")', "nöther", "n", "On rings", None),
        (
            "m.bib",
            b"@book{n, author = noether # { and } # bo, title={On \\emph{rings}}}",
            "rings",
            "n",
            "On rings",
            None,
        ),
        ("l.bib", WORKS.encode(), "hens", "rowe2019", "Why Hens Stop Laying", None),
        ("l.bib", WORKS.encode(), "annals of soil", None, None, None),
    ],
)
def test_an_entry_is_found_under_its_own_title_and_day(
    library: Library,
    notes: Path,
    name: str,
    content: bytes,
    query: str,
    part: str | None,
    title: str | None,
    date: str | None,
) -> None:
    (notes / name).write_bytes(content)
    index(library, "s", notes)
    found = library.searching.search(OWNER, query, mode="lexical", group="document").hits[0].document
    assert (found.path, bool(found.part)) == (name, True)
    assert part in (None, found.part)
    assert title in (None, found.title)
    assert date in (None, found.date)
    check_library(library, "s")


def test_events_are_filtered_by_their_own_days(library: Library, notes: Path) -> None:
    (notes / "a.ics").write_bytes(calendar(FERRY, CHOIR))
    index(library, "s", notes)
    answer = library.searching.search(OWNER, "type:calendar before:2026-04", mode="lexical", group="document")
    assert [hit.document.title for hit in answer.hits if hit.document.part] == ["Choir"]


def test_of_a_changed_calendar_only_the_changed_events_are_read(library: Library, notes: Path) -> None:
    (notes / "a.ics").write_bytes(calendar(FERRY, CHOIR, NO_NAME))
    index(library, "s", notes)
    (notes / "a.ics").write_bytes(calendar(CHOIR, FERRY.replace("Pier 3", "Quay 7"), NO_NAME))
    job = index(library, "s")
    assert outcomes(job) == {"a.ics": "changed"}
    assert job.total_chunks_added == 1
    assert library.searching.search(OWNER, "quay 7", mode="lexical").hits[0].document.part == "ferry@x"
    check_library(library, "s")


def test_an_event_that_repeats_is_one_document_for_each_change_of_it(library: Library, notes: Path) -> None:
    moved = FERRY.replace("Pier 3", "Pier 8").replace("UID:ferry@x", "UID:ferry@x\r\nRECURRENCE-ID:20260619")
    (notes / "a.ics").write_bytes(calendar(FERRY, moved))
    index(library, "s", notes)
    found = library.searching.search(OWNER, "pier 8", mode="lexical", group="document").hits[0].document
    assert found.part == "ferry@x/20260619"


@pytest.mark.parametrize("name", ["a.ics", "p.vcf", "l.bib"])
@pytest.mark.parametrize("content", [b"only words", b"", b"BEGIN:VEVENT", b"END:VCARD\n@x{"])
def test_a_file_without_entries_is_read_as_it_is(
    library: Library, notes: Path, name: str, content: bytes
) -> None:
    (notes / name).write_bytes(content)
    job = index(library, "s", notes)
    assert outcomes(job)[name] in ("added", "skipped")
    check_library(library, "s")
