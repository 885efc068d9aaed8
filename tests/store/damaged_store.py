"""A store whose files tests damage, and what it says before."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.store import decisions
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.stored import contents, file_of
from tests.support.trees import write

PAGE = 8192
GUEST = Viewer("ada@example.org", stores=frozenset({"s"}))
NOTES = {
    f"d{number % 7}/note {number}.md": f"---\ntags: [kind{number % 9}/x]\naliases: [Other {number}]\n---\n"
    f"# Note {number}\n\n"
    + "".join(
        f"## Part {part}\n\nIt tells of subject{number} in part{part}. [[note {number * 3 % 40}]]\n"
        + f"Word{number * part} " * 30
        for part in range(3)
    )
    for number in range(40)
} | {
    "out.md": "The quagga is out.\n",
    "own.md": "---\nprivate: true\n---\nThe okapi is mine.\n",
    "hidden/kiwi.md": "The kiwi is hidden.\n",
}
QUERIES = ("subject7", "It tells of subject3 in part1", "okapi", "kiwi", "quagga", "tag:kind3")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a store says that was never damaged."""

    contents: dict[bytes, dict[str, Any]]
    answers: list[list[tuple[object, ...]]]
    decided: decisions.Decisions


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """A library with one store ``s``, an excluded file and a private rule; nobody changes it."""
    folder = tmp_path_factory.mktemp("sound")
    write(folder / "notes", NOTES)
    library = Library.open(Settings(folder / "data", folder / "models", ()))
    index(library, "s", folder / "notes")
    library.files.exclude(OWNER, "s", "out.md")
    library.privacy.set(OWNER, "s", ["hidden/**"])
    index(library, "s")
    library.close()  # the log is folded into the file, which can be copied
    yield library
    library.close()


@pytest.fixture(scope="module")
def expected(sound: Library) -> Expected:
    """What the store says, which is closed then."""
    shown = Expected(contents(sound, "s"), answers(sound), decided(sound))
    sound.close()
    return shown


def answers(library: Library) -> list[list[tuple[object, ...]]]:
    """What the owner and a guest find, from path to score."""
    return [
        [
            (hit.document.path, hit.content, hit.document.title, hit.document.date, round(hit.score, 6))
            for hit in library.search(viewer, query, ["s"], top_k=5).hits
        ]
        for viewer in (OWNER, GUEST)
        for query in QUERIES
    ]


def decided(library: Library) -> decisions.Decisions:
    found = decisions.stored(file_of(library))
    assert found is not None
    return found


def change(library: Library, script: str) -> None:
    """Change the file as no store does, behind the library's back."""
    library.close()
    with closing(sqlite3.connect(file_of(library), isolation_level=None)) as db:
        db.executescript(f"PRAGMA foreign_keys = OFF; {script}")


def tear(library: Library, table: str) -> None:
    """Let noise stand in the place of the first page of a table."""
    library.close()
    with closing(sqlite3.connect(file_of(library))) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [page] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    with file_of(library).open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(random.Random(page).randbytes(PAGE))


def assert_comes_back(library: Library, expected: Expected) -> None:
    library.upkeep.repair(OWNER, "s")
    assert library.upkeep.verify(OWNER, "s").sound
    assert decided(library) == expected.decided
    index(library, "s")
    assert contents(library, "s") == expected.contents
    assert answers(library) == expected.answers
    assert library.upkeep.repair(OWNER, "s").done == ()
