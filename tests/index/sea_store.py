"""A store called sea that travels in a portable file: what it holds, and what is left lying about."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write

NOTES = {
    "harbour.md": "---\ntags: [sea/port]\naliases: [Haven]\n---\n# Harbour\n\n"
    "The harbour opens at six, see [[boats]].\n",
    "boats.md": "# Boats\n\nBoats leave the harbour before dawn.\n",
    "copy.md": "# Boats\n\nBoats leave the harbour before dawn.\n",
    "diary.md": "---\nprivate: true\n---\n# Diary\n\nThe secret of the harbour.\n",
    "left out.md": "# Left out\n\nA lighthouse.\n",
    "code/sail.py": "def sail(boat):\n    return 'harbour'\n",
}


@pytest.fixture
def sea(library: Library, notes: Path) -> Library:
    """A library with a store called sea."""
    write(notes, NOTES)
    index(library, "sea", notes)
    library.files.exclude(OWNER, "sea", "left out.md", "Not for me.")
    index(library, "sea")
    return library


@pytest.fixture
def exported(sea: Library, tmp_path: Path) -> Path:
    """The portable file of sea."""
    return sea.stores.export(OWNER, "sea", tmp_path).path


def leftovers(library: Library) -> list[str]:
    """What exports and imports left beside the stores."""
    names = (path.name for path in library.settings.store_dir.iterdir())
    return [name for name in names if name.startswith(".")]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
