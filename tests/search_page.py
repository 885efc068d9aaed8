"""Using the Search page in a test: notes to find, opening it and its cards, reading what it shows."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests import pages
from tests.pages import markup
from tests.trees import write
from ui.deps import library

HOSTILE_PATH = "odd `name`\n<b>.md"
TEA = "---\ntags: [drink/tea]\ndate: 2026-02-01\n---\n# Tea\n\nGreen tea wants water at eighty degrees.\n"
COFFEE = "---\ntags: [drink]\ndate: 2025-02-01\n---\n# Coffee\n\nCoffee wants water nearly boiling.\n"
NOTES = {
    "tea.md": TEA,
    "coffee.md": COFFEE,
    "projects/kettle.py": 'def boil(water):\n    """Heat the water until it boils."""\n    return water\n',
    "projects/garden/plan.md": "# Garden plan\n\nThe water butt stands behind the shed.\n",
    "secret.md": "---\nprivate: true\n---\n# Secret\n\nThe water meter hides the spare key.\n",
}

Indexing = Callable[..., None]


@pytest.fixture
def indexing(owner: None, tmp_path: Path) -> Indexing:
    """Write files and index them: ``indexing({path: text}, store)``."""

    def write_and_index(notes: Mapping[str, str], store: str = "notes", embedder: str = "hashing") -> None:
        folder = tmp_path / store
        write(folder, notes)
        if store not in library().stores.names(OWNER):
            library().create_store(OWNER, store, embedder)
            library().add_source(OWNER, store, folder, ("**/*",))
        library().jobs.request(OWNER, store)
        library().jobs.run(OWNER, store)

    return write_and_index


@pytest.fixture
def water_notes(indexing: Indexing) -> Indexing:
    """Five notes in a store ``notes``; more can be written."""
    indexing(NOTES)
    return indexing


def open_page(**params: str | list[str]) -> AppTest:
    return pages.open_page("search", **params)


def said(page: AppTest) -> list[str]:
    """The quiet lines around the cards."""
    outside = re.sub(r"<article.*?</article>", "", markup(page), flags=re.DOTALL)
    return [html.unescape(line) for line in re.findall(r'<p class="cp-quiet">(.*?)</p>', outside)]


def titles(page: AppTest) -> list[str]:
    cards = re.findall(r"<article.*?<h2>(.*?)</h2>", markup(page), re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", title)) for title in cards]


def open_card(page: AppTest, key: str) -> AppTest:
    page.session_state[f"open_notes_{key}"] = True
    return page.run()


def keys(query: str) -> list[str]:
    return [hit.key for hit in library().search(OWNER, query).hits]
