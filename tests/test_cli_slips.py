"""Slips of the pen on the command line: what is told in place of doing something else, and where it leads."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.types import OWNER
from tests.command import Run
from tests.configured import configure
from tests.trees import write


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden, the only one, over two notes, one of them private."""
    write(notes, {"rose.md": "# Rose\n\nIt tells of roses.\n", "bee.md": "---\nprivate: true\n---\n# Bee\n"})
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--root", notes)
    return notes


# --- options that belong to something else ----------------------------------------------


@pytest.mark.parametrize("command", [["list"], ["source", "list"]], ids=" ".join)
def test_a_store_may_be_named_without_its_option(run: Run, garden: Path, command: list[str]) -> None:
    run("store", "create", "zoo", "--embedder", "hashing")
    named = run(*command, "garden", "--json")
    assert named.json == run(*command, "--store", "garden", "--json").json
    several = run(*command, "garden", "bees", "--json")
    line = f"commonplace {' '.join(command)} --store bees"
    assert (several.status, several.json["error"]["suggestion"]) == (2, f"Name one store: `{line}`.")


def test_verify_takes_several_names_with_and_without_the_option(run: Run, garden: Path) -> None:
    run("store", "create", "zoo", "--embedder", "hashing")
    for words in (["zoo", "garden"], ["--store", "zoo", "garden"], ["zoo", "--store", "garden"]):
        checked = run("verify", *words, "--json").json["stores"]
        assert {each["store"] for each in checked} == {"zoo", "garden"}


def test_a_configured_store_that_is_not_there_is_told_to_be_configured(
    run: Run, garden: Path, home: Path
) -> None:
    configure(home, "default_store: gardn\n")
    for command in (["list"], ["query", "roses"], ["ask", "roses"]):
        refused = run(*command)
        assert refused.status == 1
        assert "'gardn', which the setting default_store names" in refused.err
        assert "config.yaml:1" in refused.err
        assert "name another one with --store: garden." in refused.err
        assert run(*command, "--store", "garden").status in (0, 3)
    assert run("query", "roses", "--store", "gardn").err.startswith(
        "Error: There is no store called 'gardn'."
    )
    assert "default_store" in run("query", "--help").out


# --- paths ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["show"], ["reindex"], ["exclude"]], ids=" ".join)
def test_a_path_may_be_absolute_where_it_lies_in_a_folder(
    run: Run, garden: Path, tmp_path: Path, command: list[str]
) -> None:
    assert run(*command, garden / "rose.md").status == 0
    outside = run(*command, tmp_path / "x.md")
    assert outside.status == 2
    assert "lies in no folder of store 'garden'" in outside.err
    if command == ["exclude"]:
        assert run(*command, garden / "rose.md", "--undo").status == 0


def test_the_way_back_can_be_pasted_whatever_the_name_begins_with(run: Run, garden: Path) -> None:
    write(garden, {"-x.md": "# X\n\nAn odd name.\n"})
    run("index")
    said = run("exclude", "--", "-x.md").out.splitlines()[-1]
    command = said.partition("take it back: ")[2]
    assert command == "commonplace exclude --undo --store garden -- -x.md"
    assert run(*shlex.split(command)[1:]).status == 0
    assert "-x.md" in run("list", "--state", "fresh").out


def test_private_notes_are_marked(run: Run, garden: Path) -> None:
    rows = {line.split()[0]: line for line in run("list").out.splitlines()}
    assert "fresh, private" in rows["bee.md"]
    assert "private" not in rows["rose.md"]
    assert "private" in run("show", "bee.md").out.splitlines()[1]
    assert "private" not in run("show", "rose.md").out


# --- hints that lead somewhere ----------------------------------------------------------


# --- questions in scripts ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "option"),
    [(["store", "delete", "garden"], "--force"), (["source", "remove", "1"], "--yes")],
    ids=["store", "source"],
)
def test_a_question_that_nobody_can_answer_names_its_option(
    run: Run, garden: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], option: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    stopped = run(*command)
    assert stopped.status == 1
    assert stopped.err.endswith(f"Error: Stopped.\nNothing was changed. In a script, add {option}.\n")
    assert run(*command, "--yes").status == 0


# --- what was judged --------------------------------------------------------------------


def test_one_text_is_no_list_of_stores(run: Run, garden: Path, home: Path) -> None:
    library = Library.open(Settings(home / "data", home / "data" / "models", ()))
    with pytest.raises(InvalidInput, match=r"Give a list: \['garden'\]"):
        library.search(OWNER, "roses", "garden")
    assert library.search(OWNER, "roses", ["garden"]).hits
    library.close()
