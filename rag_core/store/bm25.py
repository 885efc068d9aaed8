"""The best passages by BM25, scored without those that hold nothing but common words.

FTS5 scores every passage with any of the words, and a common word is in a third of them. MaxScore
(Turtle & Flood, "Query evaluation: strategies and optimizations", Information Processing &
Management 31, 1995) gives the same best passages: a word adds no more to a score than its weight
allows, so a passage with only such words as stay together below the last of the best is none.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_core.store.counts import holders
from rag_core.store.rows import exact, rows_at_once
from rag_core.text.words import match_any, units

# Weights of the columns of `words` in their order: title, headings, path, tags, text, title_terms,
# terms. Chosen with benchmarks/retrieval.py; flat between half and twice these.
COLUMN_WEIGHTS = (2.0, 1.0, 0.5, 1.5, 1.0, 1.0, 0.7)

FEW = 2000
"""So many matches are scored at once in a millisecond; there is nothing to spare."""

_MOST_OF_A_WORD = 2.2  # FTS5's k1 + 1: what BM25 of one word tends to, as a multiple of its weight
_WORTH_WHILE = 0.5  # leaving out fewer than the other matches saves less than it costs

Scored = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class _Search:
    """What is asked for: passages that meet ``condition``, on ``c`` and ``d`` with its bound values."""

    db: sqlite3.Connection
    words: Sequence[str]
    condition: str
    values: tuple[Any, ...]
    limit: int

    def all(self) -> Scored:
        """The best of those with any of the words; FTS5 sorts them."""
        found = f"{self._matching} ORDER BY words.rank LIMIT ?"
        return self._scored(found, match_any(self.words), *self.values, self.limit)

    def with_any(self, needed: Sequence[str]) -> Scored:
        """The best of those with any of the words ``needed``, by all their words; no other is scored.

        Those with another word beside them come first, as FTS5 leaps over what has only others.
        """
        rare = match_any(needed)
        both = f"({rare}) AND ({match_any([word for word in self.words if word not in needed])})"
        found = f"""WITH more (id, score) AS MATERIALIZED ({self._matching})
                    SELECT * FROM more
                    UNION ALL {self._matching} AND +words.rowid NOT IN (SELECT id FROM more)
                    ORDER BY score DESC, id LIMIT ?"""
        return self._scored(found, both, *self.values, rare, *self.values, self.limit)

    @property
    def _matching(self) -> str:
        """The SELECT of the matches of an expression, which is bound first."""
        return f"""SELECT words.rowid, -words.rank FROM words {"" if self.condition == "1" else _JOINS}
                   WHERE words MATCH ? AND words.rank MATCH 'bm25({WEIGHTS})' AND {self.condition}"""

    def _scored(self, found: str, *values: Any) -> Scored:
        sql = f"WITH best (id, score) AS ({found}) SELECT id, {exact('score')} FROM best"
        rows = rows_at_once(self.db, ["id", "score"], sql, values)
        return [(chunk_id, float(score)) for chunk_id, score in rows]


WEIGHTS = ", ".join(map(str, COLUMN_WEIGHTS))
_JOINS = "JOIN chunks c ON c.id = words.rowid JOIN documents d ON d.id = c.document_id"


def best(
    db: sqlite3.Connection, words: Sequence[str], condition: str, values: tuple[Any, ...], limit: int
) -> Scored:
    """The ``limit`` best chunks with any of ``words`` (from query_words): (chunk id, BM25, higher is better).

    ``condition`` is on ``c`` (chunks) and ``d`` (documents) with the bound ``values``; ``1`` is none.
    """
    words = units(words)  # each once: FTS5 scores a phrase as often as it is asked for
    search = _Search(db, words, condition, values, limit)
    counts = holders(db, words)
    total = sum(counts.values())
    if len(words) == 1 or total <= FEW:
        return search.all()
    order = sorted(words, key=counts.__getitem__)
    rare = max(1, _until(order, counts, 2 * limit))
    if _matches(order[:rare], counts) > total * _WORTH_WHILE:
        return search.all()
    found = search.with_any(order[:rare])
    last = found[-1][1] if len(found) == limit else 0.0
    newest = db.execute("SELECT max(id) FROM chunks").fetchone()[0]  # no fewer than there are chunks
    needed = rare
    while needed < len(order) and _most(order[needed:], counts, newest) >= last:
        needed += 1
    if needed == rare:
        return found
    worth_while = _matches(order[:needed], counts) <= total * _WORTH_WHILE
    return search.with_any(order[:needed]) if worth_while else search.all()


def _matches(words: Sequence[str], counts: dict[str, int]) -> int:
    return sum(counts[word] for word in words)


def _until(order: Sequence[str], counts: dict[str, int], enough: int) -> int:
    """How many of the first words it takes to have ``enough`` matches."""
    return next((n for n in range(1, len(order)) if _matches(order[:n], counts) >= enough), len(order))


def _most(words: Sequence[str], counts: dict[str, int], chunks: int) -> float:
    """What a passage with all these words may score at most."""
    weights = (math.log((chunks - counts[word] + 0.5) / (counts[word] + 0.5)) for word in words)
    return sum(_MOST_OF_A_WORD * max(weight, 1e-6) for weight in weights)
