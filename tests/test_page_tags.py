"""Tags on Search: a tag says how many notes choosing it gives, and a chosen one narrows a typed one."""

from __future__ import annotations

import pytest

from tests.pages import markup
from tests.search_page import Indexing, open_page, titles

pytestmark = pytest.mark.usefixtures("owner")


def test_a_tag_says_how_many_notes_choosing_it_gives(water_notes: Indexing) -> None:
    page = open_page(q="water")
    assert page.selectbox(key="search_tag").options == ["#drink (2)", "#drink/tea (1)"]
    page.selectbox(key="search_tag").set_value("drink").run()
    assert set(titles(page)) == {"Tea", "Coffee"}


def test_a_tag_chosen_beside_a_typed_one_narrows(water_notes: Indexing) -> None:
    assert set(titles(open_page(q="water tag:drink", tag="drink/tea"))) == {"Tea"}
    assert titles(open_page(q="water tag:none", tag="drink/tea")) == []
    assert "either of two tags" in markup(open_page())
