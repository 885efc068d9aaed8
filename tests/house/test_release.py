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


# What the bar says after its links, which is no element: whether all of it is in the bar, and over no link.
SAID = """() => {
    const style = getComputedStyle(document.querySelector('.st-key-pages'), '::after');
    const [left, top, width, height] =
        ['left', 'top', 'width', 'height'].map(name => parseFloat(style[name]));
    const bar = document.querySelector('[data-testid=stHeader]').getBoundingClientRect();
    const covered = [...document.querySelectorAll('.st-key-pages a p')].filter(link => {
        const text = link.getBoundingClientRect();
        return text.right > left && text.bottom > top;
    });
    const inside = left >= 0 && left + width <= innerWidth && top >= 0 && top + height <= bar.bottom;
    return {version: style.content, inside, wide: width > 50, covered: covered.length};
}"""
WIDTHS = (320, 390, 700, 780, 1280)


@pytest.mark.browser
def test_the_bar_of_every_page_says_the_version_in_every_width(tmp_path: Path) -> None:
    expected = {"version": f'"Commonplace {__version__}"', "inside": True, "wide": True, "covered": 0}
    with watch(tmp_path, places(tmp_path)) as app:
        for name in ("", "?q=tea", "ask", "files", "index", "stores", "settings"):
            app.page.goto(f"http://{app.server.host}/{name}")
            expect(app.page.locator(".st-key-pages a")).to_have_count(6)
            for width in WIDTHS:
                app.page.set_viewport_size({"width": width, "height": 800})
                app.rest()
                assert app.page.evaluate(SAID) == expected, (name, width)
