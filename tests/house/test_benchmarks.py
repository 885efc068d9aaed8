"""Every benchmark can be asked for by its name, and gets the data that it takes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import NAMES
from tests.docs.doc_pages import ROOT
from tests.support.trees import write

pytestmark = pytest.mark.thorough


def a_set(folder: Path, count: int = 2) -> Path:
    """A judged set: each document tells of the number that one query asks for."""
    corpus = [
        {"id": f"d{n}", "title": f"Heron {n}", "text": f"It waits number{n} times."} for n in range(count)
    ]
    queries = [{"id": f"q{n}", "text": f"who waits number{n}"} for n in range(count)]
    judged = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(count))]
    files = {
        "corpus.jsonl": map(json.dumps, corpus),
        "queries.jsonl": map(json.dumps, queries),
        "qrels.tsv": judged,
    }
    write(folder, {name: "\n".join(lines) + "\n" for name, lines in files.items()})
    return folder


def figures_of(name: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", name, *options, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_every_benchmark_has_its_name_and_stands_in_the_documentation() -> None:
    files = (ROOT / "benchmarks").glob("[a-z]*.py")
    programs = {file.stem for file in files if "\ndef main(" in file.read_text("utf-8")}
    assert programs == set(NAMES)
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^\| `(\w+)`", page)) == programs


def test_a_judged_set_is_measured_by_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "retrieval", str(a_set(tmp_path / "herons", 5))]
    done = subprocess.run(
        [*command, "--embedder", "hashing", "--json"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    [row] = json.loads(done.stdout)["sets"]
    assert (row["name"], row["queries"], row["hit@1"]) == ("herons", 5, 100.0)


def test_peers_are_compared_and_who_is_missing_is_named_with_its_install_line(tmp_path: Path) -> None:
    herons = str(a_set(tmp_path / "herons", 5))
    command = [sys.executable, "-m", "benchmarks", "peers", herons, "--embedder", "hashing", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    figures = json.loads(done.stdout)["herons"]
    assert figures["commonplace"]["ndcg@10"] == figures["fts5"]["ndcg@10"] == 100.0
    for name in ("lancedb", "txtai"):
        assert name in figures or f"PEERS/bin/python -m pip install numpy {name}" in done.stderr


SMALL = {
    "known": ["--queries", "10"],
    "nonsense": ["--queries", "20"],
    "speed": ["--files", "6", "--pairs", "1"],
    "scale": ["--chunks", "300", "--queries", "3"],
    "readers": ["--first", "12", "--more", "3", "--pairs", "1", "--seconds", "0.3"],
}


def test_a_large_store_is_put_together_from_a_folder(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(notes, {f"{n}.md": f"# Note {n}\n\n{f'It tells of subject{n}. ' * 10}\n" for n in range(3)})
    words = ["--chunks", "300", "--queries", "3", "--text", str(notes), "--embedder", "hashing"]
    found = figures_of("scale", *words)["search"]
    assert found["steps_ms"]["best by words"].keys() == {"first", "hybrid", "vector", "lexical"}


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_on_notes_that_it_makes_up(name: str) -> None:
    assert figures_of(name, *SMALL[name], "--embedder", "hashing")


def test_a_folder_is_timed_and_never_written_to(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(notes, {f"{n}.md": f"# Note {n}\n\nIt tells of subject{n}.\n" for n in range(3)})
    before = {file: file.stat().st_mtime_ns for file in notes.iterdir()}
    found = figures_of("speed", str(notes), "--parts", "words,edits", "--embedder", "hashing")
    assert found["words"]["files"] == 3
    assert {file: file.stat().st_mtime_ns for file in notes.iterdir()} == before
