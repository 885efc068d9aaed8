"""Slips of the pen on the command line: what is told in place of doing something else, and where it leads."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

from tests.command import Run
from tests.trees import write


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden, the only one, over two notes, one of them private."""
    write(notes, {"rose.md": "# Rose\n\nIt tells of roses.\n", "bee.md": "---\nprivate: true\n---\n# Bee\n"})
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--root", notes)
    return notes


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
