"""Single files: their state on disk, taking one out and back, and reading one again."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import StoreError
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import run
from tests.support.stored import found, keys, outcomes, paths


@pytest.fixture
def shelf(library: Library, notes: Path) -> Path:
    """Three notes in store ``s``."""
    for name in ("tea", "pot", "cup"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe {name} stands on the shelf.\n", "utf-8")
    index(library, "s", notes)
    return notes


def states(library: Library) -> dict[str, str]:
    return {file.path: file.state for file in library.files.all(OWNER, "s")}


# --- states ---------------------------------------------------------------------------


@pytest.mark.posix
def test_every_file_has_the_state_it_has_on_disk_now(library: Library, shelf: Path) -> None:
    (shelf / "bad.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    (shelf / "photo.md").write_bytes(bytes(range(256)) * 8)
    index(library, "s")
    (shelf / "pot.md").write_text("# Pot\n\nAnother one.\n", "utf-8")
    (shelf / "cup.md").unlink()
    library.files.exclude(OWNER, "s", "photo.md")
    expected = {
        "bad.md": "failed",
        "cup.md": "missing",
        "photo.md": "excluded",
        "pot.md": "changed",
        "tea.md": "fresh",
    }
    assert states(library) == expected
    assert {path: library.files.get(OWNER, "s", path).state for path in expected} == expected


# --- reading one again ----------------------------------------------------------------


def test_a_file_is_read_again_though_it_did_not_change(library: Library, shelf: Path) -> None:
    before = keys(library, "s", "tea.md")
    library.jobs.request_file(OWNER, "s", "tea.md")
    job = run(library)
    assert (outcomes(job), job.texts_embedded) == ({"tea.md": "reread"}, 0)
    assert keys(library, "s", "tea.md") == before


# --- taking out and back --------------------------------------------------------------


def test_an_excluded_file_is_forgotten_and_listed_with_its_reason(library: Library, shelf: Path) -> None:
    library.files.exclude(OWNER, "s", "tea.md", "It is a draft.")
    assert outcomes(run(library)) == {"tea.md": "excluded"}
    assert found(library, "tea stands") == []
    excluded = library.files.get(OWNER, "s", "tea.md")
    assert (excluded.state, excluded.reason, excluded.chunks) == ("excluded", "It is a draft.", 0)
    assert excluded.root == str(shelf)


def test_an_excluded_file_of_an_unplugged_disk_is_forgotten(
    library: Library, shelf: Path, tmp_path: Path
) -> None:
    shelf.rename(tmp_path / "gone")
    library.files.exclude(OWNER, "s", "tea.md")
    job = run(library)
    assert (outcomes(job), job.message) == ({"tea.md": "excluded"}, "")
    assert found(library, "tea stands") == []
    assert found(library, "pot stands") == ["pot.md"]


def test_a_file_is_excluded_together_with_the_request_to_forget_it_or_not_at_all(
    library: Library, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr("rag_core.store.jobs.add_request", full)
        with pytest.raises(StoreError):
            library.files.exclude(OWNER, "s", "tea.md")
    assert states(library)["tea.md"] == "fresh"


def test_a_file_stays_out_whatever_happens_to_it(library: Library, shelf: Path) -> None:
    library.files.exclude(OWNER, "s", "tea.md")
    run(library)
    (shelf / "tea.md").write_text("# Tea\n\nWritten anew.\n", "utf-8")
    index(library, "s")
    index(library, "s", force=True)
    (shelf / "tea.md").unlink()
    index(library, "s")
    (shelf / "tea.md").write_text("# Tea\n\nIt is back.\n", "utf-8")
    library.sources.change(OWNER, "s", 1, ["**/*.md", "tea.md"])
    index(library, "s", shelf, "tea.*")
    assert paths(library) == ["cup.md", "pot.md"]
    assert states(library)["tea.md"] == "excluded"


def test_an_overlapping_folder_does_not_bring_an_excluded_file_back(library: Library, notes: Path) -> None:
    (notes / "sub").mkdir()
    (notes / "sub" / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    index(library, "s", notes / "sub")
    library.files.exclude(OWNER, "s", "sub/a.md")
    run(library)
    index(library, "s", force=True)
    assert paths(library) == []


def test_a_file_that_is_taken_back_is_read_and_nothing_else(library: Library, shelf: Path) -> None:
    library.files.exclude(OWNER, "s", "tea.md")
    run(library)
    (shelf / "pot.md").write_text("# Pot\n\nThe pot is broken.\n", "utf-8")
    library.files.include(OWNER, "s", "tea.md")
    assert outcomes(run(library)) == {"tea.md": "added"}
    assert found(library, "tea stands") == ["tea.md"]
    assert states(library) == {"cup.md": "fresh", "pot.md": "changed", "tea.md": "fresh"}


def test_removing_the_folder_forgets_its_exclusions(library: Library, shelf: Path) -> None:
    library.files.exclude(OWNER, "s", "tea.md")
    library.sources.remove(OWNER, "s", 1)
    run(library)
    assert library.files.all(OWNER, "s") == []
    index(library, "s", shelf)
    assert paths(library) == ["cup.md", "pot.md", "tea.md"]
