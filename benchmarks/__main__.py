"""The benchmarks by name, each in a process of its own.

    python -m benchmarks                 names them
    python -m benchmarks NAME WORD…      runs one; `NAME --help` says what it takes
    python -m benchmarks all [DIR…]      runs every one, with the judged sets DIR… where it takes some

What each of them measures, and what a judged set is: docs/benchmarks.md.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent

TAKES_SETS = {"retrieval": 1, "peers": 1, "calibration": 2}
"""How many judged sets a benchmark needs at least; the others make up what they need."""

NAMES = (
    *(*TAKES_SETS, "mixed", "answers", "home", "known", "languages", "nonsense", "furniture", "readers"),
    *("app", "citations", "embedder", "load", "ocr", "remote", "s3vectors", "scale", "speed"),
)


def question(name: str) -> str:
    """The first line of a benchmark's own words."""
    said = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""
    return said.partition("\n")[0]


def words(name: str, sets: Sequence[Path]) -> list[str] | None:
    """What a benchmark is given when all are run; None when it needs more judged sets than there are, or
    another folder."""
    if len(sets) < TAKES_SETS.get(name, 0) or name == "mixed":
        return None
    match name:
        case "readers" if sets:  # one of them, and none is too large for it
            return [str(max(sets, key=lambda each: (each / "corpus.jsonl").stat().st_size))]
        case "retrieval" | "peers" | "calibration":
            return [str(each) for each in sets]
        case _:
            return []


def run(name: str, given: Sequence[str]) -> int:
    """Run one benchmark; its status."""
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *given], check=False).returncode


def run_all(sets: Sequence[Path]) -> int:
    """Run one after the other; 1 if one of them failed."""
    failed = 0
    for name in NAMES:
        given = words(name, sets)
        print(f"# {name}: {question(name)}", flush=True)
        if given is None:
            needed = f"{TAKES_SETS[name]} judged sets or more" if name in TAKES_SETS else "a folder of vaults"
            print(f"left out: it takes {needed}", flush=True)
        elif run(name, given):
            print(f"{name} failed", file=sys.stderr, flush=True)
            failed = 1
    return failed


def main(arguments: Sequence[str]) -> int:
    match arguments:
        case ["all", *folders]:
            return run_all([Path(folder) for folder in folders])
        case [name, *given] if name in NAMES:
            return run(name, given)
        case [name, *_] if name not in ("-h", "--help"):
            print(f"There is no benchmark {name!r}. These are there: {', '.join(NAMES)}.", file=sys.stderr)
            return 2
    print(__doc__)
    for name in NAMES:
        print(f"  {name:<12} {question(name)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
