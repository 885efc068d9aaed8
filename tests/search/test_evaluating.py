"""A golden set: read, marked, measured, and compared with the last time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.library.evaluating import figures
from rag_core.reports import JudgedQuery
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.command import Run
from tests.support.trees import write

TREES = {
    "queue.md": "# Queue\n\nWe chose the retry queue.\n",
    "tea.md": "# Tea\n\nGreen tea at eighty degrees.\n",
    "work/plan.md": "# Plan\n\nThe plan of the garden.\n",
}


@pytest.fixture
def shelf(library: Library, notes: Path) -> Library:
    write(notes, TREES)
    index(library, "notes", notes)
    return library


def test_figures_are_those_of_the_definitions() -> None:
    judged = [JudgedQuery("a", 1, 1, (1,)), JudgedQuery("b", 2, 4, (4, 11)), JudgedQuery("c", 1, None, ())]
    assert figures(judged) == {
        "hit@1": 33.33,
        "hit@5": 66.67,
        "hit@10": 66.67,
        "mrr": 41.67,
        "ndcg@10": 42.14,
    }


def test_a_set_is_measured_and_compared_with_the_last_time(
    shelf: Library, notes: Path, tmp_path: Path
) -> None:
    key = shelf.search(OWNER, "green tea").hits[0].key
    golden = tmp_path / "golden.yaml"
    golden.write_text(
        f"queries:\n- query: retry queue\n  store: notes\n  relevant: [queue.md]\n"
        f"- query: green tea\n  relevant: [{key}]\n- query: walrus\n  relevant: [work/none.md]\n",
        "utf-8",
    )
    first = shelf.evaluating.evaluate(OWNER, golden, mode="lexical")
    assert [each.rank for each in first.queries] == [1, 1, None]
    assert first.figures["hit@1"] == 66.67
    assert (first.before, first.changes) == ({}, [])
    write(notes, {"work/none.md": "# Walrus\n\nA walrus.\n"})
    index(shelf, "notes")
    second = shelf.evaluating.evaluate(OWNER, golden, mode="lexical")
    assert second.figures["hit@1"] == 100
    assert second.before == first.figures
    assert second.changes == [("walrus", None, 1)]


def test_results_are_marked_once(shelf: Library) -> None:
    for query, path in (("tea", "tea.md"), ("tea", "tea.md"), ("tea", "queue.md"), ("plan", "work/plan.md")):
        shelf.evaluating.mark(OWNER, query, path)
    assert yaml.safe_load(shelf.evaluating.usual_file.read_text("utf-8")) == {
        "queries": [
            {"query": "tea", "relevant": ["tea.md"]},
            {"query": "tea", "relevant": ["queue.md"]},
            {"query": "plan", "relevant": ["work/plan.md"]},
        ]
    }
    assert shelf.evaluating.usual_file.read_text("utf-8").splitlines()[2:4] == [
        "  relevant: [tea.md]",
        "- query: tea",
    ]
    assert [each.relevant for each in shelf.evaluating.evaluate(OWNER).queries] == [2, 1]
    assert shelf.evaluating.evaluate(OWNER, mode="lexical").figures["hit@1"] == 100


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("queries:\n- {query: tea, store: notes, relevant: [tea.md]}", "a: b #c.md"),
        ("queries:  # mine\n  - query: tea\n    relevant: [tea.md]  # green\n\n# the end", "tea.md"),
        ("queries:\n- query: tea\n  relevant: [tea.md]\nowner: me\n", 'Grüße 😀 "x" ' + "long " * 40 + ".md"),
    ],
)
def test_what_was_written_by_hand_stays(shelf: Library, text: str, name: str) -> None:
    shelf.evaluating.usual_file.write_text(text, "utf-8")
    shelf.evaluating.mark(OWNER, "old queue", name)
    marked = shelf.evaluating.usual_file.read_text("utf-8")
    found = yaml.safe_load(marked)
    assert found["queries"][1] == {"query": "old queue", "relevant": [name]}
    assert len(found["queries"]) == 2
    assert all(line in marked.splitlines() for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    ["", "queries: []", "- a", "queries:\n- query: x", "queries:\n- query: x\n  relevant: y", "a: [", "!x y"],
)
def test_what_is_no_golden_set_is_refused(shelf: Library, tmp_path: Path, text: str) -> None:
    golden = tmp_path / "golden.yaml"
    golden.write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=r"golden\.yaml"):
        shelf.evaluating.evaluate(OWNER, golden)


def test_the_command_line_marks_and_measures(run: Run, shelf: Library, tmp_path: Path) -> None:
    golden = tmp_path / "golden.yaml"
    marked = run("eval", "mark", "retry queue", "queue.md", "--store", "notes", "--file", golden)
    assert (marked.status, "Marked queue.md" in marked.out) == (0, True)
    found = run("eval", golden, "--mode", "lexical", "--json")
    assert json.loads(found.out)["figures"]["hit@1"] == 100
    shown = run("eval", "run", golden, "--mode", "lexical")
    assert "hit@1" in shown.out
    assert "+0.00" in shown.out


@pytest.mark.parametrize("query", ["", " ", "!?"])
def test_a_query_that_asks_for_nothing_is_not_marked(shelf: Library, query: str) -> None:
    with pytest.raises(InvalidInput):
        shelf.evaluating.mark(OWNER, query, "queue.md")
    assert not shelf.evaluating.usual_file.exists()


def test_a_golden_set_that_cannot_be_written_is_an_error_in_words(shelf: Library, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be written"):
        shelf.evaluating.mark(OWNER, "queue", "queue.md", tmp_path / "no folder" / "golden.yaml")


def test_eval_alone_runs_the_set_that_mark_fills(run: Run, shelf: Library) -> None:
    run("eval", "mark", "retry queue", "queue.md", "--store", "notes")
    assert "hit@1    100.00" in run("eval").out
