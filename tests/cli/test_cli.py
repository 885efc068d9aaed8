"""The command line: every command and option, in tables for people and in JSON for programs."""

from __future__ import annotations

import csv
import io
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import pytest

from rag_core.cli import app
from rag_core.models.built_in import BUILT_IN
from tests.support.command import Run
from tests.support.packed_model import packed_model


@pytest.fixture
def garden(run: Run, notes: Path) -> Path:
    """A store called garden over two notes and a script."""
    front = "---\ntags: [flower, plan/spring]\ndate: 2026-03-15\n---\n"
    (notes / "rose.md").write_text(front + "# Rose\n\n## Pruning\n\nCut roses in late winter.\n", "utf-8")
    (notes / "sub").mkdir()
    (notes / "sub" / "bee.md").write_text("# Bee\n\nBees love roses.\n", "utf-8")
    (notes / "water.py").write_text("def water(roses):\n    return 'wet'\n", "utf-8")
    run("store", "create", "garden", "--embedder", "hashing")
    run("index", "**/*", "--store", "garden", "--root", notes)
    return notes


# --- init, store ------------------------------------------------------------------------


def test_init_makes_a_store_named_after_the_folder_and_indexes_it(run: Run, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nAlpaca.\n", "utf-8")
    result = run("init", notes)
    assert result.status == 0
    assert "1 added" in result.out
    assert "commonplace query 'a few words' --store notes" in result.out
    assert run("query", "alpaca", "--json").json["results"][0]["file_path"] == "a.md"


def test_init_again_adds_to_the_same_store(run: Run, notes: Path) -> None:
    run("init", notes)
    (notes / "b.md").write_text("# B\n\nBadger.\n", "utf-8")
    assert run("init", notes, "--json").json["counts"] == {"unchanged": 0, "added": 1}
    assert len(run("store", "list", "--json").json["stores"]) == 1


def test_init_of_another_folder_of_the_same_name_mixes_nothing(run: Run, notes: Path) -> None:
    run("init", notes)
    other = notes / "other" / notes.name
    other.mkdir(parents=True)
    result = run("init", other)
    assert result.status == 2
    assert str(notes) in result.err
    assert "--store" in result.err
    assert run("init", other, "--store", notes.name).status == 0, "unless it is asked for"


def test_a_word_left_out_needs_no_quotes(run: Run, notes: Path) -> None:
    (notes / "a.md").write_text("tea with milk", "utf-8")
    (notes / "b.md").write_text("tea with lemon", "utf-8")
    run("init", notes)
    found = run("query", "tea", "-lemon", "--json").json["results"]
    assert [hit["file_path"] for hit in found] == ["a.md"]
    assert run("query", "tea", "--tpo-k", "3").status == 2


def test_init_of_a_name_that_fits_no_store_is_made_to_fit(run: Run, notes: Path) -> None:
    folder = notes / "My notes & more (2026)"
    folder.mkdir()
    assert run("init", folder, "--json").json["store"] == "My-notes-more-2026"


def test_init_of_no_folder_makes_no_store(run: Run, notes: Path) -> None:
    result = run("init", notes / "missing")
    assert result.status == 2
    assert "is not a folder" in result.err
    assert run("store", "list", "--json").json["stores"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("index", "**/*", "--root", "{}", "--store", "s"),
        ("store", "import", "{}"),
    ],
)
@pytest.mark.parametrize("path", ["~nobody-here/x", "x" * 300])
def test_a_path_that_cannot_be_is_refused_in_two_sentences(
    run: Run, words: tuple[str, ...], path: str
) -> None:
    run("store", "create", "s", "--embedder", "hashing")
    result = run(*(word.format(path) for word in words))
    assert result.status in (1, 2)
    assert result.err.startswith("Error: ")
    assert len(result.err.splitlines()) == 2


def test_store_info_for_people_names_folder_and_counts(run: Run, garden: Path) -> None:
    out = run("store", "info", "garden").out
    assert f"folder     {garden}: every file" in out
    assert "files      3\n" in out


def test_store_delete_removes_the_store_and_no_file(run: Run, garden: Path) -> None:
    assert run("store", "delete", "garden", "--force", "--json").json == {"deleted": "garden"}
    assert run("store", "list", "--json").json["stores"] == []
    assert (garden / "rose.md").exists()


@pytest.mark.parametrize(("typed", "status"), [("garden\n", 0), ("yes\n", 2), ("", 1)])
def test_store_delete_asks_for_the_name(
    run: Run, garden: Path, monkeypatch: pytest.MonkeyPatch, typed: str, status: int
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert run("store", "delete", "garden").status == status
    assert bool(run("store", "list", "--json").json["stores"]) == (status != 0)


# --- index ------------------------------------------------------------------------------

JOB_KEYS = "start_time end_time duration_ms total_files succeeded failed total_chunks_added results".split()
RESULT_KEYS = "source_file status outcome chunks_added chunks_skipped message processing_time_ms".split()


def test_index_reports_in_the_names_of_the_seed(run: Run, garden: Path) -> None:
    (garden / "new.md").write_text("# New\n\nTulips.\n", "utf-8")
    job = run("index", "--store", "garden", "--json").json
    assert set(job) >= set(JOB_KEYS)
    assert (job["total_files"], job["succeeded"], job["failed"], job["total_chunks_added"]) == (4, 4, 0, 1)
    assert job["counts"] == {"unchanged": 3, "added": 1}
    (result,) = job["results"]
    assert list(result) == RESULT_KEYS
    assert (result["source_file"], result["status"], result["outcome"]) == ("new.md", "success", "added")


def test_index_starts_from_the_current_folder(run: Run, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (notes / "a.md").write_text("A.", "utf-8")
    (notes / "a.txt").write_text("A.", "utf-8")
    run("store", "create", "here", "--embedder", "hashing")
    monkeypatch.chdir(notes)
    assert run("index", "*.md", "--store", "here", "--json").json["counts"] == {"unchanged": 0, "added": 1}
    assert run("store", "info", "here", "--json").json["sources"][0]["root"] == str(notes)


def test_index_takes_absolute_globs_several_globs_and_exclusions(run: Run, notes: Path) -> None:
    for name in ("a.md", "b.txt", "c.py", "draft.md"):
        (notes / name).write_text("Text.", "utf-8")
    run("store", "create", "some", "--embedder", "hashing")
    globs = [f"{notes}/**/*.{{md,txt}}", f"{notes}/*.py"]
    run("index", *globs, "--store", "some", "--exclude", "draft*", "--exclude", "*.txt")
    files = run("list", "--store", "some", "--json").json["files"]
    assert [file["file_path"] for file in files] == ["a.md", "c.py"]


def test_incremental_and_force_exclude_each_other(run: Run, garden: Path) -> None:
    both = run("index", "--store", "garden", "--incremental", "--force")
    assert both.status == 2
    assert "Give --incremental or --force, not both" in both.err
    assert len(run("jobs", "--store", "garden", "--json").json["jobs"]) == 1


def test_dry_run_shows_what_would_be_done_and_does_nothing(run: Run, garden: Path, home: Path) -> None:
    (garden / "new.md").write_text("New.", "utf-8")
    (garden / "water.py").unlink()
    (garden / "sub" / "bee.md").rename(garden / "hive.md")
    before = run("store", "info", "garden", "--json").json
    plan = run("index", "--store", "garden", "--dry-run", "--json").json
    assert plan["dry_run"] is True
    rows = [(file["outcome"], file["file_path"], file["note"]) for file in plan["sources"][0]["files"]]
    assert rows == [
        ("added", "new.md", ""),
        ("moved", "hive.md", "from sub/bee.md"),
        ("deleted", "water.py", ""),
    ]
    assert run("store", "info", "garden", "--json").json == before


# --- query ------------------------------------------------------------------------------


def test_query_for_people_shows_place_score_reason_and_passage(run: Run, garden: Path) -> None:
    out = run("query", "late", "winter", "--store", "garden").out
    assert "rose.md:" in out
    assert "# Rose > ## Pruning · every word" in out
    assert "Cut roses in late winter." in out


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        (["--top-k", 1], 1),
        (["--min-score", 1], 0),
        (["--filter", "file_type=python"], 1),
        (["--filter", "path=sub", "--filter", "type=markdown"], 1),
        (["--filter", "path=sub", "--filter", "path=water.py"], 2),
        (["--filter", "tag=plan"], 1),
        (["--mode", "lexical"], 3),
        (["--mode", "vector"], 3),
        (["--max-tokens", 1], 0),
        (["--offset", 2], 1),
    ],
)
def test_query_takes_every_option(run: Run, garden: Path, options: list[object], paths: int) -> None:
    answer = run("query", "roses", "--store", "garden", "--json", *options).json
    assert answer["total_results"] == paths


def test_query_goes_on_behind_an_offset_and_says_where(run: Run, garden: Path) -> None:
    command = ("query", "roses", "--store", "garden", "--top-k", 1)
    whole = run("query", "roses", "--store", "garden", "--json").json["results"]
    second = run(*command, "--offset", 1, "--json").json
    assert (second["results"], second["offset"], second["has_more"]) == (whole[1:2], 1, True)
    out = run(*command, "--offset", 1).out
    assert "  2  " in out
    assert "More with --offset 2." in out
    assert "More with" not in run(*command, "--offset", 2).out
    assert run(*command, "--offset", 3).out.startswith("Nothing more in ")


def test_query_prints_csv_and_says_what_else_is_to_be_said_beside_it(run: Run, garden: Path) -> None:
    result = run("query", "roses", "type:pyton", "--store", "garden", "--csv")
    assert result.out.lstrip("\ufeff").startswith('"rank","score",')
    assert "Did you mean 'python'?" in result.err
    rows = list(csv.DictReader(io.StringIO(run("query", "roses", "--store", "garden", "--csv").out)))
    assert {row["absolute_path"] for row in rows} == {
        str(garden / name) for name in ("rose.md", "sub/bee.md", "water.py")
    }


@pytest.mark.posix
def test_query_is_read_from_standard_input(run: Run, garden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n love \xff bees\n")))
    answer = run("query", "--stdin", "--store", "garden", "--json").json
    assert answer["query"] == "love � bees"
    assert answer["results"][0]["file_path"] == "sub/bee.md"


# --- list, status, model ----------------------------------------------------------------


def test_list_shows_every_file_with_its_state(run: Run, garden: Path) -> None:
    listed = run("list", "--store", "garden", "--json").json
    assert listed["store"] == "garden"
    assert [(file["file_path"], file["state"]) for file in listed["files"]] == [
        ("rose.md", "fresh"),
        ("sub/bee.md", "fresh"),
        ("water.py", "fresh"),
    ]
    assert run("list", "--store", "garden").out.splitlines()[1].split()[:2] == ["rose.md", "markdown"]


def test_status_shows_every_store_and_where_the_data_is(run: Run, garden: Path, home: Path) -> None:
    status = run("status", "--json").json
    assert [store["name"] for store in status["stores"]] == ["garden"]
    assert (status["running"], status["warnings"], status["data_dir"]) == ([], [], str(home / "data"))
    for command in (["status"], ["store", "list"]):
        assert run(*command).out.splitlines()[1].split()[:3] == ["garden", "3", "3"]


def test_a_built_in_model_installed_by_its_name_is_the_one_for_new_stores(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    result = run("model", "install", "multilingual", "--from", tmp_path / "source")
    assert (result.status, result.out) == (
        0,
        f"The built-in model for every language is ready in {home / 'data' / 'models' / row.model}.\n",
    )
    run("store", "create", "notes")
    assert run("store", "list", "--json").json["stores"][0]["embedder"] == "multilingual"
    again = run("model", "install", "--from", tmp_path)
    assert again.status == 0, "without a name it is the one for new stores, which is there"


@pytest.mark.posix
def test_model_that_is_there_is_not_installed_again(
    run: Run, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(model_dir))
    result = run("model", "install", "--from", model_dir, "--json")
    assert result.status == 0
    assert Path(result.json["installed"]).is_relative_to(model_dir)


def leaves(command: click.Command, *names: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield " ".join(names), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, *names, name)


def test_every_command_that_gives_an_answer_speaks_json() -> None:
    with_json = {name for name, command in leaves(app) if "as_json" in {each.name for each in command.params}}
    assert {name for name, _ in leaves(app)} - with_json == {"serve", "watch", "completion", "mcp", "demo"}


@pytest.mark.parametrize("state", ["cancelled", "interrupted"])
def test_status_says_that_the_last_run_was_not_finished(
    run: Run, notes: Path, home: Path, state: str
) -> None:
    (notes / "a.md").write_text("text", "utf-8")
    run("init", notes)
    assert run("status").err == ""
    with closing(sqlite3.connect(home / "data" / "stores" / "notes.db")) as db, db:
        db.execute("UPDATE jobs SET state = ?", (state,))
    result = run("status")
    assert f"The last run of 'notes' was {'paused' if state == 'cancelled' else state}." in result.err
    assert "commonplace index --store notes" in result.err
    assert result.status == 0
