"""What has become of the files of what was found: said of each hit, to the owner alone."""

from __future__ import annotations

import json
import threading
from functools import partial
from pathlib import Path

import pytest

from rag_core.api.encoding import json_text
from rag_core.api.mcp import reading
from rag_core.api.operations import OPERATIONS
from rag_core.library import Library, searching
from rag_core.types import OWNER, Freshness, Notice, Viewer
from rag_core.wording import freshness
from tests.conftest import Run, index

GUEST = Viewer("ann@example.org", stores=frozenset({"s"}))


@pytest.fixture
def shelf(library: Library, notes: Path) -> Path:
    """Four notes in store ``s``."""
    for name in ("tea", "pot", "cup", "jug"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe {name} stands on the shelf.\n", "utf-8")
    index(library, "s", notes)
    return notes


def states(library: Library, viewer: Viewer = OWNER) -> dict[str, str]:
    hits = library.search(viewer, "stands on the shelf").hits
    return {hit.document.path: hit.document.state for hit in hits}


@pytest.mark.posix
def test_every_hit_has_the_state_of_its_file(library: Library, shelf: Path) -> None:
    (shelf / "pot.md").write_text("# Pot\n\nAnother one.\n", "utf-8")
    (shelf / "cup.md").unlink()
    (shelf / "jug.md").unlink()
    (shelf / "jug.md").symlink_to(shelf / "jug.md")  # nobody can say what it leads to
    assert states(library) == {"tea.md": "fresh", "pot.md": "changed", "jug.md": "unknown"}
    assert Notice("gone", {"count": 1}) in library.search(OWNER, "stands on the shelf").notices
    shelf.rename(shelf.with_name("away"))
    assert states(library)["cup.md"] == "unknown", "its folder may be on another disk"
    shelf.mkdir()
    assert states(library)["cup.md"] == "unknown", "that disk may not be there"
    shelf.rmdir()
    shelf.with_name("away").rename(shelf)
    assert library.files.get(OWNER, "s", "jug.md").state == "unknown"


def test_a_guest_is_told_nothing_of_the_disk(library: Library, shelf: Path) -> None:
    (shelf / "pot.md").write_text("# Pot\n\nAnother one.\n", "utf-8")
    assert {*states(library, GUEST).values()} == {"indexed"}


def test_an_answer_that_was_kept_is_compared_anew(library: Library, shelf: Path) -> None:
    kept = library.search(OWNER, "tea")
    (shelf / "tea.md").unlink()
    now = library.searching.with_file_states(OWNER, kept).hits
    assert {hit.document.path for hit in kept.hits} - {hit.document.path for hit in now} == {"tea.md"}
    guests = library.search(GUEST, "tea")
    assert library.searching.with_file_states(GUEST, guests) == guests


def test_the_command_line_says_it_below_the_passage(run: Run, library: Library, shelf: Path) -> None:
    (shelf / "tea.md").write_text("# Tea\n\nAnother one.\n", "utf-8")
    said = run("query", "tea", "--store", "s", "--top-k", 1).out
    assert "The file may have changed since it was indexed." in said
    [hit] = run("query", "tea", "--store", "s", "--top-k", 1, "--json").json["results"]
    assert hit["state"] == "changed"
    (shelf / "tea.md").unlink()
    assert "1 passage left out, as the file is gone." in run("query", "tea", "--store", "s").err


def test_nobody_waits_for_a_disk_that_hangs(
    library: Library, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(searching, "file_states", lambda _: answers.wait(20) and {})
    assert {*states(library).values()} == {"unknown"}
    answers.set()


def test_below_what_was_found_stands_how_far_the_store_is_behind(
    run: Run, library: Library, shelf: Path
) -> None:
    assert run("query", "tea", "--store", "s").out.rstrip().endswith("Up to date.")
    (shelf / "bad.docx").write_bytes(b"no archive")
    index(library, "s", shelf)
    assert library.jobs.freshness(OWNER, ["s"]) == Freshness(False, 0, 0, 1)
    assert freshness(Freshness(False, 12, 3, 2)) == "reading 12 files · 2 failed"
    assert freshness(Freshness(False, 0, 3, 0, eta=200)) == "3 passages not embedded yet · 2–5 min left"
    assert freshness(Freshness(False, 0, 0, 0, pictures=9)) == "the text in 9 pictures not read yet"


def test_programs_are_told_how_far_a_store_is_behind_and_guests_are_not(
    library: Library, shelf: Path
) -> None:
    (shelf / "bad.pdf").write_bytes(b"%PDF-1.4 damaged")
    index(library, "s", shelf)
    given = {"query": "stands on the shelf"}
    rest = next(each.act for each in OPERATIONS if each.name == "search" and each.act)
    tool = partial(reading.search, _=threading.Event())
    for ask in (rest, tool):
        shown = json.loads(json_text(ask(library, OWNER, given)))["freshness"]
        assert shown == {
            "looking": False,
            "reading": 0,
            "waiting": 0,
            "failed": 1,
            "eta_seconds": None,
            "pictures": 0,
            "summary": "up to date · 1 failed",
        }
        assert json.loads(json_text(ask(library, GUEST, given)))["freshness"] is None
