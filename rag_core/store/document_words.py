"""Which words of a query a document holds anywhere, in one passage or spread over several.

Only the rarer words of a query are looked up, by the index of words: common ones say little, and going
through all their passages would take longer than the rest of the search.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rag_core.store import find
from rag_core.store.connection import rows_at_once

_MOST_PASSAGES = 1000  # with one of the words, whose documents are looked up; the rarest words come first
_FEW = 20  # documents with every rare word; if there are more, those with the words apart are no finds
TOGETHER = 64
"""Passages of a document whose words belong together, some 10,000 words. Words that stand apart in a longer
one, such as a book, may have nothing in common."""


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """The documents that hold several of the rarer words of a query, but not in one passage."""

    #: The passage of each document that has most of these words → all of them that the document has.
    units: Mapping[int, frozenset[str]] = field(default_factory=dict)
    lengths: Mapping[int, int] = field(default_factory=dict)  #: Document id → number of its passages.
    #: Those of eligible documents, books excepted, that have every rarer word, if few documents do.
    passages: Sequence[int] = ()


NO_DOCUMENTS = DocumentWords()


def read(db: sqlite3.Connection, counts: Mapping[str, int], allowed: find.Eligible) -> DocumentWords:
    """Return the documents of a viewer that hold several words of a query.

    Args:
        db: The store.
        counts: The units of the query, each with the number of passages that have it.
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
    """Return the documents none of whose passages has all of its words, each with the passage that has
    most. ``held`` are the passages with each word, by document."""
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
    """Return (unit, document id, chunk id) for each passage that has one of the units. Folders do not
    count."""
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
    """Return the passage that has most of the units, of equal ones the first, and how many it has."""
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
