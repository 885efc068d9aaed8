"""Indexing one file or folder of a store, removing passages, clearing a store; paths outside are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, NotFound
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library, run
from tests.support.stored import found, outcomes
from tests.support.trees import write

NOTES = {
    "tea.md": "# Tea\n\n## Green\n\nGreen tea is steamed before it is dried, and so it stays green.\n\n"
    "## Black\n\nBlack tea is rolled and left to oxidise, which makes it dark and strong.\n\n"
    "## White\n\nWhite tea is only withered, and made of buds that are picked in spring.\n",
    "pot.md": "# Pot\n\nThe pot stands on the shelf.\n",
    "deep/cup.md": "# Cup\n\nThe cup stands beside it.\n",
    "deep/er/spoon.md": "# Spoon\n\nThe spoon lies in the drawer.\n",
}


@pytest.fixture
def shelf(library: Library, notes: Path) -> Path:
    """Four notes in store ``s``."""
    write(notes, NOTES)
    index(library, "s", notes)
    return notes


def known(library: Library) -> list[str]:
    return [each.path for each in library.documents.all(OWNER, "s")]


def passages(library: Library, path: str = "tea.md") -> dict[str, str]:
    """The last heading of each passage of a document → its key."""
    return {each.heading_path[-1]: each.key for each in library.documents.get(OWNER, "s", path).chunks}


# --- one file ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["absolute", "as the store calls it"])
def test_one_file_is_read_and_no_other(library: Library, shelf: Path, way: str) -> None:
    write(shelf, {"new.md": "# New\n\nNew.\n", "pot.md": "# Pot\n\nIt fell.\n"})
    path = "new.md" if way != "absolute" else str(shelf / "new.md")
    assert library.jobs.request_path(OWNER, "s", path) == "new.md"
    assert outcomes(run(library)) == {"new.md": "added"}
    assert library.files.get(OWNER, "s", "pot.md").state == "changed"


OUTSIDE = [
    "/etc/passwd",
    "../secret.md",
    "{notes}/../secret.md",
    "{notes}",
    "nothing.md",
    "",
    "\x00",
    "\ud800",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_outside_the_folders_is_refused(library: Library, shelf: Path, path: str) -> None:
    (shelf.parent / "secret.md").write_text("# Secret\n\nNot a note.\n", "utf-8")
    with pytest.raises(InvalidInput):
        library.jobs.request_path(OWNER, "s", path.replace("{notes}", str(shelf)))
    assert not library.jobs.requested(OWNER, "s")
    for way in (library.jobs.request_below, library.files.path_of):
        if path not in ("{notes}", ""):
            with pytest.raises((InvalidInput, NotFound)):
                way(OWNER, "s", path.replace("{notes}", str(shelf)))


@pytest.mark.posix
@pytest.mark.skipif(os.name == "nt", reason="links need a permission there")
def test_a_link_that_leads_outside_is_refused(library: Library, shelf: Path) -> None:
    (shelf.parent / "secret.md").write_text("# Secret\n\nNot a note.\n", "utf-8")
    (shelf / "link.md").symlink_to(shelf.parent / "secret.md")
    with pytest.raises(InvalidInput, match="not read"):
        library.jobs.request_path(OWNER, "s", str(shelf / "link.md"))


def test_an_excluded_file_or_a_folder_is_refused_with_the_reason(library: Library, shelf: Path) -> None:
    write(shelf, {".hidden.md": "# Hidden\n", "deep/.gitignore": "rum.md\n", "deep/rum.md": "# Rum\n"})
    with pytest.raises(InvalidInput, match="hidden"):
        library.jobs.request_path(OWNER, "s", ".hidden.md")
    with pytest.raises(InvalidInput, match="gitignore"):
        library.jobs.request_path(OWNER, "s", "deep/rum.md")
    with pytest.raises(InvalidInput, match="is a folder"):
        library.jobs.request_path(OWNER, "s", "deep")
    library.files.exclude(OWNER, "s", "tea.md", "Too hot.")
    with pytest.raises(InvalidInput, match="Too hot") as refused:
        library.jobs.request_path(OWNER, "s", "tea.md")
    assert "--undo" in refused.value.suggestion


# --- a folder ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "recursive", "expected"),
    [
        ("{notes}", True, {"a.md", "deep/a.md", "deep/er/a.md"}),
        ("{notes}", False, {"a.md"}),
        ("deep", True, {"deep/a.md", "deep/er/a.md"}),
        ("deep", False, {"deep/a.md"}),
        ("{notes}/deep/er", True, {"deep/er/a.md"}),
    ],
)
def test_a_folder_is_brought_up_to_date_and_nothing_beside_it(
    library: Library, shelf: Path, path: str, recursive: bool, expected: set[str]
) -> None:
    write(shelf, {name: f"# A\n\n{name}\n" for name in ("a.md", "deep/a.md", "deep/er/a.md")})
    library.jobs.request_below(OWNER, "s", path.replace("{notes}", str(shelf)), recursive=recursive)
    assert set(outcomes(run(library))) == expected


# --- passages ---------------------------------------------------------------------------


def test_passages_are_taken_out_until_their_file_changes(library: Library, shelf: Path) -> None:
    keys = passages(library)
    assert library.documents.remove_passages(OWNER, "s", [keys["Black"]]) == 1
    check_library(library, "s")
    assert set(passages(library)) == set(keys) - {"Black"}
    assert found(library, '"left to oxidise"') == []
    index(library, "s")
    assert set(passages(library)) == set(keys) - {"Black"}, "a run that finds nothing changed"
    assert "by hand" in " ".join(library.documents.get(OWNER, "s", "tea.md").warnings)
    with (shelf / "tea.md").open("a", encoding="utf-8") as file:
        file.write("\nOne more line.\n")
    index(library, "s")
    assert set(passages(library)) == set(keys)
    assert passages(library)["Green"] == keys["Green"]
    assert library.documents.get(OWNER, "s", "tea.md").warnings == ()


def test_a_vector_that_another_passage_needs_stays(library: Library, shelf: Path) -> None:
    write(shelf, {"copy.md": NOTES["tea.md"]})
    index(library, "s")
    library.documents.remove_passages(OWNER, "s", list(passages(library).values()))
    check_library(library, "s")
    assert library.stores.info(OWNER, "s").pending == 0


# --- a whole store ----------------------------------------------------------------------


def test_a_cleared_store_is_empty_and_stays_so(library: Library, shelf: Path) -> None:
    write(shelf, {"waits.md": "# Waits\n\nTo be read.\n"})
    library.jobs.request(OWNER, "s")
    assert library.stores.clear(OWNER, "s", confirm=True) == len(NOTES)
    assert set(outcomes(run(library)).values()) == {"deleted"}
    assert known(library) == []
    assert [each.source.paused for each in library.sources.all(OWNER, "s")] == [True]
    library.jobs.request(OWNER, "s")
    run(library)
    assert known(library) == []
    assert sorted(path.name for path in shelf.glob("*.md")) == ["pot.md", "tea.md", "waits.md"]


def test_clearing_needs_confirmation(library: Library, shelf: Path) -> None:
    with pytest.raises(InvalidInput, match="confirmed"):
        library.stores.clear(OWNER, "s", confirm=False)
    assert set(known(library)) == set(NOTES)
    assert not library.jobs.requested(OWNER, "s")
