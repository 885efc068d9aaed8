"""Which browser the tests drive, and what becomes of them where there is none."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.browser import NAMED
from tests.command import pytest_of_its_own
from tests.live import ROOT
from tests.standin import nobody

FIND = "from tests.browser import find; print(find())"
DRIVEN = ["tests/test_browser_stores.py", "tests/test_docs_pictures.py"]


@dataclass
class Computer:
    """A computer without browsers; what Playwright fetches comes from ``source``."""

    folder: Path
    source: str = field(default_factory=nobody)

    def python(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter of the tests there. ``environment`` is added."""
        variables = {
            "HOME": str(self.folder),
            "PATH": str(self.folder / "bin"),
            "PLAYWRIGHT_BROWSERS_PATH": str(self.folder / "fetched"),
            "PLAYWRIGHT_DOWNLOAD_HOST": self.source,
        }
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=variables | environment, capture_output=True, text=True, check=False
        )

    def has(self, program: str | Path, status: int = 0) -> str:
        """Put a program there that starts, or ends with this status."""
        path = self.folder / "bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nexit {status}\n", "utf-8")
        path.chmod(0o755)
        return str(path)

    def tests(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a few tests of the browser there."""
        return self.python(*pytest_of_its_own(self.folder)[1:], *options, *DRIVEN, **environment)

    def found(self, **environment: str) -> str:
        return self.python("-c", FIND, **environment).stdout.strip()


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    return Computer(tmp_path)


@pytest.mark.parametrize("program", ["google-chrome", "chromium", "microsoft-edge"])
def test_a_browser_on_the_path_is_found(computer: Computer, program: str) -> None:
    assert computer.has(program) == computer.found()


def test_a_browser_that_does_not_start_is_passed_over(computer: Computer) -> None:
    computer.has("google-chrome", status=1)
    assert computer.has("microsoft-edge") == computer.found()


def test_the_browser_that_is_named_is_the_only_one_tried(computer: Computer) -> None:
    computer.has("chromium")
    named = computer.has("mine")
    assert computer.found(**{NAMED: named}) == named
    computer.has("mine", status=1)
    assert (
        f"{NAMED} is {named!r}, which does not start." in computer.python("-c", FIND, **{NAMED: named}).stderr
    )


def test_where_a_browser_is_named_its_tests_fail_without_it(computer: Computer) -> None:
    done = computer.tests(**{NAMED: "/none"})
    assert done.returncode == 1
    assert "3 errors" in done.stdout
