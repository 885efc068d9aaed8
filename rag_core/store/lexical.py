"""Finds passages by words: the best by BM25, those with longer words, and those with words in furniture
(lines that many documents repeat).

FTS5 scores every passage with any of the words. MaxScore (Turtle & Flood, "Query evaluation: strategies and
optimizations", Information Processing & Management 31, 1995) skips passages that cannot reach the score of
the last result.

The bound for a word is a little above its usual score, not its maximum. That takes half the time. In tests on
real passages the ten best stay the same, and 98 of the hundred best.

FTS5's scores only choose the candidates. `search.weigh` ranks these by the information of the words.

Threat: FTS5 also counts private passages, so its scores reveal how often these contain a word. The scores are
never shown.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from posixpath import basename
from typing import Any, NamedTuple

from rag_core.errors import StoreError
from rag_core.store import document_words, find
from rag_core.store.connection import kept, rows_at_once
from rag_core.store.document_words import NO_DOCUMENTS, DocumentWords
from rag_core.store.file import Store
from rag_core.text.words import SPACED_WORD, alternatives, fold, stem
from rag_core.types import DATA, Query, Sort, Viewer

# Weights of the columns of `words` in order. Chosen with benchmarks/retrieval.py; half or twice is as good.
COLUMN_WEIGHTS = {
    "title": 2.0, "headings": 1.0, "path": 0.5, "tags": 1.5, "text": 1.0, "title_terms": 1.0, "terms": 0.7
}  # fmt: skip

FEW = 2000
"""Number of matches that can be scored in one millisecond. With fewer matches none is skipped."""

EXACT = "printf('%!.17g', {})"
"""SQL that converts a floating-point number to a text that ``float`` reads without loss."""

_OF_A_WORD = 1.25  # BM25 of a word, divided by its weight, in a passage of half the usual length
_WORTH_WHILE = 0.5  # leaving out less than half of the matches costs more than it saves
_WEIGHTS = ", ".join(map(str, COLUMN_WEIGHTS.values()))

_LEAST_BEGINNING = 4  # letters; words that share fewer are mostly unrelated
_MOST_BEGINNINGS = 3  # each beginning scans all words of the index that begin so
_MOST_LESS = 4  # letters by which a stem may be shorter than a beginning of its words
BEGUN = 100  # maximum number of chunks for each beginning

_MARGIN = 4  # guests get this many times as many candidates, because their scores are computed again
_NAMED = 5  # maximum number of documents whose name is the query
LEAST_NAME, _NAMES_BEGUN = 3, 10  # minimum letters of a beginning of a name, maximum number of documents
_RAREST = 24  # maximum number of words of a pasted text that are searched
_MOST_COUNTS = 20_000  # maximum number of cached counts, 3 MB


@dataclass(frozen=True, slots=True)
class Gathered:
    """The ids of the chunks in a store that match a query by words or names."""

    #: Chunks of documents whose name is the query; of all documents if the query has no words.
    named: Sequence[int]
    #: Unit of the query (word or pair of characters) → its information (IDF), higher for rarer units.
    information: Mapping[str, float] = field(default_factory=dict)
    by_words: Sequence[int] = ()  #: Chunks with words of the query.
    #: Chunks of documents with a name that begins with the query → length of the query divided by the name's
    #: length.
    begun_names: Mapping[int, float] = field(default_factory=dict)
    begun: Sequence[int] = ()  #: Chunks with words that begin like the query's last word.
    aside: Sequence[int] = ()  #: Chunks with words of the query in lines that many documents repeat.
    documents: DocumentWords = NO_DOCUMENTS  #: Documents that hold several of the query's rarer words.

    @property
    def ids(self) -> list[int]:
        """The ids of all gathered chunks, each once."""
        spread = self.documents.passages
        others = (*self.begun, *self.aside, *self.named, *self.begun_names)
        return list(dict.fromkeys((*self.by_words, *spread, *others)))


def gather(
    store: Store, query: Query, allowed: find.Eligible, limit: int, *, words: bool, sort: Sort = "best"
) -> Gathered:
    """Gather the eligible chunks that match a query by words or names.

    Args:
        store: The store to search.
        query: The query. If it has no words, the first documents in the order ``sort`` are gathered.
        allowed: The condition for eligible chunks.
        limit: Maximum number of chunks by words. It is higher for a guest, whose scores are computed again.
        words: Whether to search by words. If not, only the information of the query's units is returned.
        sort: The order of documents for a query without words.

    """
    with store.read() as db:
        if not query.text:
            return Gathered(find.first_of_all(db, allowed, limit, sort, query.terms.name))
        total, counts = frequencies(db, list(query.terms.forms), allowed.viewer)
        # IDF as in BM25+, never negative
        information = {unit: math.log(1 + (total - n + 0.5) / (n + 0.5)) for unit, n in counts.items()}
        if not words:
            return Gathered((), information)
        units = list(dict.fromkeys([word for unit in query.terms.forms for word in alternatives(unit)]))
        limit = limit if allowed.viewer.is_owner else limit * _MARGIN
        return Gathered(
            named=find.first_chunks(db, allowed, _NAMED, query.terms.name),
            information=information,
            by_words=[match[0] for match in by_words(db, units, allowed, limit)],
            begun_names=_begun_names(db, query, allowed),
            begun=_begun(db, query, counts, allowed),
            aside=_aside(db, query, counts, allowed, limit),
            documents=document_words.read(db, counts, allowed),
        )


def _begun_names(db: sqlite3.Connection, query: Query, allowed: find.Eligible) -> dict[int, float]:
    if len(query.terms.name) < LEAST_NAME:
        return {}
    return find.begun_names(db, allowed, query.terms.name, _NAMES_BEGUN)


def _begun(
    db: sqlite3.Connection, query: Query, counts: Mapping[str, int], allowed: find.Eligible
) -> list[int]:
    """Return the ids of chunks with a word that begins like the query's last word, or like a word that no
    passage has."""
    nowhere = [word for word in query.terms.words if not counts.get(word, 1)]
    if not nowhere and not query.terms.completed:
        return []
    return by_beginnings(db, [query.terms.completed, *nowhere], allowed)


def _aside(
    db: sqlite3.Connection, query: Query, counts: Mapping[str, int], allowed: find.Eligible, limit: int
) -> list[int]:
    """Return the ids of the newest chunks with words of the query in furniture. Only words that no passage
    has are searched, or all words if the query has phrases."""
    units = [unit for unit in query.terms.forms if query.phrases or not counts[unit]]
    if not units:
        return []
    sql = f"""SELECT c.id FROM furniture_words f CROSS JOIN chunks c ON c.id = f.rowid
              JOIN documents d ON d.id = c.document_id
              WHERE furniture_words MATCH ? AND {allowed.sql} ORDER BY f.rowid DESC LIMIT ?"""
    rows = db.execute(sql, (find.match_any(units, ""), *allowed.values, limit))
    return [chunk_id for (chunk_id,) in rows]


def rarest(stores: Iterable[Store], words: Mapping[str, Sequence[str]], viewer: Viewer) -> tuple[str, ...]:
    """Return at most 24 of ``words``, those that the fewest passages have that ``viewer`` may see, in their
    order.

    ``words`` maps each word to its units. Words that no passage has are left out, unless no passage has any
    of them.
    """
    counts: Counter[str] = Counter()
    for store in stores:
        with suppress(StoreError), store.read() as db:
            counts.update(frequencies(db, list({*chain(*words.values())}), viewer)[1])
    holders_of: dict[str, int] = {}
    for word in sorted(words, key=len, reverse=True):
        holders_of[word] = min(counts[unit] for unit in words[word])
    held = [word for word, count in holders_of.items() if count] or list(holders_of)
    rare = {*sorted(held, key=lambda word: holders_of[word])[:_RAREST]}
    return tuple(word for word in words if word in rare)


def by_words(
    db: sqlite3.Connection, words: Sequence[str], allowed: find.Eligible, limit: int
) -> list[tuple[int, float]]:
    """Return the ``limit`` best chunks with any of ``words``: (chunk id, BM25; higher is better). ``words``
    are units of a query. They must be distinct, because FTS5 counts a repeated word twice."""
    if not words:
        return []
    counts = holders(db, words)
    total = sum(counts.values())
    if len(words) == 1 or total <= FEW:
        return _scored(db, words, words, allowed, limit)
    order = sorted(words, key=lambda word: counts[word])
    rare = 1
    while rare < len(order) and _matches(order[:rare], counts) < 2 * limit:
        rare += 1
    if _matches(order[:rare], counts) > total * _WORTH_WHILE:
        return _scored(db, words, words, allowed, limit)
    best = _scored(db, words, order[:rare], allowed, limit)
    last = best[-1][1] if len(best) == limit else 0.0
    newest = db.execute("SELECT max(id) FROM chunks").fetchone()[0]  # at least the number of chunks
    needed = rare
    while needed < len(order) and _most(order[needed:], counts, newest) >= last:
        needed += 1
    if needed == rare:
        return best
    worth_while = _matches(order[:needed], counts) <= total * _WORTH_WHILE
    return _scored(db, words, order[:needed] if worth_while else words, allowed, limit)


def _scored(
    db: sqlite3.Connection, words: Sequence[str], needed: Sequence[str], allowed: find.Eligible, limit: int
) -> list[tuple[int, float]]:
    """Return the best ``limit`` chunks with any of the words ``needed``, scored by all ``words``."""
    condition, joins = "1", ""
    if not find.takes_all(db, allowed):
        condition = allowed.sql
        joins = "JOIN chunks c ON c.id = words.rowid JOIN documents d ON d.id = c.document_id"
    matching = f"""SELECT words.rowid, -words.rank FROM words {joins}
                   WHERE words MATCH ? AND words.rank MATCH 'bm25({_WEIGHTS})' AND {condition}"""
    others = [word for word in words if word not in needed]
    values: tuple[Any, ...] = (find.match_any(needed), *allowed.values, limit)
    if not others:
        best = f"{matching} ORDER BY words.rank LIMIT ?"
        values = (find.match_any(words), *allowed.values, limit)
    else:  # first chunks that also have another word: FTS5 skips chunks with only other words
        best = f"""WITH more (id, score) AS MATERIALIZED ({matching})
                   SELECT * FROM more
                   UNION ALL {matching} AND +words.rowid NOT IN (SELECT id FROM more)
                   ORDER BY score DESC, id LIMIT ?"""
        both = f"({find.match_any(needed)}) AND ({find.match_any(others)})"
        values = (both, *allowed.values, *values)
    sql = f"WITH best (id, score) AS ({best}) SELECT id, {EXACT.format('score')} FROM best"
    return [(row[0], float(row[1])) for row in rows_at_once(db, ["id", "score"], sql, values)]


def _matches(words: Sequence[str], counts: Mapping[str, int]) -> int:
    return sum([counts[word] for word in words])


def _most(words: Sequence[str], counts: Mapping[str, int], chunks: int) -> float:
    """Return an upper estimate of the score of a passage that has each of these words once."""
    weights = (math.log((chunks - counts[word] + 0.5) / (counts[word] + 0.5)) for word in words)
    return sum(_OF_A_WORD * max(weight, 1e-6) for weight in weights)


_NOTHING = hashlib.sha256().digest()  # the hash of a passage without text to embed
_OF_TEXTS = "id title terms text path furniture identity is_data is_silent document date file_type".split()


class SearchText(NamedTuple):
    """The text of a passage that ranking compares with a query."""

    text: str  #: All its searchable words, folded, without folders and suffix.
    title: str  #: Its title, folded.
    identity: str  #: Its text; its key if it has no text.
    is_data: bool  #: Whether it is machine data.
    is_silent: bool  #: Whether nothing in it is embedded, for example because it is all furniture.
    document: int  #: The id of its document.
    date: str  #: The date of its document; ISO 8601.
    file_type: str


def search_texts(
    db: sqlite3.Connection, ids: Iterable[int], whole: Set[int] = frozenset()
) -> dict[int, SearchText]:
    """Return the texts by which the chunks ``ids`` are ranked, by id. Deleted chunks are left out. Chunks in
    ``whole`` include their furniture. The caller must have checked the ids for the viewer."""
    sql = """SELECT id, title, headings || ' ' || tags || ' ' || title_terms || ' ' || terms,
                 coalesce(kept_text, text), path, furniture, coalesce(nullif(text, ''), key),
                 anchor_type = ?, embed_hash = ?, document_id,
                 (SELECT date FROM documents WHERE id = document_id),
                 (SELECT file_type FROM documents WHERE id = document_id)
             FROM chunks WHERE id IN (SELECT value FROM json_each(?))"""
    texts: dict[int, SearchText] = {}
    for row in rows_at_once(db, _OF_TEXTS, sql, (DATA, _NOTHING, json.dumps(list(ids)))):
        chunk_id, title, terms, text, path, furniture, *others = row
        name = basename(path).rpartition(".")
        words = f"{title} {terms} {text} {name[0] or name[2]}"
        words = fold(f"{words} {furniture}" if chunk_id in whole else words)
        texts[chunk_id] = SearchText(words, fold(title), *others)
    return texts


def by_beginnings(db: sqlite3.Connection, words: Iterable[str], allowed: find.Eligible) -> list[int]:
    """Return the ids of a few chunks for each of ``words``, which no passage has. These chunks have a word
    that begins with the given word or is another form of it.

    The index has stems (*univers*). So shorter beginnings of *universi* are searched, too, and the words
    found are compared with it.
    """
    sql = f"""SELECT c.id FROM words JOIN chunks c ON c.id = words.rowid
              JOIN documents d ON d.id = c.document_id WHERE words MATCH ? AND {allowed.sql} LIMIT {BEGUN}"""
    ids_found: list[int] = []
    asked = [
        w for w in words if len(w) >= _LEAST_BEGINNING and not w.isdecimal() and SPACED_WORD.fullmatch(w)
    ]
    for word in asked[:_MOST_BEGINNINGS]:
        before = len(ids_found)
        for length in range(len(word), max(len(word) - _MOST_LESS, _LEAST_BEGINNING) - 1, -1):
            match = f"- path : ({find.match_any([word[:length]])} *)"
            ids = [chunk_id for (chunk_id,) in db.execute(sql, (match, *allowed.values))]
            for chunk_id, passage in search_texts(db, ids).items():
                if _has_form(passage.text, word):
                    ids_found.append(chunk_id)
            if len(ids_found) > before:
                break
    return ids_found


def _has_form(text: str, word: str) -> bool:
    """Whether a (folded) text has a word that begins with ``word`` or has its stem."""
    root = stem(word)
    return any(each.startswith(word) or stem(each) == root for each in SPACED_WORD.findall(text))


def chunk_count(db: sqlite3.Connection) -> int:
    """Return the number of passages in a store."""
    return int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])


def _hidden_count(db: sqlite3.Connection) -> int:
    return int(db.execute(f"SELECT count(*) FROM ({find.HIDDEN})").fetchone()[0])


def _counts(_: sqlite3.Connection) -> dict[tuple[str, str], int]:
    """Return a new cache for `holders`: (condition, word) → number of passages that meet the condition and
    have the word."""
    return {}


def holders(db: sqlite3.Connection, words: Sequence[str], condition: str = "1") -> dict[str, int]:
    """Return the number of passages that contain each of ``words`` and satisfy ``condition``, which is SQL on
    ``words.rowid``.

    Counting is slow, as SQLite reads every passage with the word. The counts are cached until the next write
    to the store.
    """
    cached = kept(db, _counts)
    if len(cached) > _MOST_COUNTS:
        cached.clear()
    sql = f"""SELECT value, (SELECT count(*) FROM words WHERE words MATCH wanted.value AND {condition})
              FROM json_each(?) wanted"""
    matches: dict[str, str] = {}
    new: list[str] = []
    for word in words:
        matches[word] = find.match_any([word])
        if (condition, matches[word]) not in cached:
            new.append(matches[word])
    if new:
        for match, number in rows_at_once(db, ["match", "holders"], sql, (json.dumps(new),)):
            cached[condition, match] = number
    counts: dict[str, int] = {}
    for word, match in matches.items():
        counts[word] = cached[condition, match]
    return counts


def frequencies(db: sqlite3.Connection, units: Sequence[str], viewer: Viewer) -> tuple[int, dict[str, int]]:
    """Return the number of chunks that ``viewer`` may see, then the number of these that have each unit (a
    word or a pair). For guests private notes are not counted, because scores would reveal their words."""
    total, every = kept(db, chunk_count), holders(db, units)
    if find.sees_all(db, viewer):
        return total, every
    hidden = holders(db, units, f"+words.rowid IN ({find.HIDDEN})")
    return total - kept(db, _hidden_count), {unit: held - hidden[unit] for unit, held in every.items()}
