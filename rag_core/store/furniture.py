"""Stores which lines are furniture, because many documents repeat them. Lines are compared by hashes of their
*shapes*, in which all numbers, addresses and link targets are the same.

`put_shapes` stores the shapes of a document when it is written. `put_repeated` stores the shapes that `count`
finds, and marks the affected documents as stale.

`renew_furniture` finds the furniture of one stale document again. So every document that is not stale has the
furniture that the table ``repeated`` defines.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Set
from itertools import chain

import numpy as np
import numpy.typing as npt

from rag_core.store import chunks
from rag_core.store.checksums import seal
from rag_core.text.furniture import LEAST, SHARE

_Hashes = npt.NDArray[np.int64]

_BUCKETS = 2**16
_DOCUMENTS_A_READ = 5000


def put_shapes(db: sqlite3.Connection, document_id: int, shapes: Set[int] | None) -> None:
    """Store the hashes of the shapes of a document's lines; None for a document whose type has no
    furniture."""
    if shapes is None:
        db.execute("DELETE FROM shapes WHERE document_id = ?", (document_id,))
    else:
        hashes = np.array(sorted(shapes), "<i8").tobytes()
        db.execute("INSERT OR REPLACE INTO shapes VALUES (?, ?, 0)", (document_id, hashes))


def repeated(db: sqlite3.Connection) -> frozenset[int]:
    """Return the hashes of lines that count as furniture, as `put_repeated` stored them."""
    return frozenset(chain.from_iterable(db.execute("SELECT shape FROM repeated")))


def put_repeated(db: sqlite3.Connection, now: Set[int]) -> None:
    """Store ``now`` as the hashes of lines that are furniture. Each document with a line that became or
    stopped being furniture is marked as stale."""
    changed = np.array(sorted(now ^ repeated(db)), np.int64)
    stale: list[int] = []
    for ids, lengths, hashes in _all(db):
        owners = np.repeat(ids, lengths)
        stale += np.unique(owners[np.isin(hashes, changed)]).tolist()
    db.execute(
        "UPDATE shapes SET stale = 1 WHERE document_id IN (SELECT value FROM json_each(?))",
        (json.dumps(stale),),
    )
    db.execute("DELETE FROM repeated")
    db.executemany("INSERT INTO repeated VALUES (?)", [(shape,) for shape in sorted(now)])


def count(db: sqlite3.Connection) -> frozenset[int]:
    """Return the hashes of the lines that repeat in many documents, such as headers of pages: those in more
    than `LEAST` documents and in more than the share `SHARE` of them. Lines are compared by their shapes, in
    which all numbers are the same (`rag_core.text.furniture`).

    Private documents are not counted: furniture changes scores, and scores must not reveal private content.
    Documents with the same shapes are copies and count once. To save work, shapes are first counted in
    buckets, and then individually only in large buckets.
    """
    public = "FROM shapes s JOIN documents d ON d.id = s.document_id WHERE NOT d.private"
    distinct = f"SELECT min(s.document_id), s.hashes {public} GROUP BY s.hashes"
    (documents,) = db.execute(f"SELECT count(*) {public}").fetchone()
    most = max(LEAST, SHARE * documents)
    if documents <= most:
        return frozenset()
    buckets = np.zeros(_BUCKETS, np.int64)
    for _, _, hashes in _all(db, distinct):
        buckets += np.bincount(hashes & (_BUCKETS - 1), minlength=_BUCKETS)
    if not (buckets > most).any():
        return frozenset()
    likely = [hashes[buckets[hashes & (_BUCKETS - 1)] > most] for _, _, hashes in _all(db, distinct)]
    shapes, counts = np.unique(np.concatenate(likely), return_counts=True)
    return frozenset(shapes[counts > most].tolist())


def is_outdated(db: sqlite3.Connection) -> bool:
    """Whether `count` would now return other lines than those stored."""
    return count(db) != repeated(db)


def _all(
    db: sqlite3.Connection, sql: str = "SELECT document_id, hashes FROM shapes"
) -> Iterator[tuple[_Hashes, _Hashes, _Hashes]]:
    """Yield batches of some thousand documents: their ids, their numbers of shapes, and all their shapes in
    one array."""
    cursor = db.execute(sql)
    while rows := cursor.fetchmany(_DOCUMENTS_A_READ):
        ids, hashes = zip(*rows, strict=True)
        lengths = np.fromiter(map(len, hashes), np.int64) // 8
        yield np.array(ids, np.int64), lengths, np.frombuffer(b"".join(hashes), "<i8")


def stale(db: sqlite3.Connection, limit: int) -> list[int]:
    """Return the ids of at most ``limit`` documents whose furniture must be found again."""
    sql = "SELECT document_id FROM shapes WHERE stale ORDER BY document_id LIMIT ?"
    return [*chain.from_iterable(db.execute(sql, (limit,)))]


def renew_furniture(db: sqlite3.Connection, document_id: int, shapes: Set[int]) -> None:
    """Find the furniture of a stale document again. ``shapes`` are the hashes of lines that count as
    furniture."""
    (file_type,) = db.execute("SELECT file_type FROM documents WHERE id = ?", (document_id,)).fetchone()
    put_shapes(db, document_id, chunks.derive(db, document_id, file_type, shapes))
    seal(db, document_id)
