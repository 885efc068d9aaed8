"""Using the Search page in a test: notes to find, opening it and its cards, reading what it shows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.pages import visiting
from tests.pages.visiting import drawn
from tests.support.trees import write
from ui.frame.deps import library

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

    def write_and_index(notes: Mapping[str, str], store: str = "notes") -> None:
        folder = tmp_path / store
        write(folder, notes)
        if store not in library().stores.names(OWNER):
            library().create_store(OWNER, store, "hashing")
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
    return visiting.open_page("search", **params)


def shown(page: AppTest) -> dict[str, Any]:
    """What the page gives its script to show."""
    found: dict[str, Any] = json.loads(component(page).json)
    return found


def component(page: AppTest, name: str = "search") -> Any:
    """What stands for a script of ours in what is sent to the browser."""
    [proto] = [
        each.proto
        for each in drawn(page).get("bidi_component")
        if each.proto.component_name == f"pages.{name}"
    ]
    return proto


def titles(page: AppTest) -> list[str]:
    """The notes found; none on a page with an error or without a box."""
    return [card["title"] for card in shown(page)["cards"]] if page.get("bidi_component") else []


def plain(pieces: list[list[Any]]) -> str:
    """The text of some pieces."""
    return "".join(text for text, _ in pieces)


def chip(page: AppTest, name: str) -> dict[str, Any]:
    """A filter, by its name or by what it says of the chosen values."""
    [found] = [each for each in shown(page)["chips"] if name in (each["name"], each["shown"])]
    return dict(found)


def option(page: AppTest, name: str, label: str) -> dict[str, Any]:
    """An option of a filter."""
    [found] = [each for each in chip(page, name)["options"] if each["label"] == label]
    return dict(found)
