"""One evening with the app in a real browser, from an empty home to a changed setting."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import Watched, places, watch
from tests.browser.page_homes import ASKED, NEW, Patient
from tests.support.standin import serving
from tests.support.trees import write

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

KEPT = "COMMONPLACE_JOURNEY"
"""Names a folder in which the pictures of the journey are kept."""
MAIN = "document.querySelector('[data-testid=stMain]')"


@pytest.fixture
def ollama() -> Iterator[Patient]:
    """Its embedder waits until ``go`` is set; its answers are whole."""
    with serving(Patient()) as running:
        running.end.set()
        yield running
        running.go.set()


@pytest.fixture
def app(tmp_path: Path, ollama: Patient) -> Iterator[Watched]:
    """The app in an empty home; among its folders is a vault."""
    notes = {
        f"birds/{number}.md": f"# Heron {number}\n\nHeron {number} waits for a fish. See [[{number - 1}]].\n"
        for number in range(1, 9)
    }
    write(tmp_path / "vault", {**notes, "0.md": f"# {NEW}\n\nIt flies.\n", ".obsidian/app.json": "{}"})
    more = {"COMMONPLACE_OLLAMA_URL": ollama.url, "COMMONPLACE_EMBEDDER": "ollama:embeddinggemma"}
    with watch(tmp_path, places(tmp_path) | more) as watched:
        yield watched


def test_from_an_empty_home_to_a_changed_setting(app: Watched, ollama: Patient) -> None:
    page, keys, numbers = app.page, app.page.keyboard, count(1)
    box, status = page.get_by_label("Search your notes"), page.get_by_role("status")

    def picture(name: str) -> None:
        app.rest()
        if folder := os.environ.get(KEPT):
            page.screenshot(path=Path(folder) / f"{next(numbers):02}-{name}.png")

    app.open("/")
    expect(page.get_by_role("heading", name="Which folder do you want to search?")).to_be_visible()
    page.get_by_role("button", name="vault").first.click()
    picture("found vault")
    page.get_by_role("button", name="Index now").click()

    # The run waits for its embedder, and words are found already.
    expect(box).to_be_focused()
    page.evaluate("window.same = true")
    keys.type("heron wai", delay=30)
    keys.type("ts", delay=200)
    page.locator('.cps-list[data-query="heron waits"]').wait_for()
    expect(status).to_contain_text("8 notes")
    expect(status).not_to_contain_text("up to date")
    expect(page).not_to_have_url(re.compile("q="))
    picture("typed while indexing")
    ollama.go.set()
    expect(status).to_contain_text("up to date")

    for _ in range(3):
        keys.press("ArrowDown")
    title = page.locator(".cps-card a").nth(2)
    expect(title).to_be_focused()
    third = title.inner_text()
    expect(page.get_by_label("Preview").get_by_role("heading", name=third).first).to_be_visible()
    picture("preview of the third")
    keys.press("Enter")
    expect(page.get_by_role("heading", name=third, level=1)).to_be_visible()
    picture("note")
    page.locator(".cp-note a").first.click()
    expect(page.get_by_role("heading", name=third, level=1)).to_have_count(0)
    expect(page.locator(".cp-note")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name=third, level=1)).to_be_visible()
    page.go_back()
    expect(box).to_have_value("heron waits")
    expect(page).to_have_url(re.compile(r"q=heron\+waits$|q=heron\+waits&store"))
    expect(page.get_by_role("link", name=third, exact=True)).to_be_focused()
    assert page.evaluate("window.same"), "the page was not loaded again"
    assert page.evaluate(f"{MAIN}.scrollTop") == 0

    page.get_by_role("button", name="Type", exact=True).click()
    picture("filter")
    page.get_by_role("menuitemcheckbox", name="markdown").click()
    expect(page).to_have_url(re.compile("type=markdown"))
    page.get_by_role("button", name="Table").click()
    expect(page.locator(".st-key-hit_table canvas").first).to_be_visible()
    picture("table")
    app.rest()
    page.get_by_role("button", name="Cards").click()
    expect(page.locator(".st-key-hit_table")).to_have_count(0)
    app.look("dark", 390, 844)
    picture("phone")
    lowest = page.locator(".cps-card").nth(2).bounding_box()
    assert lowest is not None
    assert lowest["y"] + lowest["height"] < 844, "three notes are seen at once"
    assert page.evaluate("document.documentElement.scrollWidth") == 390

    app.look("light", 1280)
    page.get_by_role("link", name="Ask").click()
    page.get_by_label("Model that answers").click()
    page.get_by_role("option", name="talker").click()
    expect(page.get_by_label("Model that answers")).to_have_count(0)
    page.get_by_label("Ask your notes").fill(ASKED)
    keys.press("Enter")
    expect(page.locator(".cp-true")).to_have_text(f'"{ASKED}"')
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    picture("answer")
    source = page.locator("#turn-1-1")
    source.locator("summary").click()
    expect(source).not_to_have_attribute("open", "")
    page.get_by_role("link", name="Passage 1").first.click()
    expect(source.get_by_text("waits for a fish")).to_be_visible()
    expect(source.locator("summary")).to_be_focused()
    assert page.evaluate("window.same")
    source.get_by_role("link", name="Open note").click()
    expect(page.locator(".cp-note")).to_be_visible()

    page.get_by_role("link", name="Settings").click()
    page.get_by_label("Model that answers").click()
    page.get_by_role("option", name="quote the notes").click()
    app.rest()
    picture("settings")
    page.get_by_role("link", name="Ask").click()
    expect(page.get_by_label("Model that answers")).to_be_visible()
    assert app.elsewhere == []
    assert app.errors == []
