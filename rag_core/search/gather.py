"""The second stage of a search: the passages of one store that may fit, by words, by meaning and by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from rag_core.errors import RagError
from rag_core.extract.filetypes import CODE_TYPES
from rag_core.search.late import Nearness
from rag_core.search.understand import Interpreted
from rag_core.search.weigh import Candidate
from rag_core.store import Store, embeddings, find, lexical
from rag_core.store.calibration import Calibration
from rag_core.store.questions import HIGHEST, QuestionScale
from rag_core.types import Filters, Mode, Vectors
from rag_core.vectors import VectorIndex

_SPARE = 20  # additional matches to request, as an index may round or still have passages that are gone
_FEW = 2000  # up to this number of chunks, every chunk is compared
_LEAST_EMBEDDED = 0.25  # share of texts with vectors; below it, only words are compared


@dataclass(frozen=True, slots=True)
class Scope:
    """One store to search, with the query's vector from its embedder."""

    store: Store
    index: VectorIndex
    vector: Vectors | None = None  #: The query's vector; None if only words can be searched.
    identity_id: int = 0  #: The id of the embedder in the table ``identities``; 0 without one.
    #: Converts similarities to the built-in model's scale; None if they are used as measured.
    scale: Calibration | QuestionScale | None = None
    highest: float = HIGHEST  #: The similarity that passages rarely exceed if nothing answers the query.
    real: frozenset[str] = frozenset()  #: The words of the query that are in the embedder's vocabulary.
    nearness: Nearness | None = None  #: Compares tokens; None if the embedder cannot.
    #: The error because of which there is no vector; None if there is no error.
    trouble: RagError | None = None


def mode_of(db: sqlite3.Connection, scope: Scope, asked: Interpreted, wanted: Mode, pending: int) -> Mode:
    """Return the mode in which a store is searched: ``wanted``, or ``lexical`` if there is no vector or no
    text to compare. *Hybrid* also becomes ``lexical`` while ``pending`` texts, at least three quarters of
    all, are not embedded."""
    if scope.vector is None or not asked.query.text:
        return "lexical"
    if wanted == "hybrid" and pending:  # a few vectors would displace better passages by words
        passages, _ = lexical.frequencies(db, [], asked.allowed.viewer)
        return wanted if pending < (1 - _LEAST_EMBEDDED) * passages else "lexical"
    return wanted


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one store, all read in one snapshot of it."""

    candidates: Sequence[Candidate]
    information: Mapping[str, float]  #: The IDF of each unit of the query, see `weigh`.
    texts: Mapping[int, lexical.SearchText]  #: The text of each candidate that is weighed, by chunk id.


def candidates(
    db: sqlite3.Connection, scope: Scope, words: lexical.Gathered, near: Mapping[int, float], mode: Mode
) -> Pool:
    """Read the passages that were found by ``words``, and those that are ``near`` in meaning (chunk id →
    similarity)."""
    ids = list(dict.fromkeys((*words.ids, *near)))
    texts = lexical.search_texts(db, ids, {*words.aside})
    if mode == "hybrid":
        near = {**near, **similarities(db, scope, [number for number in ids if number not in near])}
    if isinstance(scope.scale, QuestionScale):
        near = scope.scale.applied(near, *embeddings.vectors_of(db, scope.identity_id, list(near)))
    elif scope.scale:
        near = scope.scale.applied(near)
    named, by_words = {*words.named}, {*words.by_words, *words.documents.passages}
    passages: list[Candidate] = []
    for number in ids:
        if number in texts:
            text = texts[number]
            passages.append(
                Candidate(
                    chunk_id=number,
                    text=text.text,
                    title=text.title,
                    is_named=number in named,
                    begun=words.begun_names.get(number, 0.0),
                    by_words=number in by_words,
                    similarity=near.get(number),
                    is_data=text.is_data,
                    is_silent=bool(text.is_silent),
                    is_code=text.file_type in CODE_TYPES,
                    date=text.date,
                    of_document=words.documents.units.get(number, frozenset()),
                    length=words.documents.lengths.get(text.document, 1),
                )
            )
    return Pool(passages, words.information, texts)


def nearest(scope: Scope, filters: Filters, allowed: find.Eligible, count: int) -> dict[int, float]:
    """Return the ``count`` nearest eligible chunks: chunk id → similarity.

    The index ignores viewers and some filters, so it is asked for more until enough of its matches are
    eligible. A large or remote index rounds its numbers, so the similarity is then computed from the store's
    vectors.
    """
    if scope.vector is None:
        return {}
    if allowed.narrows:
        with scope.store.read() as db:
            few = find.few(db, allowed, _FEW)
            if few is not None:  # a strict filter: no need to look through the whole index
                return _first(similarities(db, scope, few), count)
    asked_for = count + _SPARE
    while True:
        matches = scope.index.search(scope.vector, asked_for, filters)
        similarity = dict(matches)
        with scope.store.read() as db:
            ids = find.chunk_ids(db, list(similarity), allowed)
            if len(ids) >= count or len(matches) < asked_for:
                near: dict[int, float] = {}
                for key, number in ids.items():
                    near[number] = similarity[key]
                return _first(near if scope.index.is_exact else similarities(db, scope, list(near)), count)
        asked_for = (asked_for - _SPARE) * 4 + _SPARE


def _first(near: Mapping[int, float], count: int) -> dict[int, float]:
    """Return the ``count`` most similar chunks: chunk id → similarity."""
    return dict(nlargest(count, near.items(), key=lambda item: item[1]))


def similarities(db: sqlite3.Connection, scope: Scope, ids: list[int]) -> dict[int, float]:
    """Compute the query's similarity to each of these chunks that has a vector: chunk id → similarity."""
    if scope.vector is None or not ids:
        return {}
    embedded, vectors = embeddings.vectors_of(db, scope.identity_id, ids)
    return dict(zip(embedded, (vectors @ scope.vector).tolist(), strict=True)) if embedded else {}
