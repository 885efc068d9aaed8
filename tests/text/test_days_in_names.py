"""The day in a file's name, however programs and people write it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.text.days import first_in_name
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write

NUMERIC = (
    "2025-11-08 2025_11_08 2025.11.08 20251108 2025-11-8 2025.11.8 08.11.2025 8.11.2025 2025年11月8日"
    " 20251108_101500 20251108T101500 202511081015 20251108101559 2025-11-08T10-15 2025-11-08-101500"
).split()
WRITTEN = [
    *("8 November 2025", "8. November 2025", "8th November 2025", "8th of November 2025", "8-Nov-2025"),
    *("8_November_2025", "08Nov2025", "November 8, 2025", "Nov 8 2025", "Nov_8_2025", "November-8-2025"),
    *("2025-Nov-08", "2025 November 8", "8 novembre 2025", "8 de noviembre de 2025", "8 de novembro de 2025"),
    "Saturday, November 8, 2025",
]
AROUND = ["{}", "{} visit", "Bericht {}", "Scan_{}_final", "Bericht vom {} (2)"]


@pytest.mark.parametrize(("form", "around"), list(product([*NUMERIC, *WRITTEN], AROUND)))
def test_a_day_is_read_in_every_form(form: str, around: str) -> None:
    assert first_in_name(around.format(form) + ".md") == "2025-11-08"


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("20251108T101500--walk__nature_dog.org", "2025-11-08"),
        ("PXL_20251108_101500123.jpg", "2025-11-08"),
        ("Scan_25-11-2025.pdf", "2025-11-25"),
        ("Scan_25_11_2025_001.pdf", "2025-11-25"),
        ("11-25-2025.md", "2025-11-25"),
        ("11-11-2025.md", "2025-11-11"),
        ("8. März 2025.md", "2025-03-08"),
        ("8. Ma\u0308rz 2025.md", "2025-03-08"),
        ("2025-W45.md", "2025-11-03"),
        ("2025W45 review.md", "2025-11-03"),
        ("2025-W45-6.md", "2025-11-08"),
        ("KW45 2025.md", "2025-11-03"),
        ("2025 KW 45.md", "2025-11-03"),
        ("Week 45 2025.md", "2025-11-03"),
        ("2025-Q4.md", "2025-10-01"),
        ("Q4-2025 plan.md", "2025-10-01"),
        ("2025_Q1_board.md", "2025-01-01"),
        ("2025-11.md", "2025-11-01"),
        ("November 2025.md", "2025-11-01"),
        ("invoice-nov2025.pdf", "2025-11-01"),
        ("Bericht_März_2025.pdf", "2025-03-01"),
        ("2025年11月.md", "2025-11-01"),
    ],
)
def test_a_day_a_week_a_quarter_or_a_month_is_read(name: str, day: str) -> None:
    assert first_in_name(name) == day


@pytest.mark.parametrize(
    "name",
    [
        "Scan_08-11-2025.md",
        "08_11_2025.md",
        "Season 2010-11.md",
        "Model 20251399.md",
        "IBAN 2025110812345678.md",
        "192.168.1.2025.md",
        "31.02.2025.md",
        "FY2025-Q4.md",
        "2025-W60.md",
        "2025-Q5.md",
        "2025.md",
        "maybe 20 2025.md",
        "A4 2025 order.md",
        "ISO 8601-2004.md",
        "notes.md",
    ],
)
def test_what_may_be_two_days_or_is_none_is_none(name: str) -> None:
    assert first_in_name(name) is None


def test_a_day_a_week_and_a_quarter_in_names_are_found_as_dates(notes: Path, library: Library) -> None:
    names = ("8 November 2025.md", "20251108T101500.txt", "2025-W45.md", "2025-Q4.md", "08-11-2025.md")
    write(notes, {name: f"The note number {number}." for number, name in enumerate(names)})
    index(library, "notes", notes)

    def found(query: str) -> list[str]:
        return [hit.document.path for hit in library.search(OWNER, query).hits]

    assert set(found("date:2025-11-08")) == set(names[:2])
    assert set(found("date:2025-W45")) == set(names[:3])
    assert set(found("date:2025-Q4")) == set(names[:4])
    assert found("date:2025-W45")[0] == "2025-W45.md", "the note of that name stands first"
    assert found("date:2025-q4")[0] == "2025-Q4.md"


@pytest.mark.parametrize("said", ["2025-11-08", "8 November 2025", "08.11.2025", "Nov 8, 2025"])
def test_front_matter_tells_a_day_in_the_same_forms(notes: Path, library: Library, said: str) -> None:
    write(notes, {"note.md": f"---\ndate: {said}\n---\nSome words of a note."})
    index(library, "notes", notes)
    hits = library.search(OWNER, "date:2025-11-08").hits
    assert [hit.document.path for hit in hits] == ["note.md"]
