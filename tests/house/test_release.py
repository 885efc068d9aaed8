"""Which version this is: in the changelog, on the command line and on pages."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core import __version__
from tests.browser.chromium import places, watch
from tests.conftest import Run
from tests.docs.doc_pages import ROOT
from ui.frame.front import front_page

HEADINGS = re.findall(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"))


def test_the_changelog_begins_with_what_is_not_released_yet() -> None:
    assert HEADINGS[0] == "Unreleased"


def test_the_newest_release_is_this_version_and_every_one_has_its_date() -> None:
    releases = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in HEADINGS[1:]]
    assert all(releases)
    days = [date.fromisoformat(release[2]) for release in releases if release]
    assert days == sorted(days, reverse=True)
    assert releases[0] is not None
    assert releases[0][1] == __version__


def test_the_command_line_says_the_version(run: Run) -> None:
    assert run("--version").out == f"commonplace, version {__version__}\n"


def test_the_page_that_is_served_has_the_version() -> None:
    assert f'--version: "Commonplace {__version__}"' in front_page()


SAID = f'"Commonplace {__version__}"'
AFTER = "place => getComputedStyle(place, '::after').content"


@pytest.mark.browser
def test_the_bar_of_every_page_says_the_version_where_nothing_moves(tmp_path: Path) -> None:
    with watch(tmp_path, places(tmp_path)) as app:
        app.page.set_viewport_size({"width": 1200, "height": 800})
        for name in ("", "ask", "files", "index", "stores", "settings"):
            app.page.goto(f"http://{app.server.host}/{name}")
            bar = app.page.locator(".st-key-pages")
            expect(bar).to_be_visible()
            assert bar.evaluate(AFTER) == SAID
            assert bar.evaluate("bar => getComputedStyle(bar, '::after').position") == "fixed"
            assert app.page.locator(".stMainBlockContainer").evaluate(AFTER) == "none"


@pytest.mark.browser
def test_in_a_narrow_window_pages_end_with_the_version(tmp_path: Path) -> None:
    with watch(tmp_path, places(tmp_path)) as app:
        app.page.set_viewport_size({"width": 700, "height": 800})
        for name in ("ask", "files", "index", "stores", "settings"):
            app.page.goto(f"http://{app.server.host}/{name}")
            end = app.page.locator(".stMainBlockContainer")
            expect(end).to_be_visible()
            assert end.evaluate(AFTER) == SAID
