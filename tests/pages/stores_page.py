"""The Stores page as its tests open and read it, and a store to look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.library import Library
from tests.conftest import index
from tests.pages import visiting
from tests.pages.visiting import drawn
from tests.support.waiting import until
from ui.frame import tasks
from ui.frame.deps import library
from ui.stores.task_status import library_name


@pytest.fixture
def garden(owner: None, notes: Path) -> Library:
    """A library with a store called garden: two notes, a script, and one that cannot be read."""
    (notes / "rose.md").write_text("# Rose\n\nCut roses in late winter.\n", "utf-8")
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe gardener's secret.\n", "utf-8")
    (notes / "water.py").write_text("def water(roses):\n    return 'wet'\n", "utf-8")
    (notes / "broken.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(library(), "garden", notes)
    return library()


def page(**parameters: str) -> AppTest:
    return visiting.open_page("stores", **parameters)


def settled(app: AppTest) -> AppTest:
    """The page once nothing is under way."""
    until(lambda: not any(task.running for task in tasks.known_tasks(library_name())))
    return drawn(app.run())


def links(app: AppTest) -> dict[str, str]:
    """The links of the page by their label, with the page and parameters that they lead to."""
    found = [element.proto for element in app.get("page_link")]
    return {link.label.strip("*").replace("\\", ""): f"{link.page}?{link.query_string}" for link in found}
