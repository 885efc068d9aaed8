"""The foot of the Search page: its pages, where the list ends, how much of it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.configured import configure
from tests.conftest import index
from tests.pages import has_key, params, press, press_label
from tests.search_page import open_page, said, titles
from ui import results
from ui.deps import library

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
    assert first.button(key="page_before").disabled
    assert not has_key(open_page(q="heron", k="30"), "page_after")
    second = press(first, "page_after")
    assert params(second) == {"q": "heron waits", "page": "2"}
    assert any(line.startswith("Documents 11 to 20 of 25: 10 documents ") for line in said(second))
    between = titles(second)
    third = press(second, "page_after")
    after = titles(third)
    assert third.button(key="page_after").disabled
    assert "That is all: 25 documents." in said(third)
    assert {*before, *between, *after} == {f"Heron {number}" for number in range(COUNT)}
    assert len(before) + len(between) + len(after) == COUNT
    assert titles(press(third, "page_before")) == between
    assert params(press(third, "page_before")) == {"q": "heron waits"}


def test_list_that_is_cut_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.search.retrieve.MAX_DEPTH", 20)
    monkeypatch.setattr("ui.results.MAX_DEPTH", 20)
    page = open_page(q="heron", page="2")
    assert page.button(key="page_after").disabled
    assert results.LAST_PAGE in said(page)


def test_another_list_begins_at_its_first_page() -> None:
    page = open_page(q="heron", page="2", type="markdown")
    press(page, "clear_filters")
    assert params(page) == {"q": "heron"}
    page = open_page(q="heron", page="2")
    page.selectbox(key="search_type").set_value("markdown").run()
    assert params(page) == {"q": "heron", "type": "markdown"}
    press(page, "page_after").text_input[0].set_value("heron waits")
    press_label(page, "Search")
    assert params(page) == {"q": "heron waits", "type": "markdown"}
    assert titles(page)


def test_the_search_page_gives_as_many_passages_as_configured(home: Path) -> None:
    configure(home, "top_k: 3\n")
    app = open_page(q="heron")
    assert len(titles(app)) == 3
    assert params(app) == {"q": "heron"}, "what is configured is not in the address"
    assert len(titles(open_page(q="heron", k="5"))) == 5, "the address wins"
