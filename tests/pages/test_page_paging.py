"""The foot of the Search page: its pages, where the list ends, how much of it fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import index
from tests.pages.search_page import open_page, shown, titles
from tests.pages.visiting import params
from tests.support.configured import configure
from ui.frame.deps import library

pytestmark = pytest.mark.thorough

COUNT = 25


@pytest.fixture(autouse=True)
def herons(owner: None, notes: Path) -> None:
    """A store of 25 notes, which the owner looks at."""
    for number in range(COUNT):
        text = f"---\ndate: 2026-01-{number + 1:02}\n---\n# Heron {number}\n\nA heron waits {number} times.\n"
        (notes / f"{number}.md").write_text(text, "utf-8")
    index(library(), "birds", notes)


def test_a_page_goes_on_where_the_one_before_ended() -> None:
    pages = [open_page(q="heron waits", page=str(number)) for number in (1, 2, 3)]
    found = [shown(page) for page in pages]
    assert [each["has_more"] for each in found] == [True, True, False]
    assert [each["status"].partition(" ·")[0] for each in found] == [
        "25 notes",
        "11–20 of 25 notes",
        "21–25 of 25 notes",
    ]
    assert [each["end"] for each in found] == ["", "", "That is all."]
    everything = [title for page in pages for title in titles(page)]
    assert len(everything) == COUNT
    assert {*everything} == {f"Heron {number}" for number in range(COUNT)}
    assert not shown(open_page(q="heron", k="30"))["has_more"]


def test_a_page_behind_the_end_says_so() -> None:
    assert shown(open_page(q="heron", page="9"))["status"].startswith("The list ends before this page")


def test_the_search_page_gives_as_many_notes_as_configured(home: Path) -> None:
    configure(home, "top_k: 3\n")
    app = open_page(q="heron")
    assert len(titles(app)) == 3
    assert params(app) == {"q": "heron"}, "what is configured is not in the address"
    assert len(titles(open_page(q="heron", k="5"))) == 5, "the address wins"
