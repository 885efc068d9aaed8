"""What has become of the files of what was found: said of each hit, to the owner alone."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import pytest

from rag_core.library import Library, searching
from rag_core.library.searching import file_states_soon
from rag_core.store import find
from rag_core.types import OWNER, Viewer
from tests.conftest import Run, index
from tests.stored import store_of

GUEST = Viewer("ann@example.org", stores=frozenset({"s"}))


@pytest.fixture
def shelf(library: Library, notes: Path) -> Path:
    """Four notes in store ``s``."""
    for name in ("tea", "pot", "cup", "jug"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe {name} stands on the shelf.\n")
    index(library, "s", notes)
    return notes


def states(library: Library, viewer: Viewer = OWNER) -> dict[str, str]:
    hits = library.search(viewer, "stands on the shelf").hits
    return {hit.document.path: hit.document.state for hit in hits}


def test_of_every_hit_it_is_told_what_its_file_is_now(library: Library, shelf: Path) -> None:
    (shelf / "pot.md").write_text("# Pot\n\nAnother one.\n")
    (shelf / "cup.md").unlink()
    (shelf / "jug.md").unlink()
    (shelf / "jug.md").symlink_to(shelf / "jug.md")  # nobody can say what it leads to
    expected = {"tea.md": "fresh", "pot.md": "changed", "cup.md": "missing", "jug.md": "unknown"}
    assert states(library) == expected
    assert library.files.get(OWNER, "s", "jug.md").state == "unknown"


def test_a_guest_is_told_nothing_of_the_disk(library: Library, shelf: Path) -> None:
    (shelf / "pot.md").write_text("# Pot\n\nAnother one.\n")
    assert {*states(library, GUEST).values()} == {"indexed"}


def test_an_answer_that_was_kept_is_compared_anew(library: Library, shelf: Path) -> None:
    kept = library.search(OWNER, "tea")
    (shelf / "tea.md").unlink()
    [now] = [
        hit for hit in library.searching.with_file_states(OWNER, kept).hits if hit.document.path == "tea.md"
    ]
    assert now.document.state == "missing"
    guests = library.search(GUEST, "tea")
    assert library.searching.with_file_states(GUEST, guests) == guests


def test_the_command_line_says_it_below_the_passage(run: Run, library: Library, shelf: Path) -> None:
    (shelf / "tea.md").unlink()
    said = run("query", "tea", "--store", "s", "--top-k", 1).out
    assert "The file is gone. The next run finds" in said
    [hit] = run("query", "tea", "--store", "s", "--top-k", 1, "--json").json["results"]
    assert hit["state"] == "missing"


class Hanging(Sequence[sqlite3.Row]):
    """Rows that come when a disk answers."""

    def __init__(self, rows: list[sqlite3.Row], answers: threading.Event) -> None:
        self.rows, self.answers, self.asked = rows, answers, 0

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> sqlite3.Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[sqlite3.Row]: ...
    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __iter__(self) -> Iterator[sqlite3.Row]:
        if threading.current_thread() is not threading.main_thread():
            self.asked += 1
            assert self.answers.wait(20)
        return iter(self.rows)


def stat_rows(library: Library) -> list[sqlite3.Row]:
    """What the store knows of its files, to compare with the disk."""
    store = store_of(library, "s")
    with store.read() as db:
        rows = find.stat_rows(db)
    store.close()
    return rows


def test_nobody_waits_for_a_disk_that_hangs_and_few_ask_it(library: Library, shelf: Path) -> None:
    rows = stat_rows(library)
    answers = threading.Event()
    hanging = Hanging(rows, answers)
    for _ in range(10):
        assert file_states_soon(hanging, 0.01) == {}
    assert hanging.asked <= 4
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    answers.set()
    for thread in others:
        if thread.name.endswith("(look)"):
            thread.join(20)
    assert {*file_states_soon(rows, 20).values()} == {"fresh"}


def test_who_comes_while_others_look_is_told_too(
    library: Library, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many search at once, and no disk hangs."""
    monkeypatch.setattr(searching, "_TURN_S", 20.0)
    rows = stat_rows(library)
    answers = threading.Event()
    hanging = Hanging(rows, answers)
    for _ in range(4):
        file_states_soon(hanging, 0.01)
    soon = threading.Timer(0.05, answers.set)
    soon.start()
    assert {*file_states_soon(rows, 20).values()} == {"fresh"}
    soon.join()
