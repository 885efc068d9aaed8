"""How good is the search? Judged sets through the public API, as a user would index and ask.

    python benchmarks/retrieval.py DIR… [--mode hybrid|vector|lexical|all] [--embedder NAME]
                                        [--embedded SHARE…] --json

A set is a folder with ``corpus.jsonl`` (id, title, text), ``queries.jsonl`` (id, text) and
``qrels.tsv`` (query-id, corpus-id, score). Every record becomes a file: ``.md`` with the title
as its heading when there is one, else ``.txt``. A document counts once, at its best chunk.
``--embedded 0.1 0.5`` also measures the hybrid mode while only such shares of the texts have a vector, each
time the same. Without ``--json`` a table; figures are means over the queries that have a judgment.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.process import spread
from rag_core import config
from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Mode

DEPTH = 20
MODES: tuple[Mode, ...] = ("hybrid", "vector", "lexical")


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A corpus with queries and what is relevant to each: query id → {document id: grade}."""

    name: str
    corpus: list[dict[str, str]]
    queries: dict[str, str]
    judged: dict[str, dict[str, float]]


def read_set(folder: Path) -> JudgedSet:
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").splitlines()]
    judged: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if float(grade) > 0:
            judged.setdefault(query, {})[document] = float(grade)
    return JudgedSet(folder.name, corpus, {q["id"]: q["text"] for q in queries if q["id"] in judged}, judged)


def file_names(corpus: list[dict[str, str]]) -> dict[str, str]:
    """File name → document id, in the corpus' order."""
    return {f"{n:05d}.{'md' if record['title'] else 'txt'}": record["id"] for n, record in enumerate(corpus)}


def measure(
    library: Library, store: str, judged: JudgedSet, names: dict[str, str], mode: Mode
) -> dict[str, Any]:
    """Ask every query of a set and average."""
    sums: dict[str, float] = dict.fromkeys(
        ("ndcg@10", "recall@5", "recall@10", "recall@20", "mrr", "hit@1"), 0.0
    )
    took = []
    for query_id, text in judged.queries.items():
        started = time.perf_counter()
        answer = library.search(OWNER, quoted(text), [store], mode=mode, top_k=DEPTH * 3)
        took.append((time.perf_counter() - started) * 1000)
        found = list(dict.fromkeys(names[hit.document.path] for hit in answer.hits))[:DEPTH]
        for name, value in scores(found, judged.judged[query_id]).items():
            sums[name] += value
    means = {name: round(100 * value / len(judged.queries), 2) for name, value in sums.items()}
    return {
        "name": judged.name,
        "mode": mode,
        "queries": len(judged.queries),
        **means,
        **{f"query_ms_{name}": value for name, value in spread(took).items()},
    }


def quoted(text: str) -> str:
    """A query as plain words: judged queries know nothing of our operators."""
    return text.replace('"', " ").replace(":", ": ")


def scores(found: list[str], grades: dict[str, float]) -> dict[str, float]:
    gains = [grades.get(document, 0.0) for document in found]
    ideal = sorted(grades.values(), reverse=True)[:10]
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), 0)
    return {
        "ndcg@10": dcg(gains[:10]) / dcg(ideal),
        **{f"recall@{k}": sum(1 for g in gains[:k] if g) / len(grades) for k in (5, 10, 20)},
        "mrr": 1 / first if first else 0.0,
        "hit@1": float(first == 1),
    }


def dcg(gains: list[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def open_library(home: Path) -> Library:
    """A library in ``home`` with the model that the environment names."""
    known = config.load()
    return Library.open(Settings(home, known.model_dir, known.roots))


def index_set(library: Library, judged: JudgedSet, embedder: str, home: Path) -> dict[str, str]:
    """Write and index a set, unless ``home`` has it already; returns file name → document id."""
    folder = home / "files" / judged.name
    names = file_names(judged.corpus)
    if judged.name in library.stores.names(OWNER):
        return names
    folder.mkdir(parents=True)
    for name, record in zip(names, judged.corpus, strict=True):
        heading = f"# {record['title']}\n\n" if record["title"] else ""
        (folder / name).write_text(heading + record["text"], "utf-8")
    library.create_store(OWNER, judged.name, embedder)
    library.add_source(OWNER, judged.name, folder, ["**/*"])
    library.jobs.request(OWNER, judged.name)
    job = library.jobs.run(OWNER, judged.name)
    if job is None or job.state != "done" or job.failed or job.message:
        raise SystemExit(f"{judged.name} could not be indexed: {job and job.message}")
    print(f"{judged.name}: indexed in {job.duration_ms / 1000:.1f} s", file=sys.stderr)
    return names


@contextmanager
def partly_embedded(path: Path, share: float) -> Iterator[None]:
    """A store file whose texts but a ``share`` wait for the embedder; whole again afterwards."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE kept AS SELECT * FROM embeddings")
        db.execute(f"DELETE FROM embeddings WHERE crc32 % 1000 >= {share * 1000:.0f}")
        missing = "SELECT hash FROM kept WHERE hash NOT IN (SELECT hash FROM embeddings)"
        db.execute(f"INSERT OR IGNORE INTO queue (hash) {missing}")
        db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
    try:
        yield
    finally:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("INSERT OR IGNORE INTO embeddings SELECT * FROM kept")
            db.execute("DROP TABLE kept")
            db.execute("DELETE FROM queue")
            db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")


def run(
    folders: list[Path], modes: tuple[Mode, ...], embedder: str, home: Path, shares: list[float]
) -> dict[str, Any]:
    """Index and measure every set in every mode, and the hybrid one with ``shares`` of the texts embedded."""
    library = open_library(home)
    rows = []
    for folder in folders:
        judged = read_set(folder)
        names = index_set(library, judged, embedder, home)
        rows += [measure(library, judged.name, judged, names, mode) for mode in modes]
    library.close()
    partly: list[dict[str, Any]] = []
    for folder, share in product(folders, shares):
        with partly_embedded(home / "stores" / f"{folder.name}.db", share):
            library, judged = open_library(home), read_set(folder)
            found = measure(library, judged.name, judged, file_names(judged.corpus), "hybrid")
            partly.append(found | {"embedded": share})
            library.close()
    return {"embedder": embedder, "sets": rows, "partly": partly, "mean": mean(rows, modes)}


def mean(rows: list[dict[str, Any]], modes: tuple[Mode, ...]) -> dict[str, Any]:
    """The mean over the sets; one level deeper by mode when there are several."""
    numbers = [key for key, value in rows[0].items() if isinstance(value, float)]
    by_mode = {
        mode: {k: round(statistics.mean(r[k] for r in rows if r["mode"] == mode), 2) for k in numbers}
        for mode in modes
    }
    return by_mode[modes[0]] if len(modes) == 1 else dict(by_mode)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--mode", choices=(*MODES, "all"), default="hybrid")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--embedded", nargs="+", type=float, default=[], metavar="SHARE")
    parser.add_argument("--home", type=Path, help="keep the stores here and use them again")
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    modes: tuple[Mode, ...] = MODES if options.mode == "all" else (options.mode,)
    with tempfile.TemporaryDirectory() as temporary:
        report = run(
            options.folders, modes, options.embedder, options.home or Path(temporary), options.embedded
        )
    if options.as_json:
        print(json.dumps(report, indent=2))
        return
    for row in (*report["sets"], *report["partly"]):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print("mean", report["mean"])


if __name__ == "__main__":
    main()
