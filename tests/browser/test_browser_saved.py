"""Searches that are saved, opened with what is new in them, and removed, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, library_of, places, watch
from tests.conftest import index
from tests.support.trees import write

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

OPEN = "---\nstatus: open\n---\n# Heron {}\n\nThe heron waits.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    notes = {"1.md": OPEN.format(1), "2.md": OPEN.format(2)}
    with library_of(tmp_path, "birds", notes) as opened:
        yield opened


@pytest.fixture
def app(tmp_path: Path, library: Library) -> Iterator[Watched]:
    with watch(tmp_path, places(tmp_path)) as watched:
        yield watched
        assert watched.errors == []


def test_a_saved_search_says_what_is_new_until_it_is_opened(
    app: Watched, library: Library, tmp_path: Path
) -> None:
    page = app.page
    app.open("/?q=heron+waits&has=status%3A%3Dopen&sort=newest")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Name of the search").fill("Open herons")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Saved", exact=True)).to_be_visible()
    app.open("/")
    saved = page.locator(".cps-saved")
    expect(saved).to_have_text(re.compile("^Open herons✎×$"))
    write(tmp_path / "notes", {"3.md": OPEN.format(3)})
    index(library, "birds", tmp_path / "notes")
    app.open("/")
    expect(saved).to_contain_text("1 new")
    app.rest()
    assert Axe().run(page).response["violations"] == []
    saved.get_by_role("button").first.click()
    expect(page).to_have_url(re.compile(r"q=heron\+waits"))
    expect(page).to_have_url(re.compile("has=status.*sort=newest"))
    expect(page.locator(".cps-card")).to_have_count(3)
    app.open("/")
    expect(saved).to_have_text(re.compile("^Open herons✎×$"))
    page.get_by_role("button", name="Remove Open herons").click()
    expect(saved).to_have_count(0)


def test_a_saved_search_is_renamed_by_the_keys_alone(app: Watched, library: Library) -> None:
    for name in ("Herons", "Waits"):
        library.saved.save(OWNER, name, "heron waits")
    page, keys = app.page, app.page.keyboard
    app.open("/")
    rename = page.get_by_role("button", name="Rename Herons")
    rename.focus()
    keys.press("Enter")
    new_name = page.get_by_label("New name of Herons")
    expect(new_name).to_be_focused()
    app.rest()
    assert Axe().run(page).response["violations"] == []
    keys.type("Never")
    keys.press("Escape")
    expect(rename).to_be_focused()
    keys.press("Enter")
    keys.type("waits")
    keys.press("Enter")
    expect(page.locator(".cps-error")).to_contain_text("There is a saved search 'waits'.")
    new_name.fill("Grey herons")
    keys.press("Enter")
    expect(page.locator(".cps-saved .cps-item")).to_have_text(["Grey herons", "Waits"])
    assert [each.name for each in library.saved.searches(OWNER)] == ["Grey herons", "Waits"]


def test_save_is_whole_beside_many_filters(app: Watched) -> None:
    page = app.page
    page.set_viewport_size({"width": 1280, "height": 800})
    app.open("/?q=heron+waits&has=status%3A%3Dopen&min=0.1&sort=newest&after=2020-01-01&type=markdown")
    save = page.get_by_role("button", name="Save", exact=True)
    page.locator(".cps-status").evaluate(
        "line => line.textContent += ' · Embedding passages · 12,663 of 19,440'"
    )
    assert save.evaluate("button => button.scrollWidth <= button.clientWidth")
