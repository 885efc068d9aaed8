"""The Python that docs/using.md shows is run as it stands there, in a throw-away home."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.doc_pages import ROOT, USING, fences
from tests.support.trees import write


def test_the_example_of_the_docs_indexes_finds_and_asks(tmp_path: Path) -> None:
    (block,) = (each for each in fences(USING) if each.language == "python")
    write(tmp_path / "notes", {"tea.md": "# Green tea\n\nGreen tea steeps for two minutes.\n"})
    script = tmp_path / "example.py"
    script.write_text("\n".join(line for _, line in block.lines), encoding="utf-8")
    first, again = run(script, tmp_path), run(script, tmp_path)
    counts, hit, reply = first.splitlines()
    assert "'added': 1" in counts
    assert "tea.md:1" in hit
    assert "two minutes" in hit
    assert reply.startswith("“Green tea steeps for two minutes.” [1]")
    assert reply.endswith("['tea.md:1']")
    assert again.splitlines()[1:] == [hit, reply], "as it stands there, it can be run twice"


def run(script: Path, home: Path) -> str:
    """What a program prints that may not even warn."""
    told = subprocess.run(
        [sys.executable, "-W", "error", script],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "HOME": str(home),
            "COMMONPLACE_HOME": str(home / "home"),
            "COMMONPLACE_EMBEDDER": "hashing",
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert told.stderr == ""
    return told.stdout
