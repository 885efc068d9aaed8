"""What the Index page says of a run, as plain functions of its values."""

from __future__ import annotations

import pytest

from rag_core.reports import Problem
from rag_core.types import Progress
from rag_core.wording import progress
from ui.index.problems import headline


@pytest.mark.parametrize(
    ("now", "line"),
    [
        (Progress("scanning", 1200, 0, 4000.0), "Looking for files · 1,200 · 4,000/s"),
        (Progress("reading", 50, 200, 25.0, 90.0), "Reading files · 50 of 200 · 25/s · 1–3 min left"),
        (Progress("reading", 1, 200, 0.4, 500.0), "Reading files · 1 of 200 · 24 a minute"),
    ],
)
def test_progress_is_one_line(now: Progress, line: str) -> None:
    assert progress(now) == line


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (Problem("failed", "", 2, ("a", "b")), "2 files could not be read."),
        (Problem("waiting", "", 1, ("a",)), "The pictures in 1 file are not read yet."),
        (Problem("skipped", "", 1, ("a",)), "1 file skipped."),
        (Problem("refused", "", 3, ("a",)), "Found by words only: 3 texts of 1 file."),
    ],
)
def test_a_problem_has_a_headline(problem: Problem, line: str) -> None:
    assert headline(problem) == line
