"""How quick is indexing? Files through the public API, as a user would index them.

    python benchmarks/speed.py [DIR] [--files 2000] [--parts words,index,…] [--embedder NAME] --json

DIR is a folder of documents, which is never written to; without it, so many made-up notes of 2 kB.
Each part runs in a process of its own, in a temporary home:

    words    files a second until every word is searchable, and the memory this takes
    index    a whole run against embedding the same texts alone, in pairs that take turns
    scan     finding that nothing changed against a bare walk of the folder, taking turns
    edits    200 random lines outside titles and headings, a file each: texts embedded an edit
    rename   the folder whose number of files is nearest to 1,000: texts embedded, seconds
    queries  milliseconds a query in each mode; queries are words from passages

A ratio compares two figures of the same process, so that a busy machine changes both.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.notes import write_notes
from benchmarks.process import Figures, Took, alone, lines, memory, percentile, took
from benchmarks.retrieval import open_library
from benchmarks.scale import search
from rag_core.config.options import options_from
from rag_core.index.plan import make_plan
from rag_core.library import Library
from rag_core.models import Embedder, EmbedderOptions, open_embedder
from rag_core.store import Store
from rag_core.text.embedded import embedded_text
from rag_core.types import OWNER, Job

STORE = "speed"
PARTS = ("words", "index", "scan", "edits", "rename", "queries")
EDITS = 200
FILES_TO_RENAME = 1000
BATCH = 32
PROSE = (".md", ".markdown", ".txt", ".rst")
ROUNDS = 15
_SETTLED_S = 2.1  # files younger than two seconds are read again, whatever their times say


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured: the documents, with which embedder, and where stores may be."""

    folder: Path
    embedder: str
    home: Path
    pairs: int

    def library(self, name: str) -> Library:
        """A library with a new store that has the folder as its source."""
        library = open_library(self.home / name)
        library.create_store(OWNER, STORE, self.embedder)
        library.add_source(OWNER, STORE, self.folder, ["**/*"])
        return library

    def store(self, name: str) -> Store:
        """The store's file, opened a second time."""
        return Store(self.home / name / "stores" / f"{STORE}.db")


def run(library: Library, watch: Watch | None = None) -> Job:
    """Bring the store up to date."""
    library.jobs.request(OWNER, STORE)
    job = library.jobs.run(OWNER, STORE, watch)
    if job is None or job.state == "failed":
        raise SystemExit(f"The folder could not be indexed: {job and job.message}")
    return job


class Watch:
    """Notes when the words of every file are in, and ends the run there if that is all."""

    def __init__(self, library: Library, *, words_only: bool = False) -> None:
        self.words_s = 0.0
        self._library = library
        self._words_only = words_only
        self._started = time.perf_counter()

    def __call__(self, job: Job) -> None:
        if job.progress.phase == "embedding" and not self.words_s:
            self.words_s = time.perf_counter() - self._started
            if self._words_only:
                self._library.jobs.cancel(OWNER, STORE)


# --- parts ------------------------------------------------------------------------------


def measure_words(setting: Setting) -> Figures:
    library = setting.library("words")
    watch = Watch(library, words_only=True)
    job = run(library, watch)
    megabytes = library.stores.info(OWNER, STORE).size_bytes / 1e6
    return {
        "files": job.total_files,
        "chunks": job.total_chunks_added,
        "seconds": round(watch.words_s, 2),
        "files_per_s": round(job.total_files / watch.words_s),
        "store_mb": round(megabytes, 1),
        **memory(),
    }


def measure_index(setting: Setting) -> Figures:
    """Each pair: a new store from the folder, then the texts it embedded, alone, in the same batches."""
    options = options_from(open_library(setting.home).settings, EmbedderOptions)
    embedder = open_embedder(setting.embedder, options)
    embedder.embed_documents(["The first text also pays for starting."])
    whole: list[Took] = []
    embedding: list[Took] = []
    texts: list[str] = []
    for number in range(setting.pairs):
        library = setting.library(f"index{number}")
        whole.append(took(partial(run, library)))
        library.close()
        texts = texts or embedded_texts(setting.store(f"index{number}"))
        embedding.append(took(partial(embed, embedder, texts)))
    pairs = list(zip(whole, embedding, strict=True))
    return {
        "texts": len(texts),
        "whole_s": [round(each.wall_s, 2) for each in whole],
        "embedding_alone_s": [round(each.wall_s, 2) for each in embedding],
        "texts_per_s": round(len(texts) / min(each.wall_s for each in whole), 1),
        "texts_per_s_alone": round(len(texts) / min(each.wall_s for each in embedding), 1),
        "whole_to_embedding": round(statistics.median(w.wall_s / e.wall_s for w, e in pairs), 3),
        "whole_to_embedding_cpu": round(statistics.median(w.cpu_s / e.cpu_s for w, e in pairs), 3),
    }


def embed(embedder: Embedder, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), BATCH):
        embedder.embed_documents(texts[start : start + BATCH])


def embedded_texts(store: Store) -> list[str]:
    """The distinct texts of a store that have a vector."""
    with store.read() as db:
        rows = db.execute(
            "SELECT prefix, coalesce(kept_text, text) AS read, anchor_type FROM chunks"
            " JOIN embeddings ON hash = embed_hash AND vector <> x'' GROUP BY embed_hash"
        ).fetchall()
    store.close()
    return [embedded_text(row["prefix"], row["read"], row["anchor_type"]) for row in rows]


def measure_scan(setting: Setting) -> Figures:
    library = indexed_words(setting, "scan")
    [source] = library.stores.info(OWNER, STORE).sources
    store = setting.store("scan")
    walks, plans = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        walk(setting.folder)
        walks.append(time.perf_counter() - started)
        started = time.perf_counter()
        plan = make_plan(store, source)
        plans.append(time.perf_counter() - started)
    return {
        "files": sum(plan.counts().values()),
        "unchanged": plan.counts()["unchanged"],
        "walk_ms": round(1000 * statistics.median(walks), 1),
        "plan_ms": round(1000 * statistics.median(plans), 1),
        "plan_to_walk": round(statistics.median(plans) / statistics.median(walks), 2),
    }


def indexed_words(setting: Setting, name: str) -> Library:
    """A library whose store knows the folder by words, and long enough to trust the files' times."""
    library = setting.library(name)
    run(library, Watch(library, words_only=True))
    time.sleep(_SETTLED_S)
    run(library, Watch(library, words_only=True))
    return library


def walk(folder: Path) -> int:
    """The least that finding a change takes: list every folder, look at every file."""
    count, waiting = 0, [os.fsencode(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    entry.stat(follow_symlinks=False)
                    count += 1
    return count


def measure_edits(setting: Setting) -> Figures:
    """Edit one line of a file at a time, and index."""
    library = setting.library("edits")
    run(library)
    chance = random.Random(1)
    documents = [d for d in library.documents.all(OWNER, STORE) if d.state == "indexed"]
    files = [setting.folder / document.path_in_source for document in documents]
    chance.shuffle(files)
    embedded = []
    for file in files:
        if edit_a_line(file, chance):
            embedded.append(run(library).texts_embedded)
        if len(embedded) == EDITS:
            break
    return {
        "edits": len(embedded),
        "texts_embedded_median": statistics.median(embedded),
        "texts_embedded_p90": percentile(embedded, 90),
        "texts_embedded_most": max(embedded),
    }


def edit_a_line(file: Path, chance: random.Random) -> bool:
    """Put a word into a line of text, or behind one of code; False if the file has none to edit."""
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    rows = text.splitlines(keepends=True)
    numbers = list(lines_of_text(rows))
    if not numbers:
        return False
    number = chance.choice(numbers)
    row, word = rows[number].rstrip("\r\n"), chance.choice(["changed", "word", "one more"])
    if file.suffix in PROSE:
        spaces = [match.start() for match in re.finditer(r"(?<=\S) ", row)] or [len(row)]
        middle = spaces[len(spaces) // 2]
        edited = f"{row[:middle]} {word}{row[middle:]}"
    else:
        edited = f"{row}  # {word}"
    rows[number] = edited + rows[number][len(row) :]
    file.write_text("".join(rows), "utf-8", newline="")
    return True


_STRUCTURE = re.compile(r"\s*(#|```|~~~|---|===|class |def |async def |@|<)|.*\\$")
_UNDERLINE = re.compile(r"\s*(=+|-+)\s*$")


def lines_of_text(rows: list[str]) -> Iterator[int]:
    """The numbers of lines that are no title, heading, definition or part of the front matter."""
    body = 0
    if rows and rows[0].rstrip() == "---":
        body = next((n for n, row in enumerate(rows[1:], 2) if row.rstrip() == "---"), 0)
    for number in range(max(body, 1), len(rows)):
        below = rows[number + 1] if number + 1 < len(rows) else ""
        row = rows[number]
        if row.strip() and not _STRUCTURE.match(row) and not (below.strip() and _UNDERLINE.match(below)):
            yield number


def measure_rename(setting: Setting) -> Figures:
    library = setting.library("rename")
    run(library)
    folder = folder_of_about(setting.folder, FILES_TO_RENAME)
    folder.rename(folder.with_name(f"{folder.name} renamed"))
    started = time.perf_counter()
    job = run(library)
    return {
        "files_moved": job.counts.get("moved", 0),
        "other_files": job.total_files - job.counts.get("moved", 0),
        "texts_embedded": job.texts_embedded,
        "seconds": round(time.perf_counter() - started, 2),
    }


def folder_of_about(top: Path, wanted: int) -> Path:
    """The folder below ``top`` whose number of files is nearest to ``wanted``."""
    counts: dict[Path, int] = {}
    for folder, _, files in os.walk(top, topdown=False):
        here = Path(folder)
        counts[here] = len(files) + sum(counts.get(below, 0) for below in here.iterdir() if below.is_dir())
    del counts[top]
    return min(counts, key=lambda folder: abs(counts[folder] - wanted))


def measure_queries(setting: Setting) -> Figures:
    library = setting.library("queries")
    job = run(library)
    library.close()
    return alone(search, setting.home / "queries", STORE, min(EDITS, job.total_files))


MEASURES = {
    "words": measure_words,
    "index": measure_index,
    "scan": measure_scan,
    "edits": measure_edits,
    "rename": measure_rename,
    "queries": measure_queries,
}


def measured(part: str, setting: Setting) -> Figures:
    """One part, in a home and on a copy of the folder that are gone afterwards."""
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        home = Setting(setting.folder, setting.embedder, work / "home", setting.pairs)
        if part in ("edits", "rename"):
            below = work / "files" / "all"  # a folder above it, so that it can be renamed itself
            shutil.copytree(setting.folder, below, ignore_dangling_symlinks=True)
            home = Setting(below.parent, setting.embedder, work / "home", setting.pairs)
        return MEASURES[part](home)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--files", type=int, default=2000, help="so many made-up notes when there is no DIR")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or write_notes(Path(temporary) / "notes", options.files)
        setting = Setting(folder.resolve(), options.embedder, Path(), options.pairs)
        report = {part: alone(measured, part, setting) for part in parts}
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
