"""The workflow of other systems: it names the versions that are promised, and its smoke test works here."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.docs.doc_pages import ROOT

WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
JOBS = WORKFLOW["jobs"]


def promised() -> list[str]:
    """The oldest and the newest Python of pyproject.toml."""
    [(oldest, above)] = re.findall(
        r'(?m)^requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text("utf-8")
    )
    return [f"3.{oldest}", f"3.{int(above) - 1}"]


@pytest.mark.parametrize("job", ["resolve", "user", "test"])
def test_the_oldest_and_the_newest_python_are_tried(job: str) -> None:
    assert JOBS[job]["strategy"]["matrix"]["python"] == promised()


@pytest.mark.parametrize("job", ["user", "test"])
def test_each_system_is_tried(job: str) -> None:
    systems = {name.split("-")[0] for name in JOBS[job]["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}


def test_every_file_that_a_step_runs_is_there() -> None:
    steps = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]
    named = {name for step in steps for name in re.findall(r"[\w./-]+\.(?:py|txt|toml)\b", step)}
    assert named >= {".ci/smoke.py", "constraints.txt"}
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_no_step_needs_make() -> None:
    assert not re.search(
        r"\bmake\b", "\n".join(step.get("run", "") for job in JOBS.values() for step in job["steps"])
    )


@pytest.mark.thorough
def test_the_smoke_test_passes_with_this_checkout() -> None:
    command = [sys.executable, ".ci/smoke.py", "--without-model"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("All went well.\n")
