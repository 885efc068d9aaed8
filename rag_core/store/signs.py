"""The signs of the numbers of vectors, by which `vectors.local` chooses among many."""

from __future__ import annotations

import sqlite3

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors


def of_rows(rows: Vectors | npt.NDArray[np.int16]) -> npt.NDArray[np.uint8]:
    """The sign bits of vectors, shape (vectors, dimension): 1 for each positive number. The result has the
    shape (vectors, bytes), padded to whole words of 64 bits."""
    packed = np.packbits(rows > 0, axis=1)
    missing = -packed.shape[1] % 8
    return np.pad(packed, ((0, 0), (0, missing))) if missing else packed


def signs_of(vector: bytes) -> bytes:
    """The sign bits of a stored vector."""
    numbers = np.frombuffer(
        vector, "<i2"
    )  # as positive as in 16 bits of another kind, and quicker to compare
    return of_rows(numbers[np.newaxis]).tobytes()


def put_all_signs(db: sqlite3.Connection) -> None:
    """Store the sign bits of every vector. The store must not have any yet."""
    db.create_function("signs_of", 1, signs_of, deterministic=True)
    db.execute(
        "INSERT INTO signs SELECT id, identity_id, signs_of(vector) FROM embeddings WHERE vector <> x''"
    )
