"""The app in a real browser, watched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from rag_core.config import Settings
from rag_core.library import Library
from tests.browser.browser import NAMED, NoBrowser, find
from tests.conftest import index
from tests.support.live import Server, start
from tests.support.trees import write

QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
PATIENCE_MS = 20_000
MOST_STOPS = 40
# What a screen reader would call the element that has the focus, or nearly so.
FOCUSED = """() => {
    const e = document.activeElement;
    return (e && e !== document.body && e.tagName !== "MAIN" && (e.ariaLabel || e.innerText)) || "";
}"""
UNTIL_STILL = """async patience => {
    await document.fonts.ready;
    const begun = performance.now();
    let changed = begun;
    const changes = new MutationObserver(() => { changed = performance.now(); });
    changes.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
    const ends = each => each.playState === "running" && each.effect.getComputedTiming().endTime < Infinity;
    while (document.getAnimations().some(ends) || performance.now() - changed < 100) {
        if (performance.now() - begun > patience) throw new Error("The page does not come to rest.");
        await new Promise(requestAnimationFrame);
    }
    changes.disconnect();
}"""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the browser where none is found; a browser that is named must be there.

    All are skipped in this one place: then pytest sums them up in one line.
    """
    if not item.get_closest_marker("browser"):
        return
    try:
        find()
    except NoBrowser as none:
        if os.environ.get(NAMED):
            raise
        pytest.skip(str(none))


@dataclass
class Watched:
    """A page of the app, with everything it asked for elsewhere and every error in its console."""

    page: Page
    server: Server
    elsewhere: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to an address of the app and wait until its script has ended."""
        self.page.goto(f"http://{self.server.host}{path}")
        self.settle()

    def settle(self) -> None:
        """Wait until no script runs."""
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')

    def rest(self) -> None:
        """Wait until no script runs, nothing moves or fades, and nothing has changed for 0.1 seconds."""
        self.settle()
        self.page.evaluate(UNTIL_STILL, PATIENCE_MS)

    def look(self, scheme: Literal["light", "dark"], width: int, height: int = 900) -> None:
        """Have the system prefer these colours, and the window be so large."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})

    def search(self, text: str) -> None:
        """Type a query and press Enter."""
        box = self.page.get_by_label("Search your notes")
        box.fill(text)
        box.press("Enter")


def places(folder: Path) -> dict[str, str]:
    """The environment of an app whose home, models and folders are all in ``folder``."""
    return {
        "COMMONPLACE_HOME": str(folder / "home"),
        "COMMONPLACE_MODELS": str(folder / "models"),
        "COMMONPLACE_ROOTS": str(folder),
    }


@contextmanager
def library_of(folder: Path, store: str, files: Mapping[str, str]) -> Iterator[Library]:
    """The library of the app of `places`, with a store of these files, which are in ``notes``."""
    write(folder / "notes", files)
    library = Library.open(Settings(folder / "home" / "data", folder / "models", (folder,)))
    index(library, store, folder / "notes")
    yield library
    library.close()


@contextmanager
def watch(folder: Path, environment: dict[str, str], **options: Any) -> Iterator[Watched]:
    """Serve the app with its own files in ``folder`` and open a browser of 1280 × 900; ``options`` are
    those of Playwright's ``launch_persistent_context``."""
    program = find()
    (folder / "server").mkdir()
    options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(stack.enter_context, start(folder / "server", **environment))
        context = stack.enter_context(sync_playwright()).chromium.launch_persistent_context(
            folder / "profile", executable_path=program, headless=True, args=QUIET, **options
        )
        server = starting.result()
        page = context.pages[0]
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        watched = Watched(page, server)
        own = (f"http://{server.host}/", f"ws://{server.host}/", "data:", "blob:http://localhost")
        page.on("request", lambda r: None if r.url.startswith(own) else watched.elsewhere.append(r.url))
        page.on("console", lambda m: watched.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: watched.errors.append(str(e)))
        yield watched
        context.close()


@contextmanager
def watched_store(
    folder: Path, store: str, files: Mapping[str, str], environment: Mapping[str, str] | None = None
) -> Iterator[Watched]:
    """The app over one store of these files, watched to its end: it asks no other host, and logs no error."""
    with library_of(folder, store, files):
        pass
    with watch(folder, places(folder) | dict(environment or {})) as watched:
        yield watched
        assert watched.elsewhere == []
        assert watched.errors == []


def tab_to(page: Page, name: str) -> None:
    """Press Tab until what is called ``name`` has the focus."""
    stops = []
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        stops.append(str(page.evaluate(FOCUSED)))
        if name in stops[-1]:
            return
    raise AssertionError(f"{name!r} is not among the next stops of the Tab key: {stops}")
