"""What somebody meets who has read nothing but the README."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.docs.doc_pages import USING, fences
from tests.support.command import Run
from tests.support.trees import write

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


@pytest.mark.parametrize("option", [["-k", 1], ["-k1"], ["-k=1"], ["--k", 1], ["--top-k", 1]])
def test_how_many_passages_is_asked_alike(run: Run, tea: Path, option: list[object]) -> None:
    assert len(paths(run, "tea", *option)) == 1
    assert len(run("ask", "tea", *option, "--json").json["references"]) == 1


def test_why_nothing_is_shown_is_said(run: Run, tea: Path) -> None:
    found = run("query", "tea", "--max-tokens", "1", "--mode", "lexical")
    assert (found.status, found.out[:17]) == (0, "Nothing shown in ")
    assert found.err.startswith("The best passage has ")
    assert found.err.endswith(" tokens, more than 1 (max_tokens).\n")
    assert run("query", "zebra", "--max-tokens", "1", "--mode", "lexical").err == ""
    found = run("query", "tea steeps", "--mode", "lexical", "--min-score", "1")
    assert found.out.startswith("Nothing found in ")
    assert found.err.startswith("The best score is 0.")
    assert found.err.endswith(", below the minimum of 1 (min_score).\n")
    assert run("query", "tea steeps", "--mode", "lexical", "--min-score", "100%").err == found.err
    refused = run("query", "tea", "--min-score", "much")
    assert (refused.status, "'much' is not a score. Write one like 0.7 or 70%." in refused.err) == (2, True)


def test_a_file_goes_by_its_path_from_here(run: Run, tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tea / "people")
    assert run("show", "ada.md").out.startswith("Ada\npeople/ada.md")
    assert run("show", "../tea.md", "--json").json["file_path"] == "tea.md"
    assert run("show", "tea.md", "--json").json["file_path"] == "tea.md", "as the store calls it"
    assert "commonplace exclude people/ada.md --undo" in run("exclude", "ada.md").out
    assert run("exclude", "ada.md", "--undo").status == 0
    assert run("reindex", tea / "people" / "ada.md").status == 0
    assert "Did you mean 'people/ada.md'?" in run("exclude", "adda.md").err
    outside = run("exclude", tea.parent / "x.md")
    assert (outside.status, "is not in a folder of store 'tea'" in outside.err) == (2, True)


def test_lines_behind_a_path_are_those_that_are_shown(run: Run, tea: Path) -> None:
    shown = run("show", "people/ada.md:5").out
    assert "She likes it green." in shown
    assert "Ada drinks tea." not in shown
    some = run("show", f"{tea / 'tea.md'}:3-5", "--json").json["passages"]
    assert [each["content"] for each in some] == ["Green tea steeps two minutes.\n\nBlack tea steeps four."]
    assert "no text in lines 4 to 4" in run("show", "tea.md:4").err
    assert run("show", "tea.md:900").status == 1


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


def test_the_result_in_the_docs_has_the_names_that_are_printed(run: Run, tea: Path) -> None:
    (block,) = (each for each in fences(USING) if each.language == "json" and '"query"' in str(each.lines))
    shown = json.loads("\n".join(line for _, line in block.lines))
    printed = run("query", "tea", "--json").json
    assert shown.keys() == printed.keys()
    hit = printed["results"][0]
    assert shown["results"][0].keys() <= hit.keys()
    assert shown["results"][0]["metadata"].keys() <= hit["metadata"].keys()
    assert os.path.isabs(hit["absolute_path"])  # noqa: PTH117
