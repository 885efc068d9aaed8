"""Running the command line inside the test's own process, and pytest in one of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
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
