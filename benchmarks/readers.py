"""Does a search wait for a run? Eight threads search, alone and beside an indexing run.

    python benchmarks/readers.py [DIR] [--readers 8] [--pairs 3] [--seconds 10] [--embedder NAME] --json

DIR is a judged set as in ``retrieval.py``; without it, made-up notes of 2 kB, and words of theirs as
queries. These are asked one after the other, without a pause and none twice in a row. A part of the
documents is indexed first; for each pair a new part comes while the readers are at it, read and embedded
in a thread of the same process, as the app does. Without ``--json`` a line a phase. The ratio of the
95th percentiles is the median of the pairs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import Author
from benchmarks.process import Figures, lines, spread
from benchmarks.retrieval import JudgedSet, file_names, open_library, quoted, read_set
from benchmarks.scale import passing_words
from rag_core.library import Library
from rag_core.running import background
from rag_core.types import OWNER

STORE = "readers"
BAR = 3.0
QUERIES = 300
_LOOK_S = 0.05


def made_up(count: int) -> JudgedSet:
    """So many notes, and queries that are a few words which stand together in one of them."""
    author, chance = Author(), random.Random(1)
    notes = (author.note(number).partition("\n\n") for number in range(count))
    corpus = [
        {"id": f"{number}", "title": heading.removeprefix("# "), "text": text}
        for number, (heading, _, text) in enumerate(notes)
    ]
    asked = {note["id"]: passing_words(note["text"], chance) for note in corpus[:QUERIES]}
    return JudgedSet("made-up notes", corpus, asked, {})


def write(folder: Path, judged: JudgedSet, start: int, count: int) -> None:
    """Write a part of the set's documents as files."""
    names = itertools.islice(file_names(judged.corpus), start, start + count)
    for name, record in zip(names, judged.corpus[start : start + count], strict=True):
        heading = f"# {record['title']}\n\n" if record["title"] else ""
        (folder / name).write_text(heading + record["text"], "utf-8")


def read(library: Library, queries: Iterator[str], count: int, goes_on: Callable[[], bool]) -> list[float]:
    """How many milliseconds each search took that ``count`` threads made as long as it goes on."""
    took: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            text = next(queries)
            started = time.perf_counter()
            library.search(OWNER, text, [STORE])
            took.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    while goes_on():
        time.sleep(_LOOK_S)
    stop.set()
    for thread in threads:
        thread.join()
    return took


def pair(library: Library, queries: Iterator[str], readers: int, seconds: float) -> Figures:
    """Searches alone, then beside a whole run over the files that were written for it."""
    until = time.monotonic() + seconds
    alone = read(library, queries, readers, lambda: time.monotonic() < until)
    background.start(library, OWNER, STORE)
    beside = read(library, queries, readers, lambda: background.working(library, STORE))
    [run] = library.jobs.all(OWNER, STORE, 1)
    return {
        "alone": {"searches": len(alone), **spread(alone)},
        "beside": {"searches": len(beside), **spread(beside)},
        "run": {"files": run.counts.get("added", 0), "texts": run.texts_embedded, "ms": run.duration_ms},
        "ratio_p95": round(spread(beside)["p95"] / spread(alone)["p95"], 2),
    }


def measure(options: argparse.Namespace, home: Path) -> Figures:
    """Index the first part of the set, then every pair."""
    wanted = options.first + options.pairs * options.more
    judged = read_set(options.folder) if options.folder else made_up(wanted)
    if len(judged.corpus) < wanted:
        raise SystemExit(f"{judged.name} has {len(judged.corpus):,} documents; {wanted:,} are asked for.")
    library, folder = open_library(home), home / "notes"
    folder.mkdir(parents=True)
    library.create_store(OWNER, STORE, options.embedder)
    library.add_source(OWNER, STORE, folder, ["**/*"])
    write(folder, judged, 0, options.first)
    library.jobs.request(OWNER, STORE)
    library.jobs.run(OWNER, STORE)
    texts = [quoted(text) for text in judged.queries.values()]
    random.Random(1).shuffle(texts)
    queries = itertools.cycle(texts)
    pairs = []
    for number in range(options.pairs):
        write(folder, judged, options.first + number * options.more, options.more)
        pairs.append(pair(library, queries, options.readers, options.seconds))
        print("  ".join(lines(pairs[-1])), file=sys.stderr)
    chunks = library.stores.info(OWNER, STORE).chunk_count
    library.close()
    ratio = statistics.median(each["ratio_p95"] for each in pairs)
    return {
        "set": judged.name,
        "embedder": options.embedder,
        "readers": options.readers,
        "chunks": chunks,
        "pairs": pairs,
        "ratio_p95": ratio,
        "bar": BAR,
        "holds": ratio <= BAR,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10, help="how long they read alone")
    parser.add_argument("--first", type=int, default=1500, help="documents that are indexed before")
    parser.add_argument("--more", type=int, default=100, help="documents that each run reads and embeds")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        report = measure(options, Path(temporary))
    if options.as_json:
        print(json.dumps(report, indent=2))
        return
    for number, each in enumerate(report.pop("pairs"), 1):
        print("\n".join(lines(each, f"pair {number}")))
    print("\n".join(lines(report)))


if __name__ == "__main__":
    main()
