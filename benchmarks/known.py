"""Does a note come up by a few words that its owner remembers of it, and is it called a fit?

    python benchmarks/known.py [DIR] [--queries 150] [--embedder NAME] [--json]

DIR is a folder of notes; without it some are made up. For each number of words, passages are drawn, and of
each the words that few passages hold: one word that at most three do, or two or three that at most ten do.
These are the query. Counted is how often the passage is found among the first twenty, is called relevant, and
is first; and how often the answer says that something fits.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import write_notes
from benchmarks.process import Figures, lines
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER

STORE = "known"
MADE_UP = 200
FIRST = 20
FEW = {1: 3, 2: 10, 3: 10}
"""How many words a query has, and how many passages hold each of them at most."""
_WORD = re.compile(r"[a-z]{4,}")


def passages(library: Library) -> dict[str, str]:
    """The text of each passage by its key."""
    return {
        chunk.key: chunk.content
        for document in library.documents.all(OWNER, STORE)
        if document.state == "indexed"
        for chunk in library.documents.get(OWNER, STORE, document.path).chunks
    }


def queries(
    texts: Mapping[str, str], count: int, words: int, chance: random.Random
) -> Iterator[tuple[str, str]]:
    """The key of a passage, and so many of its words that few passages hold."""
    held = Counter(word for text in texts.values() for word in set(_WORD.findall(text.lower())))
    keys = list(texts)
    for _ in range(count):
        key = chance.choice(keys)
        rare = sorted({word for word in _WORD.findall(texts[key].lower()) if held[word] <= FEW[words]})
        if len(rare) >= words:
            yield key, " ".join(chance.sample(rare, words))


def ask(library: Library, asked: Iterator[tuple[str, str]]) -> Figures:
    """What came of the queries."""
    counted: Counter[str] = Counter(asked=0, found=0, fits=0, first=0, convincing=0)
    for key, text in asked:
        answer = library.search(OWNER, text, top_k=FIRST)
        own = next((hit for hit in answer.hits if hit.key == key), None)
        counted["asked"] += 1
        counted["convincing"] += answer.convincing
        if own is not None:
            counted.update(found=1, fits=own.relevant, first=own.rank == 1)
    return dict(counted)


def measure(home: Path, folder: Path | None, count: int, embedder: str) -> Figures:
    """The figures for each number of words."""
    known = config.load()
    library = Library.open(Settings(home / "data", known.model_dir, known.roots))
    library.create_store(OWNER, STORE, embedder)
    library.add_source(OWNER, STORE, folder or write_notes(home / "notes", MADE_UP), ["**/*"])
    library.index(OWNER, STORE)
    texts, chance = passages(library), random.Random(1)
    found = {f"words {words}": ask(library, queries(texts, count, words, chance)) for words in FEW}
    library.close()
    return {"passages": len(texts), **found}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as home:
        found = measure(Path(home), given.folder, given.queries, given.embedder)
    print(json.dumps(found) if given.json else "\n".join(lines(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
