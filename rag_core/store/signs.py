"""The signs of the numbers of vectors, by which `vectors.local` chooses among many.

The vectors of some models lie close together: a number of them is positive in nearly every text, so its
sign tells nothing. What is stored is therefore on which side of their mean the numbers lie. The mean is
settled when an embedder has enough vectors, and again whenever it has four times as many.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors

ENOUGH = 5_000
"""Vectors from which on their mean is known well enough."""
_GROWTH = 4
_VECTORS_A_READ = 4_096
_VECTORS = "FROM embeddings WHERE identity_id = ? AND vector <> x''"


class Recall(NamedTuple):
    """How well the nearest vectors are found by their signs."""

    share: float  #: Of the exact ten nearest, from 0 to 1.
    vectors: int  #: How many there were when it was measured.
    width: int = 0  #: How widely is chosen by signs: a place in `vectors.local.WIDTHS`.


def of_rows(rows: Vectors, mean: Vectors) -> npt.NDArray[np.uint8]:
    """On which side of ``mean``, shape (dimension,), the numbers of vectors lie, shape (vectors,
    dimension): 1 for above. The result has the shape (vectors, bytes), padded to whole words of 64 bits."""
    packed = np.packbits(rows > mean, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))) if missing else packed


def signs_of(vector: bytes, mean: Vectors) -> bytes:
    """The sign bits of a stored vector."""
    return of_rows(np.frombuffer(vector, "<f2")[np.newaxis], mean).tobytes()


def mean_of(db: sqlite3.Connection, identity_id: int, dimension: int) -> Vectors:
    """The mean of an embedder's vectors that its sign bits are about; zeros before it is settled."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_key(identity_id),)).fetchone()
    return np.frombuffer(bytes.fromhex(row[0]), "<f4") if row else np.zeros(dimension, np.float32)


def wants_mean(db: sqlite3.Connection, identity_id: int) -> bool:
    """Whether the mean of an embedder's vectors should be settled now."""
    (count,) = db.execute(f"SELECT count(*) {_VECTORS}", (identity_id,)).fetchone()
    known = db.execute("SELECT value FROM meta WHERE key = ?", (_count_key(identity_id),)).fetchone()
    return int(count) >= (_GROWTH * int(known[0]) if known else ENOUGH)


def settle_mean(db: sqlite3.Connection, identity_id: int) -> None:
    """Take the mean of an embedder's vectors as they are now, and make all its sign bits anew."""
    total, count = np.zeros(1), 0
    for _, rows in parts(db, identity_id):
        total, count = total + rows.sum(axis=0, dtype=np.float64), count + len(rows)
    mean = (total / count).astype("<f4")
    for ids, rows in parts(db, identity_id):
        bits = of_rows(rows, mean)
        changed = [(row.tobytes(), number) for number, row in zip(ids, bits, strict=True)]
        db.executemany("UPDATE signs SET bits = ? WHERE id = ?", changed)
    settled = (_key(identity_id), mean.tobytes().hex()), (_count_key(identity_id), str(count))
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", settled)


def parts(db: sqlite3.Connection, identity_id: int) -> Iterator[tuple[list[int], Vectors]]:
    """The ids and vectors of an embedder, a part at a time."""
    last = 0
    sql = f"SELECT id, vector {_VECTORS} AND id > ? ORDER BY id LIMIT {_VECTORS_A_READ}"
    while stored := db.execute(sql, (identity_id, last)).fetchall():
        ids = [row[0] for row in stored]
        rows = np.frombuffer(b"".join(row[1] for row in stored), "<f2").reshape(len(ids), -1)
        yield ids, rows.astype(np.float32)
        last = ids[-1]


def drop_unused_means(db: sqlite3.Connection) -> None:
    """Forget the means of embedders that the store does not have any more."""
    numbers = [row[0] for row in db.execute("SELECT id FROM identities")]
    kept = {key(number) for number in numbers for key in (_key, _count_key, _recall_key)}
    known = [
        row[0] for row in db.execute("SELECT key FROM meta WHERE key GLOB 'mean*:*' OR key GLOB 'recall:*'")
    ]
    db.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in known if key not in kept])


def put_recall(db: sqlite3.Connection, identity_id: int, recall: Recall) -> None:
    """Store the measured recall of an embedder's vectors."""
    values = _recall_key(identity_id), f"{recall.share:.4f} {recall.vectors} {recall.width}"
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)


def recall_of(db: sqlite3.Connection, identity_id: int) -> Recall | None:
    """What was measured of an embedder's vectors; None if nothing was."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_recall_key(identity_id),)).fetchone()
    if row is None:
        return None
    share, vectors, width = row[0].split()
    return Recall(float(share), int(vectors), int(width))


def _key(identity_id: int) -> str:
    return f"mean:{identity_id}"


def _count_key(identity_id: int) -> str:
    return f"mean_of:{identity_id}"


def _recall_key(identity_id: int) -> str:
    return f"recall:{identity_id}"


def put_all_signs(db: sqlite3.Connection) -> None:
    """Store the sign bits of every vector. The store must have neither any yet nor a mean."""
    zero = np.zeros(1, np.float32)

    def signs_by_zero(vector: Any) -> bytes:
        return signs_of(vector, zero)

    db.create_function("signs_of", 1, signs_by_zero, deterministic=True)
    db.execute(
        "INSERT INTO signs SELECT id, identity_id, signs_of(vector) FROM embeddings WHERE vector <> x''"
    )
