"""How does the search hold in a large store? Passages made up or put together, each with a random vector.

    python benchmarks/scale.py [--chunks 100000] [--queries 200] [--text FOLDER] [--home DIR] --json

The passages are written straight into a store, as embedding so many texts takes half an hour. Their words are
made up; with --text each is the beginning of one passage of the files in FOLDER and the end of another one,
without furniture. Their vectors are drawn, so the hits mean nothing, and the time they take does. Then the
store grows while it is searched: how long a search waits for what was just embedded. A table says where the
milliseconds go, on the wall, in the first query after a start and in the median of each mode. On a busy
machine the processor's time of the thread (cpu_p50) says more.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.notes import Author
from benchmarks.process import Figures, alone, lines, memory, spread
from benchmarks.retrieval import MODES, open_library, quoted
from benchmarks.stopwatch import Stopwatch, medians, table
from rag_core.extract import EXTRACTOR_VERSION
from rag_core.files import FileStat
from rag_core.library import Library
from rag_core.store import Store, chunks, documents, embeddings
from rag_core.text.embedded import embedded_text
from rag_core.types import OWNER, Extracted, Passage

STORE, TEXTS = "scale", "texts"
CHUNKS_A_FILE = 8
BATCH = 32  # texts that a run embeds in one transaction, whole files of them here
_AT_ONCE = 5000


class MadeUp:
    """Writes documents of made-up words, the same for the same seed."""

    def __init__(self, seed: int = 1) -> None:
        self._author = Author(seed)

    def document(self, number: int) -> tuple[str, list[Passage]]:
        """A title and passages."""
        title = f"Note {number}"
        return title, [
            passage(title, self._author.words(3), self._author.paragraph()) for _ in range(CHUNKS_A_FILE)
        ]


class Spliced:
    """Writes documents out of ``parts``, the title, headings and text of real passages."""

    def __init__(self, parts: Sequence[tuple[str, str, str]], seed: int = 1) -> None:
        self._parts = parts
        self._chance = random.Random(seed)

    def document(self, number: int) -> tuple[str, list[Passage]]:
        """A title of two titles, and passages."""
        first, second = self._drawn()
        title = f"{first[0]} {second[0]} {number}"
        passages: list[Passage] = []
        for _ in range(CHUNKS_A_FILE):
            (_, heading, text), (_, _, other) = self._drawn()
            passages.append(passage(title, heading, f"{_halves(text)[0]}\n{_halves(other)[1]}"))
        return title, passages

    def _drawn(self) -> list[tuple[str, str, str]]:
        return self._chance.choices(self._parts, k=2)


def _halves(text: str) -> tuple[str, str]:
    """``text`` cut at the space nearest to its middle."""
    at = text.find(" ", len(text) // 2)
    return (text[:at], text[at + 1 :]) if at >= 0 else (text, text)


def writer(home: Path, folder: Path | None, seed: int = 1) -> MadeUp | Spliced:
    """Who writes the documents; the files of ``folder`` are read into a store in ``home``."""
    if folder is None:
        return MadeUp(seed)
    library = open_library(home)
    if TEXTS not in library.stores.names(OWNER):
        library.create_store(OWNER, TEXTS, "hashing")
        library.add_source(OWNER, TEXTS, folder.resolve(), ["**/*"])
        library.jobs.request(OWNER, TEXTS)
        library.jobs.run(OWNER, TEXTS)
    library.close()
    store = Store(home / "stores" / f"{TEXTS}.db")
    sql = """SELECT title, headings, coalesce(kept_text, text) AS read FROM chunks
             WHERE length(read) > 100 ORDER BY path, chunk_index"""
    with store.read() as db:
        parts = [tuple(row) for row in db.execute(sql)]
    store.close()
    return Spliced(parts, seed)


def fill(home: Path, count: int, embedder: str, text: Path | None) -> Figures:
    """Make a store of ``count`` passages, unless ``home`` has it."""
    library = open_library(home)
    if STORE in library.stores.names(OWNER):
        return {}
    library.create_store(OWNER, STORE, embedder)
    folder = home / "notes"
    folder.mkdir(parents=True)
    (folder / "first.md").write_text("The embedder says who it is with the first note.", "utf-8")
    library.add_source(OWNER, STORE, folder, ["**/*"])
    library.jobs.request(OWNER, STORE)
    job = library.jobs.run(OWNER, STORE)
    if job is None or not job.texts_embedded:
        raise SystemExit(f"Nothing can be embedded: {job and job.message}")
    library.close()
    store = Store(home / "stores" / f"{STORE}.db")
    author, chance = writer(home, text), np.random.default_rng(1)
    started = time.perf_counter()
    for start in range(0, count, _AT_ONCE):
        with store.write() as db:
            put(db, author, chance, range(start, min(start + _AT_ONCE, count)))
    took = time.perf_counter() - started
    store.close()
    return {"chunks_written_per_s": round(count / took)}


def put(
    db: sqlite3.Connection, author: MadeUp | Spliced, chance: np.random.Generator, numbers: range
) -> None:
    """Write passages with these numbers, their words and their vectors."""
    waiting = []
    for start in range(numbers.start, numbers.stop, CHUNKS_A_FILE):
        number = 2 + start // CHUNKS_A_FILE
        title, passages = author.document(number)
        name = f"{number % 300:03d}/{title.replace('/', ' ')}.md"
        doc = Extracted("", "markdown", "utf-8", title, "heading", ())
        file = documents.FileRecord(1, name, FileStat(name.encode(), 1, 1, 1, number), 1, name)
        documents.put_document(db, file, doc, chunks.chunk_rows(name, doc, passages), EXTRACTOR_VERSION)
        texts = [embedded_text(p.prefix, p.text, p.anchor_type) for p in passages]
        waiting += [embeddings.Pending(chunks.embed_hash(text), text) for text in texts]
    [identity, dimension] = db.execute("SELECT id, dimension FROM identities").fetchone()
    vectors = chance.standard_normal((len(waiting), dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    embeddings.put_vectors(db, identity, waiting, vectors)


def passage(title: str, heading: str, text: str) -> Passage:
    return Passage(text, 0, len(text), 1, 1, (heading,), "heading", heading, prefix=f"{title} > {heading}")


def sampled(store: Store, count: int) -> list[str]:
    """Queries: three to eight words that follow each other in a passage."""
    chance = random.Random(1)
    with store.read() as db:
        most = db.execute("SELECT max(id) FROM chunks").fetchone()[0]
        ids = [(chance.randint(1, most),) for _ in range(count)]
        rows = [db.execute("SELECT text FROM chunks WHERE id >= ? LIMIT 1", one).fetchone() for one in ids]
    return [passing_words(row[0], chance) for row in rows]


def passing_words(text: str, chance: random.Random) -> str:
    words = text.split()
    length = chance.randint(3, 8)
    start = chance.randrange(max(1, len(words) - length))
    return quoted(" ".join(words[start : start + length]))


def in_turns(
    watch: Stopwatch, library: Library, store: str, queries: Sequence[str]
) -> tuple[dict[str, list[dict[str, float]]], dict[str, list[float]]]:
    """Milliseconds of the steps of each query, and of the processor, by mode; the modes in turn."""
    runs: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    cpu: dict[str, list[float]] = {mode: [] for mode in MODES}
    for query, mode in product(queries, MODES):
        before = time.thread_time()
        runs[mode].append(watch.of(partial(library.search, OWNER, query, [store], mode=mode)))
        cpu[mode].append((time.thread_time() - before) * 1000)
    return runs, cpu


def search(home: Path, store: str, count: int) -> Figures:
    """Milliseconds a query in each mode, the modes in turn, and the memory this takes."""
    library = open_library(home)
    opened = Store(home / "stores" / f"{store}.db")
    queries = sampled(opened, count)
    opened.close()
    watch = Stopwatch()
    with watch.running():
        first = watch.of(lambda: library.search(OWNER, queries[0], [store]))
        in_turns(watch, library, store, queries[:10])  # what is read from the disk for the first time
        runs, cpu = in_turns(watch, library, store, queries)
    figures: Figures = {}
    for mode, each in runs.items():
        figures[f"{mode}_ms"] = spread([sum(run.values()) for run in each])
        figures[f"{mode}_ms"]["cpu_p50"] = round(statistics.median(cpu[mode]), 2)
    report = {"first_query_s": round(sum(first.values()) / 1000, 2), **figures, "memory": memory()}
    report["steps_ms"] = medians({"first": [first], **runs})
    library.close()
    return report


def search_while_growing(home: Path, rounds: int, text: Path | None) -> Figures:
    """Milliseconds a query that comes right behind a batch of new vectors, beside one that does not."""
    library = open_library(home)
    store = Store(home / "stores" / f"{STORE}.db")
    [query] = sampled(store, 1)
    with store.read() as db:
        known = db.execute("SELECT count(*) FROM chunks").fetchone()[0]
    author, chance = writer(home, text, 2), np.random.default_rng(2)
    took: dict[str, list[float]] = {"behind_a_batch_ms": [], "without_ms": []}
    library.search(OWNER, query, [STORE], mode="vector")
    first = CHUNKS_A_FILE * (known // CHUNKS_A_FILE + 1)
    for start in range(first, first + rounds * BATCH, BATCH):
        with store.write() as db:
            put(db, author, chance, range(start, start + BATCH))
        for name in took:
            started = time.perf_counter()
            library.search(OWNER, query, [STORE], mode="vector")
            took[name].append((time.perf_counter() - started) * 1000)
    library.close()
    store.close()
    return {name: spread(values) for name, values in took.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--text", type=Path, metavar="FOLDER", help="put passages of its files together")
    parser.add_argument("--home", type=Path, help="keep the store here and use it again")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary)
        home.mkdir(exist_ok=True)
        report = {
            "chunks": options.chunks,
            "filling": alone(fill, home, options.chunks, options.embedder, options.text),
            "search": alone(search, home, STORE, options.queries),
            "growing": alone(search_while_growing, home, 50, options.text),
        }
    if options.as_json:
        print(json.dumps(report, indent=2))
        return
    steps = report["search"].pop("steps_ms")
    print("\n".join([*lines(report), "", *table(steps)]))


if __name__ == "__main__":
    main()
