"""Making, renaming, exporting and importing stores from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Run


@pytest.fixture
def here(run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, and a store called zoo over two notes."""
    (notes / "zebra.md").write_text("# Zebra\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "mine.md").write_text("---\nprivate: true\n---\nThe zebra is mine.\n", "utf-8")
    run("store", "create", "zoo", "--embedder", "hashing")
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
    assert done == {
        "store": "zoo", "path": str(file), "size_bytes": size, "file_count": 2, "chunk_count": 2,
    }  # fmt: skip
    notes.rename(notes.with_name("gone"))
    imported = run("store", "import", file, "--name", "new", "--json").json
    assert (imported["name"], imported["file_count"]) == ("new", 2)
    assert [source["paused"] for source in imported["sources"]] == [True]
    assert [str(notes) in notice for notice in imported["notices"]] == [True]


def test_an_existing_file_is_kept_unless_forced(run: Run, here: Path) -> None:
    (here / "zoo.commonplace").write_text("mine")
    result = run("store", "export", "zoo")
    assert result.status == 2
    assert "--force" in result.err
    assert (here / "zoo.commonplace").read_text() == "mine"
    assert run("store", "export", "zoo", "--force").status == 0


def test_a_name_that_is_taken_is_refused_with_what_helps(run: Run, here: Path) -> None:
    run("store", "export", "zoo")
    result = run("store", "import", "zoo.commonplace")
    assert result.status == 2
    assert "another name" in result.err


def test_a_file_that_is_no_store_is_named(run: Run, here: Path) -> None:
    (here / "x.commonplace").write_text("x")
    result = run("store", "import", "x.commonplace", "--json")
    assert result.status == 1
    assert result.json["error"]["message"].startswith("'x.commonplace' cannot be imported")


def test_a_folder_with_a_hostile_name_does_not_steer_the_terminal(run: Run, here: Path, notes: Path) -> None:
    hostile = notes.parent / "\x1b[31mred"
    hostile.mkdir()
    run("index", "**/*", "--store", "zoo", "--root", hostile)
    run("store", "export", "zoo")
    said = run("store", "import", "zoo.commonplace", "--name", "new").out
    assert "red" in said
    assert "\x1b" not in said


def test_rename_keeps_what_is_in_a_store(run: Run, here: Path) -> None:
    before = query(run, "zoo")
    assert run("store", "rename", "zoo", "park").out == "Store 'zoo' is called 'park' now.\n"
    assert query(run, "park") == before
    assert run("store", "rename", "park", "farm", "--json").json["name"] == "farm"
    assert run("store", "info", "park").status == 1


def test_create_takes_metric_and_dimension(run: Run) -> None:
    wanted = ("--embedder", "hashing", "--metric", "dot_product", "--dimension", "64")
    made = run("store", "create", "a", *wanted, "--json").json
    assert (made["distance_metric"], made["dimension"], made["embedder"]) == ("dot_product", 64, "hashing:64")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--dimension", "100", "cannot give vectors of 100 numbers"),
        ("--metric", "manhattan", "'manhattan' is not one of"),
        ("--backend", "pinecone", "no vector index called 'pinecone'"),
    ],
)
def test_create_refuses_a_wrong_value_and_makes_no_store(
    run: Run, option: str, value: str, said: str
) -> None:
    result = run("store", "create", "a", "--embedder", "minilm", option, value)
    assert (result.status, said in result.err) == (2, True)
    assert run("store", "list", "--json").json["stores"] == []
