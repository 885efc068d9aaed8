"""The vector index in Amazon S3 Vectors, against the stand-in of the tests in a process of its own.

Same hits as comparing all, for every kind of filter; vectors a second; requests against the fewest that
the limits allow; and what is lost or doubled when one request of twenty fails. Run it as
``python -m benchmarks.s3vectors``. It measures this program and the wire, not the service.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from rag_core.embedders.hashing import Hashing
from rag_core.vectors import VectorRecord
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.s3_place import S3Options, S3Place
from rag_core.vectors.s3vectors import S3Vectors
from tests.s3vectors.http import REGION
from tests.vector_bench import FILTERS, Bench, bench_store, vault, vectors

CHUNKS = 10_000
HASHED = 256  # wider ones are mostly zeros, which no real embedder gives
BODY = 20 * 2**20
BYTES_A_NUMBER = 13.4  # the shortest text of a float32, with ", "


@contextmanager
def stand_in(*arguments: str) -> Iterator[tuple[str, dict[str, int]]]:
    """The address of a stand-in, and how it answered, filled in when it has ended."""
    counts: dict[str, int] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.s3vectors", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        lines, end = cast("IO[str]", process.stdout), cast("IO[str]", process.stdin)
        yield lines.readline().strip(), counts
        end.close()
        counts |= json.loads(lines.readline())


def opened(url: str, place: S3Place, timeout: float = 30.0) -> S3Vectors:
    index = S3Vectors(place, S3Options(REGION, endpoint_url=url, timeout=timeout))
    index.prepare("benchmark")
    return index


def same_hits(dimension: int) -> None:
    notes = vault(5_000, dimension)
    with (
        tempfile.TemporaryDirectory() as folder,
        stand_in() as (url, _),
        bench_store(Path(folder), dimension) as store,
    ):
        remote = opened(url, S3Place("same-hits", "main", dimension))
        bench = Bench(store, lambda _: (remote, remote), dimension)
        bench.put(*notes)
        local = Bench(store, lambda bench: (LocalVectors(bench.store), None), dimension)
        compared = differing = 0
        for query in vectors(5, dimension, seed=7):
            for k in (10, 100):
                for filters in FILTERS.values():
                    found, expected = bench.search(query, k, filters), local.search(query, k, filters)
                    compared += 1
                    worst = max(
                        (abs(a.similarity - b.similarity) for a, b in zip(found, expected, strict=True)),
                        default=0.0,
                    )
                    keys = {match.key for match in found} ^ {match.key for match in expected}
                    differing += worst > 1e-5 or bool(keys and worst > 1e-5)
        print(f"same hits as local, {len(notes):,} x {dimension}: {compared - differing} of {compared} lists")


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


def throughput(count: int, dimension: int) -> None:
    made = records(count, dimension)
    with stand_in() as (url, counts):
        index = opened(url, S3Place("throughput", "main", dimension))
        started = time.perf_counter()
        receipt = index.put(made)
        took = time.perf_counter() - started
    body = sum(
        len(json.dumps([r.text, dict(r.doc), dict(r.metadata)])) + dimension * BYTES_A_NUMBER for r in made
    )
    fewest = max(math.ceil(count / 500), math.ceil(body / BODY))
    sent = sum(n for answer, n in counts.items() if answer.startswith("PutVectors"))
    print(
        f"{count:,} x {dimension}: {count / took:,.0f} vectors/s, {sent} requests, at least {fewest}"
        f" ({sent / fewest:.2f}x), refused {len(receipt.refused)}, answers {counts}"
    )


def failing(seed: int) -> None:
    made = records(CHUNKS, 64)
    with stand_in("0.05", str(seed)) as (url, counts):
        index = opened(url, S3Place("failing", "main", 64), timeout=2.0)
        for start in range(0, CHUNKS, 50):
            index.put(made[start : start + 50])
        for start in range(0, 1000, 50):
            index.delete(record.key for record in made[start : start + 50])
        there = [*index.keys()]
    wanted = {record.key for record in made[1000:]}
    failed = {answer: n for answer, n in counts.items() if not answer.endswith("200")}
    print(
        f"5 % failing, seed {seed}: lost {len(wanted - {*there})}, too much {len({*there} - wanted)},"
        f" doubled {len(there) - len({*there})}; of {sum(counts.values())} requests"
        f" answered with errors: {failed}"
    )


def main() -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    same_hits(256)
    for _ in range(3):
        throughput(CHUNKS, 256)
    throughput(3_000, 4096)
    for seed in (1, 2):
        failing(seed)


if __name__ == "__main__":
    main()
