"""Renew the pictures of the pages: ``python docs/make_pictures.py``.

Indexes the sample notes in a throw-away home, opens the real app in the browser that the tests drive and
photographs it. Needs the model: run ``make setup`` first, or name its folder
in COMMONPLACE_MODELS.

``python docs/make_pictures.py --states FOLDER`` makes pictures of another kind instead: every page in each of
its states, on a desk in light and on a phone in dark colours, to be looked at after a change of the looks.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from rag_core.cli.demo import SAMPLES  # noqa: E402
from rag_core.config import Settings, load  # noqa: E402
from rag_core.library import Library  # noqa: E402
from tests.browser.browser import NoBrowser, find  # noqa: E402
from tests.browser.chromium import Watched  # noqa: E402
from tests.browser.page_homes import opened  # noqa: E402
from tests.browser.page_states import LOOKS, STATES, State  # noqa: E402
from tests.support.live import start  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SHOTS = {
    "search": "/?q=how+long+does+green+tea+keep",
    "ask": "/ask",
    "files": "/files?store=samples",
    "document": "/files?store=samples&path=kitchen%2FGreen+tea.md",
    "index": "/index?store=samples",
    "stores": "/stores",
    "settings": "/settings",
}
"""A picture of each page of the app: its name, and the address."""
QUESTION = "How long does green tea keep?"
SHOW_HOME = """([home, shown]) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode;
        if (node.data.includes(home)) node.data = node.data.replace(home, shown);
    }
}"""
"""Shows the throw-away home as that of a person."""
WHOLE_HEIGHT = "Math.ceil(document.querySelector('[data-testid=stMain]').scrollHeight)"


def index_samples(home: Path, models: Path) -> None:
    """Copy the sample notes into a home and read them into a store."""
    shutil.copytree(SAMPLES, home / "notes")
    with closing(Library.open(Settings(home / "data", models, (home,)))) as library:
        job = library.add(home / "notes", "samples")
        if job is None or job.state != "done" or job.message:
            raise SystemExit(f"The notes could not be indexed: {job and job.message}")


def photograph(page: Page, address: str, target: Path, home: Path) -> None:
    """One page of the app with its data in ``home``, when its script has ended and its fonts are there."""
    page.goto(address)
    if target.stem == "ask":
        page.get_by_label("Ask your notes", exact=True).first.fill(QUESTION)
        page.keyboard.press("Enter")
        page.get_by_text("Passages").first.wait_for(state="attached")
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(1500)
    page.evaluate(SHOW_HOME, [str(home), "/home/you"])
    page.screenshot(path=target, animations="disabled")


def make_readme_pictures(folder: Path) -> None:
    """The pictures that the README and the tour show."""
    models = load().model_dir
    with tempfile.TemporaryDirectory() as temporary:
        home, server_folder = Path(temporary, "home"), Path(temporary, "server")
        server_folder.mkdir()
        index_samples(home, models)
        places = {"COMMONPLACE_HOME": str(home), "COMMONPLACE_MODELS": str(models)}
        folder.mkdir(parents=True, exist_ok=True)
        with start(server_folder, **places) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=find(), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1100, "height": 820}, reduced_motion="reduce")
            for name, path in SHOTS.items():
                photograph(page, f"http://{server.host}{path}", folder / f"{name}.png", home)
            browser.close()


def make_pictures_of_states(folder: Path, wanted: str) -> None:
    """A picture of every state whose name holds ``wanted``, called by its home, its name and the width."""
    folder.mkdir(parents=True, exist_ok=True)
    for home, states in STATES.items():
        chosen = [state for state in states if wanted in f"{home} {state.name}"]
        if chosen:
            with tempfile.TemporaryDirectory() as temporary, opened(home, Path(temporary)) as app:
                for state in chosen:
                    photograph_state(app, state, folder / f"{home} {state.name}".replace(" ", "-"))


def photograph_state(app: Watched, state: State, target: Path) -> None:
    """The whole page, however long it is, in a wide and in a narrow window."""
    app.look(*LOOKS[0])
    state.show(app)
    for scheme, width in LOOKS[:1] if state.wide else LOOKS:
        app.look(scheme, width)
        app.page.wait_for_timeout(500)
        app.look(scheme, width, max(app.page.evaluate(WHOLE_HEIGHT), 500))
        app.page.wait_for_timeout(500)
        app.page.screenshot(path=f"{target}-{width}.png", animations="disabled")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--into", type=Path, default=IMAGES, metavar="FOLDER", help="where the pictures of the pages go"
    )
    parser.add_argument("--states", type=Path, metavar="FOLDER", help="where pictures of every state go")
    parser.add_argument("--only", default="", metavar="WORDS", help="only the states whose name holds this")
    given = parser.parse_args()
    try:
        find()
    except NoBrowser as none:
        raise SystemExit(str(none)) from None
    if given.states:
        make_pictures_of_states(given.states, given.only)
    else:
        make_readme_pictures(given.into)


if __name__ == "__main__":
    main()
