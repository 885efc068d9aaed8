"""What the address of the Search page keeps: the cards that are unfolded and the row that is chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from tests.chromium import Watched, places, watch
from tests.conftest import index
from tests.trees import write

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("address")
    write(folder / "notes", {f"{n}.md": f"# Heron {n}\n\nThe heron waits at {n}.\n" for n in range(5)})
    library = Library.open(Settings(folder / "home" / "data", folder / "models", (folder,)))
    index(library, "birds", folder / "notes")
    library.close()
    with watch(folder, places(folder)) as watched:
        yield watched
        assert watched.errors == []


def test_unfolded_cards_come_back_with_the_address(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits")
    chevrons = page.get_by_role("button", name=re.compile("^More of"))
    for number in (0, 2):
        chevrons.nth(number).click()
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits#open=\w{8},\w{8}$"))
    states = ["true", "false", "true", "false", "false"]
    page.reload()
    for number, state in enumerate(states):
        expect(chevrons.nth(number)).to_have_attribute("aria-expanded", state)
    app.search("waits heron")
    page.locator('.cps-list[data-query="waits heron"]').wait_for()
    expect(chevrons.first).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile(r"/\?q=waits\+heron$"))


def test_the_chosen_row_comes_back_with_the_address(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits&view=table")
    table = page.locator(".st-key-hit_table")
    box = table.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 90, box["y"] + 38 + 35 + 17)
    chosen = page.get_by_label("Chosen result")
    title = chosen.get_by_role("heading").first
    expect(title).to_be_visible()
    name = title.inner_text()
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits&view=table#row=\w{8}$"))
    page.reload()
    expect(title).to_have_text(name)
    for across, down in ((90, 17), (20, 2 * 35 + 17), (90, 3 * 35 + 17)):  # a cell, the box of a row, a cell
        before = title.inner_text()
        page.mouse.click(box["x"] + across, box["y"] + 38 + down)
        expect(title).not_to_have_text(before)
