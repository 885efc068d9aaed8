"""The tests that need neither Linux nor macOS can be collected on Windows, which lacks some modules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFUSING = """
import builtins, pytest, sys
from pathlib import Path
below, real = str(Path(sys.argv[1]).resolve()), builtins.__import__
def imported(name, globals=None, *more, **options):
    by = str((globals or {}).get("__file__"))
    if by.startswith(below) and name in ("fcntl", "pty", "termios", "resource", "pwd", "grp"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return real(name, globals, *more, **options)
builtins.__import__ = imported
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


def collected(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", REFUSING, str(folder), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.thorough
def test_every_quick_test_is_collected_without_the_modules_of_posix() -> None:
    done = collected(ROOT / "tests", "-m", "not thorough and not posix")
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_module_that_needs_one_is_refused(tmp_path: Path) -> None:
    """The check itself can fail."""
    (tmp_path / "test_wrong.py").write_text("import fcntl\n", "utf-8")
    done = collected(tmp_path, f"--rootdir={tmp_path}", "-c", os.devnull)
    assert done.returncode != 0
    assert "No module named 'fcntl'" in done.stdout


@pytest.mark.parametrize("name", ["mkfifo", "killpg", "seteuid"])
def test_who_uses_what_only_posix_has_is_marked(name: str) -> None:
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text("utf-8")
        if f"os.{name}(" in text:
            assert "posix" in text, path.name
