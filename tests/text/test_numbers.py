"""A date is found however it is written, and only whole. All through lexical searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.text.numbers import numbers
from rag_core.types import OWNER
from tests.conftest import index

NOTES = {
    "iso": "The exam is on 2026-12-11 in room 4.",
    "german": "The exam on 7.3.2026 was easy.",
    "words": "The exam of 5th of May 2026 is over.",
    "american": "On Sept. 30, 2026 there was no exam.",
    "juni": "Prüfung am 27. Juni 2025, die erste.",
    "slash": "The oral exam is on 31/08/2025.",
    "two": "Talks on 3 and 4 February 2024.",
    "decomposed": "Abgabe am 21. Ma\u0308rz 2023.",
    "train": "The train leaves at 12:26 from room 112, in 2023; Python 3.11.24a; gen 3 1600.",
    "cup": "The Winter cup 2029-11-06, with 12 teams and 24 players.",
    "party": "Our party is on 24 November: 6 of us eat no meat.",
    "maart": "Examen op 22 maart 2025.",
    "spanish": "El examen del 8 de diciembre de 2024.",
    "french": "L'examen du 1er août 2024.",
    "other": "Of 2026 there were 11 in December, the exam came on 2026-12-10.",
    "Diary 2027-02": "Skating.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "notes").mkdir()
    for name, text in NOTES.items():
        (folder / "notes" / f"{name}.md").write_text(f"{text}\n", "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    index(opened, "dates", folder / "notes")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("query", "note", "marked"),
    [
        ("exam 11 December 2026", "iso", "2026-12-11"),
        ("December 11, 2026", "iso", "2026-12-11"),
        ("dec 11th 2026 exam", "iso", "2026-12-11"),
        ("exam 11.12.2026", "iso", "2026-12-11"),
        ("2026-03-07", "german", "7.3.2026"),
        ("7 March 2026", "german", "7.3.2026"),
        ("2026-05-05", "words", "5th of May 2026"),
        ("5 May 2026", "words", "5th of May 2026"),
        ("27 June 2025", "juni", "27. Juni 2025"),
        ("31. August 2025", "slash", "31/08/2025"),
        ("08/31/2025", "slash", "31/08/2025"),
        ("22. März 2025", "maart", "22 maart 2025"),
        ("4.2.2024", "two", "4 February 2024"),
        ("21. März 2023", "decomposed", "21. Ma\u0308rz 2023"),
        ("exam dec 11th 2026", "iso", "2026-12-11"),
        ("8 December 2024", "spanish", "8 de diciembre de 2024"),
        ("2024-08-01", "french", "1er août 2024"),
        ("1er août 2024", "french", "1er août 2024"),
        ("2026/09/30", "american", "Sept. 30, 2026"),
        ("30 september 2026", "american", "Sept. 30, 2026"),
    ],
)
def test_a_date_is_found_however_it_is_written(library: Library, query: str, note: str, marked: str) -> None:
    hits = library.search(OWNER, query, mode="lexical").hits
    assert [Path(hit.document.path).stem for hit in hits if hit.relevant][:1] == [note]
    assert marked in [hits[0].content[start:end] for start, end in hits[0].spans]


@pytest.mark.parametrize(
    ("query", "notes"),
    [
        ("6 November", ["cup"]),
        ("november 6th", ["cup"]),
        ("6. November", ["cup"]),
        ("24 november", ["party"]),
        ("12 November", []),
        ("party November 24", ["party"]),
    ],
)
def test_a_day_without_a_year_is_that_day_of_any(library: Library, query: str, notes: list[str]) -> None:
    hits = library.search(OWNER, query, mode="lexical").hits
    assert [Path(hit.document.path).stem for hit in hits if hit.relevant] == notes


def test_the_reason_says_that_it_is_the_date(library: Library) -> None:
    assert library.search(OWNER, "30 september 2026", mode="lexical").hits[0].reasons == ("the date",)


@pytest.mark.parametrize(
    "query",
    [
        "1.2.26",
        "2026-11-1",
        "1.12.2023",
        "12 December 2026",
        "December 11, 2025",
        "5 June 2026",
        "2026-03-05",
    ],
)
def test_the_parts_of_a_date_are_no_date(library: Library, query: str) -> None:
    assert not any(hit.relevant for hit in library.search(OWNER, query, mode="lexical").hits)


@pytest.mark.parametrize(
    ("query", "notes"),
    [("exam december", {"iso", "other", "spanish"}), ("diary february 2027", {"Diary 2027-02"})],
)
def test_the_month_of_a_date_is_found_by_its_name(library: Library, query: str, notes: set[str]) -> None:
    hits = library.search(OWNER, query, mode="lexical").hits
    assert {Path(hit.document.path).stem for hit in hits if hit.relevant} == notes


def test_a_month_in_the_name_dates_a_document_by_its_first_day(library: Library) -> None:
    (hit,) = library.search(OWNER, "after:2027-01 before:2027-03").hits
    assert (Path(hit.document.path).stem, hit.document.date) == ("Diary 2027-02", "2027-02-01")


@pytest.mark.parametrize(
    "text",
    [
        *("31 February 2026", "May 2026", "2026-13", "3, May 2026", "ten May 2026"),
        *("04/09/2025", "3.11.4", "10.0.0.25", "30.2.2025", "photo_may 6 people"),
    ],
)
def test_what_no_calendar_has_or_two_days_may_be_is_no_date(text: str) -> None:
    assert not [number for number in numbers(text) if number.month]
