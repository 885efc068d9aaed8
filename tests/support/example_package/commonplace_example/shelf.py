"""A vector index in an SQLite file of its own, which every search compares whole."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.types import Filters, Metric, Vectors
from rag_core.vectors import NO_FILTERS, Match, Receipt, Settled, VectorRecord, unit, unnoticed

ADDRESS = "shelf://"
PAGE = 500
TABLES = """
CREATE TABLE IF NOT EXISTS about (owner TEXT NOT NULL, dimension INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS records (
    key TEXT PRIMARY KEY, vector BLOB NOT NULL, text TEXT NOT NULL, doc TEXT NOT NULL, metadata TEXT NOT NULL
);
"""


class Shelf:
    """See rag_core.vectors.RemoteIndex."""

    server = ""  # vectors and texts stay on this machine

    def __init__(self, file: Path, dimension: int) -> None:
        self._file = file
        self._dimension = dimension

    def prepare(self, owner: str, *, take_over: bool = False) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._db() as db:
            db.executescript(TABLES)
            known = db.execute("SELECT owner, dimension FROM about").fetchone()
            if known and known[1] != self._dimension:
                raise VectorError(
                    f"The shelf {str(self._file)!r} holds vectors of {known[1]} numbers.", "Choose another."
                )
            if known and known[0] != owner and not take_over:
                raise VectorError(f"The shelf {str(self._file)!r} is another's.", "Choose another.")
            db.execute("DELETE FROM about")
            db.execute("INSERT INTO about VALUES (?, ?)", (owner, self._dimension))

    def owner(self) -> str:
        if not self._file.exists():
            return ""
        with self._db() as db:
            known = db.execute("SELECT owner FROM about").fetchone()
        return str(known[0]) if known else ""

    def drop(self, owner: str) -> None:
        if self.owner() == owner:
            self._file.unlink(missing_ok=True)

    def put(self, records: Iterable[VectorRecord], settled: Settled = unnoticed) -> Receipt:
        sent: list[str] = []
        refused: dict[str, str] = {}
        for page in pages(records):
            bad = {each.key: "Its vector has another shape." for each in page if not self._fits(each.vector)}
            rows = {each.key: row(each) for each in page if each.key not in bad}
            with self._db() as db:
                db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)", rows.values())
            settled(Receipt(tuple(rows), bad))
            sent += rows
            refused |= bad
        return Receipt(tuple(sent), refused)

    def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
        sent: list[str] = []
        for page in pages(keys):
            with self._db() as db:
                db.executemany("DELETE FROM records WHERE key = ?", [(key,) for key in page])
            settled(Receipt(tuple(page)))
            sent += page
        return Receipt(tuple(sent))

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        with self._db() as db:
            found = db.execute("SELECT key, vector FROM records").fetchall()
        if not found:
            return []
        vectors = np.stack([np.frombuffer(vector, np.float32) for _, vector in found])
        similarities = vectors @ unit(query)
        best = np.argsort(-similarities, kind="stable")[:k]
        return [Match(found[at][0], float(similarities[at])) for at in best]

    def keys(self) -> Iterator[str]:
        with self._db() as db:
            found = db.execute("SELECT key FROM records").fetchall()
        return (key for (key,) in found)

    def records(self) -> Iterator[VectorRecord]:
        with self._db() as db:
            found = db.execute("SELECT * FROM records").fetchall()
        for key, vector, text, doc, metadata in found:
            told = {name: tuple(v) if isinstance(v, list) else v for name, v in json.loads(metadata).items()}
            yield VectorRecord(key, np.frombuffer(vector, np.float32), text, json.loads(doc), told)

    def close(self) -> None:
        """Each call opens the file for itself."""

    def _fits(self, vector: Vectors) -> bool:
        return vector.shape == (self._dimension,) and bool(np.isfinite(vector).all())

    @contextmanager
    def _db(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file)) as db, db:
                yield db
        except sqlite3.OperationalError as error:
            raise VectorsUnreachable(
                f"The shelf {str(self._file)!r} cannot be used: {error}.", "Check that its folder is there."
            ) from error


class ShelfBackend:
    """See rag_core.vectors.foreign.Backend."""

    server = ""  # vectors and texts stay on this machine

    def address(self, store: str, variant: str) -> str:
        folder = os.environ.get("EXAMPLE_SHELF", str(Path.home() / "shelf"))
        return f"{ADDRESS}{folder}/{store}{f'-{variant}' if variant else ''}.db"

    def open(self, address: str, dimension: int, metric: Metric) -> Shelf:
        return Shelf(Path(address.removeprefix(ADDRESS)), dimension)

    def existing(self, address: str) -> Shelf:
        file = Path(address.removeprefix(ADDRESS))
        if not file.is_file():
            raise VectorError(f"There is no shelf {str(file)!r}.", "Check the address.")
        with closing(sqlite3.connect(file)) as db:
            (dimension,) = db.execute("SELECT dimension FROM about").fetchone()
        return Shelf(file, dimension)


API_VERSION = 1
BACKEND = ShelfBackend()


def pages(values: Iterable[Any]) -> Iterator[list[Any]]:
    waiting = iter(values)
    while page := list(islice(waiting, PAGE)):
        yield page


def row(record: VectorRecord) -> tuple[object, ...]:
    vector = unit(record.vector).astype(np.float32).tobytes()
    return record.key, vector, record.text, json.dumps(dict(record.doc)), json.dumps(dict(record.metadata))
