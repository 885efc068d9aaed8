"""Renew the README's pictures: ``python docs/make_pictures.py``.

Indexes this repository's own documentation in a throw-away home, opens the real app in Chromium
(/usr/bin/chromium, or COMMONPLACE_TEST_CHROMIUM) and photographs it. Needs the model: run
``make setup`` first, or name its folder in COMMONPLACE_MODELS.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Page, sync_playwright  # noqa: E402

from rag_core.config import Settings, load  # noqa: E402
from rag_core.library import Library  # noqa: E402
from rag_core.types import OWNER  # noqa: E402
from tests.live import start  # noqa: E402

IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("COMMONPLACE_TEST_CHROMIUM", "/usr/bin/chromium")
SHOTS = {"search": "/?q=why+is+one+number+both+order+and+score"}


def index_docs(home: Path, models: Path) -> None:
    """Read docs/ into a store called handbook."""
    library = Library.open(Settings(home / "data", models, (ROOT,)))
    library.create_store(OWNER, "handbook")
    library.add_source(OWNER, "handbook", ROOT / "docs", ("**/*.md",))
    library.request_index(OWNER, "handbook")
    job = library.run(OWNER, "handbook")
    if job is None or job.state != "done" or job.message:
        raise SystemExit(f"The documentation could not be indexed: {job and job.message}")
    library.close()


def photograph(page: Page, address: str, target: Path) -> None:
    """One page, when its script has ended and its fonts are there."""
    page.goto(address)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_function("document.fonts.ready")
    page.wait_for_timeout(1500)
    page.screenshot(path=target, animations="disabled")


def main() -> None:
    models = load().model_dir
    with tempfile.TemporaryDirectory() as temporary:
        home, server_folder = Path(temporary, "home"), Path(temporary, "server")
        server_folder.mkdir()
        index_docs(home, models)
        places = {"COMMONPLACE_HOME": str(home), "COMMONPLACE_MODELS": str(models)}
        IMAGES.mkdir(exist_ok=True)
        with start(server_folder, **places) as server, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1100, "height": 820}, reduced_motion="reduce")
            for name, path in SHOTS.items():
                photograph(page, f"http://{server.host}{path}", IMAGES / f"{name}.png")
            browser.close()


if __name__ == "__main__":
    main()
