"""Nothing that is typed into the box is lost: not while files are indexed, not while the server is slow."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import WebSocketRoute, expect

from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.chromium import Watched, library_of, places, watch

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

STARTS = (
    "type:markdown", "tag:garden", "path:notes/", "folder:notes", "store:notes", "before:2030-03",
    "after:2021", "date:2022", "date:last week", '"tea garden"', "-boat", "-tag:heron", "heading water",
    "note 7 river", "file:7.md",
)  # fmt: skip
ENDS = ("attachment", "-boat invoice", 'lemon "night river"')
QUERIES = [f"{start} {end}" for start in STARTS for end in ENDS][:40]
WORDS = "mail attachment heron tea garden invoice water boat lemon night river".split()
RATES_MS = (60, 100, 150, 200, 400)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("typing")


@pytest.fixture(scope="module")
def library(folder: Path) -> Iterator[Library]:
    """A store of notes whose next run takes a while."""
    chance = random.Random(3)
    text = [" ".join(f"{chance.choice(WORDS)}{chance.randrange(900)}" for _ in range(80)) for _ in range(400)]
    notes = {
        f"{n}.md": f"---\ntags: [{WORDS[n % 11]}]\ndate: 202{n % 6}-03-11\n---\n# Note {n}\n\n{words}\n"
        for n, words in enumerate(text)
    }
    with library_of(folder, "notes", notes) as opened:
        yield opened


@pytest.fixture(scope="module")
def app(folder: Path, library: Library) -> Iterator[Watched]:
    with watch(folder, places(folder)) as watched:
        yield watched
        assert watched.errors == []


@contextmanager
def indexing(library: Library) -> Iterator[None]:
    """One run after another in this process, which keeps a core busy."""
    ends = threading.Event()

    def run() -> None:
        while not ends.is_set():
            library.jobs.request(OWNER, "notes", force=True)
            library.jobs.run(OWNER, "notes", stop=ends.is_set)

    runs = threading.Thread(target=run)
    runs.start()
    try:
        yield
    finally:
        ends.set()
        runs.join()


def test_nothing_typed_is_lost_while_files_are_indexed(app: Watched, library: Library) -> None:
    page, box = app.page, app.page.get_by_label("Search your notes")
    app.open("/")
    expect(box).to_be_focused()
    lost = []
    with indexing(library):
        for number, query in enumerate(QUERIES):
            for key in query:
                page.keyboard.press(key, delay=0)
                page.wait_for_timeout(RATES_MS[number % len(RATES_MS)])
            if (shown := box.input_value()) != query:
                lost.append((query, shown))
            page.keyboard.press("Control+a")
            page.keyboard.press("Delete")
    assert lost == []


def test_typing_after_enter_is_searched_before_the_address_is_written(app: Watched) -> None:
    page, box = app.page, app.page.get_by_label("Search your notes")
    held: list[tuple[WebSocketRoute, str | bytes]] = []
    is_held = threading.Event()

    def through(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        server.on_message(
            lambda message: held.append((browser, message)) if is_held.is_set() else browser.send(message)
        )

    page.route_web_socket("**/_stcore/stream", through)
    app.open("/")
    expect(box).to_be_focused()
    page.keyboard.type("heron")
    page.locator('.cps-list[data-query="heron"]').wait_for()
    is_held.set()
    page.keyboard.press("Enter")
    page.keyboard.type(" tea")
    page.wait_for_timeout(500)
    is_held.clear()
    for browser, message in held:
        browser.send(message)
    page.locator('.cps-list[data-query="heron tea"]').wait_for(timeout=2000)
    expect(box).to_have_value("heron tea")


def test_a_press_that_a_run_swallows_is_sent_again(app: Watched) -> None:
    page = app.page
    is_lost = threading.Event()

    def through(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()

        def lose_one(message: str | bytes) -> None:
            if is_lost.is_set():
                is_lost.clear()
            else:
                server.send(message)

        browser.on_message(lose_one)

    page.route_web_socket("**/_stcore/stream", through)
    app.open("/?q=heron")
    table = page.locator(".st-key-hit_table")
    for name, count in (("Table", 1), ("Cards", 0)):
        app.settle()
        is_lost.set()
        page.get_by_role("button", name=name, exact=True).click()
        expect(table).to_have_count(count)
