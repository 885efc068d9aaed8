"""BM25 as if private passages were not there: a score must not tell what they hold, nor that there are any.

FTS5 scores with the statistics of all it indexes: how many passages hold a word, how many there are, how
long they are. For a guest the same formula is taken with those of what the guest may see. What FTS5 gives
for one phrase is idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), so its tf, which is
weighed by columns, follows from the score and the length of the passage that FTS5 keeps.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.store import counts
from rag_core.store.bm25 import WEIGHTS
from rag_core.store.rows import exact, rows_at_once
from rag_core.text.words import match_any, units

_K1, _B = 1.2, 0.75  # FTS5's
_LEAST = 1e-6  # what FTS5 takes for the weight of a word that most passages hold
HIDDEN = "SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id WHERE d.private"
_AVERAGES = 1  # the row of FTS5's own table that holds its totals


@dataclass(frozen=True, slots=True)
class _Corpus:
    """Some passages: how many, and how many words they have together."""

    passages: int
    words: int

    def idf(self, holders: int) -> float:
        """The weight of a phrase that ``holders`` passages hold."""
        return max(math.log((self.passages - holders + 0.5) / (holders + 0.5)), _LEAST)

    def norm(self, length: int) -> float:
        """What a passage of ``length`` words puts beside the count of a phrase."""
        average = self.words / self.passages
        return _K1 * (1 - _B + _B * length / average)


def scores(
    db: sqlite3.Connection, words: Sequence[str], ids: Sequence[int], seen: int, holders: Mapping[str, int]
) -> dict[int, float]:
    """The BM25 of the chunks ``ids``, at least one and none private, among the ``seen`` that are not;
    ``holders`` says how many of those hold each phrase."""
    every = _every(db)
    shared = _Corpus(seen, every.words - _hidden_words(db))
    lengths = _lengths(db, ids)
    found = dict.fromkeys(ids, 0.0)
    wanted = units(words)
    for phrase, holders_of_all in counts.holders(db, wanted).items():
        weight, weight_here = every.idf(holders_of_all), shared.idf(holders[phrase])
        for chunk_id, score in _of_phrase(db, phrase, ids):
            count = _count_of(score / weight, every.norm(lengths[chunk_id]))
            found[chunk_id] += weight_here * _part(count, shared.norm(lengths[chunk_id]))
    return found


def _part(count: float, norm: float) -> float:
    return count * (_K1 + 1) / (count + norm)


def _count_of(part: float, norm: float) -> float:
    """The count that gives ``part``."""
    return part * norm / max(_K1 + 1 - part, 1e-12)


def _of_phrase(db: sqlite3.Connection, phrase: str, ids: Sequence[int]) -> list[tuple[int, float]]:
    sql = f"""SELECT words.rowid, {exact("-words.rank")} FROM words
              WHERE words MATCH ? AND words.rank MATCH 'bm25({WEIGHTS})'
              AND +words.rowid IN (SELECT value FROM json_each(?))"""
    found = rows_at_once(db, ["id", "score"], sql, (match_any([phrase]), json.dumps(list(ids))))
    return [(chunk_id, float(score)) for chunk_id, score in found]


# --- what FTS5 keeps for itself ---------------------------------------------------------


def _every(db: sqlite3.Connection) -> _Corpus:
    """All that FTS5 indexes, as it counts it."""
    row = db.execute("SELECT block FROM words_data WHERE id = ?", (_AVERAGES,)).fetchone()
    passages, *words = _numbers(row[0])
    return _Corpus(passages, sum(words))


def _lengths(db: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int]:
    """How many words each of the chunks ``ids`` has."""
    sql = "SELECT id, hex(sz) FROM words_docsize WHERE id IN (SELECT value FROM json_each(?))"
    found = rows_at_once(db, ["id", "sz"], sql, (json.dumps(list(ids)),))
    return {chunk_id: sum(_numbers(bytes.fromhex(sizes))) for chunk_id, sizes in found}


def _hidden_words(db: sqlite3.Connection) -> int:
    """How many words the private passages have together, of which there may be a great many."""
    sql = f"SELECT group_concat(hex(sz), '') FROM words_docsize WHERE id IN ({HIDDEN})"
    sizes = np.frombuffer(bytes.fromhex(db.execute(sql).fetchone()[0] or ""), np.uint8)
    ends = np.flatnonzero(sizes < 0x80)
    behind = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(sizes))  # bytes of the same number
    return int(np.sum((sizes & 0x7F).astype(np.int64) << 7 * behind))


def _numbers(block: bytes) -> Iterator[int]:
    """SQLite's integers of variable length: seven bits a byte, the highest first. A ninth byte would have
    eight, and no number here needs one."""
    number = 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0
