"""What a shell makes of a name that it completed: bash on a terminal, with keys that are pressed."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import BASH, Run, needs_bash
from tests.trees import write

PATIENCE = 60
NOTES = (
    "Tax/2025 return.md", "Tax/2025 receipts.md", "a:b c.md", "comma, dot.md", "it's \"so\".md",
    "bang!$HOME a.md", "end'.md", "~home z.md", "#hash.md", "back\\slash.md", "glob*[x].md",
    "{a,b} c.md", "!first f.md", "$(touch pwned) x.md", "`touch pwned` y.md", "é ä.md",
)  # fmt: skip


class Terminal:
    """bash on a terminal; ``commonplace`` completes there, and what it is given when it is run is noted."""

    def __init__(self, keys: int, noted: Path) -> None:
        self._keys, self._noted = keys, noted
        self._until_ready()

    def press(self, keys: str) -> list[str]:
        """What ``commonplace`` is given when these keys and Enter were pressed."""
        self._noted.unlink(missing_ok=True)
        os.write(self._keys, f"{keys}\n".encode())
        shown = self._until_ready()
        assert self._noted.exists(), shown
        return self._noted.read_text().split("\0")[:-1]

    def _until_ready(self) -> str:
        shown, end = b"", time.monotonic() + PATIENCE
        while b"[ready]" not in shown:
            assert time.monotonic() < end, shown.decode(errors="replace")
            if select.select([self._keys], [], [], 1)[0]:
                shown += os.read(self._keys, 65536)
        return shown.decode(errors="replace")


@contextmanager
def bash(run: Run, tmp_path: Path) -> Iterator[Terminal]:
    here, program, noted = tmp_path / "here", tmp_path / "bin" / "commonplace", tmp_path / "noted"
    start = tmp_path / "bashrc"
    write(tmp_path, {"here/local file.md": "", "bin/commonplace": ""})
    program.write_text(f"#!{sys.executable}\nfrom rag_core.cli import main\nmain()\n")
    program.chmod(0o700)
    start.write_text(
        run("completion", "bash").out
        + f"commonplace() {{ printf '%s\\0' \"$@\" > '{noted}'; }}\n"
        + "PS1=; PROMPT_COMMAND='printf \"[\"ready]'\n"
    )
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    settings = {
        "PATH": path,
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    keys, screen = pty.openpty()
    termios.tcsetwinsize(screen, (50, 300))
    shell = subprocess.Popen(
        [str(BASH), "--rcfile", str(start), "-i"], stdin=screen, stdout=screen, stderr=screen, cwd=here,
        env={**os.environ, **settings}, start_new_session=True,
    )  # fmt: skip
    os.close(screen)
    try:
        yield Terminal(keys, noted)
    finally:
        shell.kill()
        shell.wait()
        os.close(keys)


@pytest.fixture
def vault(run: Run, notes: Path) -> Path:
    """A store over notes with odd names."""
    write(notes, {name: f"# Note\n\nabout {number}\n" for number, name in enumerate(NOTES)})
    run("store", "create", "vault", "--embedder", "hashing")
    run("index", "**/*", "--store", "vault", "--root", notes)
    return notes


@needs_bash
def test_bash_completes_names_so_that_they_are_read_as_they_are(
    run: Run, vault: Path, tmp_path: Path
) -> None:
    typed = {
        "Tax/2025\\ ret": "Tax/2025 return.md",
        '"Tax/2025 ret': "Tax/2025 return.md",
        "'Tax/2025 ret": "Tax/2025 return.md",
        'Tax/"2025 "ret': "Tax/2025 return.md",
        "a": "a:b c.md",
        "a:": "a:b c.md",
        '"a:b': "a:b c.md",
        "com": "comma, dot.md",
        "it": 'it\'s "so".md',
        '"it': 'it\'s "so".md',
        "'it": 'it\'s "so".md',
        "bang": "bang!$HOME a.md",
        '"bang': "bang!$HOME a.md",
        '"!': "!first f.md",
        "'end": "end'.md",
        "\\~": "~home z.md",
        "\\#": "#hash.md",
        '"back': "back\\slash.md",
        "glob": "glob*[x].md",
        "\\{": "{a,b} c.md",
        "é": "é ä.md",
    }
    with bash(run, tmp_path) as terminal:
        for keys, name in typed.items():
            assert terminal.press(f"commonplace show {keys}\t") == ["show", name], keys


@needs_bash
def test_a_name_that_is_completed_runs_nothing(run: Run, vault: Path, tmp_path: Path) -> None:
    with bash(run, tmp_path) as terminal:
        for quote in ("\\", '"', "'"):
            keys = f"commonplace show {quote}$\t"
            assert terminal.press(keys) == ["show", "$(touch pwned) x.md"], keys
        for quote in ("\\", '"\\', "'"):
            keys = f"commonplace show {quote}`\t"
            assert terminal.press(keys) == ["show", "`touch pwned` y.md"], keys
    assert [each.name for each in (tmp_path / "here").iterdir()] == ["local file.md"]


@needs_bash
def test_bash_completes_stores_in_quotes_and_behind_an_equals_sign(
    run: Run, vault: Path, tmp_path: Path
) -> None:
    with bash(run, tmp_path) as terminal:
        for keys in ("--store=va", "--store='va", '"--store=va'):
            assert terminal.press(f"commonplace list {keys}\t") == ["list", "--store=vault"]


@needs_bash
def test_files_of_every_store_are_completed_and_those_on_the_disk(
    run: Run, vault: Path, tmp_path: Path
) -> None:
    run("store", "create", "zoo", "--embedder", "hashing")
    with bash(run, tmp_path) as terminal:
        for keys, name in {"com": "comma, dot.md", "loc": "local file.md"}.items():
            assert terminal.press(f"commonplace doctor --file {keys}\t") == ["doctor", "--file", name]
            assert terminal.press(f"commonplace show {keys}\t") == ["show", name]
        for command in ("doctor --store zoo --file com", "show --store zoo com"):
            assert terminal.press(f"commonplace {command}\t") == command.split()


def test_fish_parts_a_name_from_its_kind_only(run: Run) -> None:
    assert 'string split --max 1 "," $completion' in run("completion", "fish").out
