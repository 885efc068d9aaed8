"""What the command line says to somebody who does not know it yet, and what it spares them."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.trees import write

pytestmark = pytest.mark.thorough


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden, the only one, over two notes, one of them private, and a text."""
    for name in ("rose.md", "bee.md", "todo.txt"):
        head = "---\nprivate: true\n---\n" if name == "bee.md" else ""
        (notes / name).write_text(f"{head}It tells of the {name}.\n", "utf-8")
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--root", notes)
    return notes


OF_A_FILE = [["show", "rose.md"], ["exclude", "bee.md"], ["reindex", "rose.md"]]
OF_A_STORE = [["list"], ["index"], ["jobs"], ["repair"], ["source", "list"], ["store", "info"]]


@pytest.mark.parametrize("command", [*OF_A_FILE, *OF_A_STORE], ids=" ".join)
def test_the_only_store_need_not_be_named(run: Run, garden: Path, command: list[str]) -> None:
    assert run(*command).status == 0


@pytest.mark.parametrize("command", OF_A_STORE, ids=" ".join)
def test_of_several_stores_the_error_names_all(run: Run, garden: Path, command: list[str]) -> None:
    run("store", "create", "zoo", "--embedder", "hashing")
    result = run(*command)
    assert result.status == 2
    assert result.err.startswith("Error: Which store is meant?\n")
    assert "There are: garden, zoo." in result.err
    assert len(run("store", "list", "--json").json["stores"]) == 2


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["find"], "'query'"),
        (["stauts"], "'status'"),
        (["store", "creat"], "'create'"),
        (["jobs", "--stroe"], "'--store'"),
    ],
)
def test_another_word_leads_to_what_is_near(run: Run, words: list[str], meant: str) -> None:
    result = run(*words)
    assert (result.status, result.err.startswith("Error: No such ")) == (2, True)
    assert meant in result.err.partition("Did you mean")[2]


@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_a_run_over_paused_folders_says_that_they_are_paused(
    run: Run, garden: Path, option: list[str]
) -> None:
    run("source", "pause", 1)
    (garden / "new.md").write_text("It is new.\n", "utf-8")
    assert run("index", "--json").json["total_files"] == 0
    result = run("index", *option)
    assert result.status == 0
    said = result.err + result.out
    assert f"Paused and not read: {garden}." in said
    command = said.partition("To go on: ")[2].splitlines()[0]
    assert run(*shlex.split(command)[1:]).status == 0
    assert "paused" not in run("index").err.lower()


@pytest.mark.posix
def test_a_run_tells_its_files_in_one_order_and_why_fewer_texts_were_embedded(run: Run, notes: Path) -> None:
    for name in ("a.md", "copy.md"):
        (notes / name).write_text("# Tea\n\nIt steeps.\n", "utf-8")
    (notes / "broken.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    for name in ("x", "y", "z", "zz"):
        (notes / f"{name}.mp3").write_bytes(b"ID3\x03" + name.encode())
    run("store", "create", "s", "--embedder", "hashing")
    result = run("index", "**/*", "--root", notes)
    assert result.out.splitlines() == [
        "Done in less than a second: 2 added, 4 skipped, 1 failed.",
        "2 passages added, 1 text embedded.",
        "  failed  broken.md: It is marked as UTF-8 but is not valid UTF-8.",
        "  skipped  x.mp3, y.mp3, z.mp3 and 1 more: This format is not read yet."
        " Write its words into a note, or put a transcript (SRT, VTT, TXT) next to it.",
    ]
    assert "2 read again" in run("index", "--force").out
    assert run("index").out.splitlines()[0].endswith(": 2 unchanged, 4 still skipped, 1 failed.")


@pytest.mark.usefixtures("tokyo")
def test_times_are_those_of_the_clock_on_the_wall_and_json_has_their_offset(run: Run, garden: Path) -> None:
    [job] = run("jobs", "--json").json["jobs"]
    shown = run("jobs").out.splitlines()[1].split()
    assert job["start_time"].endswith("Z")
    clock = job["start_time"].partition("T")[2]
    hour = f"{(int(clock[:2]) + 9) % 24:02d}"
    assert shown[2] == f"{hour}:{clock[3:5]}"
    for out in (run("store", "info").out, run("doctor", "--file", garden / "rose.md").out):
        assert re.search(rf" {hour}:\d\d\b", out), "a minute may have passed since the store was made"
        assert "Z" not in out.replace(str(garden), "")


def test_the_way_back_can_be_pasted_whatever_the_name_begins_with(run: Run, garden: Path) -> None:
    write(garden, {"-x.md": "# X\n\nAn odd name.\n"})
    run("index")
    said = run("exclude", "--", "-x.md").out.splitlines()[-1]
    command = said.partition("include it again: ")[2]
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
