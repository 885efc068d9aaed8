"""MCP: the tools that write, for an owner who lets assistants do so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.api.mcp_door import VIEWERS, known
from tests.support.assistant import Assistant, over_http, serving_mcp
from tests.support.consistency import check_library
from tests.support.trees import write


def test_a_file_and_a_folder_are_indexed(mcp_owner: Assistant, mcp_library: Library, notes: Path) -> None:
    write(notes / "sea", {"new.md": "# New\n\nA new lighthouse.\n", "deep/more.md": "# More\n\nMore.\n"})
    done = mcp_owner.data("index_file", file_path=str(notes / "sea" / "new.md"))
    assert (done["source_file"], done["finished"], done["job"]["state"]) == ("new.md", True, "done")
    assert done["job"]["results"][0]["outcome"] == "added"
    assert mcp_owner.data("search", query="lighthouse", n_results=1)["results"][0]["file_path"] == "new.md"
    assert "deep/more.md" not in known(mcp_library)
    done = mcp_owner.data("index_directory", dir_path="deep")
    assert [each["source_file"] for each in done["job"]["results"]] == ["deep/more.md"]
    done = mcp_owner.data("index_directory", dir_path="deep")
    assert (done["finished"], done["job"]["counts"]) == (True, {})
    whole = mcp_owner.data("index_directory", dir_path=str(notes / "sea"))
    assert whole["job"]["counts"] == {"unchanged": 7}


@pytest.mark.posix
def test_a_file_that_cannot_be_read_is_an_error(mcp_owner: Assistant, notes: Path) -> None:
    (notes / "sea" / "bad.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    assert "'bad.md' could not be read." in mcp_owner.error("index_file", file_path="bad.md")


def test_passages_are_taken_out_and_it_says_for_how_long(mcp_owner: Assistant, mcp_library: Library) -> None:
    [hit] = mcp_owner.data("search", query="berth forty euros", n_results=1)["results"]
    done = mcp_owner.data("delete_chunks", ids=[hit["id"]])
    assert done["chunks_deleted"] == 1
    assert "back as soon as its file changes" in done["message"]
    assert mcp_owner.data("search", query='"forty euros"')["results"] == []
    assert "no longer in the store" in mcp_owner.error("open", id=hit["id"])
    check_library(mcp_library, "sea")


def test_a_document_is_excluded_and_it_says_how_to_take_it_back(
    mcp_owner: Assistant, mcp_library: Library, notes: Path
) -> None:
    done = mcp_owner.data("delete_file", source_file=str(notes / "sea" / "boats.md"))
    assert done["source_file"] == "boats.md"
    assert "commonplace exclude boats.md --undo --store sea" in done["message"]
    assert "boats.md" not in known(mcp_library)
    assert mcp_library.files.get(OWNER, "sea", "boats.md").state == "excluded"
    assert (notes / "sea" / "boats.md").exists()
    assert "excluded" in mcp_owner.error("index_file", file_path="boats.md")


def test_a_store_is_emptied_paused_and_the_files_stay(
    mcp_owner: Assistant, mcp_library: Library, notes: Path
) -> None:
    done = mcp_owner.data("clear_index", confirm=True)
    assert (done["documents"], done["finished"]) == (5, True)
    assert "paused" in done["message"]
    assert known(mcp_library) == set()
    assert all(each.source.paused for each in mcp_library.sources.all(OWNER, "sea"))
    assert len(list((notes / "sea").rglob("*.md"))) == 5


# --- folders that assistants may add ----------------------------------------------------


@pytest.fixture
def adding(mcp_library: Library, notes: Path) -> Iterator[Assistant]:
    """The owner's assistant, which may add what lies below ``shelf``."""
    write(
        notes / "shelf",
        {
            "tea.md": "# Tea\n\nOolong.\n",
            "deep/pot.md": "# Pot\n\nA samovar.\n",
            ".git/config.md": "# Hidden\n",
            "keys/.ssh/notes.md": "# Keys\n",
            "keys/id_rsa": "x",
            "node_modules/read.md": "# Read\n",
        },
    )
    settings = mcp_library.settings.model_copy(
        update={"mcp_allow_writes": True, "mcp_roots": (notes / "shelf",)}
    )
    library = Library.open(settings)
    with serving_mcp(library, VIEWERS) as url:
        yield over_http(url, {"who": "owner"})
    library.close()


def test_a_folder_below_the_roots_is_added(adding: Assistant, mcp_library: Library, notes: Path) -> None:
    done = adding.data("index_directory", dir_path=str(notes / "shelf"))
    assert (done["finished"], done["job"]["counts"]) == (True, {"unchanged": 0, "added": 2})
    assert f"The folder {str(notes / 'shelf')!r} is in store 'sea' from now on" in done["message"]
    assert {"shelf/tea.md", "shelf/deep/pot.md"} <= known(mcp_library)
    assert "shelf/keys/id_rsa" not in known(mcp_library)
    again = adding.data("index_directory", dir_path=str(notes / "shelf"))
    assert ("message" in again, again["job"]["counts"]) == (False, {"unchanged": 2})


def test_a_file_below_the_roots_is_added_alone(adding: Assistant, mcp_library: Library, notes: Path) -> None:
    write(notes / "shelf", {"cup [1].md": "# Cup\n", "tin.md": "# Tin\n"})
    done = adding.data("index_file", file_path=str(notes / "shelf" / "cup [1].md"))
    assert done["source_file"] == "shelf/cup [1].md"
    assert "from now on" in done["message"]
    adding.data("index_file", file_path=str(notes / "shelf" / "tea.md"))
    assert {path for path in known(mcp_library) if path.startswith("shelf")} == {
        "shelf/cup [1].md",
        "shelf/tea.md",
    }
    adding.data("index_directory", dir_path=str(notes / "shelf"))
    assert "shelf/tin.md" in known(mcp_library)


@pytest.mark.parametrize("path", ["shelf/.git", "shelf/keys/.ssh", "shelf/node_modules", "shelf/none"])
def test_a_folder_that_a_source_leaves_out_is_not_added(
    adding: Assistant, mcp_library: Library, notes: Path, path: str
) -> None:
    assert "dir_path: " in adding.error("index_directory", dir_path=str(notes / path))
    assert "file_path: " in adding.error("index_file", file_path=str(notes / "shelf" / "keys" / "id_rsa"))
    assert len(mcp_library.sources.all(OWNER, "sea")) == 1


@pytest.mark.posix
def test_links_are_resolved_before_the_roots_are_compared(
    adding: Assistant, mcp_library: Library, notes: Path
) -> None:
    (notes / "shelf" / "out").symlink_to(notes / "mine")
    (notes / "in").symlink_to(notes / "shelf" / "deep")
    for path in ("shelf/out", "shelf/../mine", "mine"):
        said = adding.error("index_directory", dir_path=str(notes / path))
        assert "is not in a folder of store 'sea'" in said
        assert str(notes / "shelf") in said
    assert "is not in a folder of store" in adding.error(
        "index_file", file_path=str(notes / "shelf/out/own.md")
    )
    assert len(mcp_library.sources.all(OWNER, "sea")) == 1
    adding.data("index_directory", dir_path=str(notes / "in"))
    assert [each.source.root for each in mcp_library.sources.all(OWNER, "sea")][1:] == [
        str(notes / "shelf/deep")
    ]


OUTSIDE = [
    "/", "/etc/passwd", "{outside}", "{outside}/secret.md", "{shelf}/../../outside", "{shelf}x",
    "{shelf}/link", "{shelf}/link/secret.md", "{shelf}/link/*", "{shelf}/secret.md", "{shelf}/environ.md",
    "{shelf}/zero.md", "{shelf}/loop", "{shelf}/fifo.md", "{shelf}/fd/0", "/proc/self/root{outside}",
    "{shelf}/*/secret.md", "{shelf}/[.][.]/[.][.]/outside", "{shelf}/%2e%2e/%2e%2e/outside", "{shelf}/**",
    "file://{outside}", "//{outside}", "../outside", "~", "**", "{shelf}\0/../outside", "{shelf}\\..\\..",
]  # fmt: skip


@pytest.mark.posix
def test_nothing_outside_the_roots_is_read_however_it_is_named(
    adding: Assistant, mcp_library: Library, notes: Path, tmp_path: Path
) -> None:
    shelf, outside = notes / "shelf", tmp_path / "outside"
    write(outside, {"secret.md": "# Swordfish\n"})
    links = {"link": outside, "secret.md": outside / "secret.md", "environ.md": Path("/proc/self/environ")}
    links |= {"zero.md": Path("/dev/zero"), "loop": shelf / "loop", "fd": Path("/proc/self/fd")}
    for name, target in links.items():
        (shelf / name).symlink_to(target)
    os.mkfifo(shelf / "fifo.md")
    before = known(mcp_library)
    for path in OUTSIDE:
        there = path.format(shelf=shelf, outside=outside)
        assert "file_path: " in adding.error("index_file", file_path=there), there
        assert "dir_path: " in adding.error("index_directory", dir_path=there), there
    assert known(mcp_library) == before


@pytest.mark.posix
def test_a_folder_that_became_a_link_to_another_place_is_not_followed(
    adding: Assistant, mcp_library: Library, notes: Path, tmp_path: Path
) -> None:
    write(tmp_path / "outside", {"secret.md": "# Swordfish\n", "deep/secret.md": "# Swordfish\n"})
    adding.data("index_directory", dir_path=str(notes / "shelf" / "deep"))
    shutil.rmtree(notes / "shelf" / "deep")
    (notes / "shelf" / "deep").symlink_to(tmp_path / "outside")
    adding.data("index_directory", dir_path=str(notes / "shelf"))
    adding.error("index_file", file_path=str(notes / "shelf" / "deep" / "secret.md"))
    adding.error("index_directory", dir_path=str(notes / "shelf" / "deep" / "deep"))
    assert not [hit for hit in mcp_library.search(OWNER, "swordfish", mode="lexical").hits if hit.relevant]


def test_patterns_and_pauses_of_the_owner_hold_below_the_roots(
    adding: Assistant, mcp_library: Library, notes: Path
) -> None:
    write(notes / "shelf", {"list.txt": "sugar"})
    source = mcp_library.add_source(OWNER, "sea", notes / "shelf", ["**/*.md"], ["deep"])
    assert "is not read" in adding.error("index_file", file_path=str(notes / "shelf/list.txt"))
    adding.error("index_directory", dir_path=str(notes / "shelf/deep"))
    mcp_library.sources.change(OWNER, "sea", source.id, ["tea.md"])
    mcp_library.sources.pause(OWNER, "sea", source.id)
    adding.data("index_directory", dir_path=str(notes / "shelf"))
    [_, kept] = mcp_library.sources.all(OWNER, "sea")
    assert (kept.source.include, kept.source.paused) == (("tea.md",), True)


def test_without_roots_nothing_is_added(mcp_owner: Assistant, mcp_library: Library, notes: Path) -> None:
    for name, given in {"index_file": {"file_path": "own.md"}, "index_directory": {"dir_path": ""}}.items():
        [(field, inside)] = given.items()
        said = mcp_owner.error(name, **{field: str(notes / "mine" / inside)})
        assert "is not in a folder of store 'sea'" in said
    assert len(mcp_library.sources.all(OWNER, "sea")) == 1
