"""The foot of the Search page: its pages, where the list ends, how much of it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import index
from tests.pages import has_key, params, press, press_label
from tests.search_page import open_page, said, titles
from ui import results
from ui.deps import library
from ui.search_state import Choices, from_params

COUNT = 25


@pytest.fixture(autouse=True)
def herons(owner: None, notes: Path) -> None:
    """A store of 25 notes, which the owner looks at."""
    for number in range(COUNT):
        text = f"---\ndate: 2026-01-{number + 1:02}\n---\n# Heron {number}\n\nA heron waits {number} times.\n"
        (notes / f"{number}.md").write_text(text)
    index(library(), "birds", notes)


def test_next_shows_what_follows_and_previous_what_was_before() -> None:
    first = open_page(q="heron waits")
    before = titles(first)
    second = press(first, "page_after")
    assert params(second) == {"q": "heron waits", "page": "2"}
    assert any(line.startswith("Passages 11 to 20 of 25: 10 matches ") for line in said(second))
    between = titles(second)
    third = press(second, "page_after")
    after = titles(third)
    assert {*before, *between, *after} == {f"Heron {number}" for number in range(COUNT)}
    assert len(before) + len(between) + len(after) == COUNT
    assert titles(press(third, "page_before")) == between
    assert params(press(third, "page_before")) == {"q": "heron waits"}


def test_first_page_has_nothing_before_and_last_page_nothing_behind() -> None:
    first = open_page(q="heron")
    assert (first.button(key="page_before").disabled, first.button(key="page_after").disabled) == (
        True,
        False,
    )
    last = open_page(q="heron", page="3")
    assert (last.button(key="page_before").disabled, last.button(key="page_after").disabled) == (False, True)
    assert "That is all: 25 passages." in said(last)
    assert "That is all: 25 passages." not in said(first)
    whole = open_page(q="heron", k="30")
    assert not has_key(whole, "page_after")
    assert "That is all: 25 passages." in said(whole)


def test_list_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.search.retrieve.MAX_DEPTH", 20)
    monkeypatch.setattr("ui.results.MAX_DEPTH", 20)
    page = open_page(q="heron", page="2")
    assert page.button(key="page_after").disabled
    assert results.LAST_PAGE in said(page)


@pytest.mark.parametrize("change", ["query", "filter", "number", "cleared"])
def test_another_list_begins_at_its_first_page(change: str) -> None:
    page = open_page(q="heron", page="2", **({"type": "markdown"} if change == "cleared" else {}))
    match change:
        case "query":
            page.text_input[0].set_value("heron waits")
            press_label(page, "Search")
        case "filter":
            page.selectbox(key="search_type").set_value("markdown").run()
        case "number":
            page.number_input[0].set_value(5).run()
        case "cleared":
            press(page, "clear_filters")
    assert "page" not in params(page)
    assert titles(page)


def test_table_shows_the_page_that_the_cards_showed() -> None:
    page = press(open_page(q="heron"), "page_after")
    cards = titles(page)
    page.segmented_control(key="search_view").set_value("table").run()
    assert not page.exception
    assert params(page) == {"q": "heron", "page": "2", "view": "table"}
    table = page.dataframe[0].value
    assert list(table["#"]) == list(range(11, 21))
    assert list(table["Title"]) == cards
    assert list(press(page, "page_after").dataframe[0].value["#"]) == list(range(21, 26))


@pytest.mark.parametrize("page", ["0", "-1", "x", "101", "1e9", "nan"])
def test_page_that_cannot_be_is_the_first(page: str) -> None:
    assert from_params({"page": [page]}, Choices((), {}, {}, {})).page == 1
