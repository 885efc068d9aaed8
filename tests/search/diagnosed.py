"""A folder with a file for every reason to be found or not, and asking about one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.reports import Diagnosis
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write

EXCLUDES = (
    "Edit the folder: `commonplace source edit NUMBER --no-exclude` removes its exclude patterns;"
    " `--exclude PATTERN` in its place keeps those that you name."
)


@pytest.fixture
def vault(library: Library, notes: Path) -> Path:
    """A folder with one file for every reason, in a store called ``s``."""
    files = {
        "a.md": "# Heron\n\nThe heron waits.",
        "sub/b.md": "# Boat\n\nA boat on the river.",
        "draft.md": "# Draft\n\nNot ready.",
        "ignored.md": "An ignored note.",
        ".gitignore": "ignored.md\n",
        "key.pem": "secret",
        "song.mp3": "\x00\x01\x02",
        "private.md": "---\nprivate: true\n---\n# Diary\n\nMine alone.",
        "chinese.md": "# 诗\n\n白日依山尽，黄河入海流。",
    }
    write(notes, files)
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ["**/*"], ["draft*"])
    index(library, "s")
    return notes


def ask(library: Library, path: Path | str, query: str = "", here: Path | None = None) -> Diagnosis:
    found = library.upkeep.explain(OWNER, str(path), query=query, here=here)
    assert len(found) == 1
    return found[0]


def last(diagnosis: Diagnosis) -> str:
    return diagnosis.steps[-1].sentence
