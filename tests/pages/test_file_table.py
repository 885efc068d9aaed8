"""The table of the Files page: its order, and what of it is made before anyone asks."""

from __future__ import annotations

import re
from os import utime
from pathlib import Path

import pytest

from rag_core.library.files import Files
from rag_core.types import OWNER
from tests.conftest import index
from tests.pages.files_page import open_page, paths, table
from tests.pages.visiting import drawn, markup
from tests.support.trees import write
from ui.files import file_table
from ui.files.file_table import load_ahead
from ui.frame.deps import library

NOTES = {
    "tea.md": "# Tea\n\nGreen tea wants water that does not boil.\n",
    "coffee.md": "# Coffee\n\nHot.\n",
    "kettle.py": "def boil(water):\n    return water\n",
    "zebra.md": "# animals\n\nIt is striped all over, and sleeps standing, as horses do.\n",
}


pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def shelf(notes: Path) -> Path:
    """Store ``notes`` over a few files, one of them broken."""
    write(notes, NOTES)
    (notes / "ill.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(library(), "notes", notes)
    return notes


@pytest.mark.posix
def test_the_order_is_chosen_without_a_mouse_and_stands_in_the_address(shelf: Path) -> None:
    page = open_page(store="notes")
    order = page.selectbox(key="files_sort")
    assert list(order.options) == ["By folder", "By name", "Newest first", "Largest first"]
    drawn(order.set_value("size").run())
    sizes = list(table(page)["Size"])
    assert sizes == sorted(sizes, reverse=True)
    assert paths(page) != sorted(paths(page))
    assert page.query_params["sort"] == "size"
    assert len(sizes) == 5, "an order leaves nothing out"
    drawn(page.selectbox(key="files_sort").set_value("path").run())
    assert paths(page) == sorted(paths(page))
    utime(shelf / "coffee.md", (978_307_200, 978_307_200))  # 2001
    index(library(), "notes")
    newest = open_page(store="notes", sort="date", type="markdown")
    dates = list(table(newest)["Date"])
    assert dates == sorted(dates, reverse=True)
    assert dates[-1] == "2001-01-01"
    links = re.findall(r'path=([^"&]*)"', markup(newest))
    assert links[-1] == "coffee.md", "the links of a narrow window have the order, too"


@pytest.mark.posix
def test_an_order_that_there_is_not_is_none(shelf: Path) -> None:
    assert paths(open_page(store="notes", sort="weight")) == sorted([*NOTES, "ill.md"])


@pytest.mark.posix
def test_the_first_list_is_made_ahead_unless_it_is_long(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_table, "_MOST_AHEAD", len(NOTES) - 1)
    load_ahead(OWNER)
    read_whole = Files.all
    asked: list[str] = []
    monkeypatch.setattr(Files, "all", lambda *args, **kw: asked.append("") or read_whole(*args, **kw))
    monkeypatch.setattr(file_table, "_MOST_AHEAD", len(NOTES))
    load_ahead(OWNER)
    assert len(asked) == 1, "a list beyond the limit was made ahead"
    assert len(paths(open_page(store="notes"))) == len(NOTES) + 1
    assert len(asked) == 1, "the list was made again"
