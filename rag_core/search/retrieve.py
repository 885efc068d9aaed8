"""The read path: query → retrieve → rank → snippet. Each store is searched on its own, and the lists merge by
score. A store that fails becomes a notice, not a failed search."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import chain, filterfalse, islice
from math import floor
from operator import attrgetter, itemgetter
from typing import Protocol, TypeVar

from rag_core.errors import RagError, VectorError
from rag_core.hits import score_counts
from rag_core.models.rerank import SharedReranker
from rag_core.search import notices
from rag_core.search.fold import Folding, Place
from rag_core.search.rerank import TOP, reranked
from rag_core.search.snippet import best_window, highlight, unshown
from rag_core.search.sorting import in_order
from rag_core.search.weigh import ITS_NAME, RELEVANT, TELLS_OF_WORDS, Candidate, Weighed, weigh
from rag_core.store import Store, embeddings, facets, find, lexical, view
from rag_core.store.calibration import Calibration
from rag_core.store.connection import kept
from rag_core.store.errors import for_viewer
from rag_core.store.file import active_identity
from rag_core.text import furniture
from rag_core.text.numbers import numbers
from rag_core.text.words import extra_terms, fold, occurrences
from rag_core.types import (
    MAX_DEPTH,
    Answer,
    Document,
    Facets,
    Filters,
    Forms,
    Group,
    Hit,
    Mode,
    Notice,
    Query,
    Sort,
    Vectors,
    Viewer,
)
from rag_core.vectors import VectorIndex

CANDIDATES = 100  # by words, and as many by meaning

_REACHES = (400, 1600, 6400)  # how far to look where those are not enough
_DISTINCT = 20  # different passages that a reach must give: copies may crowd out the rest
_LEAST_EMBEDDED = 0.25  # of the texts, else only words are compared
_SPARE = 20  # more that an index is asked for: it may round, or still know what is gone here
_FEW = 2000  # so many chunks are compared one by one

_UNEXPLAINED = frozenset({"corrected", "words_only"})  # notices that do not say why nothing fits


class _HasStore(Protocol):
    @property
    def store(self) -> Store: ...


_Opened = TypeVar("_Opened", bound=_HasStore)
_beside = ThreadPoolExecutor(thread_name_prefix="words")  # looks for words while the query is embedded
_OF_CHUNK = "key chunk_index start_line end_line anchor_type anchor_ref split_part".split()


@dataclass(frozen=True, slots=True)
class Scope:
    """One store to search, with what its embedder makes of the query."""

    store: Store
    index: VectorIndex
    vector: Vectors | None = None  #: The query's; None if only words can be searched.
    identity_id: int = 0  #: The row of the embedder in ``identities``.
    calibration: Calibration | None = None
    real: frozenset[str] = frozenset()  #: The words of the query that the embedder's vocabulary has.
    trouble: RagError | None = None  #: Why there is no vector, if that is an error.


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search, whatever the query is."""

    mode: Mode = "hybrid"
    top_k: int = 10
    min_score: float | None = None
    offset: int = 0  #: Hits to leave out at the beginning.
    k_lex: int = CANDIDATES  #: Candidates by words.
    k_vec: int = CANDIDATES  #: Candidates by meaning.
    group: Group = "none"  #: What all other numbers count: passages or documents.
    facets: bool = False  #: Whether to count all that matches by type, tag and folder.
    reranker: SharedReranker | None = None  #: Orders the first hits again.
    recency: float = 0.0  #: How much newer documents come first, 0 to 1.
    sort: Sort = "best"  #: The order of what fits.


@dataclass(slots=True)
class _StoreHits:
    """The beginning of a store's list."""

    hits: list[Hit] = field(default_factory=list)
    known: int = 0  #: The least length of the list.
    scores: list[float] = field(default_factory=list)  #: Of all results that were weighed.
    below: list[float] = field(default_factory=list)  #: Those under ``min_score``.
    fitting: int = 0  #: The number of results that fit.
    fits_more: bool = True  #: Whether further ones may; no score behind one that does not fit is higher.
    pending: int = 0  #: Texts that wait for the embedder.
    is_current: bool = True  #: Whether the vectors are still the store's.
    folding: Folding | None = None  #: The documents so far, where results are documents.
    fitting_places: list[Place] = field(default_factory=list)  #: The results that ``fitting`` counts.
    document_of: dict[int, int] = field(default_factory=dict)  #: Chunk id → document id, of all candidates.
    facets: Facets | None = None
    properties: Facets = field(default_factory=dict)


def search(
    stores: Mapping[str, _Opened], scope_of: Callable[[_Opened], Scope], query: Query,
    allowed: find.Eligible, unmatched: find.Unmatched, options: SearchOptions, viewer: Viewer,
) -> Answer:  # fmt: skip
    """The best passages for ``query`` of what is ``allowed`` in these stores, best first; ``scope_of`` makes
    one ready to search, and a notice tells of its ``unmatched`` filters. Raises the first error if no store
    could be searched."""
    by_words: dict[str, RagError] = {}
    failed: dict[str, RagError] = {}
    searched: list[Store] = []
    lists: list[_StoreHits] = []
    hits: list[Hit] = []
    for name, opened in stores.items():
        try:
            scope, listed = _search_scope(opened, scope_of, query, allowed, options, viewer)
        except RagError as error:
            failed[name] = for_viewer(error, viewer, name)
            continue
        if scope.trouble:
            by_words[name] = scope.trouble
        searched.append(scope.store)
        lists.append(listed)
        hits += listed.hits
    if failed and not lists:
        raise next(iter(failed.values()))
    hits, unordered, reordered = _in_order(hits, searched, query, options, viewer)
    convincing = any(hit.relevant for hit in hits)
    end = options.offset + options.top_k
    shown: list[Hit] = []
    for place, hit in enumerate(hits[options.offset : end], options.offset + 1):
        shown.append(_with_highlights(replace(hit, rank=place), query))
    known = sum(map(attrgetter("known"), lists))
    goes_on = end < min(len(hits), MAX_DEPTH)
    more_fits = goes_on and any(hit.relevant for hit in hits[end:])
    said = [*unordered, *(notices.words_only(by_words) if by_words else ())]
    said += map(Notice.of, map(RagError.as_message, failed.values()), failed)
    if allowed.narrows or query.corrected:
        said += notices.hints(searched, query, unmatched, viewer)
    below = [*chain.from_iterable(map(attrgetter("below"), lists))]
    if below and not hits:
        best = floor(max(below) * 10_000) / 10_000  # never rounded up to the minimum
        said.append(Notice("min_score", {"best": best, "least": float(options.min_score or 0)}))
    if allowed.narrows and not convincing and _UNEXPLAINED.issuperset(map(attrgetter("code"), said)):
        said += _beyond_filters(stores, scope_of, query, options, viewer)
    return Answer(
        query=query, stores=tuple(stores), mode=options.mode, hits=tuple(shown), convincing=convincing,
        notices=tuple(said), pending=sum(map(attrgetter("pending"), lists)), offset=options.offset,
        has_more=more_fits, unshown=min(known, MAX_DEPTH) - end if goes_on and not more_fits else 0,
        fitting=sum(map(attrgetter("fitting"), lists)), fits_more=any(map(attrgetter("fits_more"), lists)),
        by_words=tuple(by_words), group=options.group, sort=options.sort,
        reordered=reordered,
        score_counts=score_counts([score for listed in lists for score in listed.scores]),
        facets=facets.joined(each.facets or {} for each in lists) if options.facets else None,
        properties=facets.joined_properties(each.properties for each in lists) if options.facets else None,
    )  # fmt: skip


def _in_order(
    hits: list[Hit], searched: Sequence[Store], query: Query, options: SearchOptions, viewer: Viewer
) -> tuple[list[Hit], list[Notice], bool]:
    """The hits of all stores in the order that is asked for, a notice where a reranker gave none, and whether
    it gave one."""
    hits = sorted(hits, key=attrgetter("score"), reverse=True)  # of equal ones the first store's stay first
    if options.sort != "best":
        return in_order(hits, options.sort), [], False
    if options.reranker is None:
        return hits, [], False
    may_leave = [store.name for store in searched if store.sends_private]
    return reranked(hits, query, options.reranker, may_leave, viewer, again=options.offset > 0)


def _beyond_filters(
    stores: Mapping[str, _Opened], scope_of: Callable[[_Opened], Scope], query: Query,
    options: SearchOptions, viewer: Viewer,
) -> list[Notice]:  # fmt: skip
    """That something would fit without the filters of ``query``, if it has any."""
    wide = replace(query, filters=Filters(), beside=Filters(), excluded=Filters())
    if wide == query or not query.text:
        return []
    options = replace(options, offset=0, facets=False, reranker=None)
    beyond = search(stores, scope_of, wide, find.eligible(wide, viewer), find.Unmatched(), options, viewer)
    return [Notice("too_narrow", {"count": beyond.fitting})] if beyond.convincing else []


def _search_scope(
    opened: _Opened, scope_of: Callable[[_Opened], Scope], query: Query, allowed: find.Eligible,
    options: SearchOptions, viewer: Viewer,
) -> tuple[Scope, _StoreHits]:  # fmt: skip
    """A store and its hits: by words alone if its vector index fails, searched again if its embedder was
    switched meanwhile."""
    for _ in range(2):
        words = options.mode != "vector"
        gathered = _beside.submit(
            lexical.gather, opened.store, query, allowed, options.k_lex, words=words, sort=options.sort
        )
        scope = scope_of(opened)
        try:
            listed = _search_store(scope, query, allowed, options, viewer, gathered)
        except VectorError as error:
            said = error if viewer.is_owner else VectorError("The vector index is not available just now.")
            scope = replace(scope, vector=None, trouble=said)
            listed = _search_store(scope, query, allowed, options, viewer, gathered)
        if listed.is_current:
            break
    return scope, listed


def _search_store(
    scope: Scope, query: Query, allowed: find.Eligible, options: SearchOptions, viewer: Viewer,
    first: Future[lexical.Gathered],
) -> _StoreHits:  # fmt: skip
    """The beginning of the store's list, as far as it is wanted: pages of one query are parts of one list.

    It begins with the best of ``k_lex`` candidates by words and ``k_vec`` by meaning. Candidates from further
    down follow where these are not enough; no score is higher than the one before.
    """
    mode = options.mode if scope.vector is not None and query.text else "lexical"
    with scope.store.read() as db:
        waiting = find.waiting(db, viewer)
        if mode == "hybrid" and waiting:  # a few vectors would displace better passages by words
            chunks, _ = lexical.frequencies(db, [], viewer)
            mode = mode if waiting < (1 - _LEAST_EMBEDDED) * chunks else "lexical"
    wanted = options.offset + options.top_k + 1  # one more hit tells whether the list goes on
    wanted = min(max(wanted, TOP) if options.reranker else wanted, MAX_DEPTH)
    sorts_fitting = options.sort != "best" and bool(query.text)  # then all that fits is put in order
    depth = MAX_DEPTH if sorts_fitting else wanted
    listed = _StoreHits(pending=waiting, folding=Folding() if options.group == "document" else None)
    seen: set[str] = set()
    for further in (0, *_REACHES):
        by_words, by_meaning = max(options.k_lex, further), max(options.k_vec, further)
        reach = {"lexical": by_words, "vector": by_meaning, "hybrid": min(by_words, by_meaning)}[mode]
        near = nearest(scope, query, allowed, by_meaning) if mode != "lexical" else {}
        if not further and (mode == "vector") == (options.mode == "vector"):
            gathered = first.result()
        else:
            gathered = lexical.gather(
                scope.store, query, allowed, by_words, words=mode != "vector", sort=options.sort
            )
        with scope.store.read() as db:
            active = kept(db, active_identity)
            listed.is_current = not scope.identity_id or bool(active and active.id == scope.identity_id)
            texts = find.candidates(db, {*gathered.ids, *near}, {*gathered.aside})
            groups, count = _ranked(db, scope, query, mode, gathered, texts, near, options.recency)
            is_all = count < reach
            if len(groups) < _DISTINCT and not is_all and further != _REACHES[-1]:
                continue
            last = listed.hits[-1].score if listed.hits else 1.0
            unseen = filterfalse(seen.__contains__, groups)
            some = {text: groups[text] for text in islice(unseen, reach - len(seen))}
            seen |= some.keys()
            listed.document_of |= {i: each.document for i, each in texts.items()}
            known = listed.known
            placed = _places(listed, some, options, depth - len(listed.hits), last)
            lowest = max(RELEVANT, options.min_score or 0)
            fit = [group for group in some.values() if group[0].score >= lowest]
            listed.fits_more &= not is_all and len(fit) == len(some)
            listed.hits += _hits(db, scope.store.name, placed, last, viewer)
        least = depth if listed.fits_more else wanted
        if is_all or len(listed.hits) >= least or listed.below:
            break
        if listed.folding and not (listed.fits_more and listed.known > known):
            break  # long documents: thousands of passages would be ranked for a few more near misses
    if options.facets:
        _count(scope.store, query, allowed, listed)
    return listed


def _count(store: Store, query: Query, allowed: find.Eligible, listed: _StoreHits) -> None:
    """Count the results that fit by type, tag, folder, year and property, as ``listed.fitting`` counts them.
    Of a query without words, everything that matches fits, however long the list is."""
    result_of = _result_of(listed)
    with store.read() as db:
        if not listed.fits_more:
            listed.facets = facets.count(db, store.name, result_of)
            listed.properties = facets.count_properties(db, result_of)
            return
        ids = facets.matching(db, query, allowed)
        matching = dict(zip(ids, ids, strict=True))
        counts, properties = facets.count(db, store.name, matching), facets.count_properties(db, matching)
        if query.text:
            fitting = facets.count(db, store.name, result_of)
            counts = facets.at_least(fitting, counts)
            properties = facets.at_least(facets.count_properties(db, result_of), properties)
        listed.facets, listed.properties = counts, properties


def _result_of(listed: _StoreHits) -> dict[int, int]:
    """The number of the result at which each document that fits stands; copies stand at that of another."""
    results: dict[int, int] = {}
    for place in listed.fitting_places:
        for passage in place.passages:
            document = listed.document_of[passage.candidate.chunk_id]
            owner = listed.document_of[place.passages[0].candidate.chunk_id] if listed.folding else document
            results.setdefault(document, owner)
    if listed.folding:  # those that were copies first, and have a place of their own further down
        owners = [listed.document_of[place.passages[0].candidate.chunk_id] for place in listed.fitting_places]
        results |= dict(zip(owners, owners, strict=True))
    return results


def _places(
    listed: _StoreHits,
    groups: Mapping[str, Sequence[Weighed]],
    options: SearchOptions,
    room: int,
    most: float,
) -> list[Place]:
    """The first results of groups of equal passages, as many as there is ``room``; all are counted, with
    scores of at most ``most``."""
    places: list[Place] = []
    before, document_of = len(listed.scores), listed.document_of
    if listed.folding:
        listed.folding.look_at(groups, document_of)
    for text, group in groups.items():
        place: Place | None = Place(list(group))
        if listed.folding:
            nearly = len(listed.scores) - before < room
            place = listed.folding.add(text, group, document_of, nearly=nearly)
        if place is None:
            continue
        score = min(group[0].score, most)
        listed.scores.append(score)
        if score < (options.min_score or 0):
            listed.below.append(score)
            continue
        listed.known += 1
        if score >= RELEVANT and listed.fits_more:
            listed.fitting += 1
            listed.fitting_places.append(place)
        places.append(place)
    return places[:room]


def nearest(scope: Scope, query: Query, allowed: find.Eligible, count: int) -> dict[int, float]:
    """Chunk id → similarity of the ``count`` nearest eligible chunks.

    The index ignores viewers and some filters, so it is asked for more until enough of its matches are
    eligible. A large or remote one rounds its numbers, so there the similarity is computed from the store's
    vectors.
    """
    if scope.vector is None:
        return {}
    if allowed.narrows:
        with scope.store.read() as db:
            few = find.few(db, allowed, _FEW)
            if few is not None:  # a strict filter: no need to look through the whole index
                near = _similarities(db, scope, few)
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
    k = count
    while True:
        found = scope.index.search(scope.vector, k + _SPARE, query.filters)
        matches = dict(found)
        with scope.store.read() as db:
            ids = find.chunk_ids(db, list(matches), allowed)
            if len(ids) >= count or len(found) < k + _SPARE:
                near = dict(zip(ids.values(), map(matches.__getitem__, ids), strict=True))
                near = near if scope.index.is_exact else _similarities(db, scope, list(near))
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
        k *= 4


def _ranked(
    db: sqlite3.Connection, scope: Scope, query: Query, mode: Mode, gathered: lexical.Gathered,
    texts: Mapping[int, find.Candidate], near: dict[int, float], recency: float,
) -> tuple[dict[str, list[Weighed]], int]:  # fmt: skip
    """What was gathered and what is ``near`` in meaning, in order, and how many there are. The same passage
    in several files is one group, in the place of its best."""
    named = gathered.named
    if not query.text:
        reason = "holds it exactly" if query.phrases else "matches the filters"
        ranked = [Weighed(Candidate(i, ""), 1.0, (reason,)) for i in filter(texts.__contains__, named)]
    else:
        by_words, begun = set(gathered.by_words), gathered.begun_names
        ids = list(dict.fromkeys((*gathered.ids, *near)))
        if mode == "hybrid":
            near = near | _similarities(db, scope, list(filterfalse(near.__contains__, ids)))
        near = scope.calibration.applied(near) if scope.calibration else near
        found: list[Candidate] = []
        for i in filter(texts.__contains__, ids):
            each = texts[i]
            found.append(Candidate(
                i, each.text, each.title, i in named, begun.get(i, 0.0), i in by_words, near.get(i),
                each.is_data, each.date,
            ))  # fmt: skip
        ranked = weigh(found, query, gathered.information, mode, recency, scope.real)
    groups: dict[str, list[Weighed]] = {}
    for item in ranked:
        groups.setdefault(texts[item.candidate.chunk_id].identity, []).append(item)
    return groups, len(ranked)


def _similarities(db: sqlite3.Connection, scope: Scope, ids: list[int]) -> dict[int, float]:
    if scope.vector is None or not ids:
        return {}
    found, vectors = embeddings.vectors_of(db, scope.identity_id, ids)
    return dict(zip(found, (vectors @ scope.vector).tolist(), strict=True)) if found else {}


def _hits(
    db: sqlite3.Connection, store: str, places: Sequence[Place], most: float, viewer: Viewer
) -> list[Hit]:
    """A hit for each place, with a score of at most ``most``; the same passage in other files is named as its
    copies."""
    shown = chain(*map(attrgetter("passages"), places))
    rows = find.chunks(db, map(attrgetter("candidate.chunk_id"), shown))
    found = find.documents(db, store, viewer, set(map(itemgetter("document_id"), rows.values())))
    documents = dict(zip(map(attrgetter("id"), found), found, strict=True))
    hits: list[Hit] = []
    for place in places:
        there: list[tuple[Weighed, Document]] = []
        for item in place.passages:  # the index was read earlier: an id may be another document's by now
            document_id = rows[item.candidate.chunk_id]["document_id"]
            if document_id in documents:
                there.append((item, documents[document_id]))
        if not there:
            continue
        best, document = there[0]
        row, score = rows[best.candidate.chunk_id], min(best.score, most)
        headings, line = find.headings(row, document.file_type)
        hits.append(Hit(
            rank=0, score=score, relevant=score >= RELEVANT, similarity=best.candidate.similarity,
            bm25=best.bm25 if viewer.is_owner else None, reasons=best.reasons, store=store,
            content=row["text"], spans=(), snippet=(0, 0), document=document,
            hidden=() if row["kept"] is None else tuple(furniture.hidden(row["text"], row["kept"])),
            heading_path=headings, headings=line,
            copies=tuple(map(attrgetter("path"), map(itemgetter(1), there[1:]))), more=place.more,
            aliases=() if row["text"].strip() else view.aliases(db, document.id),
            **dict(zip(_OF_CHUNK, itemgetter(*_OF_CHUNK)(row), strict=True)),
        ))  # fmt: skip
    return hits


def _with_highlights(hit: Hit, query: Query) -> Hit:
    """A hit with its spans, its snippet and where its words stand."""
    loose = query.loose
    if query.numbers:  # without the parts of numbers that the text has whole
        there = {whole for number in numbers(hit.content) for whole in number.wholes}
        typed = (number for number in query.numbers if not there.isdisjoint(number.wholes))
        parts = {part for number in typed for part in number.parts}
        loose = {unit: forms for unit, forms in loose.items() if unit not in parts}
    spans = highlight(hit.content, loose, query.phrases)
    hidden = unshown(hit.content, hit.document.file_type, spans, hit.hidden)
    snippet = best_window(hit.content, spans, hidden=hidden)
    reasons = hit.reasons
    if ITS_NAME not in reasons and not TELLS_OF_WORDS.isdisjoint(reasons):
        where = _where_words_stand(hit, query)
        reasons = tuple(f"{each}{where}" if each in TELLS_OF_WORDS else each for each in reasons)
    return replace(hit, spans=spans, hidden=hidden, snippet=snippet, reasons=reasons)


def _where_words_stand(hit: Hit, query: Query) -> str:
    """Where the words stand that a hit's text lacks: in its names, or in the tags and the front matter."""

    def lacking(text: str, wanted: Mapping[str, Forms]) -> Mapping[str, Forms]:
        held = occurrences(f"{fold(text)} {extra_terms(text)}", wanted, query.numbers)
        return {unit: forms for unit, forms in wanted.items() if unit not in held}

    names = " ".join((hit.document.title, hit.document.path, *hit.heading_path, *hit.aliases))
    elsewhere = lacking(hit.content, query.forms)
    hidden = lacking(names, elsewhere) if hit.document.file_type == "markdown" else {}
    if hidden:
        return f"{'' if hidden == query.forms else ', some'} in its tags or front matter"
    return " in its name or headings" if elsewhere and elsewhere == query.forms else ""
