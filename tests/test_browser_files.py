"""From a hit to its document and back, and through the list of files, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from tests.chromium import Watched, places, watch
from tests.conftest import index
from tests.stored import long_note

pytestmark = pytest.mark.browser

EVIL = "![x](http://evil.example/x.png) <img src=http://evil.example/y.png>"


@pytest.fixture
def app(tmp_path: Path, notes: Path) -> Iterator[Watched]:
    """The app over a long note, a note that links to it, and a hostile one."""
    (notes / "long.md").write_text(long_note(60))
    (notes / "map.md").write_text("# Map\n\nThe way to [[long]] and to [[evil]] is told here.\n")
    (notes / "evil.md").write_text(f'---\ntitle: "{EVIL}"\n---\n\nIt is <b>evil</b> http://evil.example/z.\n')
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    index(library, "notes", notes)
    library.close()
    with watch(tmp_path, places(tmp_path)) as watched:
        yield watched


def test_from_a_hit_to_its_document_and_through_the_list_of_files(app: Watched) -> None:
    page = app.page
    app.open("/?q=subject40&mode=lexical")
    expect(page.get_by_role("article").first).to_contain_text("subject40")
    app.rest()  # until then cards still move, and the click would meet another one's link
    page.get_by_label("Preview").get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name="A long note", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&path=long\.md&passage=[0-9a-f-]{36}&search="))
    expect(page.locator("#marked")).to_contain_text("subject40")
    expect(page.locator("#marked mark", has_text="subject40")).to_be_visible()
    expect(page.locator("#marked")).to_be_in_viewport()
    page.go_back()
    expect(page.get_by_label("Search your notes")).to_have_value("subject40")

    page.get_by_role("link", name="Files").click()
    expect(page.get_by_text("3 files", exact=True)).to_be_visible()
    box = page.get_by_label("Words in path or title")
    box.fill("map")
    box.press("Enter")
    expect(page.get_by_text("1 of 3 files")).to_be_visible()
    app.settle()
    expect(page.locator("[data-testid=stDataFrame] td", has_text="map.md")).to_be_attached()
    table = page.locator("[data-testid=stDataFrame] canvas").first
    assert (table.bounding_box() or {"width": 0})["width"] > 1000  # the page stays wide from run to run
    table.click(position={"x": 16, "y": 18 + 35}, force=True)  # its own overlay takes the click
    page.get_by_role("link", name="Open document").click()
    expect(page.get_by_role("heading", name="Map", level=1)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&path=map\.md$"))

    page.get_by_role("link", name=EVIL).click()
    expect(page.get_by_role("heading", name=re.compile("<img src="), level=1)).to_be_visible()
    expect(page.get_by_text("It is <b>evil</b> http://evil.example/z.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Map", level=1)).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"/files\?store=notes&q=map$"))
    expect(box).to_have_value("map")
    expect(page.get_by_text("1 of 3 files")).to_be_visible()

    assert app.elsewhere == []
    assert app.errors == []


def test_in_a_narrow_window_the_marked_passage_is_scrolled_to_and_then_left_alone(app: Watched) -> None:
    page = app.page
    page.set_viewport_size({"width": 390, "height": 600})
    app.open("/?q=subject40&mode=lexical")
    page.get_by_role("article").first.get_by_role("link").click()
    expect(page.locator("#marked mark", has_text="subject40")).to_be_in_viewport()
    app.rest()
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    app.rest()
    expect(page.get_by_role("heading", name="A long note", level=1)).to_be_in_viewport()
