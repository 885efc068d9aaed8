"""Cards that are unfolded where they stand, by mouse, by keys and by a tap."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from tests.browser.chromium import Watched, watched_store
from tests.pages.visiting import HOSTILE

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A store of three notes on herons with three passages each, and a hostile one."""
    folder = tmp_path_factory.mktemp("cards")
    notes = {
        f"{name}.md": f"---\ntags: [bird]\ndate: 2026-0{number}-02\n---\n# {name}\n\n"
        + "\n\n".join(
            f"## Part {part}\n\n" + f"{name} number{part} herons wait " * 20 for part in range(1, 4)
        )
        for number, name in enumerate(("Grey", "Purple", "Squacco"), 1)
    }
    with watched_store(folder, "birds", {**notes, "odd.md": f"# Odd\n\nHerons {HOSTILE}\n"}) as watched:
        yield watched


def card(app: Watched, name: str) -> Locator:
    return app.page.get_by_role("article").filter(has=app.page.get_by_role("heading", name=name, exact=True))


def more_of(app: Watched, name: str) -> Locator:
    return app.page.get_by_role("button", name=f"More of {name}")


def expect_unfolded(app: Watched, name: str) -> None:
    """The whole passage, the two others of the note, what is known of it and what can be done with it."""
    expect(more_of(app, name)).to_have_attribute("aria-expanded", "true")
    unfolded = card(app, name).locator(".cps-unfolded")
    expect(unfolded.locator(".cps-other")).to_have_count(2)
    for term in ("Found by", "Score", "Type", "Date", "Tags", "Store", "BM25"):
        expect(unfolded.locator("dt").filter(has_text=re.compile(f"^{term}$"))).to_be_visible()
    expect(unfolded.locator("dd").filter(has_text=re.compile(r"^\d+%$"))).to_be_visible()
    expect(unfolded.get_by_role("link", name="Open", exact=True)).to_be_visible()
    expect(unfolded.get_by_role("link", name=re.compile("Open in"))).to_be_visible()
    expect(unfolded.get_by_role("button", name="Copy path")).to_be_visible()


def test_cards_are_unfolded_by_mouse_and_by_arrows_and_several_stay_open(app: Watched) -> None:
    page, keys = app.page, app.page.keyboard
    app.look("light", 1280)
    app.open("/?q=herons")
    expect(page.locator(".cps-card").first).to_be_visible()
    first, second, third = page.locator(".cps-card:not(.cps-near) h2").all_inner_texts()[:3]
    more_of(app, first).click()
    more_of(app, second).click()
    expect_unfolded(app, first)
    expect_unfolded(app, second)
    page.get_by_role("link", name=third, exact=True).focus()
    keys.press("ArrowRight")
    expect_unfolded(app, third)
    keys.press("ArrowRight")
    expect_unfolded(app, third)
    assert Axe().run(page).response["violations"] == []
    expect(page.get_by_label("Preview").get_by_role("heading", name=third).first).to_be_visible()
    keys.press("ArrowLeft")
    expect(more_of(app, third)).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_role("link", name=third, exact=True)).to_be_focused()
    expect_unfolded(app, first)
    card(app, second).locator(".cps-unfolded").get_by_role("button", name="Copy path").focus()
    keys.press("ArrowLeft")
    expect(page.get_by_role("link", name=second, exact=True)).to_be_focused()


def test_cards_stay_unfolded_for_the_same_search(app: Watched) -> None:
    page = app.page
    app.look("light", 1280)
    app.open("/?q=herons")
    first = page.locator(".cps-card h2").first.inner_text()
    more_of(app, first).click()
    expect_unfolded(app, first)
    page.evaluate("window.dispatchEvent(new Event('news'))")
    app.settle()
    expect_unfolded(app, first)
    app.search("herons wait")
    page.locator('.cps-list[data-query="herons wait"]').wait_for()
    expect(more_of(app, first)).to_have_attribute("aria-expanded", "false")


def test_on_a_phone_a_tap_unfolds_and_only_open_leaves_the_page(app: Watched) -> None:
    page = app.page
    app.look("dark", 390, 844)
    app.open("/?q=herons")
    expect(page.locator(".cps-card").first).to_be_visible()
    first, second = page.locator(".cps-card h2").all_inner_texts()[:2]
    expect(card(app, first).locator(".cps-why span").first).to_be_visible()  # why it was found
    page.get_by_role("link", name=first, exact=True).click()
    expect_unfolded(app, first)
    card(app, second).locator(".cps-extract").click()
    expect_unfolded(app, second)
    expect(page).to_have_url(re.compile(r"/\?q=herons#open="))
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    app.rest()
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("link", name=second, exact=True).click()
    expect(more_of(app, second)).to_have_attribute("aria-expanded", "false")
    card(app, first).locator(".cps-unfolded").get_by_role("link", name="Open", exact=True).click()
    expect(page).to_have_url(re.compile("/files"))
    app.look("light", 1280)


def test_unfolded_cards_come_back_with_the_address(app: Watched) -> None:
    page = app.page
    app.look("light", 1280)
    app.open("/?q=herons")
    expect(page.locator(".cps-card").first).to_be_visible()
    first, second, third = page.locator(".cps-card h2").all_inner_texts()[:3]
    for name in (first, third):
        more_of(app, name).click()
    expect(page).to_have_url(re.compile(r"/\?q=herons#open=\w{8},\w{8}$"))
    page.reload()
    for name, is_open in ((first, "true"), (second, "false"), (third, "true")):
        expect(more_of(app, name)).to_have_attribute("aria-expanded", is_open)
    page.get_by_role("link", name=second, exact=True).click()
    expect(page).to_have_url(re.compile("/files"))
    page.go_back()
    for name, is_open in ((first, "true"), (second, "false"), (third, "true")):
        expect(more_of(app, name)).to_have_attribute("aria-expanded", is_open)


def test_the_text_of_a_note_is_only_text_where_it_is_unfolded(app: Watched) -> None:
    app.look("light", 1280)
    app.open("/?q=herons")
    more_of(app, "Odd").click()
    unfolded = card(app, "Odd").locator(".cps-unfolded")
    expect(unfolded).to_contain_text("Herons")
    assert unfolded.locator("img, script, iframe, style").count() == 0
    assert app.elsewhere == []
