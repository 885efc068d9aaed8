"""The filters of the Search page as chips: what they count, hold and change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.search_page import Indexing, chip, open_page, option, shown, titles
from tests.support.configured import configure
from ui.search.filters import with_parents

pytestmark = pytest.mark.usefixtures("owner")


def test_an_active_filter_is_shown_and_can_be_taken_away(water_notes: Indexing) -> None:
    chips = shown(open_page(q="water", after="2026-01-01", type="markdown"))["chips"]
    active = {each["shown"]: each["clear"] for each in chips if each["shown"]}
    assert active == {"markdown": {"type": []}, "From 2026-01-01": {"after": [], "before": []}}


def test_the_filters_count_what_was_found_and_know_folders_by_their_last_name(water_notes: Indexing) -> None:
    page = open_page(q="coffee", mode="lexical")
    assert option(page, "Type", "markdown")["beside"] == "1"
    page = open_page(q="butt", mode="lexical")
    garden = option(page, "Folder", "garden")
    assert (garden["beside"], garden["hint"]) == ("1", "projects/garden")
    assert garden["params"] == {"path": ["projects/garden"]}


def test_the_score_chip_counts_what_has_each_tenth_and_keeps_it(water_notes: Indexing) -> None:
    page = open_page(q="green tea water")
    scores = [card["score"] for card in shown(page)["cards"]]
    for way in chip(page, "Score")["options"]:
        least = float(way["params"]["min"][0])
        assert way["beside"] == str(sum(score >= least for score in scores)), way
    kept = shown(open_page(q="green tea water", min="0.7"))
    assert [card["score"] for card in kept["cards"]] == [score for score in scores if score >= 0.7]
    assert chip(open_page(q="green tea water", min="0.7"), "Score ≥ 70 %")["clear"] == {"min": []}


def test_the_least_score_of_the_settings_can_be_taken_away(home: Path, water_notes: Indexing) -> None:
    configure(home, "min_score: 0.99\n")
    page = open_page(q="green tea water")
    assert chip(page, "Score ≥ 99 %")["clear"] == {"min": ["0"]}
    assert len(titles(open_page(q="green tea water", min="0"))) > len(titles(page))


def test_results_are_sorted_as_the_sort_chip_says(water_notes: Indexing) -> None:
    assert option(open_page(q="water"), "Sort", "Newest first")["params"] == {"sort": ["newest"]}
    for sort, order in (
        ("newest", ["Tea", "Coffee"]),
        ("oldest", ["Coffee", "Tea"]),
        ("name", ["Coffee", "Tea"]),
    ):
        page = open_page(q="wants water tag:drink", sort=sort)
        assert titles(page) == order, sort
        rows = open_page(q="wants water tag:drink", sort=sort, view="table").dataframe[0].value
        assert [*rows["Name"]] == [f"{name.lower()}.md" for name in order]
    assert option(page, "By name", "Best first")["params"] == {"sort": []}


def test_the_properties_of_what_was_found_are_chips(indexing: Indexing) -> None:
    indexing(
        {
            f"{number}.md": f"---\nstatus: {status}\n---\n# Plan {number}\n\nThe plan of the house.\n"
            for number, status in enumerate(("open", "open", "done"))
        }
    )
    page = open_page(q="plan house")
    offered = option(page, "status", "open")
    assert (offered["label"], offered["beside"]) == ("open", "2")
    assert offered["params"] == {"has": ["status:=open"]}
    page = open_page(q="plan house", has="status:=open")
    other = option(page, "status: open", "done")
    assert (other["beside"], other["params"]) == ("1", {"has": ["status:=open", "status:=done"]})
    assert sorted(titles(page)) == ["Plan 0", "Plan 1"]
    assert chip(page, "status: open")["clear"] == {"has": []}
    page = open_page(q="plan house", has=["status:=open", "status:=done"])
    assert len(titles(page)) == 3
    assert option(page, "status: open, done", "done")["params"] == {"has": ["status:=open"]}


def test_folders_are_a_tree(indexing: Indexing) -> None:
    indexing(
        {
            f"{path}/note.md": f"# Heron\n\nA heron of {path}.\n"
            for path in ("b", "a/week 10", "a/week 2", "a")
        }
    )
    folders = chip(open_page(q="heron"), "Folder")
    assert folders["is_tree"]
    assert [(way["hint"], way["beside"]) for way in folders["options"]] == [
        ("a", "3"),
        ("a/week 2", "1"),
        ("a/week 10", "1"),
        ("b", "1"),
    ]


def test_folders_stand_as_people_count_with_what_is_below_them() -> None:
    assert with_parents({"a/b": 2, "a": 1, "": 3}) == {"/": 3, "a": 3, "a/b": 2}
    names = ["B", "week 10", "week 2", "week 2 (old)", "week 2/a", "week 2/A/1", "2026", "²"]
    assert list(with_parents(dict.fromkeys(names, 1))) == [
        "2026", "B", "week 2", "week 2/a", "week 2/A", "week 2/A/1", "week 2 (old)", "week 10", "²",
    ]  # fmt: skip


def test_numbers_follow_the_least_score_and_say_where_they_are_lower_bounds(indexing: Indexing) -> None:
    states = ("open", "done")
    indexing(
        {
            f"{n}.md": f"---\nstatus: {states[n % 2]}\n---\n# N{n}\n\n{'heron ' * (n % 40)} in reed {n}.\n"
            for n in range(160)
        }
    )
    for least in ("0", "0.9"):
        page = open_page(q="heron reed", mode="lexical", min=least)
        numbers = {way["label"]: way["beside"] for way in chip(page, "status")["options"]}
        total = sum(int(number.rstrip("+")) for number in numbers.values())
        mark = "+" if numbers["open"].endswith("+") else ""
        assert shown(page)["status"].startswith(f"{total}{mark} notes"), (least, numbers)
        assert option(page, "Type", "markdown")["beside"] == f"{total}{mark}"
        if least == "0":
            assert mark == "+"


def test_a_chosen_chip_offers_the_other_values(water_notes: Indexing) -> None:
    page = open_page(q="water", type="markdown", path="projects/garden", mode="lexical")
    free = open_page(q="water", path="projects", mode="lexical")
    assert option(free, "Type", "python")["beside"] == "1"
    assert option(page, "garden", "projects")["params"] == {"path": ["projects"]}
    page = open_page(q="water", type="markdown", path="projects", mode="lexical")
    assert option(page, "markdown", "python") == option(free, "Type", "python")
