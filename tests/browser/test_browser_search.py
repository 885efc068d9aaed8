"""The Search page in a real browser: turning pages, saving what is shown, copying a place, keyboard alone."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import expect

from rag_core.api import answers
from rag_core.api.encoding import hits_csv, json_bytes
from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, library_of, places, watch
from tests.conftest import index

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"
SHIFTS_FROM_NOW = """() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({type: "layout-shift"});
}"""
# A browser would ask whether to open another program.
OPENED_IN_A_PROGRAM = """() => document.addEventListener("click", (event) => {
    window.opened = event.target.href;
    event.preventDefault();
}, {once: true})"""
TO_THE_END = "document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[Library]:
    """A store of 25 notes."""
    notes = {f"{n}.md": f"# Heron {n}\n\nThe heron waits {n} times.\n" for n in range(25)}
    with library_of(folder, "birds", notes) as opened:
        yield opened


@pytest.fixture(scope="module")
def app(folder: Path, library: Library) -> Iterator[Watched]:
    with watch(folder, places(folder)) as watched:
        yield watched
        assert watched.elsewhere == []
        assert watched.errors == []


def found_for(app: Watched, text: str) -> None:
    """Wait until the results are those of the text."""
    app.page.locator(f'.cps-list[data-query="{text}"]').wait_for()


def test_what_is_typed_is_found_before_enter_and_enter_writes_it_into_the_address(app: Watched) -> None:
    page, box = app.page, app.page.get_by_label("Search your notes")
    app.open("/")
    expect(box).to_be_focused()
    page.keyboard.type("heron wai", delay=30)
    page.keyboard.type("ts 7", delay=200)
    found_for(app, "heron waits 7")
    expect(box).to_have_value("heron waits 7")
    expect(page).to_have_url(re.compile(r"/$"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits\+7$"))
    page.keyboard.type("7")
    found_for(app, "heron waits 77")
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits\+7$"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    expect(box).to_have_value("")


def test_what_can_be_typed_inserts_itself(app: Watched) -> None:
    page, box = app.page, app.page.get_by_label("Search your notes")
    app.open("/")
    help_button = page.get_by_role("button", name="What can be typed")
    help_button.click()
    page.keyboard.press("Escape")
    expect(help_button).to_have_attribute("aria-expanded", "false")
    expect(box).to_be_focused()
    help_button.click()
    page.get_by_role("button", name="exact words").click()
    expect(box).to_be_focused()
    page.keyboard.type("heron 7")
    expect(box).to_have_value('"heron 7"')


@pytest.mark.parametrize("across", [20, 90], ids=["its box", "its name"])
def test_a_row_of_the_table_is_chosen_and_its_note_opened(app: Watched, across: int) -> None:
    page = app.page
    app.open("/?q=heron+waits&view=table")
    table = page.locator(".st-key-hit_table")
    expect(table.locator("canvas").first).to_be_visible()
    expect(table.locator("th").filter(has_text="Score")).to_have_count(1)
    expect(page.get_by_role("article")).to_have_count(0)
    box = table.locator("canvas").first.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + across, box["y"] + 38 + 35 + 17)  # the second row
    chosen = page.get_by_label("Chosen result")
    expect(chosen).to_be_visible()
    second = table.locator("tbody tr").nth(1).locator("td").first.text_content()
    name = chosen.get_by_role("heading").first.inner_text()
    assert second == f"{name.removeprefix('Heron ')}.md"
    expect(chosen.locator("dt").filter(has_text="Score")).to_be_visible()
    chosen.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    page.go_back()
    expect(table.locator("canvas").first).to_be_visible()
    expect(page).to_have_url(re.compile("view=table"))


def test_the_chosen_row_comes_back_with_the_address_and_the_newest_choice_counts(app: Watched) -> None:
    page = app.page

    def press(row: int, across: int) -> None:
        """Press a row of the table once it has been drawn and no run may replace it."""
        expect(page.locator(".st-key-hit_table tbody tr").nth(row)).to_be_attached()
        app.settle()
        box = page.locator(".st-key-hit_table canvas").first.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + across, box["y"] + 38 + row * 35 + 17)

    app.open("/?q=heron+waits&view=table")
    press(1, across=90)
    title = page.get_by_label("Chosen result").get_by_role("heading").first
    expect(title).to_be_visible()
    name = title.inner_text()
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits&view=table#row=\w{8}$"))
    page.reload()
    expect(title).to_have_text(name)
    for row, across in ((0, 90), (2, 20), (3, 90)):  # a cell, the box of a row, a cell
        before = title.inner_text()
        press(row, across)
        expect(title).not_to_have_text(before)


def test_the_table_is_sorted_by_a_press_on_a_heading(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits&view=table")
    table = page.locator(".st-key-hit_table")
    names = table.locator("tbody tr td:first-child")
    expect(table.locator("canvas").first).to_be_visible()
    expect(names.first).to_be_attached()
    found = sorted(f"{number}.md" for number in range(25))  # all, of which the window shows some
    box = table.locator("canvas").first.bounding_box()
    assert box is not None
    for order in (found, found[::-1]):
        page.mouse.click(box["x"] + 90, box["y"] + 17)
        expect(names.first).to_have_text(order[0])
        shown = names.all_text_contents()
        assert shown == order[: len(shown)]


def test_back_from_a_note_leads_to_its_results_which_stay(app: Watched) -> None:
    page, keys = app.page, app.page.keyboard
    app.open("/")
    app.search("heron waits")
    expect(page).to_have_url(re.compile(r"\?q=heron\+waits"))
    for _ in range(2):
        expect(page.locator(".cps-card")).to_have_count(10)
        app.settle()
        keys.press("ArrowDown")
        keys.press("Enter")
        expect(page.get_by_role("link", name="Results")).to_be_visible()
        page.go_back()
        expect(page.locator(".cps-card")).to_have_count(10)
        page.evaluate("window.dispatchEvent(new Event('news'))")  # as when something was indexed
        app.settle()
        expect(page.locator(".cps-card")).to_have_count(10)
        expect(page.get_by_label("Search your notes")).to_have_value("heron waits")


def test_the_table_has_all_that_fits_from_whatever_page_of_cards(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits&page=2")
    expect(page.get_by_text("Page 2", exact=True)).to_be_visible()
    page.get_by_role("button", name="Table").click()
    expect(page).to_have_url(re.compile(r"/\?q=heron\+waits&view=table$"))
    expect(page.get_by_role("button", name="25 as CSV")).to_be_visible()


def test_turning_the_page_shows_its_beginning_and_back_turns_it_back(app: Watched) -> None:
    page, status = app.page, app.page.get_by_role("status")
    app.open("/?q=heron+waits")
    expect(status).to_contain_text("25 notes")
    app.settle()
    page.evaluate(TO_THE_END)
    page.get_by_role("button", name="Next").click()
    expect(status).to_contain_text("11–20 of 25 notes")
    expect(page).to_have_url(re.compile(r"\?page=2&q=heron\+waits$|\?q=heron\+waits&page=2$"))
    app.settle()
    assert page.evaluate(SCROLLED) == 0
    page.get_by_role("button", name="Next").click()
    expect(status).to_contain_text("21–25 of 25 notes")
    expect(page.get_by_text("That is all.")).to_be_visible()
    page.go_back()
    expect(status).to_contain_text("11–20 of")
    page.go_back()
    expect(status).to_contain_text("25 notes")


def test_what_is_shown_is_saved_as_the_command_line_prints_it(app: Watched, library: Library) -> None:
    app.open("/?q=heron+waits&page=3")
    answer = library.search(OWNER, "heron waits", offset=20)
    saved = {}
    for kind in ("JSON", "CSV", "Parquet"):
        with app.page.expect_download() as download:
            app.page.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"heron-waits-from-21.{kind.lower()}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert (
        json.loads(saved["JSON"])["results"] == json.loads(json_bytes(answers.Answer.of(answer)))["results"]
    )
    assert saved["CSV"] == hits_csv(answer, OWNER)
    rows = pd.read_parquet(io.BytesIO(saved["Parquet"]))
    assert [*rows["Name"]] == [hit.document.path for hit in answer.hits]
    assert [*rows["Score"]] == [round(hit.score, 2) for hit in answer.hits]
    assert len(list(csv.DictReader(io.StringIO(saved["CSV"].decode("utf-8-sig"))))) == 5


def test_the_first_hit_is_one_key_away_and_letters_move_and_open_it_in_its_program(
    app: Watched, folder: Path
) -> None:
    page, keys = app.page, app.page.keyboard
    app.open("/?q=heron+waits")
    expect(page.get_by_label("Search your notes")).to_be_focused()
    titles = page.locator(".cps-card a")
    keys.press("ArrowDown")
    expect(titles.nth(0)).to_be_focused()
    keys.press("j")
    keys.press("j")
    expect(titles.nth(2)).to_be_focused()
    keys.press("k")
    expect(titles.nth(1)).to_be_focused()
    page.evaluate(OPENED_IN_A_PROGRAM)
    keys.press("o")
    name = titles.nth(1).inner_text().removeprefix("Heron ")
    assert page.evaluate("window.opened") == f"vscode://file{folder / 'notes' / name}.md:1"


def test_nothing_moves_while_a_note_takes_the_place_of_the_results_and_back(app: Watched) -> None:
    page = app.page
    app.open("/?q=heron+waits")
    app.rest()
    page.evaluate(SHIFTS_FROM_NOW)
    page.locator(".cps-card a").first.click()
    expect(page.locator(".cp-note")).to_be_visible()
    app.rest()
    page.go_back()
    expect(page.locator(".cps-card").first).to_be_visible()
    app.rest()
    assert page.evaluate("window.shifts") < 0.02


def test_a_place_and_what_is_selected_are_copied_by_keyboard_alone(app: Watched, folder: Path) -> None:
    page, keys = app.page, app.page.keyboard
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    app.open("/?q=%22Heron+7%22")
    found_for(app, '\\"Heron 7\\"')
    keys.press("ArrowDown")
    keys.press("c")
    expect(page.get_by_role("status")).to_have_text("Path copied")
    assert page.evaluate("navigator.clipboard.readText()") == f"{folder / 'notes' / '7.md'}:1"
    keys.press("Space")
    expect(page.get_by_text("1 selected")).to_be_visible()
    keys.press("c")
    expect(page.get_by_role("status")).to_have_text("Copied as Markdown")
    copied = str(page.evaluate("navigator.clipboard.readText()"))
    assert copied == f"> The heron waits 7 times.\n>\n> — Heron 7 ({folder / 'notes' / '7.md'}:1)"


def test_a_list_that_is_open_follows_the_files_unless_somebody_reads_it(
    app: Watched, folder: Path, library: Library
) -> None:
    page, status = app.page, app.page.get_by_role("status")
    title = page.locator(".cps-card:not(.cps-near) .cps-title")
    app.open("/?q=crane")
    expect(status).to_contain_text("Nothing fits")
    (folder / "notes" / "one.md").write_text("# First crane\n\nThe crane calls.\n", "utf-8")
    index(library, "birds", folder / "notes")
    expect(status).to_contain_text("1 note")
    expect(title).to_have_text(["First crane"])
    page.keyboard.press("ArrowDown")
    expect(title).to_be_focused()
    (folder / "notes" / "two.md").write_text("# Second crane\n\nThe crane answers.\n", "utf-8")
    index(library, "birds", folder / "notes")
    expect(status).to_contain_text("2 notes")
    expect(title).to_have_count(1)
    page.keyboard.press("Escape")
    expect(title).to_have_count(2)
