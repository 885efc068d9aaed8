"""Finds the documents that hold several words of a query, in one passage or spread over several.

Only the rarer words of a query are looked up, in the index of words. Common words say little, and reading all
their passages would take longer than the rest of the search.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.store import find
from rag_core.store.connection import rows_at_once

_MOST_PASSAGES = 1000  # maximum number of passages whose documents are looked up, rarest words first
_FEW = 20  # if more documents have every rare word, those with the words in different passages do not count
TOGETHER = 64
"""Maximum number of passages in a document whose words count together, about 10,000 words. In a longer
document, such as a book, distant words may be unrelated."""


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """Documents that hold several of a query's rarer words, but not all in one passage."""

    #: Chunk id of each document's best passage → all the rarer words that the document has. The best passage
    #: has the most of these words.
    units: Mapping[int, frozenset[str]] = field(default_factory=dict)
    lengths: Mapping[int, int] = field(default_factory=dict)  #: Document id → number of its passages.
    #: Best passages of eligible documents that have every rarer word, without documents as long as books.
    #: Empty if more than 20 documents have every rarer word.
    passages: Sequence[int] = ()


NO_DOCUMENTS = DocumentWords()


def read(db: sqlite3.Connection, counts: Mapping[str, int], allowed: find.Eligible) -> DocumentWords:
    """Find the documents that hold several words of a query. Returns NO_DOCUMENTS if fewer than two of the
    words are rare.

    Args:
        db: The store.
        counts: The units of the query (words, or pairs of characters) → number of passages that have them.
        allowed: The condition for eligible passages, and the viewer.

    """
    rare = _rare(counts)
    if len(rare) < 2:
        return NO_DOCUMENTS
    held: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
    for unit, document, chunk_id in _holders(db, rare, find.visible(allowed.viewer)):
        held[document].setdefault(unit, []).append(chunk_id)
    best_of = _apart(held)
    lengths = _lengths(db, list(best_of))
    complete = [document for document, holders in held.items() if len(holders) == len(rare)]
    apart = [document for document in complete if document in best_of] if len(complete) <= _FEW else []
    passages = [best_of[document] for document in apart if lengths[document] <= TOGETHER]
    return DocumentWords(
        {passage: frozenset(held[document]) for document, passage in best_of.items()},
        lengths,
        _eligible(db, passages, allowed),
    )


def _apart(held: Mapping[int, Mapping[str, Sequence[int]]]) -> dict[int, int]:
    """Return the documents in which no single passage has all the units that the document has. Each comes
    with its best passage. ``held`` maps documents to units to passages."""
    best_of: dict[int, int] = {}
    for document, holders in held.items():
        passage, count = _with_most(holders)
        if count < len(holders):
            best_of[document] = passage
    return best_of


def _rare(counts: Mapping[str, int]) -> list[str]:
    """Return the units that few passages have, the rarest first."""
    rare: list[str] = []
    room = _MOST_PASSAGES
    for unit, count in sorted(counts.items(), key=lambda item: item[1]):
        if 0 < count <= room:
            rare.append(unit)
            room -= count
    return rare


def _holders(
    db: sqlite3.Connection, units: Sequence[str], visible: find.Eligible
) -> list[tuple[str, int, int]]:
    """Return (unit, document id, chunk id) for each passage that has one of the units. Units in folder names
    do not count."""
    sql = "SELECT c.document_id, c.id FROM words JOIN chunks c ON c.id = words.rowid"
    if find.takes_all(db, visible):
        sql += " WHERE words MATCH ?"
    else:
        sql += f" JOIN documents d ON d.id = c.document_id WHERE words MATCH ? AND {visible.sql}"
    holders: list[tuple[str, int, int]] = []
    for unit in units:
        match = f"- path : ({find.match_any([unit])})"
        rows = rows_at_once(db, ["document", "chunk"], sql, (match, *visible.values))
        holders += [(unit, document, chunk_id) for document, chunk_id in rows]
    return holders


def _with_most(holders: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """Return the passage that has the most units, then the number of units in it. Of several such passages
    the first is returned."""
    counts: defaultdict[int, int] = defaultdict(int)
    for ids in holders.values():
        for chunk_id in ids:
            counts[chunk_id] += 1
    most = max(counts.values())
    return min(chunk_id for chunk_id, count in counts.items() if count == most), most


def _lengths(db: sqlite3.Connection, documents: Sequence[int]) -> dict[int, int]:
    sql = """SELECT document_id, count(*) FROM chunks
             WHERE document_id IN (SELECT value FROM json_each(?)) GROUP BY document_id"""
    return dict(rows_at_once(db, ["document", "length"], sql, (json.dumps(documents),)))


def _eligible(db: sqlite3.Connection, ids: Sequence[int], allowed: find.Eligible) -> list[int]:
    sql = f"""SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
              WHERE c.id IN (SELECT value FROM json_each(?)) AND {allowed.sql}"""
    return [chunk_id for (chunk_id,) in rows_at_once(db, ["id"], sql, (json.dumps(ids), *allowed.values))]
