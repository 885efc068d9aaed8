"""Days as people name them, alone and as filters of a query."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.search.query import parse
from rag_core.text.days import span
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write

NOW = date(2026, 3, 18)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2025", "2025-01-01..2026-01-01"),
        ("2025-3", "2025-03-01..2025-04-01"),
        ("2025-12", "2025-12-01..2026-01-01"),
        ("2024-02-29", "2024-02-29..2024-03-01"),
        ("2025-03-01..2025-03-31", "2025-03-01..2025-04-01"),
        ("2025-03..2025-04", "2025-03-01..2025-05-01"),
        ("2025-04..2025-03", "2025-03-01..2025-05-01"),
        ("2025-03..2025", "2025-03-01..2026-01-01"),
        ("2025..today", "2025-01-01..2026-03-19"),
        ("March 2025", "2025-03-01..2025-04-01"),
        ("mar-2025", "2025-03-01..2025-04-01"),
        ("März 2025", "2025-03-01..2025-04-01"),
        ("march", "2026-03-01..2026-04-01"),
        ("december", "2025-12-01..2026-01-01"),
        ("today", "2026-03-18..2026-03-19"),
        ("Yesterday", "2026-03-17..2026-03-18"),
        ("this week", "2026-03-16..2026-03-23"),
        ("last week", "2026-03-09..2026-03-16"),
        ("last-week", "2026-03-09..2026-03-16"),
        ("past month", "2026-02-01..2026-03-01"),
        ("last year", "2025-01-01..2026-01-01"),
        ("last 7 days", "2026-03-12..2026-03-19"),
        ("last-2-weeks", "2026-03-05..2026-03-19"),
        ("past 2 months", "2026-01-18..2026-03-19"),
        ("last 2 years", "2024-03-18..2026-03-19"),
        ("3 days ago", "2026-03-15..2026-03-16"),
        ("3 months ago", "2025-12-01..2026-01-01"),
    ],
)
def test_days_that_a_text_names(text: str, days: str) -> None:
    assert "..".join(span(text, NOW) or ("nothing",)) == days


def test_the_same_day_of_a_shorter_month_is_its_last() -> None:
    assert span("last 1 month", date(2026, 3, 31)) == ("2026-02-28", "2026-04-01")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "2025-13",
        "2025..",
        "..2025",
        "2025-02-30",
        "25",
        "may be",
        "9999 years ago",
        "last",
    ],
)
def test_what_names_no_day(text: str) -> None:
    assert span(text, NOW) is None


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("date:march 2025 budget", "budget"),
        ("budget date:2025-03", "budget"),
        ('date:"march 2025" budget', "budget"),
        ("after:last week budget 2025", "budget 2025"),
        ("before:2 years ago budget", "budget"),
        ("date:today budget", "budget"),
        ("date:march budget 2025", "budget 2025"),
    ],
)
def test_a_day_of_several_words_is_one_filter(query: str, text: str) -> None:
    found = parse(query)
    assert found.text == text
    assert found.filters.dates or found.filters.after or found.filters.before


def test_a_date_that_is_none_says_what_to_write() -> None:
    for key in ("date", "after", "before"):
        with pytest.raises(InvalidInput, match="'never' is not a date") as error:
            parse(f"{key}:never")
        assert "last week" in error.value.suggestion


def test_dates_filter_documents(library: Library, notes: Path) -> None:
    yesterday = (date.today() - timedelta(1)).isoformat()
    days = {"old": "2025-03-09", "new": "2025-04-01", "late": yesterday}
    write(
        notes,
        {f"{name}.md": f"---\ndate: {day}\n---\n# {name}\n\nA harbour.\n" for name, day in days.items()},
    )
    index(library, "notes", notes)

    def found(query: str) -> set[str]:
        return {hit.document.title for hit in library.search(OWNER, query).hits}

    assert found("harbour date:march 2025") == {"old"}
    assert found("harbour date:2025-03 date:2025-04") == {"old", "new"}
    assert found("harbour -date:2025") == {"late"}
    assert found("harbour date:2025-02..2025-03-09") == {"old"}, "both ends are in it"
    assert found("harbour date:2025-03-10..2025-04") == {"new"}
    assert found("harbour date:2025..today") == {"old", "new", "late"}
    assert found("harbour date:last 2 days") == {"late"}
    assert found("harbour before:yesterday") == {"old", "new"}
    assert found("harbour after:yesterday") == {"late"}
    (notice,) = library.search(OWNER, "harbour date:1999").notices
    assert "1999" in notice.message
