"""The whole job in a real browser by the keyboard alone: Tab, Enter, Space and arrows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.chromium import FOCUSED, Watched, tab_to, watch
from tests.trees import write


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Watched]:
    """The app in an empty home, whose stores need no model."""
    notes = {
        "tomatoes.md": "# Growing tomatoes\n\nWater the seedlings every morning.\n",
        "water.py": "def water(): pass\n",
    }
    write(tmp_path / "home" / "garden", notes)
    environment = {
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "COMMONPLACE_ROOTS": str(tmp_path / "home"),
        "COMMONPLACE_EMBEDDER": "hashing",
    }
    with watch(tmp_path, environment) as watched:
        yield watched


def test_the_whole_job_needs_no_mouse(app: Watched) -> None:
    page, keys = app.page, app.page.keyboard
    app.open("/")
    tab_to(page, "Choose a folder")
    keys.press("Enter")

    expect(page.get_by_role("button", name="Browse")).to_be_visible()
    tab_to(page, "Browse")
    keys.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="garden")).to_be_visible()
    tab_to(page, "garden")
    keys.press("Enter")
    expect(page.get_by_text("No folder inside.")).to_be_visible()
    tab_to(page, "Use this folder")
    keys.press("Enter")
    expect(page.get_by_label("Name of the new store")).to_have_value("garden")
    tab_to(page, "Name of the new store")
    keys.press("Enter")
    expect(page.get_by_text("2 files")).to_be_visible()
    tab_to(page, "Everything readable")
    keys.press("ArrowRight")
    keys.press("Space")
    expect(page.get_by_text("1 file ·")).to_be_visible()
    tab_to(page, "Index now")
    keys.press("Space")

    expect(page.get_by_text("1 text embedded")).to_be_visible()
    app.settle()
    tab_to(page, "Search this store")
    keys.press("Enter")
    expect(page.get_by_label("Search your notes")).to_be_visible()
    tab_to(page, "Search your notes")
    keys.type("seedlings")
    keys.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Growing tomatoes")

    tab_to(page, "More filters")
    keys.press("Enter")
    keys.press("Tab")
    assert "From" in page.evaluate(FOCUSED), "what is unfolded is the next stop"
    tab_to(page, "Open document")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Growing tomatoes").first).to_be_visible()
    tab_to(page, "Back to the results")
    keys.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Growing tomatoes")
    expect(page.get_by_label("Search your notes")).to_have_value("seedlings")
    assert app.errors == []
