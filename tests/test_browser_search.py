"""The Search page in a real browser: turning pages, saving what is shown, copying a place, keyboard alone."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core.api import answers
from rag_core.api.encoding import hits_csv, json_bytes
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.chromium import Watched, places, watch
from tests.conftest import index

pytestmark = pytest.mark.browser

SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"
TO_THE_END = "document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("search")


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[Library]:
    """A store of 25 notes."""
    (folder / "notes").mkdir()
    for number in range(25):
        text = f"# Heron {number}\n\nThe heron waits {number} times.\n"
        (folder / "notes" / f"{number}.md").write_text(text)
    library = Library.open(Settings(folder / "home" / "data", folder / "models", (folder,)))
    index(library, "birds", folder / "notes")
    yield library
    library.close()


@pytest.fixture(scope="module")
def app(folder: Path, library: Library) -> Iterator[Watched]:
    with watch(folder, places(folder)) as watched:
        yield watched
        assert watched.elsewhere == []
        assert watched.errors == []


def test_turning_the_page_shows_its_beginning_and_back_turns_it_back(app: Watched) -> None:
    page, status = app.page, app.page.get_by_role("status")
    app.open("/?q=heron+waits")
    expect(status).to_contain_text("Passages 1 to 10")
    app.settle()
    page.evaluate(TO_THE_END)
    assert page.evaluate(SCROLLED) > 0
    page.get_by_role("button", name="Next").click()
    expect(status).to_contain_text("Passages 11 to 20")
    expect(page).to_have_url(re.compile(r"\?q=heron\+waits&page=2$"))
    app.settle()
    assert page.evaluate(SCROLLED) == 0
    page.keyboard.press("Enter")  # the button is still in focus
    expect(status).to_contain_text("Passages 21 to 25")
    expect(page.get_by_text("That is all: 25 passages.")).to_be_visible()
    page.go_back()
    expect(status).to_contain_text("Passages 11 to 20")
    page.go_back()
    expect(status).to_contain_text("Passages 1 to 10")


def test_what_is_shown_is_saved_as_the_command_line_prints_it(app: Watched, library: Library) -> None:
    app.open("/?q=heron+waits&page=3")
    answer = library.search(OWNER, "heron waits", offset=20)
    saved = {}
    for kind in ("JSON", "CSV"):
        with app.page.expect_download() as download:
            app.page.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"heron-waits-from-21.{kind.lower()}"
        saved[kind] = Path(download.value.path()).read_bytes()
    assert (
        json.loads(saved["JSON"])["results"] == json.loads(json_bytes(answers.Answer.of(answer)))["results"]
    )
    assert saved["CSV"] == hits_csv(answer, OWNER)
    assert len(list(csv.DictReader(io.StringIO(saved["CSV"].decode("utf-8-sig"))))) == 5


def test_a_place_is_copied_by_keyboard_alone(app: Watched, folder: Path) -> None:
    page = app.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    app.open("/?q=%22Heron+7%22")
    page.get_by_role("radio", name="Table").or_(page.get_by_role("radio", name="Cards")).first.focus()
    page.keyboard.press("Tab")  # the title, which leads to the document
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("async () => (await navigator.clipboard.readText()) !== ''")
    assert page.evaluate("navigator.clipboard.readText()") == f"{folder / 'notes' / '7.md'}:1"
