"""What somebody meets who has read nothing but the README."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.command import Run
from tests.configured import configure
from tests.doc_pages import README, fences
from tests.trees import write

NOTES = {
    "tea.md": "# Tea\n\nGreen tea steeps two minutes.\n\nBlack tea steeps four.\n",
    "people/ada.md": "# Ada\n\nAda drinks tea.\n\nShe likes it green.\n",
    "kale.md": "# Kale\n\nKale soup with tea.\n",
}


@pytest.fixture
def tea(run: Run, notes: Path) -> Path:
    """A store called tea over three notes."""
    write(notes, NOTES)
    run("store", "create", "tea", "--embedder", "hashing")
    run("index", "**/*", "--store", "tea", "--root", notes)
    return notes


def paths(run: Run, *words: object) -> list[str]:
    return [hit["file_path"] for hit in run("query", *words, "--json").json["results"]]


# --- options ----------------------------------------------------------------------------


@pytest.mark.parametrize("option", [["-k", 1], ["-k1"], ["-k=1"], ["--k", 1], ["--top-k", 1]])
def test_how_many_passages_is_asked_alike(run: Run, tea: Path, option: list[object]) -> None:
    assert len(paths(run, "tea", *option)) == 1
    assert len(run("ask", "tea", *option, "--json").json["references"]) == 1


@pytest.mark.parametrize("command", ["query", "ask"])
def test_a_letter_that_is_no_option_is_refused(run: Run, tea: Path, command: str) -> None:
    refused = run(command, "tea", "-x")
    assert refused.status == 2
    assert "There is no option -x. To leave that word out, put all words into" in refused.err
    assert "one pair of quotes: 'tea -x'." in refused.err
    assert run("query", "tea -x").status == 0
    assert run(command, "-h").out.startswith(f"Usage: commonplace {command}")


# --- nothing found ----------------------------------------------------------------------


def test_a_passage_over_the_budget_is_named(run: Run, tea: Path) -> None:
    found = run("query", "tea", "--max-tokens", "1", "--mode", "lexical")
    assert (found.status, found.out) == (0, "Nothing shown.\n")
    assert found.err.startswith("The best passage has ")
    assert found.err.endswith(" tokens, more than 1 (max_tokens).\n")
    assert run("query", "zebra", "--max-tokens", "1", "--mode", "lexical").err == ""


def test_matches_by_words_alone_are_called_so(
    run: Run, notes: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(model_dir))
    write(notes, {"poem.md": "# 诗\n\n白日依山尽，黄河入海流。\n", "river.md": "# River\n\nA poem.\n"})
    run("init", notes)
    said = run("query", "poem", "-river").out
    assert "1 match by words in " in said
    assert "by words" not in run("query", "poem").out, "one of them has a vector"


def test_the_store_of_the_setting_is_named_where_there_are_others(run: Run, tea: Path, home: Path) -> None:
    configure(home, "default_store: tea\n")
    assert run("query", "tea").err == ""
    run("store", "create", "other", "--embedder", "hashing")
    assert run("query", "tea").err.startswith("Only in 'tea', as the setting default_store has it; --store")
    assert run("query", "tea", "--store", "tea").err == ""
    assert "Only in" not in run("query", "tea store:other").err


# --- paths ------------------------------------------------------------------------------


def test_a_file_goes_by_its_path_from_here(run: Run, tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tea / "people")
    assert run("show", "ada.md").out.startswith("Ada\npeople/ada.md")
    assert run("show", "../tea.md", "--json").json["file_path"] == "tea.md"
    assert run("show", "tea.md", "--json").json["file_path"] == "tea.md", "as the store calls it"
    assert "commonplace exclude people/ada.md --undo" in run("exclude", "ada.md").out
    assert run("exclude", "ada.md", "--undo").status == 0
    assert run("reindex", tea / "people" / "ada.md").status == 0
    assert "Did you mean 'people/ada.md'?" in run("exclude", "adda.md").err


def test_lines_behind_a_path_are_those_that_are_shown(run: Run, tea: Path) -> None:
    shown = run("show", "people/ada.md:5").out
    assert "She likes it green." in shown
    assert "Ada drinks tea." not in shown
    both = run("show", tea / "tea.md", "--json").json["passages"]
    some = run("show", f"{tea / 'tea.md'}:3-5", "--json").json["passages"]
    assert [each["content"] for each in some] == ["Green tea steeps two minutes.\n\nBlack tea steeps four."]
    assert both[0]["content"].startswith("# Tea")
    assert "no text in lines 4 to 4" in run("show", "tea.md:4").err
    assert run("show", "tea.md:900").status == 1


# --- runs and folders -------------------------------------------------------------------


def test_a_second_folder_says_what_its_files_are_called(run: Run, tea: Path, tmp_path: Path) -> None:
    write(tmp_path / "work", {"plan.md": "# Plan\n"})
    assert "called" not in run("source", "list").out
    said = run("index", "**/*", "--root", tmp_path / "work").err
    assert f"In this store the files of '{tmp_path}/work' are called 'work/…'." in said
    assert "are called" not in run("index", "**/*", "--root", tmp_path / "work").err, "once"
    listed = run("source", "list").out
    assert "work/…" in listed
    assert listed.count("…") == 1, "the files of the first folder are called as they are"


# --- doctor -----------------------------------------------------------------------------


def test_vectors_without_their_model_find_nothing_and_doctor_says_so(
    run: Run, notes: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, NOTES)
    monkeypatch.setenv("COMMONPLACE_MODELS", str(model_dir))
    run("init", notes)
    assert "1 passage can be found by meaning." in run("doctor", "--file", notes / "tea.md").out
    monkeypatch.setenv("COMMONPLACE_MODELS", str(notes / "none"))
    said = run("doctor", "--file", notes / "tea.md", "--query", "tea")
    assert said.status == 0, "words find it"
    assert "can be found by meaning" not in said.out
    assert "Nothing is found by meaning now. " in said.out
    assert "The built-in embedding model is not installed." in said.out
    assert said.out.splitlines()[-1].endswith("or with `commonplace model install`.")


def test_doctor_gives_the_command_that_adds_a_file(run: Run, notes: Path) -> None:
    write(notes, {"a.md": "# A\n\nAlpaca.\n", "odd [1].txt": "Otter.\n", "server.pem": "x\n"})
    run("store", "create", "s", "--embedder", "hashing")
    run("index", "*.md", "--store", "s", "--root", notes)
    advice = run("doctor", "--file", notes / "odd [1].txt").out.splitlines()[-1]
    command = advice.partition("`")[2].partition("`")[0]
    assert command == f"commonplace index 'odd [[]1].txt' --root {notes} --store s"
    run("index", "odd [[]1].txt", "--root", notes, "--store", "s")
    assert paths(run, "otter")[0] == "odd [1].txt"
    assert paths(run, "alpaca")[0] == "a.md"
    assert run("doctor", "--file", notes / "server.pem").out.endswith("Next: Move or rename the file.\n")


# --- the rest ---------------------------------------------------------------------------


def test_a_shell_completes_tokens_and_files_itself(
    run: Run, tea: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("token", "create", "backup")

    def completed(*words: str) -> str:
        monkeypatch.setenv("COMP_WORDS", " ".join(("commonplace", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_COMMONPLACE_COMPLETE", "bash_complete")
        return run().out.strip()

    assert completed("token", "revoke", "b") == "plain,backup"
    assert completed("show", "k") == "file,k", "the name of a note could hold what a shell would run"


def test_the_result_in_the_readme_has_the_names_that_are_printed(run: Run, tea: Path) -> None:
    (block,) = (each for each in fences(README) if each.language == "json" and '"query"' in str(each.lines))
    shown = json.loads("\n".join(line for _, line in block.lines))
    printed = run("query", "tea", "--json").json
    assert shown.keys() == printed.keys()
    hit = printed["results"][0]
    assert shown["results"][0].keys() <= hit.keys()
    assert shown["results"][0]["metadata"].keys() <= hit["metadata"].keys()
    assert os.path.isabs(hit["absolute_path"])  # noqa: PTH117
