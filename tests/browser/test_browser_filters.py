"""The filters of the Search page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import Watched, watched_store

pytestmark = pytest.mark.browser

NOTE = "---\nstatus: {}\n---\n# Heron {}\n\nThe heron waits at {}.\n"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Watched]:
    states = ("open", "open", "done", "waiting")
    notes = {f"{n}.md": NOTE.format(state, n, n) for n, state in enumerate(states)}
    with watched_store(tmp_path, "birds", notes) as watched:
        yield watched


def test_only_the_cross_of_a_chosen_chip_removes_it(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits&has=status%3A%3Dopen")
    expect(page.locator(".cps-card")).to_have_count(2)
    page.get_by_role("button", name="status: open", exact=True).click()
    option = page.get_by_role("menuitemcheckbox", name=re.compile("^done"))
    expect(option).to_be_visible()
    expect(page.locator(".cps-card")).to_have_count(2)
    option.click()
    expect(page.locator(".cps-card")).to_have_count(3)
    page.get_by_role("button", name="status: open, done", exact=True).click()
    expect(page.get_by_role("menuitemcheckbox", checked=True)).to_have_count(2)
    page.get_by_role("button", name="Remove status: open, done").click()
    expect(page.locator(".cps-card")).to_have_count(4)


def test_all_filters_are_cleared_by_one_press_and_the_order_stays(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits&sort=name&has=status%3A%3Dopen")
    expect(page.locator(".cps-card")).to_have_count(2)
    clear = page.get_by_role("button", name="Clear filters")
    expect(clear).to_have_count(0)
    page.get_by_role("button", name="Type", exact=True).click()
    page.get_by_role("menuitemcheckbox").first.click()
    clear.click()
    expect(page.locator(".cps-card")).to_have_count(4)
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits&sort=name$"))
    expect(clear).to_have_count(0)
