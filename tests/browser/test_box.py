"""The script of the Search page alone, in a browser: Streamlit may take the box away while somebody types,
and put another in its place with what it knew before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect, sync_playwright

from tests.browser.browser import find
from tests.browser.chromium import QUIET
from ui.search.search_box import SearchView

pytestmark = pytest.mark.browser

ASSETS = Path(__file__).parents[2] / "ui" / "assets"
PAGE = """<!doctype html><body><script>{frame}</script><main></main><script type="module">
import mount from "/search.js";
window.sent = [];
window.show = (data, root) => root.leave = mount(
    {{ data, parentElement: root, setStateValue: (_, value) => window.sent.push(value) }});
window.begin = (data) => {{
    const root = document.querySelector("main").appendChild(document.createElement("div"));
    window.show(data, root);
}};
window.again = (data) => window.show(data, document.querySelector("main > div"));
window.end = () => {{
    const root = document.querySelector("main > div");
    root.remove();
    root.leave();
}};
window.isReady = true;
</script>"""


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2].partition("?")[0]
        if name.endswith(".js"):
            route.fulfill(body=(ASSETS / name).read_text("utf-8"), content_type="application/javascript")
        else:
            body = PAGE.format(frame=(ASSETS / "frame.js").read_text("utf-8"))
            route.fulfill(body=body, content_type="text/html")

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find(), headless=True, args=QUIET)
        page = browser.new_page()
        page.route("**/*", serve)
        yield page
        browser.close()


@pytest.fixture
def page(browser_page: Page) -> Page:
    browser_page.goto("http://box.test/")
    browser_page.wait_for_function("window.isReady")
    return browser_page


def answered(text: str, search: str = "") -> dict[str, Any]:
    """What the server sends when it has answered this text."""
    return dict(json.loads(json.dumps(asdict(SearchView(search, text)))))


def text_in_the_box(page: Page) -> str:
    return page.locator("#cps-q").input_value()


def test_a_box_in_the_place_of_another_has_all_that_was_typed(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("type:mail")
    page.evaluate("window.end()")
    page.keyboard.type(" atta")
    page.evaluate("window.begin", answered("type:"))
    page.keyboard.type("chment")
    assert text_in_the_box(page) == "type:mail attachment"
    page.wait_for_function("window.sent.at(-1)?.text === 'type:mail attachment'")


def test_what_is_typed_in_the_middle_goes_on_there(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("tag:teaheron")
    for _ in "heron":
        page.keyboard.press("ArrowLeft")
    page.evaluate("window.end()")
    page.keyboard.type(" ")
    page.evaluate("window.begin", answered("tag:tea"))
    assert text_in_the_box(page) == "tag:tea heron"


def test_a_box_for_another_search_begins_with_the_text_of_that(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("heron")
    page.evaluate("window.end()")
    page.evaluate("window.begin", answered("crane", "q=crane"))
    assert text_in_the_box(page) == "crane"


def test_an_answer_for_an_earlier_text_changes_nothing_in_the_box(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("before:2030-03")
    page.evaluate("window.again", answered("before:2030"))
    page.keyboard.type(" tea")
    page.keyboard.press("Enter")
    page.keyboard.type("pot")
    page.evaluate("window.again", answered("before:2030-03 tea", "q=before%3A2030-03+tea"))
    assert text_in_the_box(page) == "before:2030-03 teapot"


def test_news_ask_again_for_what_is_typed_by_now(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("heron")
    page.wait_for_function("window.sent.at(-1)?.text === 'heron'")
    before = page.evaluate("window.sent.length")
    page.evaluate("window.dispatchEvent(new Event('news'))")
    assert page.evaluate("window.sent.length") == before + 1
    assert page.evaluate("window.sent.at(-1).text") == "heron"


def test_the_values_of_a_filter_are_chosen_by_arrows_and_enter(page: Page) -> None:
    box, options = page.locator("#cps-q"), page.get_by_role("option")
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("type:")
    values = [{"label": kind, "beside": "7", "text": f"type:{kind} "} for kind in ("mail", "markdown")]
    page.evaluate("window.again", answered("type:") | {"completions": values})
    expect(page.get_by_role("combobox")).to_have_attribute("aria-expanded", "true")
    expect(options).to_have_text(["mail7", "markdown7"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = options.nth(1)
    expect(active).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", str(active.get_attribute("id")))
    page.keyboard.press("Enter")
    assert text_in_the_box(page) == "type:markdown "
    expect(options).to_have_count(0)
    expect(page.get_by_role("combobox")).to_have_attribute("aria-expanded", "false")
    page.wait_for_function("window.sent.at(-1)?.text === 'type:markdown '")


def test_escape_closes_the_values_before_it_clears_the_box(page: Page) -> None:
    page.evaluate("window.begin", answered(""))
    page.keyboard.type("tag:")
    value = {"label": "tea", "beside": "1", "text": "tag:tea "}
    page.evaluate("window.again", answered("tag:") | {"completions": [value]})
    page.keyboard.press("Escape")
    assert text_in_the_box(page) == "tag:"
    expect(page.get_by_role("option")).to_have_count(0)
    page.keyboard.press("Escape")
    assert text_in_the_box(page) == ""
