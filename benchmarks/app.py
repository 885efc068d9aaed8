"""How long does the app keep a person waiting? Its start, a search, a note, other pages, a list of files.

    python benchmarks/app.py [--rows 20000 | --notes DIR] [--rounds 5] [--embedder NAME] [--json]

The app runs in a throw-away home, over made-up notes or all files of DIR, and a real browser uses it (that of
the tests). A start is timed from the command to a search box that takes words, with an empty browser and then
with one that was there. All else is timed by the browser: from the key or the press to the picture that shows
what became of it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.load import Server, served
from benchmarks.notes import Author, write_notes
from benchmarks.process import Figures, lines
from rag_core.config import load
from rag_core.library import Library
from rag_core.types import OWNER
from tests.browser.browser import NoBrowser, find

if TYPE_CHECKING:
    from playwright.sync_api import Page

STORE = "notes"
_PATIENCE_MS = 60_000
_MOST_QUERIES = 100
_HEADER_Y, _ROW_Y = 18, 53  # of the table, and where its columns are
_TICK_X, _OPEN_X, _TITLE_X = 16, 314, 680

RESTS = "document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')"
READY = f"{RESTS} && document.querySelector('#cps-q')"
NOTE = "document.querySelector('.cp-note, .cp-text')"
# From the next key or press to the first picture in which ``becomes`` is true.
WATCH = """([becomes, patience]) => {
    let began = 0;
    const begin = event => { began = began || event.timeStamp; };
    for (const kind of ["keydown", "pointerdown"]) addEventListener(kind, begin, {capture: true, once: true});
    const true_now = new Function(`return (${becomes})`);
    window.took = new Promise((done, fail) => {
        const late = setTimeout(() => fail(new Error(`Not seen: ${becomes}`)), patience);
        const seen = () => { clearTimeout(late); done(performance.now() - began); };
        const look = () => requestAnimationFrame(began && true_now() ? () => setTimeout(seen) : look);
        look();
    });
}"""
STATUS = "(document.querySelector('[data-testid=stMain] [role=status]')?.innerText || '')"
TABLE = "document.querySelector('.st-key-files_table canvas')"
FIRST_CELLS = """[...document.querySelectorAll('.st-key-files_table tbody tr:first-child td')]
    .map(each => each.innerText).join(' ')"""


def fill(home: Path, notes: Path, embedder: str) -> int:
    """A store of all notes; how many files it has."""
    os.environ["COMMONPLACE_HOME"] = str(home)
    library = Library.open(load())
    library.create_store(OWNER, STORE, embedder)
    library.add_source(OWNER, STORE, notes, ["**/*"])
    library.index(OWNER, STORE)
    count = library.stores.info(OWNER, STORE).file_count
    library.close()
    return count


def check_browser() -> None:
    """End with what is missing, before anything is made up."""
    if find_spec("playwright") is None:
        raise SystemExit("This drives a browser with playwright. Install it: pip install -e '.[dev]'")
    try:
        find()
    except NoBrowser as none:
        raise SystemExit(str(none)) from None


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a browser that has seen nothing yet."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            folder, executable_path=find(), viewport={"width": 1280, "height": 900},
            args=["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"],
            bypass_csp=True,  # what is waited for is said in expressions, which the app's pages forbid
        )  # fmt: skip
        context.set_default_timeout(_PATIENCE_MS)
        yield context.pages[0]
        context.close()


@contextmanager
def started(home: Path, page: Page) -> Iterator[tuple[Server, float]]:
    """The app, and the seconds until its search box took words."""
    began = time.perf_counter()
    with served(home) as server:
        page.goto(f"http://localhost:{server.port}/")
        page.wait_for_function(READY)
        yield server, time.perf_counter() - began


def timed(page: Page, becomes: str, act: Callable[[], object]) -> float:
    """Milliseconds from what ``act`` does until ``becomes``, an expression of the page, is true."""
    page.evaluate(WATCH, [becomes, _PATIENCE_MS])
    act()
    return float(page.evaluate("window.took"))


def settle(page: Page) -> None:
    page.wait_for_function(RESTS)
    page.wait_for_timeout(300)


# --- what a person does -----------------------------------------------------------------


def titles(notes: Path) -> list[str]:
    """The first line of every file, in an order of no meaning: queries that find something that fits."""
    files = sorted(notes.rglob("*.md"))
    Random(4).shuffle(files)
    first = (file.read_text("utf-8").partition("\n")[0].lstrip("# ") for file in files)
    return [*islice((line for line in first if line.strip("-")), _MOST_QUERIES)]


def shows(words: str) -> str:
    """Whether the cards are those found for these words: ten nearly always."""
    found = f"document.querySelector('.cps-list').dataset.query === {json.dumps(words)}"
    return f"{found} && document.querySelector('article')"


def type_a_key(page: Page, words: str) -> float:
    """Type the last key of some words, and see the cards."""
    page.get_by_label("Search your notes").fill(words[:-1])
    page.wait_for_function(shows(words[:-1]))
    settle(page)
    took = timed(page, shows(words), lambda: page.keyboard.press(words[-1]))
    settle(page)
    return took


def press_enter(page: Page, words: str) -> float:
    """Press Enter behind words that were not looked for yet, and see the cards."""
    page.get_by_label("Search your notes").fill(words)
    took = timed(page, shows(words), lambda: page.keyboard.press("Enter"))
    settle(page)
    return took


def open_hit(page: Page) -> float:
    """Open one of the ten notes, see its text, and go back."""
    page.keyboard.press("ArrowDown")
    took = timed(page, NOTE, lambda: page.keyboard.press("Enter"))
    settle(page)
    page.go_back()
    page.wait_for_selector("article")
    settle(page)
    return took


PAGES = {
    "Ask": "document.querySelector('.st-key-ask_box input')",
    "Files": f"{TABLE}",
    "Index": "document.querySelector('h1')?.innerText === 'Index'",
    "Stores": "document.querySelector('h1')?.innerText === 'Stores'",
    "Settings": "document.querySelector('h1')?.innerText === 'Settings'",
    "Search": "document.querySelector('#cps-q')",
}
"""Each page, and what stands there when it is complete, once no script runs."""


def switch_pages(page: Page, rounds: int) -> Figures:
    """Go round the pages by their links."""
    took: dict[str, list[float]] = {name: [] for name in PAGES}
    for name in [*PAGES] * rounds:
        link = page.locator(".st-key-pages").get_by_role("link", name=name)
        took[name].append(timed(page, f"{PAGES[name]} && {RESTS}", link.click))
        settle(page)
    return {name: worst(each) for name, each in took.items()}


def open_files(page: Page, count: int) -> float:
    """From another page to the whole list."""
    took = timed(
        page, f"{STATUS}.startsWith('{count:,} file') && {TABLE}",
        page.get_by_role("link", name="Files").first.click,
    )  # fmt: skip
    settle(page)
    return took


def filter_files(page: Page, words: str) -> float:
    """Type words that some files have in their path, and see how many."""
    box = page.get_by_label("Words in path or title")
    box.fill(words)
    took = timed(page, f"/ of /.test({STATUS})", lambda: page.keyboard.press("Enter"))
    settle(page)
    page.get_by_role("button", name="Clear filters").click()
    page.wait_for_function(f"!/ of /.test({STATUS})")
    settle(page)
    return took


def press_table(page: Page, becomes: str, x: int, y: int) -> float:
    """Press a place of the table."""
    table = page.locator(".st-key-files_table canvas").first
    took = timed(page, becomes, lambda: table.click(position={"x": x, "y": y}, force=True))
    settle(page)
    return took


def sort_files(page: Page) -> float:
    """Press the heading of the titles, and see another first row."""
    before = json.dumps(page.evaluate(FIRST_CELLS))
    return press_table(page, f"{FIRST_CELLS} !== {before}", _TITLE_X, _HEADER_Y)


def select_file(page: Page) -> float:
    """Tick the first row, and see what can be done with it."""
    box = "document.querySelector('.st-key-files_chosen_box')"
    took = press_table(page, box, _TICK_X, _ROW_Y)
    press_table(page, f"!{box}", _TICK_X, _ROW_Y)
    return took


def open_file(page: Page) -> float:
    """Press Open in the first row, see the document, and go back."""
    took = press_table(page, "document.querySelector('.cp-note, .cp-text')", _OPEN_X, _ROW_Y)
    page.go_back()
    page.wait_for_selector(".st-key-files_table canvas")
    settle(page)
    return took


def use_files(page: Page, count: int, rounds: int) -> Figures:
    """The Files page, first seen and then used."""
    author = Author(seed=5)
    first = round(open_files(page, count))
    acts: dict[str, Callable[[], float]] = {
        "filter": lambda: filter_files(page, str(author.words(1))),
        "sort": lambda: sort_files(page),
        "select": lambda: select_file(page),
        "open": lambda: open_file(page),
    }
    took = {name: worst([act() for _ in range(rounds)]) for name, act in acts.items()}
    return {"first open": first, **took}


def worst(values: Sequence[float]) -> Figures:
    """The median and the longest."""
    return {"p50": round(median(values)), "max": round(max(values))}


def measure(folder: Path, notes: Path, rounds: int, embedder: str) -> Figures:
    """The figures of one home."""
    home, queries = folder / "home", cycle(titles(notes))
    home.mkdir()
    count = fill(home, notes, embedder)
    with browser(folder / "profile") as page:
        with started(home, page) as (_, first):
            settle(page)
        with started(home, page) as (_, second):
            used = use(page, queries, rounds)
            files = use_files(page, count, rounds)
    return {
        "rows": count,
        "start_s": {"first": round(first, 2), "second": round(second, 2)},
        **used,
        "files_ms": files,
    }


def use(page: Page, queries: Iterator[str], rounds: int) -> Figures:
    """Searches, notes and pages."""
    press_enter(page, next(queries))  # the first one waits for the model
    return {
        "key_ms": worst([type_a_key(page, next(queries)) for _ in range(rounds)]),
        "enter_ms": worst([press_enter(page, next(queries)) for _ in range(rounds)]),
        "note_ms": worst([open_hit(page) for _ in range(rounds)]),
        "pages_ms": switch_pages(page, rounds),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000, help="how many notes to make up")
    parser.add_argument("--notes", type=Path, metavar="DIR", help="a folder of Markdown instead")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is done")
    parser.add_argument("--embedder", default="hashing")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    check_browser()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        notes = given.notes or write_notes(folder / "notes", given.rows)
        found = measure(folder, notes.resolve(), given.rounds, given.embedder)
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
