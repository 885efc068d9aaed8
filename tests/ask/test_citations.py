"""The benchmark of citations: nothing is judged wrongly in a small folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.docs.doc_pages import ROOT
from tests.support.trees import write

KINDS = {"true", "altered", "of another passage", "misnumbered", "invented", "invented, numbered"}
NOTES = {
    "heron.md": "# Heron\n\nThe **grey** heron stands still in shallow water and eats fish, frogs and eels."
    "\n\n## Nest\n\nIt nests in tall trees near a lake, in colonies of up to a hundred pairs, and comes back"
    " every spring to mend what the winter has left of it.\n",
    "old/heron.md": "# Heron\n\nFrom the bridge a white heron was seen twice in May, at low tide.\n",
    "tern.md": "# Tern\n\nThe tern flies from pole to pole each year; nobody sees more daylight than it.\n",
    "moor hen.txt": "A moor hen swims with a nodding head, and runs over lily pads on long green toes.\n",
}


def test_nothing_is_judged_wrongly_and_there_is_something_of_every_kind(tmp_path: Path) -> None:
    write(tmp_path / "notes", NOTES)
    command = [sys.executable, "-m", "benchmarks", "citations", str(tmp_path / "notes")]
    done = subprocess.run(
        [*command, "--questions", "12", "--json"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["documents"], found["judged_wrongly"]) == (4, 0)
    assert {kind for kind, count in found["statements"].items() if count >= 8} == KINDS
