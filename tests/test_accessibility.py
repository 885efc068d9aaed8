"""No page has a fault that axe-core knows: light on a desk, dark on a phone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import ViewportSize

from rag_core.answers import Checker
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.chromium import Watched, places, watch
from tests.conftest import index
from tests.tailscale_program import install

PAGES = {  # address, and what stands there when the page is complete
    "search, nothing typed": ("/", "What you can type"),
    "search, cards": ("/?q=heron", "Heron 1"),
    "search, table": ("/?q=heron&view=table", "fit"),
    "search, nothing found": ("/?q=%22no+such+words%22", "Take the quotes away"),
    "ask": ("/ask", "More filters"),
    "ask, answered": (f"/ask?c={'a' * 32}", "no source"),
    "files": ("/files?store=birds", "12 fresh"),
    "document": ("/files?store=birds&path=1.md", "Linked from"),
    "index": ("/index?store=birds", "Folders in this store"),
    "stores": ("/stores", "12 files"),
    "store": ("/stores?store=birds", "File types"),
    "settings": ("/settings", "Somebody of your tailnet"),
}
LOOKS: dict[Literal["light", "dark"], ViewportSize] = {
    "light": {"width": 1280, "height": 900},
    "dark": {"width": 390, "height": 844},
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The app over a store of a few notes, one broken, one skipped."""
    folder = tmp_path_factory.mktemp("axe")
    notes = folder / "notes"
    notes.mkdir()
    for number in range(12):
        text = f"---\ntags: [bird, bird/wader]\n---\n# Heron {number}\n\nHeron {number} waits. See [[1]].\n"
        (notes / f"{number}.md").write_text(text, "utf-8")
    (notes / "picture.png").write_bytes(bytes(100))
    library = Library.open(Settings(folder / "home" / "data", folder / "models", (folder,)))
    index(library, "birds", notes)
    keep_an_answer(library)
    keep_visitors(library)
    library.close()
    here = install(folder / "tailscale").folder / "bin"
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    with watch(folder, places(folder) | {"PATH": path}) as watched:
        yield watched


def keep_an_answer(library: Library) -> None:
    """A conversation with each mark that an answer can have."""
    passages = library.ask(OWNER, "Heron 1 waits", ["birds"])
    checker = Checker(passages.references)
    checker.feed('"Heron 1 waits" [1]. It "flies" [1]. It sleeps. It waits [1].')
    checker.end()
    answered = replace(passages, statements=tuple(checker.statements), references=checker.references)
    library.keep_reply(OWNER, "a" * 32, answered)


def keep_visitors(library: Library) -> None:
    """A guest who came, another owner, and somebody who was refused."""
    library.share(OWNER, "linus@example.com", ["birds"], may_ask=True)
    library.make_owner(OWNER, "ada@example.com")
    library.record_visit("linus@example.com", "pages", 3)
    library.record_visit("mallory@example.com", "rest", refused=True)


@pytest.mark.parametrize(("path", "complete"), PAGES.values(), ids=PAGES)
def test_axe_finds_nothing_on_a_page(app: Watched, path: str, complete: str) -> None:
    found = []
    for scheme, size in LOOKS.items():
        app.page.emulate_media(color_scheme=scheme)
        app.page.set_viewport_size(size)
        app.open(path)
        app.page.get_by_text(complete).first.wait_for(state="attached")
        app.rest()
        response = Axe().run(app.page).response
        found += [
            f"{scheme}: {fault['id']} ({fault['impact']}): {node['html'][:200]}"
            for fault in response["violations"]
            for node in fault["nodes"]
        ]
    assert not found, "\n".join(found)
