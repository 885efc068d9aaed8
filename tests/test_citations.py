"""The benchmark of citations: what it counts, and that nothing is judged wrongly in a small folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.citations import Planned, is_right, judged
from rag_core.ask import Checker
from rag_core.replies import Reference, Reply, Statement
from tests.doc_pages import ROOT
from tests.trees import write

KINDS = {"true", "altered", "of another passage", "misnumbered", "invented", "invented, numbered"}
NOTES = {
    "heron.md": "# Heron\n\nThe **grey** heron stands still in shallow water and eats fish, frogs and eels."
    "\n\n## Nest\n\nIt nests in tall trees near a lake, in colonies of up to a hundred pairs, and comes back"
    " every spring to mend what the winter has left of it.\n",
    "old/heron.md": "# Heron\n\nFrom the bridge a white heron was seen twice in May, at low tide.\n",
    "tern.md": "# Tern\n\nThe tern flies from pole to pole each year; nobody sees more daylight than it.\n",
    "moor hen.txt": "A moor hen swims with a nodding head, and runs over lily pads on long green toes.\n",
}


def test_nothing_is_judged_wrongly_and_there_is_something_of_every_kind(tmp_path: Path) -> None:
    write(tmp_path / "notes", NOTES)
    command = [sys.executable, "-m", "benchmarks", "citations", str(tmp_path / "notes")]
    done = subprocess.run(
        [*command, "--questions", "12", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["documents"], found["judged_wrongly"]) == (4, 0)
    assert {kind for kind, count in found["statements"].items() if count >= 8} == KINDS


def checked(said: str) -> Statement:
    passages = [
        Reference(number, "s", "a.md", "", 0, "key", "", "markdown", 1, 1, "", "", text)
        for number, text in enumerate(NOTES.values(), 1)
    ]
    checker = Checker(passages)
    checker.feed(said)
    checker.end()
    [statement] = checker.statements
    return statement


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("true", 'It says "stands still in shallow water" [1].'),
        ("altered", 'It says "stands still in deep water" [1].'),
        ("of another passage", 'It says "stands still in shallow water" [2].'),
        ("misnumbered", 'It says "stands still in shallow water" [7].'),
        ("invented", "All was sent to Zanzibar."),
        ("invented, numbered", "All was sent to Zanzibar [1]."),
    ],
)
def test_a_statement_is_right_as_what_it_is_and_as_nothing_else(kind: str, said: str) -> None:
    fits = {each for each in KINDS if is_right(each, checked(said))}
    assert fits - {"invented"} == {kind} - {"invented"}
    assert ("invented" in fits) == (kind in ("invented", "misnumbered"))


def test_what_is_judged_wrongly_or_lost_is_counted() -> None:
    planned = [Planned("true", "x"), Planned("invented", "y"), Planned("invented", "z")]
    found = [checked(f"Statement {number}: It nests on the moon.") for number in (0, 1)]
    counts, wrong = judged(planned, [Reply("?", "answered", ("s",), statements=tuple(found))])
    assert counts == {"true": 1, "invented": 2}
    assert wrong == ["true: Statement 0: It nests on the moon. [no source]", "invented: lost: z"]
