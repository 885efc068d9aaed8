"""The files of a store on the command line: listing them, reading one, taking one out and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.mailboxes import mailbox, message


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden over a few linked notes."""
    (notes / "rose.md").write_text(
        "---\ntags: [flower]\n---\n# Rose\n\nBees love it; see [[bee]] and [[wasp]].\n", "utf-8"
    )
    (notes / "bee.md").write_text(
        "# Bee\n\nA bee flies to the [[rose]] and back, all day long, till it is dark.\n\n## Hive\n\n"
        + "Honey is made. " * 9,
        "utf-8",
    )
    (notes / "todo.txt").write_text("Water the roses.\n", "utf-8")
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--store", "garden", "--root", notes)
    return notes


def listed(run: Run, *options: str) -> dict[str, str]:
    files = run("list", "--store", "garden", "--json", *options).json["files"]
    return {file["file_path"]: file["state"] for file in files}


def test_list_may_be_asked_for_some_states(run: Run, garden: Path) -> None:
    (garden / "rose.md").write_text("# Rose\n\nIt withered.\n", "utf-8")
    (garden / "todo.txt").unlink()
    assert listed(run, "--state", "changed") == {"rose.md": "changed"}
    both = {"rose.md": "changed", "todo.txt": "missing"}
    assert listed(run, "--state", "changed", "--state", "missing") == both
    assert run("list", "--store", "garden", "--state", "lost").status == 2


def test_show_prints_the_text_and_the_links(run: Run, garden: Path) -> None:
    result = run("show", "rose.md", "--store", "garden")
    assert result.status == 0
    assert result.out.startswith("Rose\n")
    assert "#flower" in result.out.splitlines()[1]
    assert "\n4-6  # Rose\n# Rose\n\nBees love it" in result.out
    links = "Links to\n  bee.md\n  wasp  (nothing in this store)\n\nLinked from\n  bee.md\n"
    assert result.out.endswith(links)
    (garden / "evil.md").write_text("# E\x1b]0;owned\x07\n\nRed \x1b[31m text, see [[\x1b[2J]].\n", "utf-8")
    run("index", "--store", "garden")
    shown = run("show", "evil.md", "--store", "garden").out
    assert "Red" in shown
    assert not {"\x1b", "\x07"} & {*shown}


def test_a_mailbox_is_listed_once_and_each_message_is_shown_by_its_address(
    run: Run, garden: Path, notes: Path
) -> None:
    tea, bees = message("Tea", "The kettle.", 2, "t/1#x@x.org"), message("Bees", "Honey.", 9, "b@x.org")
    (garden / "all.mbox").write_text(mailbox(tea, bees), "utf-8")
    run("index", "--store", "garden")
    assert listed(run)["all.mbox"] == "fresh"
    shown = run("show", "all.mbox", "--store", "garden").out
    assert "2 documents in this file\n  2026-03-09  Bees  all.mbox#b@x.org\n  2026-03-02  Tea" in shown
    [hit] = run("query", "kettle", "--store", "garden", "--mode", "lexical", "--json").json["results"]
    assert (hit["file_path"], hit["part"]) == ("all.mbox", "t/1#x@x.org")
    found = run("show", "all.mbox#t/1#x@x.org", "--store", "garden")
    assert found.out.startswith("Tea\nall.mbox#t/1#x@x.org")
    assert "Honey" not in found.out


@pytest.mark.posix
def test_a_hit_says_whether_its_file_was_ever_read(run: Run, garden: Path) -> None:
    not_utf8 = b"\xef\xbb\xbf" + b"\xff" * 20
    (garden / "broken.md").write_bytes(not_utf8)
    run("index", "--store", "garden")
    never = run("query", "broken", "--mode", "lexical").out
    assert "It is not read: " in never
    assert "last readable version" not in never
    (garden / "rose.md").write_bytes(not_utf8)
    run("index", "--store", "garden")
    assert "this is its last readable version" in run("query", "Bees love", "--mode", "lexical").out


def test_an_excluded_file_is_gone_until_it_is_taken_back(run: Run, garden: Path) -> None:
    job = run("exclude", "todo.txt", "--store", "garden", "--reason", "Not a note.", "--json").json
    assert job["counts"]["excluded"] == job["total_files"] == 1
    assert run("query", "water", "--mode", "lexical", "--json").json["results"] == []
    run("index", "--store", "garden", "--force")
    assert listed(run)["todo.txt"] == "excluded"
    assert "excluded  Not a note." in run("show", "todo.txt", "--store", "garden").out
    assert run("exclude", "todo.txt", "--store", "garden", "--undo", "--json").json["counts"]["added"] == 1
    assert listed(run)["todo.txt"] == "fresh"


@pytest.fixture
def shed(run: Run, garden: Path, tmp_path: Path) -> Path:
    """A second store; both have a ``todo.txt``, and only this one a ``rake.md``."""
    folder = tmp_path / "shed"
    folder.mkdir()
    (folder / "rake.md").write_text("# Rake\n\nIt has teeth.\n\nAnd a long handle.\n", "utf-8")
    (folder / "todo.txt").write_text("Mend the rake.\n", "utf-8")
    run("store", "create", "shed", "--embedder", "hashing")
    run("index", "**/*", "--store", "shed", "--root", folder)
    return folder


@pytest.mark.parametrize("command", ["show", "exclude", "reindex"])
def test_of_several_stores_that_have_a_file_only_these_are_named(run: Run, shed: Path, command: str) -> None:
    run("store", "create", "empty", "--embedder", "hashing")
    several = run(command, "todo.txt")
    assert several.status == 2
    assert several.err == "Error: Which store is meant?\nName it with --store. There are: garden, shed.\n"
    none = run(command, "nothing.md")
    assert none.status == 1
    assert none.err.startswith("Error: No store has a file 'nothing.md'.\n")
    assert "Did you mean 'rake.md'?" in run(command, "rke.md").err
    named = run(command, "gone.md", "--store", "garden")
    assert (named.status, named.out, "'gone.md'" in named.err) == (1, "", True)


def test_the_only_store_that_has_a_file_is_meant(
    run: Run, shed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("rake.md", shed / "rake.md", "rake.md:3-3"):
        assert run("show", path, "--json").json["store"] == "shed"
    assert "handle" not in run("show", "rake.md:3").out
    assert run("show", "bee.md", "--json").json["store"] == "garden"
    monkeypatch.chdir(shed.parent)
    assert run("show", "shed/rake.md", "--json").json["store"] == "shed"


@pytest.fixture
def beds(run: Run, garden: Path) -> Path:
    """The garden with files in folders: an ``iris.md`` in one, a ``plan.md`` in two."""
    for path in ("pond/iris.md", "pond/plan.md", "wall/plan.md"):
        (garden / path).parent.mkdir(exist_ok=True)
        (garden / path).write_text(f"# Bed\n\nWhat grows here, by {path}.\n", "utf-8")
    run("index", "--store", "garden")
    return garden


@pytest.mark.parametrize(
    "command", [("show",), ("similar",), ("reindex",), ("exclude",), ("eval", "mark", "grows")]
)
def test_the_name_alone_of_a_file_is_enough(run: Run, beds: Path, command: tuple[str, ...]) -> None:
    result = run(*command, "iris.md", "--store", "garden")
    assert (result.status, result.err) == (0, "")


def test_an_excluded_file_is_included_again_by_its_name(run: Run, beds: Path) -> None:
    run("exclude", "iris.md", "--store", "garden")
    assert listed(run)["pond/iris.md"] == "excluded"
    run("exclude", "iris.md", "--undo", "--store", "garden")
    assert listed(run)["pond/iris.md"] == "fresh"


def test_a_name_that_several_files_have_lists_them(
    run: Run, beds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(beds)
    several = run("exclude", "plan.md", "--store", "garden")
    assert several.status == 1
    assert "Store 'garden' has several files called 'plan.md'" in several.err
    assert "Say which: 'pond/plan.md', 'wall/plan.md'." in several.err
    monkeypatch.chdir(beds / "wall")
    assert run("show", "plan.md", "--json").json["file_path"] == "wall/plan.md"


def test_a_name_that_several_files_of_one_store_have_is_not_said_to_be_in_none(run: Run, beds: Path) -> None:
    run("store", "create", "empty", "--embedder", "hashing")
    said = run("exclude", "plan.md")
    assert "Store 'garden' has several files called 'plan.md'" in said.err
    assert "Say which: 'pond/plan.md', 'wall/plan.md'." in said.err
