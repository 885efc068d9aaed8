"""The command line as a program: errors, status, signals, pipes, and what reaches the terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "from rag_core.cli import main; main()"]
HEAVY = {"streamlit", "pandas", "onnx", "onnxruntime", "tokenizers", "langchain_text_splitters", "wcmatch"}


def run(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, input=stdin, capture_output=True, encoding="utf-8", timeout=60
    )


# --- errors and status ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nosuch"], 2, "No such command 'nosuch'."),
        (["store", "create", "a b"], 2, "'a b' cannot be a store's name."),
        (["store", "create", "new", "--embedder", "nosuch"], 2, "There is no embedder called 'nosuch'."),
        (["store", "info", "nope"], 1, "There is no store called 'nope'."),
        (["query"], 2, "The query is empty."),
        (["query", "x"], 1, "There is no store yet."),
        (["query", "x", "--top-k", "0"], 2, "top_k is 0."),
        (["query", "x", "--filter", "colour=red"], 2, "There is no filter called 'colour'."),
        (["query", "after:never"], 2, "'never' is not a date for 'after'."),
        (["serve", "--port", "65536"], 2, "Invalid value for '--port'"),
    ],
)
def test_error_is_two_sentences_on_standard_error_or_json(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, message: str
) -> None:
    from rag_core.cli import main

    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr()
    assert ended.value.code == status
    assert shown.err.startswith(f"Error: {message}")
    assert len(shown.err.splitlines()) == 2
    assert shown.out == ""
    if arguments[0] != "serve":
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--json"])
        error = json.loads(capsys.readouterr().out)["error"]
        assert ended.value.code == status
        assert error["message"].startswith(message)
        assert error["suggestion"]


def test_reading_commands_create_nothing(home: Path) -> None:
    for arguments in (["status"], ["store", "list"], ["query", "x"], ["--version"]):
        run(*arguments)
    assert not home.exists()


# --- what is loaded ---------------------------------------------------------------------


def loaded(code: str) -> set[str]:
    code += "; import sys; print(*sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    return {name.split(".")[0] for name in result.stdout.split("\n")[-2].split()}


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded("import rag_core") & {*HEAVY, "numpy", "click", "sqlite3"}


def test_help_loads_nothing_heavy() -> None:
    code = "from rag_core.cli import app; app.main(['--help'], standalone_mode=False)"
    assert not loaded(code) & HEAVY


def test_lexical_search_loads_no_model(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("A heron.", "utf-8")
    index(library, "birds", notes)
    query = ["query", "heron", "--mode", "lexical"]
    code = f"from rag_core.cli import app; app.main({query}, standalone_mode=False)"
    assert not loaded(code) & (HEAVY - {"wcmatch"})


# --- hostile notes ----------------------------------------------------------------------

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b5m\r\x08\u202etxt"


@pytest.fixture
def hostile(library: Library, notes: Path) -> Path:
    front = '---\ntitle: "t \\e[2J \\x07"\ntags: ["x\\e[2J"]\n---\n'
    (notes / f"evil\n{ESCAPES.replace('/', '')}.md").write_text(
        front + f"# H {ESCAPES}\n\nThe heron {ESCAPES}.", "utf-8"
    )
    for number in range(2):
        (notes / f"same{number}{ESCAPES}\n.md").write_text(f"The heron {ESCAPES} again.", "utf-8")
    (notes / f"broken{ESCAPES}.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    library.create_store(OWNER, "birds", "hashing")
    return notes


CONTROLS = set("\x1b\x07\x9b\r\x08\u202e")


@pytest.mark.posix
def test_nothing_of_a_note_or_its_name_steers_the_terminal(hostile: Path) -> None:
    commands: list[list[str | Path]] = [
        ["index", "**/*", "--store", "birds", "--root", hostile, "--dry-run"],
        ["index", "**/*", "--store", "birds", "--root", hostile],
        ["query", f"heron {ESCAPES}", "--mode", "lexical"],
        ["list", "--store", "birds"],
        ["store", "info", "birds"],
        ["query", "x", "--store", ESCAPES],
        ["query", "x", "--filter", ESCAPES],
        ["query", "x", f"--{ESCAPES}"],
    ]
    for command in commands:
        result = run(*command)
        assert "Traceback" not in result.stderr
        assert result.stdout + result.stderr
        assert not set(result.stdout + result.stderr) & CONTROLS, command


@pytest.mark.posix
def test_json_holds_hostile_text_as_escapes(hostile: Path) -> None:
    run("index", "**/*", "--store", "birds", "--root", hostile)
    for command in (["query", f"heron {ESCAPES}"], ["list", "--store", "birds"], ["store", "info", ESCAPES]):
        shown = run(*command, "--json").stdout
        assert json.loads(shown)
        assert not set(shown) & CONTROLS
    assert json.loads(run("query", f"heron {ESCAPES}", "--json").stdout)["query"] == f"heron {ESCAPES}"


# --- pipes, signals, progress -----------------------------------------------------------


def test_reader_that_goes_away_is_no_error(library: Library, notes: Path) -> None:
    for number in range(300):
        (notes / f"{number}.md").write_text(f"Heron {number}. " * 40, "utf-8")
    index(library, "birds", notes)
    pipe = subprocess.Popen(
        [*COMMAND, "query", "heron", "--top-k", "300"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.read(10)
    pipe.stdout.close()
    errors = pipe.stderr.read()
    pipe.stderr.close()
    assert pipe.wait(30) == 141
    assert errors == b""


def in_terminal(*arguments: str | Path, columns: int = 80, **variables: str) -> str:
    """What a terminal of so many columns is sent."""
    import pty  # Windows has neither
    import termios

    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, columns))
    environment = {**os.environ, "TERM": "xterm", **variables}
    environment.pop("COLUMNS", None)
    command = [*COMMAND, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # Linux says so when the other side is closed
            part = b""
        if not part:
            break
        shown += part
    os.close(controller)
    assert process.wait(30) == 0
    return shown.decode("utf-8")


@pytest.mark.posix
def test_progress_is_one_line_that_moves_and_goes_on_a_terminal(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("A heron.", "utf-8")
    library.create_store(OWNER, "birds", "hashing")
    shown = in_terminal("index", "*.md", "--store", "birds", "--root", notes)
    moving, _, rest = shown.rpartition("\r\x1b[2K")
    assert "\r\x1b[2KReading files" in moving
    assert "\n" not in moving
    assert rest.startswith("Done in ")


@pytest.mark.posix
def test_progress_is_not_shown_to_a_terminal_that_cannot_move(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("A heron.", "utf-8")
    library.create_store(OWNER, "birds", "hashing")
    shown = in_terminal("index", "*.md", "--store", "birds", "--root", notes, TERM="dumb", NO_COLOR="1")
    assert "\x1b" not in shown
    assert shown.startswith("Done in ")


# --- terminals --------------------------------------------------------------------------


@pytest.fixture
def birds(library: Library, notes: Path) -> Path:
    """A store called birds over notes of many lengths and scripts."""
    for name in ("heron", "鷺鳥のノート", "a very long name of a note about a heron"):
        (notes / f"{name}.md").write_text(f"# {name}\n\n" + "The heron stands in the water. " * 9, "utf-8")
    (notes / "broken.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(library, "birds", notes)
    return notes


def columns_of(text: str) -> int:
    """How many columns a terminal needs for it."""
    return sum(2 if unicodedata.east_asian_width(char) == "W" else 1 for char in text)


@pytest.mark.posix
@pytest.mark.parametrize("columns", [30, 60])
@pytest.mark.parametrize("command", ["list", "status", "jobs"])
def test_what_is_shown_fits_the_terminal(birds: Path, command: str, columns: int) -> None:
    shown = in_terminal(command, columns=columns, NO_COLOR="1")
    assert shown.strip()
    names = (str(birds), "a very long name", "鷺鳥")  # which are not cut
    wide = [line for line in shown.splitlines() if columns_of(line) > columns]
    assert [line for line in wide if not any(name in line for name in names)] == []


@pytest.mark.posix
def test_columns_stand_below_each_other_whatever_the_script(birds: Path) -> None:
    for shown in (in_terminal("list", columns=110, NO_COLOR="1"), run("list").stdout):
        rows = [line for line in shown.splitlines() if "markdown" in line]
        assert len({columns_of(line.partition("markdown")[0]) for line in rows}) == 1
        assert len(rows) == 4


# --- stopping ---------------------------------------------------------------------------


@pytest.mark.posix
def test_interrupted_run_ends_as_shells_count_it_and_goes_on_next_time(home: Path, notes: Path) -> None:
    for number in range(3000):
        (notes / f"{number}.md").write_text(
            f"# Heron {number}\n\n" + f"The heron number {number}. " * 200, "utf-8"
        )
    library = Library.open(Settings(home / "data", home / "data" / "models", ()))
    library.create_store(OWNER, "birds", "hashing")
    process = subprocess.Popen(
        [*COMMAND, "index", "*.md", "--store", "birds", "--root", str(notes)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    while not library.stores.info(OWNER, "birds").file_count:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    *_, first, second = err.splitlines()  # a slow machine also tells how far it is
    assert re.fullmatch(r"Error: Stopped at [\d,]+ of 3,000\.", first)
    assert second == "What was read stays; run the same command to continue."
    read = library.stores.info(OWNER, "birds").file_count
    assert 0 < read < 3000
    assert [job.state for job in library.jobs.all(OWNER, "birds")] == ["cancelled"]
    assert library.search(OWNER, "heron", mode="lexical").hits
    for file in list(notes.iterdir())[200:]:
        file.unlink()
    library.jobs.request(OWNER, "birds")
    job = library.jobs.run(OWNER, "birds")
    assert job is not None
    assert (job.state, library.stores.info(OWNER, "birds").file_count) == ("done", 200)
    library.close()
