"""Sign bits of vectors, by which `vectors.local` preselects among many vectors.

With some models all vectors lie close together, so a component is positive for nearly every text and its sign
says nothing. So a bit tells on which side of the mean vector a component lies. The mean is computed when an
embedder has enough vectors, and again each time their number is four times as large.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors

ENOUGH = 5_000
"""Minimum number of vectors for a reliable mean."""
_GROWTH = 4
_VECTORS_A_READ = 4_096
_VECTORS = "FROM embeddings WHERE identity_id = ? AND vector <> x''"


class Recall(NamedTuple):
    """The share of the nearest vectors that a search by sign bits finds."""

    share: float  #: Share of the ten nearest vectors that are found, from 0 to 1.
    vectors: int  #: Number of vectors when it was measured.
    width: int = 0  #: How widely the preselection chooses: an index of `vectors.local.WIDTHS`.


def of_rows(rows: Vectors, mean: Vectors) -> npt.NDArray[np.uint8]:
    """Return the sign bits of vectors: 1 where a component is above ``mean``.

    Args:
        rows: Vectors, shape (vectors, dimension).
        mean: The mean vector, shape (dimension,).

    Returns:
        Packed bits, shape (vectors, bytes), padded to whole words of 64 bits.

    """
    packed = np.packbits(rows > mean, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))) if missing else packed


def signs_of(vector: bytes, mean: Vectors) -> bytes:
    """Return the sign bits of a stored vector."""
    return of_rows(np.frombuffer(vector, "<f2")[np.newaxis], mean).tobytes()


def mean_of(db: sqlite3.Connection, identity_id: int, dimension: int) -> Vectors:
    """Return the mean vector that an embedder's sign bits are relative to, or zeros if it was not computed
    yet."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (_key(identity_id),)).fetchone()
    return np.frombuffer(bytes.fromhex(row[0]), "<f4") if row else np.zeros(dimension, np.float32)


def wants_mean(db: sqlite3.Connection, identity_id: int) -> bool:
    """Whether the mean of an embedder's vectors should be computed now."""
    (count,) = db.execute(f"SELECT count(*) {_VECTORS}", (identity_id,)).fetchone()
    known = db.execute("SELECT value FROM meta WHERE key = ?", (_count_key(identity_id),)).fetchone()
    return int(count) >= (_GROWTH * int(known[0]) if known else ENOUGH)


def settle_mean(db: sqlite3.Connection, identity_id: int) -> None:
    """Compute the mean of an embedder's vectors, and compute all its sign bits again."""
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
    """Yield the ids and vectors of an embedder in batches."""
    last = 0
    sql = f"SELECT id, vector {_VECTORS} AND id > ? ORDER BY id LIMIT {_VECTORS_A_READ}"
    while stored := db.execute(sql, (identity_id, last)).fetchall():
        ids = [row[0] for row in stored]
        rows = np.frombuffer(b"".join(row[1] for row in stored), "<f2").reshape(len(ids), -1)
        yield ids, rows.astype(np.float32)
        last = ids[-1]


def drop_unused_means(db: sqlite3.Connection) -> None:
    """Delete the mean vectors and recalls of embedders that the store no longer has."""
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
    """Return the measured recall of an embedder's vectors, or None if it was not measured."""
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
    """Store the sign bits of every vector. The store must have neither sign bits nor a mean yet."""
    zero = np.zeros(1, np.float32)

    def signs_by_zero(vector: Any) -> bytes:
        return signs_of(vector, zero)

    db.create_function("signs_of", 1, signs_by_zero, deterministic=True)
    db.execute(
        "INSERT INTO signs SELECT id, identity_id, signs_of(vector) FROM embeddings WHERE vector <> x''"
    )
