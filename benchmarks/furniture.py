"""What do footers, badges and templates cost, with and without looking for them?

    python benchmarks/furniture.py [DIR] [--notes 600] [--set DIR] [--embedder NAME] [--json]

DIR is a folder of notes; without it some are made up, two thirds of whose characters are furniture. ``--set``
takes the documents of a judged set instead, each with such furniture, and also prints its nDCG@10 beside that
of the set as it is. The folder is indexed twice in one run: with no line taken for furniture, which is how it
was before, and as it is now. Printed are the seconds of all cores that reading and embedding take, and their
ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import Author
from benchmarks.process import Figures, alone, lines
from benchmarks.retrieval import file_names, measure, read_set
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.text import furniture
from rag_core.types import OWNER, Job

STORE = "furniture"
_HEAD = """%%
This template was made by the daily notes plugin on {day}; do not remove this block.
%%
[![Build status of this page](https://example.org/badge/{n}.svg)](https://example.org/build/{n})
[![Code coverage of this page](https://example.org/cover/{n}.svg)](https://example.org/cover/{n})
> This page belongs to the handbook of the team; edit it at https://example.org/edit/{n}.

"""
_FOOT = """

<!-- Add your notes below this line. Use one heading for each subject, and link people by their full names.
     The template of this page is kept in the folder of templates; please change it there, never here. -->
- Mobile compatible: not tested on version {n}.{m} of the application
- Last reviewed by the editors of this handbook on {day}
- Was this page useful to you? Tell us at https://example.org/feedback/{n}
Copyright {year} The Handbook Authors. All rights reserved, licensed under the terms of the handbook licence.
This page was generated from a template; changes that are made here by hand are lost with the next release.
"""
_MOST = 12  # times that the foot may stand in one note


def furnished(text: str, chance: random.Random) -> str:
    """``text`` with a head and feet of twice its length together, each with numbers and dates of its own."""
    feet = max(1, round((2 * len(text) - len(_HEAD)) / len(_FOOT)))
    return "".join([_filled(_HEAD, chance), text, *(_filled(_FOOT, chance) for _ in range(min(feet, _MOST)))])


def _filled(template: str, chance: random.Random) -> str:
    day = f"20{chance.randint(10, 26)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return template.format(n=chance.randint(1, 9999), m=chance.randint(0, 99), day=day, year=day[:4])


def write_notes(folder: Path, count: int) -> None:
    author, chance = Author(), random.Random(1)
    folder.mkdir(parents=True)
    for n in range(count):
        (folder / f"note{n}.md").write_text(furnished(author.note(n), chance), "utf-8")


def write_set(folder: Path, judged: Path, *, with_furniture: bool) -> None:
    chance, found = random.Random(1), read_set(judged)
    folder.mkdir(parents=True)
    for name, record in zip(file_names(found.corpus), found.corpus, strict=True):
        text = (f"# {record['title']}\n\n" if record["title"] else "") + record["text"]
        (folder / name).write_text(furnished(text, chance) if with_furniture else text, "utf-8")


@contextmanager
def unseen() -> Iterator[None]:
    """Take nothing for furniture, and count nothing."""
    kept, furniture.FILE_TYPES = furniture.FILE_TYPES, frozenset()
    try:
        yield
    finally:
        furniture.FILE_TYPES = kept


class _Phases:
    """The seconds of all cores that each phase of a run takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._phase, self._since = "", time.process_time()

    def __call__(self, job: Job) -> None:
        now, phase = time.process_time(), job.progress.phase
        if phase != self._phase:
            self.seconds[self._phase] = self.seconds.get(self._phase, 0.0) + now - self._since
            self._phase, self._since = phase, now


def index(home: Path, folder: Path, embedder: str, judged: Path | None) -> Figures:
    """Index ``folder`` in ``home``; the seconds, and what a judged set gets."""
    known = config.load()
    library = Library.open(Settings(home, known.model_dir, known.roots))
    library.create_store(OWNER, STORE, embedder)
    library.add_source(OWNER, STORE, folder, ["**/*"])
    library.jobs.request(OWNER, STORE)
    phases = _Phases()
    job = library.jobs.run(OWNER, STORE, phases)
    if job is None or job.state != "done" or job.failed:
        raise SystemExit(f"{folder} could not be indexed: {job and job.message}")
    found: Figures = {name: round(seconds, 2) for name, seconds in phases.seconds.items() if name}
    found["texts"] = job.texts_embedded
    if judged is not None:
        names = file_names(read_set(judged).corpus)
        found["ndcg@10"] = measure(library, STORE, read_set(judged), names, "hybrid")["ndcg@10"]
    library.close()
    return found


def before(home: Path, folder: Path, embedder: str, judged: Path | None) -> Figures:
    """`index` as it was before furniture was looked for."""
    with unseen():
        return index(home, folder, embedder, judged)


def share(folder: Path) -> float:
    """The share of the characters of a folder's notes that is furniture."""
    texts = [path.read_text("utf-8", "replace") for path in sorted(folder.rglob("*.md"))]
    layouts = [furniture.layout("markdown", [(0, text)]) for text in texts]
    held: dict[int, int] = {}
    for layout in layouts:
        for shape in layout.shapes if layout else ():
            held[shape] = held.get(shape, 0) + 1
    most = max(furniture.LEAST, furniture.SHARE * len(texts))
    repeated = {shape for shape, count in held.items() if count > most}
    spans = [span for layout in layouts if layout for span in layout.furniture(repeated)]
    return sum(end - start for start, end in spans) / max(1, sum(map(len, texts)))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--notes", type=int, default=600)
    parser.add_argument("--set", type=Path, dest="judged", metavar="DIR")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        folder = given.folder or home / "notes"
        if given.judged:
            write_set(folder, given.judged, with_furniture=True)
            write_set(home / "plain", given.judged, with_furniture=False)
        elif not given.folder:
            write_notes(folder, given.notes)
        found: Figures = {"share": round(share(folder), 2)}
        for name, how in (("before", before), ("now", index)):
            found[name] = alone(how, home / name, folder, given.embedder, given.judged)
        for phase in ("reading", "embedding"):
            found[f"{phase} ratio"] = round(found["now"][phase] / found["before"][phase], 2)
        if given.judged:
            plain = alone(index, home / "as it is", home / "plain", given.embedder, given.judged)
            found["ndcg@10 of the set as it is"] = plain["ndcg@10"]
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
