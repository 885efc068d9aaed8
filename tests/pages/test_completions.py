"""The values that a filter can have while it is typed."""

from __future__ import annotations

from datetime import date

import pytest

from ui.frame.search_state import Choices
from ui.search.completions import completions, is_half, typed

OFFERED = Choices(
    ("notes", "work"),
    {"mail": 3, "markdown": 9, "pdf": 1},
    {"drink/tea": 2, "iced tea": 1},
    {"/": 4, "projects/garden": 2, "projects": 3},
    years={"2025": 5, "2024": 7},
)
STORES = {"notes": 12, "work": 4}
TODAY = date(2026, 3, 15)


def offered_for(text: str) -> dict[str, tuple[str, str]]:
    """The values that are offered for a text: what is next to each, and the text that it makes."""
    half = typed(text)
    assert half is not None
    return {each.label: (each.beside, each.text) for each in completions(half, OFFERED, STORES, TODAY)}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("type:", {"markdown": ("9", "type:markdown "), "mail": ("3", "type:mail "),
                   "pdf": ("1", "type:pdf ")}),
        ("green -type:ma", {"markdown": ("9", "green -type:markdown "), "mail": ("3", "green -type:mail ")}),
        ("tag:tea", {"drink/tea": ("2", "tag:drink/tea "), "iced tea": ("1", 'tag:"iced tea" ')}),
        ('tag:"iced', {"iced tea": ("1", 'tag:"iced tea" ')}),
        ("path:gard", {"projects/garden": ("2", "path:projects/garden ")}),
        ("folder:projects", {"projects": ("3", "folder:projects "),
                             "projects/garden": ("2", "folder:projects/garden ")}),
        ("store:w", {"work": ("4", "store:work ")}),
        ("date:last w", {"last week": ("2026-03-02 – 2026-03-08", "date:last week ")}),
        ("after:2024", {"2024": ("7", "after:2024 ")} | {
            f"2024-{month:02}": (offered, f"after:2024-{month:02} ")
            for month, offered in enumerate(
                ["2024-01-01 – 2024-01-31", "2024-02-01 – 2024-02-29", "2024-03-01 – 2024-03-31",
                 "2024-04-01 – 2024-04-30", "2024-05-01 – 2024-05-31", "2024-06-01 – 2024-06-30",
                 "2024-07-01 – 2024-07-31"], 1)}),
        ("before:tod", {"today": ("2026-03-15", "before:today ")}),
        ("tea date:2026-01..2026-0", {
            "2026-03": ("2026-03-01 – 2026-03-31", "tea date:2026-01..2026-03 "),
            "2026-02": ("2026-02-01 – 2026-02-28", "tea date:2026-01..2026-02 "),
            "2026-01": ("2026-01-01 – 2026-01-31", "tea date:2026-01..2026-01 ")}),
        ("date:2025..", {
            "today": ("2026-03-15", "date:2025..today "),
            "yesterday": ("2026-03-14", "date:2025..yesterday "),
            "2025": ("5", "date:2025..2025 "),
            "2026-03": ("2026-03-01 – 2026-03-31", "date:2025..2026-03 "),
            "2026-02": ("2026-02-01 – 2026-02-28", "date:2025..2026-02 "),
            "2026-01": ("2026-01-01 – 2026-01-31", "date:2025..2026-01 ")}),
    ],
)  # fmt: skip
def test_values_are_offered_with_counts(text: str, values: dict[str, tuple[str, str]]) -> None:
    assert offered_for(text) == values


@pytest.mark.parametrize(
    "text", ["", "tea", "type:mail tea", "type:mail ", "http:", "subtype:", "before:today "]
)
def test_a_text_that_ends_with_no_filter_has_no_values(text: str) -> None:
    assert typed(text) is None


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("type:", True), ("type:mai", True), ("type:mail", False), ("type:email", False), ("tag:dri", True),
        ("tag:drink", False),
        ("before:203", True), ("before:2030", False), ("before:2030-", True), ("date:last", True),
        ("date:2026-01..", True), ("date:2026-01..20", True), ("date:2026-01..2026-03", False),
        ("store:no", True), ("store:notes", False), ("path:garage", False),
    ],
)  # fmt: skip
def test_a_value_that_can_be_searched_is_not_half_typed(text: str, half: bool) -> None:
    filter_at_the_end = typed(text)
    assert filter_at_the_end is not None
    assert is_half(filter_at_the_end, OFFERED, STORES) == half
