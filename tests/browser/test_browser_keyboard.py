"""All that a person does in a real browser by the keyboard alone: Tab, Enter, Space and arrows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import FOCUSED, Watched, library_of, places, tab_to, watch
from tests.support.standin import nobody
from tests.support.trees import write

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


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
    expect(page.get_by_role("textbox", name="Folder")).to_be_focused()
    tab_to(page, "Browse")
    keys.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("button", name="garden")).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_text("No folder inside.")).to_be_visible()
    tab_to(page, "Use this folder")
    keys.press("Enter")
    expect(page.get_by_text("2 files")).to_be_visible()
    tab_to(page, "Everything readable")
    keys.press("ArrowRight")
    keys.press("Space")
    expect(page.get_by_text("1 file ·")).to_be_visible()
    tab_to(page, "Index now")
    keys.press("Space")

    expect(page.get_by_label("Search your notes")).to_be_focused()
    keys.type("seedlings")
    keys.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Growing tomatoes")
    page.reload()
    expect(page.get_by_role("article")).to_contain_text("Water the seedlings every morning.")
    expect(page).to_have_url(re.compile(r"q=seedlings"))

    expect(page.get_by_label("Search your notes")).to_be_focused()
    tab_to(page, "Type")
    keys.press("Enter")
    assert "markdown" in page.evaluate(FOCUSED), "what is unfolded has the focus"
    keys.press("Escape")
    assert "Type" in page.evaluate(FOCUSED)
    keys.press("/")
    keys.press("ArrowDown")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Growing tomatoes").first).to_be_visible()
    tab_to(page, "Results")
    keys.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Growing tomatoes")
    expect(page.get_by_label("Search your notes")).to_have_value("seedlings")
    assert app.elsewhere == []
    assert app.errors == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keyboard")


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[Library]:
    """A store of three files."""
    notes = {f"{name}.md": f"# {name}\n\nThe {name} grows.\n" for name in ("Rose", "Tulip")}
    with library_of(folder, "garden", {**notes, "water.py": "def water(): pass\n"}) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(folder: Path, library: Library) -> Iterator[Watched]:
    """The app over these stores, without a model that answers."""
    with watch(folder, places(folder) | {"COMMONPLACE_OLLAMA_URL": nobody()}) as watched:
        yield watched
        assert watched.errors == []


def press(app: Watched, name: str, key: str = "Enter") -> None:
    """Go to what is called ``name`` by the Tab key, and press a key there."""
    app.rest()
    tab_to(app.page, name)
    app.page.keyboard.press(key)


def test_a_file_is_chosen_in_the_table_excluded_and_taken_back(filled: Watched, library: Library) -> None:
    page = filled.page
    filled.open("/files?store=garden&q=rose")
    expect(page.locator(".st-key-files_table canvas").first).to_be_visible()
    press(filled, "Why is a file not found?", "Tab")
    assert page.evaluate("document.activeElement.closest('.st-key-files_table') !== null")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+Space")
    expect(page.get_by_role("link", name="Open document")).to_be_visible()
    press(filled, "Exclude", "Space")
    expect(page.get_by_role("button", name="Include again")).to_be_visible()
    [rose] = [file for file in library.files.all(OWNER, "garden") if file.path == "Rose.md"]
    assert rose.state == "excluded"
    press(filled, "Include again")
    expect(page.get_by_role("button", name="Include again")).to_have_count(0)
    expect(page.get_by_text("1 of 3 files")).to_be_visible()
    filled.open("/?q=rose+grows")
    expect(page.get_by_role("article").first).to_contain_text("The Rose grows.")


@pytest.mark.parametrize("begun", ["/files?store=garden", "/?q=rose&type=markdown"])
def test_what_is_typed_after_a_press_on_search_is_in_the_box(filled: Watched, begun: str) -> None:
    page = filled.page
    filled.open(begun)
    filled.rest()
    page.locator(".st-key-pages").get_by_role("link", name="Search").click()
    page.keyboard.type("tulip", delay=20)
    page.locator('.cps-list[data-query="tulip"]').wait_for()
    expect(page.get_by_label("Search your notes")).to_have_value("tulip")
    expect(page.get_by_label("Search your notes")).to_be_focused()
    expect(page).not_to_have_url(re.compile("type="))


def test_a_menu_is_entered_and_left_by_the_keyboard(filled: Watched) -> None:
    page, keys = filled.page, filled.page.keyboard
    filled.open("/files?store=garden&path=Tulip.md")
    filled.rest()
    button = page.get_by_role("button", name="More")
    button.focus()
    keys.press("Enter")
    expect(page.get_by_test_id("stPopoverBody").locator(":focus")).to_have_count(1)
    keys.press("Escape")
    expect(button).to_be_focused()
    expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
