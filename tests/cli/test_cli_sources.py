"""The folders and runs of a store on the command line, and the folders that are only taken when meant."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest

from tests.support.command import Run


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden over two notes and a text."""
    for name in ("rose.md", "bee.md", "todo.txt"):
        (notes / name).write_text(f"It tells of the {name}.\n", "utf-8")
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--store", "garden", "--root", notes)
    return notes


def test_listed_folders_say_how_they_stand(run: Run, garden: Path) -> None:
    row = run("source", "list", "--store", "garden").out.splitlines()[1]
    assert row.split() == ["1", str(garden), "3", "**/*"]
    run("source", "pause", 1, "--store", "garden")
    shutil.rmtree(garden)
    [source] = run("source", "list", "--store", "garden", "--json").json["sources"]
    assert [source[name] for name in ("paused", "removed", "missing", "indexed")] == [True, False, True, 3]
    assert f"{garden} (paused) (missing)" in run("source", "list", "--store", "garden").out


def test_a_run_names_a_folder_that_is_gone_once(run: Run, garden: Path) -> None:
    shutil.rmtree(garden)
    result = run("index", "--store", "garden")
    assert result.status == 1
    assert result.out.count("\n") == 1
    assert result.err.count(f"The folder {str(garden)!r} does not exist.") == 1
    assert "…" not in result.out + result.err


def test_edit_replaces_what_is_named_and_keeps_the_rest(run: Run, garden: Path) -> None:
    edit, index = ("source", "edit", 1, "--store", "garden"), ("index", "--store", "garden", "--json")
    assert "forgotten  todo.txt" in run(*edit, "--include", "**/*.md", "--dry-run").out
    assert run(*edit, "--exclude", "bee*", "--json").json["include"] == ["**/*"]
    changed = run(*edit, "--include", "**/*.md", "--json").json
    assert (changed["include"], changed["exclude"]) == (["**/*.md"], ["bee*"])
    assert run(*index).json["counts"] == {"unchanged": 1, "deleted": 2}
    run(*edit, "--no-exclude")
    assert run(*index).json["counts"] == {"unchanged": 1, "added": 1}


def test_remove_forgets_the_documents_when_it_is_confirmed(
    run: Run, garden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, listed = ("source", "remove", 1, "--store", "garden"), ("source", "list", "--store", "garden")
    assert run(*remove, "--dry-run", "--json").json["sources"][0]["counts"]["deleted"] == 3
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    result = run(*remove)
    assert (result.status, "Nothing was changed." in result.err) == (1, True)
    assert len(run(*listed, "--json").json["sources"]) == 1
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    result = run(*remove)
    assert f"This removes 3 files of {garden} from the index; they stay on disk." in result.err
    assert "3 forgotten" in result.out
    assert run(*listed, "--json").json["sources"] == []
    assert len(list(garden.iterdir())) == 3


@pytest.mark.posix
def test_runs_are_listed_the_newest_first_and_one_is_shown_with_its_files(run: Run, garden: Path) -> None:
    (garden / "broken.md").write_bytes(b"\xff\xfe" + b"\x00\xd8" * 9)
    run("index", "--store", "garden")
    second, first = run("jobs", "--store", "garden", "--json").json["jobs"]
    assert (first["counts"]["added"], second["counts"]["failed"]) == (3, 1)
    listed = run("jobs", "--store", "garden").out.splitlines()
    assert [row.split()[0] for row in listed] == ["number", str(second["id"]), str(first["id"])]
    shown = run("jobs", "--store", "garden", "--job", second["id"])
    assert "failed  broken.md:" in shown.out
    results = run("jobs", "--store", "garden", "--job", first["id"], "--json").json["results"]
    assert len(results) == 3


def test_init_of_the_home_folder_is_asked_about_before_anything_is_made(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "a.md").write_text("It is a note.\n", "utf-8")
    monkeypatch.setenv("HOME", str(notes))
    result = run("init", notes)
    assert result.status == 2
    assert "is your whole home folder" in result.err
    assert "--yes" in result.err
    assert run("store", "list", "--json").json["stores"] == []

    assert run("init", notes, "--yes", "--json").json["counts"]["added"] == 1
    assert run("init", notes, "--json").json["counts"] == {"unchanged": 1}, "it was asked about before"


def test_index_of_a_very_large_folder_is_asked_about_once(
    run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        (notes / f"{n}.md").write_text(f"It is note {n}.\n", "utf-8")
    for module in ("rag_core.cli.indexing", "rag_core.files.extent"):
        monkeypatch.setattr(f"{module}.MANY_FILES", 4)
    run("store", "create", "s", "--embedder", "hashing")
    command = ("index", "**/*", "--store", "s", "--root", notes, "--json")
    refused = run(*command)
    assert refused.status == 2
    assert refused.json["error"]["message"] == f"{str(notes)!r} holds more than 4 files and folders."
    assert run(*command, "--yes").json["counts"]["added"] == 5
    assert run(*command).status == 0
