"""One search in a real browser, wide and narrow: cards unfolded, filtered and sorted, then a data frame."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from tests.browser.chromium import Watched, watched_store

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

KINDS = ("Grey", "Purple", "Squacco", "Night", "Goliath", "Tiger")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Six notes on herons: those with an even number are open, the later ones newer."""
    folder = tmp_path_factory.mktemp("results")
    notes = {
        f"birds/{kind.lower()}.md": f"---\ntags: [bird]\ndate: 2026-0{number + 1}-02\n"
        f"status: {'done' if number % 2 else 'open'}\n---\n# {kind} heron\n\n"
        + "\n\n".join(f"## Part {part}\n\nThe {kind} heron waits {part} beside the water." for part in "123")
        for number, kind in enumerate(KINDS)
    }
    with watched_store(folder, "birds", notes) as watched:
        yield watched


def expect_no_fault(app: Watched) -> None:
    app.rest()
    assert Axe().run(app.page).response["violations"] == []


def choose(app: Watched, chip: str, value: str) -> None:
    app.page.get_by_role("button", name=chip, exact=True).click()
    app.page.get_by_role("menuitemcheckbox", name=value).click()


def names_of(table: Locator) -> Locator:
    """The names in the table, which stand behind its canvas for screen readers."""
    return table.locator("tbody tr td:first-child")


def expect_filters_in_sight(app: Watched, count: int) -> None:
    """Every filter that holds, with what takes it away, stands in the window."""
    crosses = app.page.locator(".cps-chips .cps-cross")
    expect(crosses).to_have_count(count)
    for cross in crosses.all():
        expect(cross).to_be_in_viewport(ratio=1)


def test_news_that_come_with_back_do_not_undo_it(app: Watched) -> None:
    page = app.page
    app.look("light", 1280)
    app.open("/?q=heron+waits")
    choose(app, "status", "open")
    expect(page).to_have_url(re.compile("has=status"))
    expect(page.locator(".cps-card")).to_have_count(3)
    app.rest()
    page.evaluate(
        """() => {
            const news = () => window.dispatchEvent(new Event("news"));
            const waits = [0, 20, 50, 100, 200];
            window.addEventListener("popstate", () => waits.forEach(wait => setTimeout(news, wait)));
            history.back();
        }"""
    )
    expect(page.locator(".cps-card")).to_have_count(6)
    app.rest()
    expect(page).to_have_url(re.compile(r"\?q=heron\+waits$"))
    expect(page.locator(".cps-card")).to_have_count(6)


@pytest.mark.parametrize(("scheme", "width", "height"), [("light", 1280, 900), ("dark", 390, 844)])
def test_results_are_unfolded_filtered_sorted_and_taken_along(
    app: Watched, scheme: str, width: int, height: int
) -> None:
    page, keys = app.page, app.page.keyboard
    app.look("dark" if scheme == "dark" else "light", width, height)
    app.open("/")
    app.search("heron waits")
    expect(page).to_have_url(re.compile(r"\?q=heron\+waits$"))
    more = page.locator(".cps-chevron")
    expect(more).to_have_count(6)
    more.nth(0).click()
    more.nth(1).click()
    page.locator(".cps-title").nth(2).focus()
    keys.press("ArrowRight")
    expect(page.locator(".cps-unfolded dd").filter(has_text=re.compile(r"^\d+%$"))).to_have_count(3)
    expect_no_fault(app)
    steps = [page.url]

    choose(app, "Score", "70 % or more")
    expect(page).to_have_url(re.compile("min=0.7"))
    steps.append(page.url)
    choose(app, "status", "open")
    expect(page).to_have_url(re.compile("has=status"))
    expect(page.locator(".cps-card")).to_have_count(3)
    steps.append(page.url)
    choose(app, "Sort", "Newest first")
    expect(page).to_have_url(re.compile("sort=newest"))
    titles = page.locator(".cps-title")
    expect(titles).to_have_text(["Goliath heron", "Squacco heron", "Grey heron"])
    expect_filters_in_sight(app, 3)
    expect_no_fault(app)

    steps.append(page.url)

    page.get_by_role("button", name="Table").click()
    table = page.locator(".st-key-hit_table")
    expect(names_of(table)).to_have_text(["goliath.md", "squacco.md", "grey.md"])
    box = table.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 90, box["y"] + 17)
    expect(names_of(table)).to_have_text(["goliath.md", "grey.md", "squacco.md"])
    page.mouse.click(box["x"] + 20, box["y"] + 38 + 35 + 17)
    chosen = page.get_by_label("Chosen result")
    expect(chosen.get_by_role("heading", name="Grey heron")).to_be_visible()
    expect_no_fault(app)
    with page.expect_download() as download:
        page.get_by_role("button", name="3 as CSV").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8-sig")
    assert [row["title"] for row in csv.DictReader(io.StringIO(saved))] == [
        "Goliath heron",
        "Squacco heron",
        "Grey heron",
    ]

    page.reload()
    expect(names_of(table)).to_have_text(["goliath.md", "squacco.md", "grey.md"])
    expect(chosen.get_by_role("heading", name="Grey heron")).to_be_visible()
    page.go_back()
    expect(titles).to_have_text(["Goliath heron", "Squacco heron", "Grey heron"])
    page.go_back()
    expect(page.get_by_role("button", name="Sort", exact=True)).to_be_visible()
    expect(titles).to_have_count(3)
    page.go_back()
    expect(titles).to_have_count(6)
    expect(page.get_by_role("button", name="Score ≥ 70 %", exact=True)).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile(r"\?q=heron\+waits#open="))
    expect(page.locator(".cps-unfolded")).to_have_count(3)
    expect(page.get_by_label("Search your notes")).to_have_value("heron waits")
    assert page.evaluate("document.documentElement.scrollWidth") == width

    for address, active, count in zip(steps, (0, 1, 2, 3), (6, 6, 3, 3), strict=True):
        page.goto("about:blank")
        page.goto(address)
        expect(titles).to_have_count(count)
        expect(page.locator(".cps-unfolded")).to_have_count(0 if active else 3)
        expect_filters_in_sight(app, active)
    expect(titles).to_have_text(["Goliath heron", "Squacco heron", "Grey heron"])
    page.get_by_role("button", name="Remove Score").focus()
    keys.press("Enter")
    expect_filters_in_sight(app, 2)
    expect(page.get_by_role("button", name="Score", exact=True)).to_be_focused()
