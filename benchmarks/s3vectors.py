"""Does the index in Amazon S3 Vectors find what is there, lose nothing, and keep up? Asked of a stand-in.

    python benchmarks/s3vectors.py [--chunks 10000] [--times 3] [--json]

The stand-in (tests/vectors/s3vectors) is a process of its own: this measures the program and the wire,
not the service. ``same_hits`` compares with the index in a store's own file, for every kind of filter;
``put`` counts vectors a second and requests, against the fewest that the limits allow; ``flush`` is a whole
run that sends
what a store holds, the quickest of ``--times``; ``failing`` says what is lost or doubled when one request of
twenty fails.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.notes import write_notes
from benchmarks.process import Figures, Took, lines, took
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.types import OWNER
from rag_core.vectors import VectorRecord
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.s3vectors import S3Options, S3Vectors
from tests.vectors.s3vectors.http import REGION
from tests.vectors.vector_bench import FILTERS, Bench, bench_store, vault, vectors

STORE = "flush"
HASHED = 256  # wider ones are mostly zeros, which no real embedder gives
WIDE = 4096
BODY = 20 * 2**20
BYTES_A_NUMBER = 13.4  # the shortest text of a float32, with ", "
CHUNKS_A_NOTE = 3

RECALL, VECTORS_PER_S = 0.98, 2000


@contextmanager
def stand_in(*arguments: str) -> Iterator[tuple[str, dict[str, int]]]:
    """The address of a stand-in, and how it answered, filled in when it has ended."""
    counts: dict[str, int] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.vectors.s3vectors", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        cwd=Path(__file__).resolve().parents[1],
    ) as process:  # fmt: skip
        input_, output = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        yield output.readline().strip(), counts
        input_.close()
        counts |= json.loads(output.readline())


def opened(url: str, bucket: str, dimension: int, timeout: float = 30.0) -> S3Vectors:
    options = S3Options(region=REGION, endpoint_url=url, timeout=timeout)
    index = S3Vectors(f"s3vectors://{bucket}/main", dimension, "cosine", options)
    index.prepare("benchmark")
    return index


# --- the same hits ----------------------------------------------------------------------


def same_hits(count: int, dimension: int) -> Figures:
    """How many lists of hits are as the local index gives them, and the recall of all."""
    notes = vault(count, dimension)
    with (
        tempfile.TemporaryDirectory() as folder,
        stand_in() as (url, _),
        bench_store(Path(folder), dimension) as store,
    ):
        remote = opened(url, "same-hits", dimension)
        bench = Bench(store, lambda _: (remote, remote), dimension)
        bench.put(*notes)
        local = Bench(store, lambda bench: (LocalVectors(bench.store), None), dimension)
        same: list[bool] = []
        recall: list[float] = []
        for query in vectors(5, dimension, seed=7):
            for k in (10, 100):
                for filters in FILTERS.values():
                    found, wanted = bench.search(query, k, filters), local.search(query, k, filters)
                    gaps = [abs(a.similarity - b.similarity) for a, b in zip(found, wanted, strict=True)]
                    same.append(max(gaps, default=0.0) <= 1e-5)
                    keys = {match.key for match in wanted}
                    recall.append(len(keys & {match.key for match in found}) / len(keys) if keys else 1.0)
    return {
        "chunks": count,
        "lists": len(same),
        "same": sum(same),
        "recall": round(float(np.mean(recall)), 4),
    }


# --- vectors a second -------------------------------------------------------------------


def records(count: int, dimension: int) -> list[VectorRecord]:
    texts = [
        f"Chunk {n} tells of thing {n % 97} and of place {n % 89}, at some length. " * 8 for n in range(count)
    ]
    rows = Hashing(dimension).embed_documents(texts) if dimension <= HASHED else vectors(count, dimension)
    notes = vault(count, 8)
    return [
        VectorRecord(note.key, row, text, note.record.doc, note.metadata)
        for note, row, text in zip(notes, rows, texts, strict=True)
    ]


def put(count: int, dimension: int) -> Figures:
    """Records straight into an index."""
    made = records(count, dimension)
    with stand_in() as (url, counts):
        index = opened(url, "put", dimension)
        time = took(lambda: index.put(made))
    body = sum(
        len(json.dumps([r.text, dict(r.doc), dict(r.metadata)])) + dimension * BYTES_A_NUMBER for r in made
    )
    fewest = max(math.ceil(count / 500), math.ceil(body / BODY))
    sent = sum(n for answer, n in counts.items() if answer.startswith("PutVectors"))
    return {
        "chunks": count,
        "dimension": dimension,
        **pace(count, time),
        "requests": sent,
        "fewest_requests": fewest,
    }


def pace(count: int, time: Took) -> Figures:
    return {"vectors_per_s": round(count / time.wall_s), "vectors_per_cpu_s": round(count / time.cpu_s)}


def flush(count: int, times: int) -> Figures:
    """Runs that send what a store holds: its embedder stays, and its vectors move to the index."""
    with stand_in() as (url, _), tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        settings = Settings(home / "data", home / "models", (home,), s3_region=REGION, s3_endpoint_url=url)
        library = Library.open(settings)
        library.create_store(OWNER, STORE, f"hashing:{HASHED}")
        library.add_source(OWNER, STORE, write_notes(home / "notes", count // CHUNKS_A_NOTE), ["**/*"])
        run(library)
        chunks = library.stores.info(OWNER, STORE).chunk_count
        quickest = min((sending(library) for _ in range(times)), key=lambda time: time.wall_s)
        library.close()
    return {"chunks": chunks, "dimension": HASHED, **pace(chunks, quickest)}


def sending(library: Library) -> Took:
    """A run that sends everything; the index is empty again behind it."""
    library.placement.switch(OWNER, STORE, f"hashing:{HASHED}", "s3vectors")
    time = took(lambda: run(library))
    info = library.stores.info(OWNER, STORE)
    if info.backend != "s3vectors" or info.unsent or info.refused:
        raise SystemExit(f"Not all was sent: {info}")
    library.placement.switch(OWNER, STORE, f"hashing:{HASHED}", "local")
    run(library)
    return time


def run(library: Library) -> None:
    library.jobs.request(OWNER, STORE)
    library.jobs.run(OWNER, STORE)


# --- failures ---------------------------------------------------------------------------


def failing(count: int, seed: int) -> Figures:
    """What is lost or doubled when one request of twenty fails."""
    made = records(count, 64)
    gone = count // 10
    with stand_in("0.05", str(seed)) as (url, counts):
        index = opened(url, "failing", 64, timeout=2.0)
        for start in range(0, count, 50):
            index.put(made[start : start + 50])
        for start in range(0, gone, 50):
            index.delete(record.key for record in made[start : min(start + 50, gone)])
        there = [*index.keys()]
    wanted = {record.key for record in made[gone:]}
    return {
        "requests": sum(counts.values()),
        "failed": sum(n for answer, n in counts.items() if not answer.endswith("200")),
        "lost": len(wanted - {*there}),
        "too_much": len({*there} - wanted),
        "doubled": len(there) - len({*there}),
    }


def measure(chunks: int, times: int) -> Figures:
    figures: Figures = {
        "same_hits": same_hits(chunks // 2, HASHED),
        "put": put(chunks, HASHED),
        "put_wide": put(chunks // 3, WIDE),
        "flush": flush(chunks, times),
        "failing": {f"seed_{seed}": failing(chunks, seed) for seed in (1, 2)},
    }
    broken = [each[what] for each in figures["failing"].values() for what in ("lost", "too_much", "doubled")]
    same = figures["same_hits"]
    figures["holds"] = {
        "same_hits": same["same"] == same["lists"],
        "recall": same["recall"] >= RECALL,
        "flush": figures["flush"]["vectors_per_s"] >= VECTORS_PER_S,
        "failing": not any(broken),
    }
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=3, help="how often a store is sent whole")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    os.environ |= {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    report = measure(options.chunks, options.times)
    print(json.dumps(report, indent=2) if options.as_json else "\n".join(lines(report)))


if __name__ == "__main__":
    main()
