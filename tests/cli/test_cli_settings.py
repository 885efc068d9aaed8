"""``commonplace config`` and ``completion``, and options that take their default from the settings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import BASH, Run, needs_bash
from tests.support.configured import configure

pytestmark = pytest.mark.thorough


def from_where(run: Run, name: str) -> tuple[object, str, int]:
    [row] = [row for row in run("config", "--json").json["settings"] if row["key"] == name]
    return row["value"], row["layer"], row["line"]


def test_config_shows_every_setting_with_its_origin(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(home, "mode: vector\nmin_score: 0.5\n", "# x\nCOMMONPLACE_PORT=9000\n")
    monkeypatch.setenv("COMMONPLACE_K_LEX", "50")
    assert from_where(run, "mode") == ("vector", "config.yaml", 1)
    assert from_where(run, "min_score") == (0.5, "config.yaml", 2)
    assert from_where(run, "port") == (9000, ".env", 2)
    assert from_where(run, "k_lex") == (50, "environment", 0)
    assert from_where(run, "top_k") == (10, "default", 0)
    shown = run("config").out
    assert f"{home / 'config.yaml'}:2" in shown
    assert "environment, COMMONPLACE_K_LEX" in shown
    assert f"variables  {home / '.env'}\n" in shown
    assert f"data       {home / 'data'}  (not there)" in shown


def test_config_creates_nothing_and_speaks_only_of_declared_stores(run: Run, home: Path) -> None:
    (row,) = (line for line in run("config").out.splitlines() if line.startswith("stores "))
    assert row.endswith("(none)")
    assert not home.exists()


def test_a_mistake_in_the_settings_ends_a_command_with_its_line(run: Run, home: Path) -> None:
    configure(home, "topk: 5\n")
    for command in (["config"], ["query", "x"], ["status"], ["serve"]):
        result = run(*command)
        assert result.status == 2
        assert f"'topk' is not a setting (line 1 of {str(home / 'config.yaml')!r})." in result.err
        assert "Did you mean 'top_k'?" in result.err
    assert run("status", "--json").json["error"]["suggestion"] == "Did you mean 'top_k'?"
    assert run("query", "--help").status == run("--help").status == 0


def test_a_variable_that_means_nothing_is_said_on_standard_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TOPK", "5")
    result = run("status", "--json")
    assert result.json["stores"] == []
    assert result.err.count("COMMONPLACE_TOPK is not a setting") == 1


@pytest.fixture
def zoo(run: Run, notes: Path) -> None:
    for number in range(5):
        (notes / f"{number}.md").write_text(f"# Zebra {number}\n\nA zebra and {number} llamas.\n", "utf-8")
    run("store", "create", "zoo", "--embedder", "hashing")
    run("index", "**/*", "--store", "zoo", "--root", notes)


@pytest.mark.usefixtures("zoo")
def test_default_store_is_what_store_is_when_it_is_left_out(run: Run, home: Path) -> None:
    run("store", "create", "empty", "--embedder", "hashing")
    assert run("query", "zebra", "--json").json["stores"] == ["empty", "zoo"]
    assert run("list").status == 2
    configure(home, "default_store: zoo\n")
    assert run("query", "zebra", "--json").json["stores"] == ["zoo"]
    assert run("query", "zebra", "--store", "empty", "--json").json["stores"] == ["empty"]
    assert len(run("list", "--json").json["files"]) == 5
    assert run("index", "--json").json["store"] == "zoo"


@pytest.mark.posix
@needs_bash
@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("commonplace st", "store status"),
        ("commonplace store cr", "create"),
        ("commonplace query --store n", "notes novels"),
        ("commonplace share add ada@github --store n", "notes novels"),
        ("commonplace verify --store z", "zoo"),
        ("commonplace list --fo", ""),
    ],
)
def test_bash_completes_commands_and_names(run: Run, tmp_path: Path, line: str, answers: str) -> None:
    for name in ("zoo", "notes", "novels"):
        run("store", "create", name, "--embedder", "hashing")
    assert sorted(completed(run, tmp_path, line)) == sorted(answers.split())


def completed(run: Run, tmp_path: Path, line: str) -> list[str]:
    """What bash offers for the last word of a line."""
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash").out, "utf-8")
    program = tmp_path / "bin" / "commonplace"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom rag_core.cli import main\nmain()\n", "utf-8")
    program.chmod(0o700)
    asked = (
        f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1};"
        " _commonplace_completion commonplace; echo ${COMPREPLY[@]}"
    )
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(
        [str(BASH), "-c", asked],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    assert ended.stderr == ""
    return ended.stdout.split()
