"""What the Index page says of a run, as plain functions of its values."""

from __future__ import annotations

import pytest

from rag_core.types import FileResult, Progress
from ui.job_status import describe, grouped


def test_equal_reasons_are_one_row() -> None:
    large = [
        FileResult(f"a/{n}.md", "success", "skipped", message=f"The file 'a/{n}.md' is larger than 64 MB.")
        for n in range(5)
    ]
    (row,) = grouped(large)
    assert row == {
        "What": "skipped",
        "Files": 5,
        "Reason": "The file … is larger than 64 MB.",
        "Which": "a/0.md, a/1.md, a/2.md and 2 more",
    }


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (Progress("scanning", 1200, 0, 4000.0), "Looking for files · 1,200 · 4,000/s"),
        (Progress("reading", 50, 200, 25.0, 6.0), "Reading files · 50 of 200 · 25/s · 6 s left"),
        (Progress("reading", 1, 200, 0.4, 500.0), "Reading files · 1 of 200 · 0.4/s"),
    ],
)
def test_progress_is_one_line(progress: Progress, line: str) -> None:
    assert describe(progress) == line
