"""What is suggested before a search is complete, and to whom."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from rag_core.errors import Forbidden
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from rag_core.wording import age
from tests.conftest import index
from tests.support.trees import write

GUEST = Viewer("ann@example.org", stores=frozenset({"notes"}))
NOTES = {
    "tea.md": "---\naliases: [Chai]\ntags: [drink/tea]\n---\n# Green tea\n\nHot.\n",
    "greek.md": "---\ntags: [drink]\n---\n# Greek\n\nLetters.\n",
    "secret.md": "---\nprivate: true\ntags: [drink, drat]\n---\n# Greed\n\nMine.\n",
}


@pytest.fixture
def filled(library: Library, notes: Path) -> Library:
    write(notes, NOTES)
    index(library, "notes", notes)
    return library


def test_names_that_begin_so_are_suggested_the_shortest_first(filled: Library) -> None:
    def titles(text: str) -> list[str]:
        return [each.title for each in filled.searching.suggest(OWNER, text).documents]

    assert titles("gree") == ["Greed", "Greek", "Green tea"]
    assert titles("CHA") == ["Green tea"]
    assert titles("tea") == ["Green tea"], "its file is called so"
    assert titles("letters") == []
    assert titles("%") == titles("_") == []


def test_tags_that_begin_so_have_their_numbers(filled: Library) -> None:
    assert filled.searching.suggest(OWNER, "#dr").tags == (("drink", 3), ("drat", 1), ("drink/tea", 1))


def test_a_guest_is_suggested_nothing_private_and_nothing_the_owner_did(filled: Library) -> None:
    filled.searching.remember(OWNER, "my search", ("notes", "tea.md"))
    found = filled.searching.suggest(GUEST, "gree")
    assert [each.title for each in found.documents] == ["Greek", "Green tea"]
    assert filled.searching.suggest(GUEST, "dr").tags == (("drink", 2), ("drink/tea", 1))
    start = filled.searching.suggest(GUEST, "")
    assert {each.title for each in start.changed} == {"Greek", "Green tea"}
    assert (start.searches, start.opened) == ((), ())
    nobody = filled.searching.suggest(Viewer("bob@example.org"), "gree")
    assert (nobody.documents, nobody.tags) == ((), ())
    for forbidden in (lambda: filled.searching.remember(GUEST, "x"), lambda: filled.searching.forget(GUEST)):
        with pytest.raises(Forbidden):
            forbidden()


def test_recent_searches_are_kept_newest_first(
    filled: Library,
) -> None:
    assert filled.searching.suggest(OWNER, "").searches == ()
    for text in ("one", "two", "one", " "):
        filled.searching.remember(OWNER, text)
    for path in ("tea.md", "gone.md", "greek.md"):
        filled.searching.remember(OWNER, document=("notes", path))
    start = filled.searching.suggest(OWNER, "")
    assert start.searches == ("one", "two")
    assert [each.path for each in start.opened] == ["greek.md", "tea.md"]
    filled.searching.forget(OWNER)
    assert filled.searching.suggest(OWNER, "").searches == ()


def test_an_age_is_said_in_one_unit() -> None:
    today = date(2026, 6, 30)
    days = {"2026-06-30": "today", "2026-06-27": "3 d", "2026-06-16": "2 w", "2026-04-30": "2 mo",
            "2024-06-01": "2 y", "2027-01-01": "today", "": "", "long ago": ""}  # fmt: skip
    assert {day: age(day, today) for day in days} == days
