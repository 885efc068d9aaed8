"""Running the command line inside the test's own process, and pytest in one of its own."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

BASH = shutil.which("bash")

needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")


@dataclass(frozen=True)
class Result:
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


def pytest_of_its_own(folder: Path) -> list[str]:
    """The beginning of a command that runs tests within a test.

    It gets its temporary folder from here: one that chooses it itself closes the folder above to
    everybody else, while other tests go through there as somebody else.
    """
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'own'}"]
