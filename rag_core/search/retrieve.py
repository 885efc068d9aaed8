"""The stages of a search in their order: understand, gather, weigh, fold, show.

Each store has its own list, which gathers, weighs and folds passages until it is long enough. The lists are
merged by score. If a store fails, the answer has a notice about it, and the search goes on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import floor
from typing import TYPE_CHECKING, Protocol, TypeVar

from rag_core.errors import RagError, VectorError
from rag_core.search import gather, late, notices, show
from rag_core.search.fold import FoldedResult, Folding
from rag_core.search.gather import Scope
from rag_core.search.rerank import TOP, reranked
from rag_core.search.sorting import in_order
from rag_core.search.understand import Interpreted
from rag_core.search.weigh import RELEVANT, Weighed, all_alike, weigh
from rag_core.store import Store, facets, find, lexical
from rag_core.store.connection import kept
from rag_core.store.errors import for_viewer
from rag_core.store.file import active_identity
from rag_core.types import MAX_DEPTH, Answer, Facets, Filters, Group, Hit, Mode, Notice, Sort, score_counts

if TYPE_CHECKING:
    from rag_core.models.rerank import SharedReranker

CANDIDATES = 100  # by words; the same number by meaning

_REACHES = (400, 1600, 6400)  # further numbers of candidates, if these are not enough
_DISTINCT = 20  # different passages that each step must find, as copies may crowd out the rest

_UNEXPLAINED = frozenset({"corrected", "words_only"})  # notices that do not say why nothing fits


class _HasStore(Protocol):
    @property
    def store(self) -> Store: ...


_Opened = TypeVar("_Opened", bound=_HasStore)
_beside = ThreadPoolExecutor(thread_name_prefix="words")  # searches words while the query is embedded


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search. These options do not depend on the query."""

    mode: Mode = "hybrid"
    top_k: int = 10
    min_score: float | None = None
    offset: int = 0  #: Number of first hits to leave out.
    k_lex: int = CANDIDATES  #: Number of candidates by words.
    k_vec: int = CANDIDATES  #: Number of candidates by meaning.
    group: Group = "none"  #: What all other numbers count: passages or documents.
    facets: bool = False  #: Whether to count all matches by type, tag and folder.
    reranker: SharedReranker | None = None  #: Orders the first hits again.
    recency: float = 0.0  #: How much newer documents are preferred, 0 to 1.
    sort: Sort = "best"  #: The order of hits that fit.
    max_tokens: int | None = None  #: Maximum tokens of all hits together; only the first hits are kept.


@dataclass(slots=True)
class Tally:
    """The counts of a list of results."""

    known: int = 0  #: Number of results so far that are listed; more may follow.
    scores: list[float] = field(default_factory=list)  #: The scores of all results that were weighed.
    below: list[float] = field(default_factory=list)  #: The scores under ``min_score``.
    fitting: list[FoldedResult] = field(default_factory=list)  #: The results that fit.
    #: Whether further results may fit. Scores never rise, so nothing fits after a result that does not.
    fits_more: bool = True
    pending: int = 0  #: Texts that are not embedded yet.
    by_words: list[str] = field(default_factory=list)  #: Stores that were searched by words only.

    def add(self, place: FoldedResult, score: float, min_score: float) -> bool:
        """Count a result with its score. Return whether the score is at least ``min_score``, so that the
        result is listed."""
        self.scores.append(score)
        if score < min_score:
            self.below.append(score)
            return False
        self.known += 1
        if score >= RELEVANT and self.fits_more:
            self.fitting.append(place)
        return True

    @classmethod
    def of(cls, lists: Sequence[StoreList]) -> Tally:
        """Return the sums over several lists."""
        total = cls(fits_more=False)
        for each in lists:
            tally = each.tally
            total.pending += tally.pending
            total.known += tally.known
            total.scores += tally.scores
            total.below += tally.below
            total.fitting += tally.fitting
            total.by_words += tally.by_words
            if tally.fits_more:
                total.fits_more = True
        return total


class StoreList:
    """The first results of one store, enough for the requested page. Every page is a part of this list.

    The list begins with the best of ``k_lex`` candidates by words and ``k_vec`` by meaning. If these are not
    enough, more candidates are added at the end, with scores no higher than the last one.
    """

    def __init__(self, scope: Scope, asked: Interpreted, options: SearchOptions) -> None:
        self._asked, self._options, self.scope = asked, options, scope
        with scope.store.read() as db:
            pending = find.waiting_texts(db, asked.allowed.viewer)
            self._mode = gather.mode_of(db, scope, asked, options.mode, pending)
        wanted = options.offset + options.top_k + 1  # one more hit tells whether the list goes on
        least = TOP if options.reranker else late.LOOKED_AT if self._nearness else 0
        self._wanted = min(max(wanted, least), MAX_DEPTH)
        self._depth = self._wanted
        if options.sort != "best" and asked.query.text:  # then all that fits is put in order
            self._depth = MAX_DEPTH
        self._folding = Folding() if options.group == "document" else None  # the documents so far
        self._seen: set[str] = set()  # the passages so far, by their text
        self._document_of: dict[int, int] = {}  # chunk id → document id, of all candidates
        self.hits: list[Hit] = []
        self.tally = Tally(pending=pending, by_words=[scope.store.name] if scope.trouble else [])
        self.is_current = True  #: Whether the store still uses these vectors.
        self.facets: Facets = {}
        self.properties: Facets = {}

    def fill(self, by_words: Future[lexical.Gathered]) -> None:
        """Gather, weigh and fold candidates until the list is long enough. ``by_words`` returns the first
        candidates found by words."""
        first: Future[lexical.Gathered] | None = by_words
        for reach in (0, *_REACHES):
            if self._extend(reach, first):
                break
            first = None
        if nearness := self._nearness:
            self.hits = late.looked_at(self.hits, nearness)
        if self._options.facets:
            self._count()

    @property
    def _nearness(self) -> late.Nearness | None:
        """Return a function that compares the first hits with the query token by token; None if the model
        cannot."""
        is_plain = self._options.sort == "best" and not self._options.reranker
        return self.scope.nearness if is_plain and self._mode == "hybrid" else None

    def _extend(self, least: int, by_words: Future[lexical.Gathered] | None) -> bool:
        """Look for at least ``least`` candidates. Return whether the list is long enough now."""
        scope, asked = self.scope, self._asked
        reach_by_words, reach_by_meaning = max(self._options.k_lex, least), max(self._options.k_vec, least)
        near: dict[int, float] = {}
        if self._mode != "lexical":
            near = gather.nearest(scope, asked.query.filters, asked.allowed, reach_by_meaning)
        words = self._words(by_words, reach_by_words)
        reach = {
            "lexical": reach_by_words,
            "vector": reach_by_meaning,
            "hybrid": min(reach_by_words, reach_by_meaning),
        }[self._mode]
        with scope.store.read() as db:
            active = kept(db, active_identity)
            self.is_current = not scope.identity_id or (active is not None and active.id == scope.identity_id)
            pool = gather.candidates(db, scope, words, near, self._mode)
            groups, is_all = self._groups(pool), len(pool.candidates) < reach
            if len(groups) < _DISTINCT and not is_all and least != _REACHES[-1]:
                return False
            known = self.tally.known
            self._add(db, groups, pool, reach - len(self._seen), is_all=is_all)
        return is_all or self._is_long_enough(known)

    def _words(self, first: Future[lexical.Gathered] | None, reach: int) -> lexical.Gathered:
        """Return up to ``reach`` passages that match words of the query. ``first`` returns passages already
        found."""
        words, sort = self._mode != "vector", self._options.sort
        if first and words == (self._options.mode != "vector"):
            return first.result()
        return lexical.gather(
            self.scope.store, self._asked.query, self._asked.allowed, reach, words=words, sort=sort
        )

    def _groups(self, pool: gather.Pool) -> dict[str, list[Weighed]]:
        """Weigh the candidates and group equal passages of several files: text identity → passages. Groups
        and passages are sorted best first."""
        query = self._asked.query
        if query.text:
            weighed = weigh(
                pool.candidates,
                query,
                pool.information,
                self._mode,
                self._options.recency,
                self.scope.real,
                self.scope.highest,
            )
        else:
            weighed = all_alike(pool.candidates, query)
        groups: dict[str, list[Weighed]] = {}
        for passage in weighed:
            groups.setdefault(pool.texts[passage.candidate.chunk_id].identity, []).append(passage)
        return groups

    def _add(
        self,
        db: sqlite3.Connection,
        groups: Mapping[str, list[Weighed]],
        pool: gather.Pool,
        most: int,
        *,
        is_all: bool,
    ) -> None:
        """Add the first ``most`` groups that are not in the list yet. ``is_all`` means that no candidates
        follow."""
        last = self.hits[-1].score if self.hits else 1.0
        for number, text in pool.texts.items():
            self._document_of[number] = text.document
        unseen: dict[str, list[Weighed]] = {}
        lowest, all_fit = max(RELEVANT, self._options.min_score or 0), True
        for passage, group in groups.items():
            if passage not in self._seen and len(unseen) < most:
                unseen[passage] = group
                all_fit = all_fit and group[0].score >= lowest
        self._seen.update(unseen)
        places = self._places(unseen, last)
        if is_all or not all_fit:
            self.tally.fits_more = False
        self.hits += show.hits(db, self.scope.store.name, places, last, self._asked.allowed.viewer)

    def _places(self, groups: Mapping[str, list[Weighed]], most: float) -> list[FoldedResult]:
        """Turn groups of equal passages into results, and return the results that the list has room for. All
        results are counted, with a score of at most ``most``."""
        room, folding, before = self._depth - len(self.hits), self._folding, len(self.tally.scores)
        places: list[FoldedResult] = []
        if folding:
            folding.look_at(groups, self._document_of)
        for text, group in groups.items():
            place: FoldedResult | None = FoldedResult(list(group))
            if folding:
                nearly = len(self.tally.scores) - before < room
                place = folding.add(text, group, self._document_of, nearly=nearly)
            if place and self.tally.add(place, min(group[0].score, most), self._options.min_score or 0):
                places.append(place)
        return places[:room]

    def _is_long_enough(self, known: int) -> bool:
        """Whether the list is long enough; ``known`` is its number of results before the last extension."""
        tally = self.tally
        if len(self.hits) >= (self._depth if tally.fits_more else self._wanted) or tally.below:
            return True
        # Long documents: thousands of passages would be weighed for a few more near misses.
        return self._folding is not None and not (tally.fits_more and tally.known > known)

    def _count(self) -> None:
        """Count the fitting results by type, tag, folder, year and property. In a query without words, every
        match fits, even after the end of the list."""
        result_of = self._result_of()
        store = self.scope.store
        with store.read() as db:
            if not self.tally.fits_more:
                self.facets = facets.count_values(db, store.name, result_of)
                self.properties = facets.count_properties(db, result_of)
                return
            ids = facets.matching(db, self._asked.query, self._asked.allowed)
            matching = {number: number for number in ids}
            self.facets = facets.count_values(db, store.name, matching)
            self.properties = facets.count_properties(db, matching)
            if self._asked.query.text:
                self.facets = facets.at_least(facets.count_values(db, store.name, result_of), self.facets)
                fitting = facets.count_properties(db, result_of)
                self.properties = facets.at_least(fitting, self.properties)

    def _result_of(self) -> dict[int, int]:
        """Number the results that fit. Return the result number of each of their documents; copies share a
        number."""
        results: dict[int, int] = {}
        owners: dict[int, int] = {}
        for place in self.tally.fitting:
            documents = [self._document_of[passage.candidate.chunk_id] for passage in place.passages]
            owners[documents[0]] = documents[0]
            for document in documents:
                results.setdefault(document, documents[0] if self._folding else document)
        # With documents as results: those that were copies first, and have a place of their own further down.
        return results | owners if self._folding else results


def search(
    stores: Mapping[str, _Opened],
    scope_of: Callable[[_Opened], Scope],
    asked: Interpreted,
    options: SearchOptions,
) -> Answer:
    """Search one or several stores.

    Args:
        stores: The stores by name.
        scope_of: Prepares a store for searching, which may embed the query.
        asked: The query from `understand`.
        options: How to search.

    Raises:
        RagError: No store could be searched. The error is that of the first store.

    """
    lists, failed = _lists(stores, scope_of, asked, options)
    tally = Tally.of(lists)
    hits, remarks, reordered = _merged(lists, asked, options)
    convincing = any(hit.relevant for hit in hits)
    remarks += _notices(lists, failed, asked)
    if tally.below and not hits:
        remarks.append(_below(tally.below, options.min_score or 0.0))
    if not convincing and _UNEXPLAINED.issuperset([notice.code for notice in remarks]):
        remarks += _beyond_filters(stores, scope_of, asked, options)
    answer = replace(
        _without_hits(lists, tally, asked, options),
        stores=tuple(stores),
        convincing=convincing,
        notices=(*remarks, *asked.notices),
        reordered=reordered,
    )
    return _page(answer, hits, tally.known, options)


def _without_hits(
    lists: Sequence[StoreList], tally: Tally, asked: Interpreted, options: SearchOptions
) -> Answer:
    """Return an answer with the counts of all lists, and no hits yet."""
    answer = Answer(
        query=asked.query,
        stores=(),
        mode=options.mode,
        hits=(),
        convincing=False,
        notices=(),
        pending=tally.pending,
        offset=options.offset,
        fitting=len(tally.fitting),
        fits_more=tally.fits_more,
        by_words=tuple(tally.by_words),
        group=options.group,
        sort=options.sort,
        score_counts=score_counts(tally.scores),
    )
    if not options.facets:
        return answer
    counts, properties = [each.facets for each in lists], [each.properties for each in lists]
    return replace(
        answer, facets=facets.joined_facets(counts), properties=facets.joined_properties(properties)
    )


def _below(scores: Sequence[float], least: float) -> Notice:
    """A notice that all scores are below ``least``."""
    best = floor(max(scores) * 10_000) / 10_000  # never rounded up to the minimum
    return Notice("min_score", {"best": best, "least": float(least)})


def _page(answer: Answer, hits: Sequence[Hit], known: int, options: SearchOptions) -> Answer:
    """Return the answer with the hits of the wanted page, and whether more follow. ``known`` is the least
    number of results."""
    page: list[Hit] = []
    end = options.offset + options.top_k
    for rank, hit in enumerate(hits[options.offset : end], options.offset + 1):
        page.append(show.with_highlights(hit, rank, answer.query))
    answer = replace(answer, hits=tuple(page))
    following = hits[end:MAX_DEPTH]
    if not following:
        return answer
    if any(hit.relevant for hit in hits[end:]):
        return replace(answer, has_more=True)
    return replace(answer, unshown=min(known, MAX_DEPTH) - end)


def _lists(
    stores: Mapping[str, _Opened],
    scope_of: Callable[[_Opened], Scope],
    asked: Interpreted,
    options: SearchOptions,
) -> tuple[list[StoreList], dict[str, RagError]]:
    """Search each store. Return the lists, and by store name the errors of stores that could not be searched.
    Raises what `search` raises."""
    lists: list[StoreList] = []
    failed: dict[str, RagError] = {}
    for name, opened in stores.items():
        try:
            lists.append(_list(opened, scope_of, asked, options))
        except RagError as error:
            failed[name] = for_viewer(error, asked.allowed.viewer, name)
    if failed and not lists:
        raise next(iter(failed.values()))
    return lists, failed


def _list(
    opened: _Opened, scope_of: Callable[[_Opened], Scope], asked: Interpreted, options: SearchOptions
) -> StoreList:
    """Fill the list of one store. If its vector index fails, words alone are searched; if its embedder was
    switched meanwhile, the search is repeated."""
    for _ in range(2):
        words, sort = options.mode != "vector", options.sort
        by_words = _beside.submit(
            lexical.gather, opened.store, asked.query, asked.allowed, options.k_lex, words=words, sort=sort
        )
        scope = scope_of(opened)
        try:
            listed = StoreList(scope, asked, options)
            listed.fill(by_words)
        except VectorError as error:
            is_owner = asked.allowed.viewer.is_owner
            trouble = error if is_owner else VectorError("The vector index is not available just now.")
            listed = StoreList(replace(scope, vector=None, trouble=trouble), asked, options)
            listed.fill(by_words)
        if listed.is_current:
            break
    return listed


def _merged(
    lists: Sequence[StoreList], asked: Interpreted, options: SearchOptions
) -> tuple[list[Hit], list[Notice], bool]:
    """Merge the hits of all stores in the order asked for. Return them, notices about a failed reranker, and
    whether a reranker ordered them."""
    hits: list[Hit] = []
    for each in lists:
        hits += each.hits
    hits.sort(key=lambda hit: hit.score, reverse=True)  # of equal ones the first store's stay first
    if options.sort != "best":
        return in_order(hits, options.sort), [], False
    if options.reranker is None:
        return hits, [], False
    may_leave = [each.scope.store.name for each in lists if each.scope.store.sends_private]
    viewer, again = asked.allowed.viewer, options.offset > 0
    return reranked(hits, asked.query, options.reranker, may_leave, viewer, again=again)


def _notices(lists: Sequence[StoreList], failed: Mapping[str, RagError], asked: Interpreted) -> list[Notice]:
    """Return notices about stores searched by words only or not at all, filters that match nothing, and words
    that were corrected."""
    remarks: list[Notice] = []
    troubles: dict[str, RagError] = {}
    for each in lists:
        if each.scope.trouble:
            troubles[each.scope.store.name] = each.scope.trouble
    if troubles:
        remarks += notices.words_only(troubles)
    for name, error in failed.items():
        remarks.append(Notice.of(error.as_message(), name))
    if asked.allowed.narrows or asked.query.terms.corrected:
        searched = [each.scope.store for each in lists]
        remarks += notices.hints(searched, asked.query, asked.unmatched, asked.allowed.viewer)
    return remarks


def _beyond_filters(
    stores: Mapping[str, _Opened],
    scope_of: Callable[[_Opened], Scope],
    asked: Interpreted,
    options: SearchOptions,
) -> list[Notice]:
    """Return a notice if the query has filters and would have good results without them; else nothing."""
    query = asked.query
    wide = replace(query, filters=Filters(), beside=Filters(), excluded=Filters())
    if wide == query or not query.text or not asked.allowed.narrows:
        return []
    options = replace(options, offset=0, facets=False, reranker=None)
    interpreted = Interpreted(wide, find.eligible(wide, asked.allowed.viewer), find.Unmatched())
    beyond = search(stores, scope_of, interpreted, options)
    return [Notice("too_narrow", {"count": beyond.fitting})] if beyond.convincing else []
