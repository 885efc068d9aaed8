"""One peer of benchmarks/peers.py, in a process of its own: `python peer.py NAME FOLDER`.

FOLDER holds `passages.json` (their texts) and `vectors.npy`. Once it has indexed them it prints its version;
then for each line on stdin (a query's text and vector) the numbers of the best passages, best first, and the
milliseconds that took. It imports nothing of Commonplace, only numpy and the peer.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Ask = Callable[[str, Vectors], list[int]]


class Given(NamedTuple):
    """The passages to index, and a folder for what is written."""

    texts: list[str]
    vectors: Vectors
    folder: Path


DEPTH = 100  # passages: a document counts at its best one

SETUP = {
    "fts5": "SQLite's FTS5 with Porter stems: any word of the query, best by BM25; words only",
    "lancedb": "hybrid query over a full-text index and all vectors, joined as is its default (RRF)",
    "txtai": "hybrid index with its defaults: BM25 and vectors, half each",
}


def fts5(given: Given) -> Ask:
    db = sqlite3.connect(given.folder / "fts5.db")
    db.execute("CREATE VIRTUAL TABLE passages USING fts5 (text, tokenize = 'porter unicode61')")
    db.executemany("INSERT INTO passages (rowid, text) VALUES (?, ?)", enumerate(given.texts))
    db.commit()
    sql = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?"

    def ask(text: str, _: Vectors) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        return [row[0] for row in db.execute(sql, (words, DEPTH))]

    return ask


def lancedb(given: Given) -> Ask:
    peer, pyarrow = import_module("lancedb"), import_module("pyarrow")
    column = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(given.vectors.ravel()), given.vectors.shape[1]
    )
    rows = pyarrow.table({"number": range(len(given.texts)), "text": given.texts, "vector": column})
    table = peer.connect(str(given.folder / "lancedb")).create_table("passages", rows)
    table.create_fts_index("text")

    def ask(text: str, vector: Vectors) -> list[int]:
        words = " ".join(re.findall(r"\w+", text))  # signs are operators
        query = table.search(query_type="hybrid", vector_column_name="vector").vector(vector).text(words)
        found: Any = query.distance_type("cosine").select(["number"]).limit(DEPTH).to_arrow()
        return list(found["number"].to_pylist())

    return ask


def txtai(given: Given) -> Ask:
    known = dict(zip(given.texts, given.vectors, strict=True))
    index = import_module("txtai").Embeddings({
        "method": "external", "hybrid": True, "content": False,
        "transform": lambda batch: np.stack([known[text] for text in batch]),
    })  # fmt: skip
    index.index(enumerate(given.texts))

    def ask(text: str, vector: Vectors) -> list[int]:
        known[text] = vector
        return [number for number, _ in index.search(text, DEPTH)]

    return ask


PEERS = {each.__name__: each for each in (fts5, lancedb, txtai)}


def serve(name: str, folder: Path) -> None:
    """Index what ``folder`` holds with one peer, and answer what is asked on stdin."""
    texts = json.loads((folder / "passages.json").read_text("utf-8"))
    ask = PEERS[name](Given(texts, np.load(folder / "vectors.npy"), folder))
    print(json.dumps({"version": sqlite3.sqlite_version if name == "fts5" else version(name)}), flush=True)
    for line in sys.stdin:
        text, vector = json.loads(line)
        query = np.array(vector, np.float32)
        started = time.perf_counter()
        found = ask(text, query)
        print(json.dumps([found, (time.perf_counter() - started) * 1000]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
