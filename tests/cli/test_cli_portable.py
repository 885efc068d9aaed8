"""Making, renaming, exporting and importing stores from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run


@pytest.fixture
def here(run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and a store called zoo over two notes."""
    (notes / "zebra.md").write_text("# Zebra\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "mine.md").write_text("---\nprivate: true\n---\nThe zebra is mine.\n", "utf-8")
    run("store", "create", "zoo", "--embedder", "hashing", "--metric", "dot_product", "--dimension", "64")
    run("index", "**/*", "--store", "zoo", "--root", notes)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def query(run: Run, store: str) -> list[tuple[str, float]]:
    results = run("query", "zebra", "--store", store, "--json").json["results"]
    return [(hit["id"], hit["score"]) for hit in results]


def test_a_store_goes_out_and_comes_back(run: Run, here: Path) -> None:
    before = query(run, "zoo")
    result = run("store", "export", "zoo")
    assert result.status == 0
    assert result.out.startswith("Store 'zoo' is in zoo.commonplace (")
    assert "2 passages of 2 files" in result.out
    run("store", "delete", "zoo", "--force")
    result = run("store", "import", "zoo.commonplace")
    assert result.status == 0
    assert "Store 'zoo' is ready: 2 passages of 2 files." in result.out
    assert "The next run compares the store with 1 folder of this computer" in result.out
    assert len(before) == 2
    assert query(run, "zoo") == before


def test_json_tells_where_the_file_is_and_what_an_import_has_to_say(
    run: Run, here: Path, notes: Path
) -> None:
    file = here / "a.commonplace"
    done = run("store", "export", "zoo", file, "--json").json
    size = file.stat().st_size
    assert done == {"store": "zoo", "path": str(file), "size_bytes": size, "file_count": 2, "chunk_count": 2}
    notes.rename(notes.with_name("gone"))
    imported = run("store", "import", file, "--name", "new", "--json").json
    assert (imported["name"], imported["file_count"]) == ("new", 2)
    assert (imported["distance_metric"], imported["embedder"]) == ("dot_product", "hashing:64")
    assert [source["paused"] for source in imported["sources"]] == [True]
    assert [str(notes) in notice for notice in imported["notices"]] == [True]


def test_an_existing_file_is_kept_unless_forced_and_no_store_is_made_of_it(run: Run, here: Path) -> None:
    (here / "zoo.commonplace").write_text("mine", "utf-8")
    result = run("store", "export", "zoo")
    assert (result.status, "--force" in result.err) == (2, True)
    result = run("store", "import", "zoo.commonplace", "--json")
    assert result.status == 1
    assert result.json["error"]["message"].startswith("'zoo.commonplace' cannot be imported. ")
    assert (here / "zoo.commonplace").read_text("utf-8") == "mine"
    assert run("store", "export", "zoo", "--force").status == 0


def test_rename_keeps_what_is_in_a_store(run: Run, here: Path) -> None:
    before = query(run, "zoo")
    assert run("store", "rename", "zoo", "park").out == "Store 'zoo' is called 'park' now.\n"
    assert query(run, "park") == before
    assert run("store", "rename", "park", "farm", "--json").json["name"] == "farm"
    assert run("store", "info", "park").status == 1
