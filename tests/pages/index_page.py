"""Using the Index page in a test: a folder and a store, opening, pressing, and reading what it says."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.pages import visiting
from tests.pages.visiting import drawn, has_key
from ui.frame.deps import library
from ui.index.folders import FOLDER_BOX as FOLDER


@pytest.fixture
def four_files(tmp_path: Path) -> Path:
    """A folder with three notes, one of them below, and a script."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at eighty degrees.\n", "utf-8")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n", "utf-8")
    (folder / "deep" / "ink.md").write_text("# Ink\n\nIron gall ink darkens as it dries.\n", "utf-8")
    (folder / "run.py").write_text("print('hello')\n", "utf-8")
    return folder


@pytest.fixture
def hashing_store(owner: None) -> str:
    """A store whose embedder needs no model."""
    library().create_store(OWNER, "mine", "hashing")
    return "mine"


def page(**params: str) -> AppTest:
    return visiting.open_page("index", **params)


def texts(app: AppTest) -> str:
    kinds = (app.markdown, app.text, app.caption, app.error, app.warning, app.info, app.header)
    return "\n".join(str(element.value).replace("\\", "") for kind in kinds for element in kind)


def errors(app: AppTest) -> str:
    return "\n".join(str(error.value).replace("\\", "") for error in app.error)


def until(app: AppTest, wanted: Callable[[AppTest], bool]) -> AppTest:
    """Draw the page again and again, as its timer would, until ``wanted``."""
    end = time.monotonic() + 20
    while not wanted(drawn(app.run())):
        assert time.monotonic() < end, texts(app)
        time.sleep(0.05)
    return app


def with_folder(folder: Path) -> AppTest:
    return drawn(page().text_input(key=FOLDER).set_value(str(folder)).run())


def finished(app: AppTest) -> bool:
    return has_key(app, "index_again") and not app.button(key="index_again").disabled
