"""Every benchmark can be asked for by its name, and gets the data that it takes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import NAMES, TAKES_SETS, main, question, words
from benchmarks.process import percentile, spread
from tests.doc_pages import ROOT
from tests.trees import plant, write


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
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def test_every_benchmark_has_its_name_and_stands_in_the_documentation() -> None:
    files = (ROOT / "benchmarks").glob("[a-z]*.py")
    programs = {file.stem for file in files if "\ndef main(" in file.read_text("utf-8")}
    assert programs == set(NAMES)
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert set(re.findall(r"(?m)^\| `(\w+)`", page)) == programs


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_can_print_its_figures_for_a_program(name: str) -> None:
    assert '"--json"' in (ROOT / "benchmarks" / f"{name}.py").read_text("utf-8")


def test_without_a_name_they_are_named_with_their_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(question(name) in shown for name in NAMES)


def test_an_unknown_name_is_refused_with_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sped"]) == 2
    said = capsys.readouterr().err
    assert "'sped'" in said
    assert "speed" in said


def test_of_all_only_those_that_lack_their_data_are_left_out(tmp_path: Path) -> None:
    small, large = a_set(tmp_path / "small"), a_set(tmp_path / "large", 9)
    assert {name for name in NAMES if words(name, []) is None} == set(TAKES_SETS)
    assert {name for name in NAMES if words(name, [small]) is None} == {"calibration"}
    assert (
        words("calibration", [small, large]) == words("retrieval", [small, large]) == [str(small), str(large)]
    )
    assert (words("readers", []), words("readers", [small, large])) == ([], [str(large)])
    assert words("speed", [small, large]) == []


def test_a_judged_set_is_measured_by_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "retrieval", str(a_set(tmp_path / "herons", 5))]
    done = subprocess.run(
        [*command, "--embedder", "hashing", "--json"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    [row] = json.loads(done.stdout)["sets"]
    assert (row["name"], row["queries"], row["hit@1"]) == ("herons", 5, 100.0)


def test_notes_are_found_by_words_that_few_hold() -> None:
    figures = figures_of("known", "--queries", "10", "--embedder", "hashing")["words 2"]
    assert figures["asked"] == figures["found"] == figures["fits"] == figures["convincing"] > 0


def test_nothing_fits_what_means_nothing() -> None:
    figures = figures_of("nonsense", "--queries", "50", "--embedder", "hashing")
    assert figures["queries"] == sum(
        figures[kind]["asked"] for kind in ("letters", "mash", "word", "words", "base64")
    )
    assert figures["fits_percent"] <= 2, figures["fitting"]
    assert figures["passages"] > figures["embedded"] > 0


def test_every_part_of_indexing_is_timed() -> None:
    found = figures_of("speed", "--files", "12", "--embedder", "hashing", "--pairs", "2")
    assert list(found) == ["words", "index", "scan", "edits", "rename", "queries"]
    assert found["words"]["files"] == found["scan"]["unchanged"] == found["edits"]["edits"] == 12
    assert found["words"]["chunks"] >= found["index"]["texts"] > 12
    assert found["words"]["files_per_s"] > 0
    assert len(found["index"]["whole_s"]) == len(found["index"]["embedding_alone_s"]) == 2
    assert min(found["index"][name] for name in ("texts_per_s", "texts_per_s_alone")) > 0
    assert found["index"]["whole_to_embedding"] > 0
    assert found["scan"]["plan_to_walk"] > 0
    assert found["edits"]["texts_embedded_median"] == 1
    assert found["edits"]["texts_embedded_most"] >= 1
    assert (found["rename"]["files_moved"], found["rename"]["texts_embedded"]) == (12, 0)
    assert all(found["queries"][f"{mode}_ms"]["p50"] > 0 for mode in ("hybrid", "vector", "lexical"))
    assert found["queries"]["memory"]["uss_mb"] > 0


def test_a_folder_is_timed_and_never_written_to(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    write(
        notes, {f"{number}.md": f"# Note {number}\n\nIt tells of subject{number}.\n" for number in range(3)}
    )
    notes.chmod(0o555)
    before = {file: file.stat().st_mtime_ns for file in notes.iterdir()}

    found = figures_of("speed", str(notes), "--parts", "words,edits", "--embedder", "hashing")

    assert list(found) == ["words", "edits"]
    assert found["words"]["files"] == 3
    assert {file: file.stat().st_mtime_ns for file in notes.iterdir()} == before


def test_the_built_in_model_is_timed_with_what_the_processor_has(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(model_dir))
    found = figures_of("embedder", "--texts", "4", "--pairs", "1")
    assert found["machine"]["cores"] == os.cpu_count()
    assert found["machine"]["flags"]
    assert found["built_in"]["texts_per_s"] > 0
    if find_spec("sentence_transformers") is None:
        assert found["peer"].startswith("sentence-transformers is not installed")


def test_a_large_store_is_filled_and_searched() -> None:
    found = figures_of("scale", "--chunks", "300", "--queries", "3", "--embedder", "hashing")
    assert found["chunks"] == 300
    assert all(found["search"][f"{mode}_ms"]["p50"] > 0 for mode in ("hybrid", "vector", "lexical"))
    assert found["growing"]["without_ms"]["p50"] > 0


def test_readers_make_up_their_notes() -> None:
    small = ["--first", "12", "--more", "3", "--pairs", "1", "--seconds", "0.3", "--embedder", "hashing"]
    found = figures_of("readers", *small)
    [pair] = found["pairs"]
    assert (found["set"], pair["run"]["files"]) == ("made-up notes", 3)
    assert pair["alone"]["searches"] > 0
    assert pair["beside"]["p50"] <= pair["beside"]["p95"]


@pytest.mark.browser
def test_a_person_before_the_app_is_timed() -> None:
    found = figures_of("app", "--rows", "30", "--rounds", "1")
    assert found["rows"] == 30
    assert set(found["start_s"]) == {"first", "second"}
    assert found["cards_ms"]["max"] > 0
    assert list(found["files_ms"]) == ["first open", "filter", "sort", "select", "open"]


def test_without_a_browser_the_app_is_not_timed_and_the_words_say_why(tmp_path: Path) -> None:
    environment = {**os.environ, "COMMONPLACE_TEST_CHROMIUM": str(tmp_path / "none")}
    command = [sys.executable, "-m", "benchmarks", "app", "--rows", "1", "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"COMMONPLACE_TEST_CHROMIUM is {str(tmp_path / 'none')!r}, which does not start." in done.stderr


@pytest.mark.parametrize("values", [[7.0], [1.0, 53.0], [3.0, 1.0, 2.0], [*map(float, range(100))]])
def test_a_percentile_is_no_more_than_the_most_that_was_measured(values: list[float]) -> None:
    found = [percentile(values, part) for part in (1, 50, 95, 99)]
    assert min(values) <= found[0]
    assert found == sorted(found)
    assert found[-1] <= max(values)
    assert spread(values)["p50"] == found[1]


def test_one_that_fails_is_named_and_the_status_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.__main__.NAMES", ("retrieval", "calibration"))
    monkeypatch.chdir(ROOT)
    plant(tmp_path, "corpus.jsonl", text=b"not JSON")
    assert main(["all", str(tmp_path)]) == 1
    said = capfd.readouterr()
    assert "retrieval failed" in said.err
    assert "left out: it takes 2 judged sets" in said.out
