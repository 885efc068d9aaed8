"""The whole job in a real browser: open, point at a folder, index, search, open a hit, reload, Back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.chromium import Watched, watch

pytestmark = pytest.mark.browser


@pytest.fixture
def notes_home(tmp_path: Path, model_dir: Path) -> Path:
    """A home folder with a few notes in ``garden``, one of them hostile."""
    garden = tmp_path / "home" / "garden"
    garden.mkdir(parents=True)
    (garden / "tomatoes.md").write_text("# Growing tomatoes\n\nWater the seedlings every morning.\n")
    (garden / "compost.md").write_text("# Compost\n\nKitchen scraps and dry leaves make rich soil.\n")
    (garden / "tools.md").write_text("# Tools\n\nSharpen the secateurs before winter.\n")
    (garden / "evil.md").write_text(
        "# ![x](http://evil.example/x.png) <img src=http://evil.example/y.png>\n\n"
        "<script>document.title = 'owned'</script> tomatoes http://evil.example/z\n"
    )
    return garden.parent


@pytest.fixture
def app(tmp_path: Path, notes_home: Path, model_dir: Path) -> Iterator[Watched]:
    """The app in an empty home, watched."""
    environment = {
        "COMMONPLACE_HOME": str(tmp_path / "data"),
        "COMMONPLACE_MODELS": str(model_dir),
        "COMMONPLACE_ROOTS": str(notes_home),
    }
    with watch(tmp_path, environment) as watched:
        yield watched


def index_by_clicking(app: Watched) -> None:
    """Make a store and index the folder ``garden`` with the mouse alone but for the name."""
    page = app.page
    page.get_by_role("button", name="Choose a folder").click()
    page.get_by_role("dialog").get_by_role("button", name="garden").click()
    expect(page.get_by_text("No folder inside.")).to_be_visible()
    page.get_by_role("button", name="Use this folder").click()
    expect(page.get_by_label("Name of the new store")).to_have_value("garden")
    page.get_by_label("Name of the new store").fill("plants")
    page.get_by_role("button", name="Create store").click()
    expect(page.get_by_text("4 files")).to_be_visible()
    page.get_by_role("button", name="Index now").click()
    expect(page.get_by_role("link", name="Search this store")).to_be_visible()
    expect(page.get_by_text("4 passages added and embedded")).to_be_visible()


def test_the_whole_job_from_an_empty_home_to_a_passage_and_back(app: Watched) -> None:
    page = app.page
    app.open("/")
    index_by_clicking(app)

    page.get_by_role("link", name="Search this store").click()
    expect(page).to_have_url(re.compile(r"/\?store=plants"))
    app.search("watering young plants")
    first = page.get_by_role("article").first
    expect(first).to_contain_text("Growing tomatoes")
    expect(first).to_contain_text("tomatoes.md:1-3")
    expect(page).to_have_url(re.compile(r"q=watering"))

    page.get_by_text("Whole passage").first.click()
    expect(page.get_by_text("Lines 1-3").first).to_be_visible()

    app.search("kitchen scraps")
    expect(page.get_by_role("article").first).to_contain_text("Compost")
    expect(page.locator("mark").first).to_have_text(re.compile("kitchen", re.IGNORECASE))

    page.reload()
    expect(page.get_by_role("article").first).to_contain_text("Compost")
    expect(page.get_by_label("Search your notes")).to_have_value("kitchen scraps")

    page.go_back()
    expect(page.get_by_label("Search your notes")).to_have_value("watering young plants")
    expect(page.get_by_role("article").first).to_contain_text("Growing tomatoes")

    app.search("tomatoes http evil")
    expect(page.get_by_role("article").first).to_contain_text("<img src=http://evil.example/y.png>")
    assert "owned" not in page.title()

    assert app.elsewhere == []
    assert app.errors == []
