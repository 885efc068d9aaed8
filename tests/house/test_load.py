"""The app beside its guests: searches and open pages while it indexes. `benchmarks/load.py` measures it."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.load import measure

pytestmark = pytest.mark.thorough

SECONDS = 10.0
RATE = 25.0
PAGES = 10
FILES = 12_000  # more than are read in that time


def test_guests_are_answered_while_the_app_indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    found = measure(tmp_path, SECONDS, RATE, PAGES, FILES, "hashing")
    searches, pages = found["searches"], found["pages"]
    assert searches["answers"] == searches["200"]
    assert searches["answers"] >= RATE * SECONDS * 0.9
    assert pages["answers"] == pages["drawn"]
    assert pages["answers"] >= PAGES
    assert found["run"]["state"] == "running", "it had begun before the first search, and has not ended"
    assert found["server"]["alive"]
