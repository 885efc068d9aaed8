"""The read path: query → retrieve → rank → snippet, over one store or several.

Each store runs its own hybrid; the lists merge by score. A store that fails becomes a
warning, not a failed search.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from operator import itemgetter

from rag_core.errors import RagError, StoreError, VectorError
from rag_core.search import notices
from rag_core.search.rank import (
    ITS_NAME,
    RELEVANT,
    TELLS_OF_WORDS,
    Calibration,
    Found,
    Ranked,
    held_units,
    information,
    merge,
    rank,
)
from rag_core.search.snippet import best_window, highlight, markup
from rag_core.store import Store, embeddings, find
from rag_core.store.errors import told
from rag_core.store.identities import active_identity
from rag_core.text.numbers import Number, numbers
from rag_core.text.words import extra_terms, figures, fold, units
from rag_core.types import MAX_DEPTH, Answer, Document, Filters, Hit, Mode, Notice, Query, Vectors, Viewer
from rag_core.vectors import VectorIndex
from rag_core.vectors.local import LocalVectors

CANDIDATES = 100  # by words, and as many by meaning
_REACHES = (400, 1600, 6400)  # how far to look where those are not enough
_DISTINCT = 20  # passages that a reach must give: copies of a few may crowd out the rest
_SPARE = 20
_FEW = 2000  # so many chunks are compared one by one


@dataclass(frozen=True, slots=True)
class Scope:
    """One store to search: its vector index, and the query's vector from its embedder, which has the row
    ``identity_id`` there.

    ``vector`` is None where only words can be searched; ``trouble`` then says why, if it should not be.
    """

    store: Store
    index: VectorIndex
    vector: Vectors | None
    calibration: Calibration
    identity_id: int = 0
    trouble: RagError | None = None

    @property
    def spare(self) -> int:
        """How many more to ask for than wanted: a remote index may still know what is gone here."""
        return 0 if isinstance(self.index, LocalVectors) else _SPARE

    @property
    def is_outdated(self) -> bool:
        """Whether searches of the store use another embedder by now."""
        if not self.identity_id:
            return False
        with self.store.read() as db:
            active = active_identity(db)
        return active is None or active.id != self.identity_id


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much of what: the mode, how many hits behind how many others, and from which score."""

    mode: Mode = "hybrid"
    top_k: int = 10
    min_score: float | None = None
    offset: int = 0
    k_lex: int = CANDIDATES
    k_vec: int = CANDIDATES

    def reaches(self, mode: Mode) -> list[tuple[int, int, int]]:
        """How many candidates to take by words and by meaning, and what both reach, further each time."""
        pairs = dict.fromkeys((max(self.k_lex, r), max(self.k_vec, r)) for r in (0, *_REACHES))
        alone = {"lexical": 0, "vector": 1}
        return [(*pair, pair[alone[mode]] if mode in alone else min(pair)) for pair in pairs]

    @property
    def depth(self) -> int:
        """How far the list is needed: one hit further than shown, to know whether it goes on."""
        return min(self.offset + self.top_k + 1, MAX_DEPTH)


def search(scopes: Mapping[str, Callable[[], Scope]], query: Query, wanted: Wanted, viewer: Viewer) -> Answer:
    """The best passages for ``query`` that ``viewer`` may see, best first.

    Raises what went wrong when no store could be searched.
    """
    by_words: dict[str, RagError] = {}
    failed: dict[str, RagError] = {}
    searched: list[Store] = []
    lists: list[list[Hit]] = []
    below: list[float] = []
    known = waiting = fitting = 0
    fits_more = False
    for name, open_scope in scopes.items():
        try:
            with told(viewer, name):
                scope, listed = _search_scope(open_scope(), query, wanted, viewer)
                if scope.is_outdated:  # a switch ended meanwhile: nothing of two models belongs together
                    scope, listed = _search_scope(open_scope(), query, wanted, viewer)
                with scope.store.read() as db:
                    waiting += find.waiting(db, viewer)
            if scope.trouble:
                by_words[name] = scope.trouble
            lists.append(listed.hits)
            known += listed.known
            fitting += listed.fitting
            fits_more = fits_more or listed.fits_more
            below += listed.below
            searched.append(scope.store)
        except RagError as error:
            failed[name] = error
    if failed and not lists:
        raise next(iter(failed.values()))
    found = merge(lists, wanted.depth)
    end = wanted.offset + wanted.top_k
    relevant = any(hit.relevant for hit in found)
    goes_on = [hit.relevant for hit in found[end : end + 1]]  # no score behind it is higher
    return Answer(
        query=query,
        stores=tuple(scopes),
        mode=wanted.mode,
        hits=tuple(
            _with_highlights(replace(hit, rank=rank), query)
            for rank, hit in enumerate(found[wanted.offset : end], wanted.offset + 1)
        ),
        convincing=relevant,
        notices=(
            *notices.words_only(by_words),
            *notices.failures(failed),
            *_hints(searched, query, viewer, nothing_fits=not relevant and wanted.mode != "vector"),
            *notices.below([] if found else below, wanted.min_score),
        ),
        pending=waiting,
        offset=wanted.offset,
        has_more=True in goes_on,
        unshown=min(known, MAX_DEPTH) - end if False in goes_on else 0,
        fitting=fitting,
        fits_more=fits_more,
        by_words=tuple(by_words),
    )


def _hints(stores: Sequence[Store], query: Query, viewer: Viewer, *, nothing_fits: bool) -> list[Notice]:
    """What of a query nothing has, with what may be meant."""
    try:
        asked = (query.filters, query.beside)
        said = [each for filters in asked for each in notices.unknown_values(stores, filters, viewer)]
        said = said or notices.no_document(stores, query, viewer)
        if nothing_fits:
            said += notices.misspelled(stores, query.words, viewer)
        return said
    except StoreError:  # what was found is worth more than a hint
        return []


@dataclass(frozen=True, slots=True)
class _Listed:
    """The beginning of a store's list, how long the list is at least, the scores that were too low, and how
    many passages are good enough; ``fits_more`` where those are all that were looked at."""

    hits: list[Hit]
    known: int
    below: list[float]
    fitting: int
    fits_more: bool


def _search_scope(scope: Scope, query: Query, wanted: Wanted, viewer: Viewer) -> tuple[Scope, _Listed]:
    """The store as it could be searched, and its list: by words whatever becomes of its vector index."""
    try:
        return scope, _search_store(scope, query, wanted, viewer)
    except VectorError as error:
        trouble = error if viewer.is_owner else VectorError("The vector index is not at hand just now.")
        by_words = replace(scope, vector=None, trouble=trouble)
        return by_words, _search_store(by_words, query, wanted, viewer)


def _search_store(scope: Scope, query: Query, wanted: Wanted, viewer: Viewer) -> _Listed:
    """The beginning of the store's list, as far as it is wanted.

    There is one list for all numbers and offsets, so that pages fit together: first come the best
    of ``k_lex`` candidates by words and ``k_vec`` by meaning; what only a further reach finds stands behind
    them, best first, and no score is higher than the one before.
    """
    mode = wanted.mode if scope.vector is not None else "lexical"
    allowed = find.eligible(query, viewer)
    hits: list[Hit] = []
    seen: set[str] = set()
    below: list[float] = []
    known = fitting = 0
    fits_more = True  # until one does not fit: no score behind it is higher
    least = wanted.min_score or 0
    reaches = wanted.reaches(mode if query.text else "lexical")
    for by_words, by_meaning, reach in reaches:
        near = _by_meaning(scope, query.filters, mode, allowed, by_meaning) if query.text else {}
        with scope.store.read() as db:
            ranked = _candidates(db, scope, query, mode, by_words, allowed, near)
            groups = _fold(ranked, find.identities(db, [item.found.chunk_id for item in ranked]))
            is_all = len(ranked) < reach
            if len(groups) < _DISTINCT and not is_all and reach != reaches[-1][-1]:
                continue
            new = [text for text in groups if text not in seen][: reach - len(seen)]
            seen.update(new)
            scores = [groups[text][0].score for text in new]
            known += sum(score >= least for score in scores)
            if fits_more:
                fitting += (good := sum(score >= max(least, RELEVANT) for score in scores))
                fits_more = good == len(scores) and not is_all
            below += [score for score in scores if score < least]
            last = hits[-1].score if hits else 1.0
            placed = [_no_better(last, groups[text]) for text in new[: wanted.depth - len(hits)]]
            hits += _hits(db, scope.store.name, placed, viewer)
        cut = _from_score(hits, wanted.min_score)
        if is_all or len(hits) >= wanted.depth or len(cut) < len(hits):
            return _Listed(cut, known, below, fitting, fits_more)
    return _Listed(hits, known, below, fitting, fits_more)


def _fold(ranked: Sequence[Ranked], identities: Mapping[int, str]) -> dict[str, list[Ranked]]:
    """The same passage in several files becomes one group, in the place of its best."""
    groups: dict[str, list[Ranked]] = {}
    for item in ranked:
        groups.setdefault(identities[item.found.chunk_id], []).append(item)
    return groups


def _no_better(last: float, group: Sequence[Ranked]) -> list[Ranked]:
    return [replace(item, score=min(item.score, last)) for item in group]


def _from_score(hits: list[Hit], min_score: float | None) -> list[Hit]:
    return [hit for hit in hits if min_score is None or hit.score >= min_score]


def _candidates(
    db: sqlite3.Connection,
    scope: Scope,
    query: Query,
    mode: Mode,
    reach: int,
    allowed: find.Eligible,
    near: dict[int, float],
) -> list[Ranked]:
    if query.text:
        return _ranked(db, scope, query, mode, reach, allowed, near)
    reason = "holds it exactly" if query.phrases else "matches the filters"
    return [Ranked(Found(i, ""), 1.0, (reason,)) for i in find.by_filters(db, allowed, reach)]


def _by_meaning(
    scope: Scope, filters: Filters, mode: Mode, allowed: find.Eligible, count: int
) -> dict[int, float]:
    """Chunk id → similarity of the ``count`` nearest eligible chunks.

    The index knows nothing of viewers and not all of filters, so it is asked for more until enough of
    what it finds is eligible. A remote one may be a little behind the store, and its numbers are not
    quite ours: the store's own vectors say how near a chunk is.
    """
    if mode == "lexical" or scope.vector is None:
        return {}
    k = count
    if allowed.narrows:
        with scope.store.read() as db:
            few = find.few(db, allowed, _FEW)
            if few is not None:  # a strict filter: no need to look through the whole index
                near = _similarities(db, scope, few)
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
    while True:
        matches = scope.index.search(scope.vector, k + scope.spare, filters)
        with scope.store.read() as db:
            ids = find.chunk_ids(db, [match.key for match in matches], allowed)
            if len(ids) >= count or len(matches) < k + scope.spare:
                near = {ids[match.key]: match.similarity for match in matches if match.key in ids}
                if scope.spare:
                    near = _similarities(db, scope, list(near))
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
        k *= 4


def _ranked(
    db: sqlite3.Connection,
    scope: Scope,
    query: Query,
    mode: Mode,
    reach: int,
    allowed: find.Eligible,
    near: dict[int, float],
) -> list[Ranked]:
    """Everything found by words, by name or by meaning, with each measure that is known, in order."""
    total, counts = find.frequencies(db, units(query.words), allowed.viewer)
    words = query.words if mode != "vector" else ()
    bm25 = dict(find.by_words(db, words, allowed, reach)) if words else {}
    nowhere = [word for word in words if not counts.get(word, 1)]
    begun = find.by_beginnings(db, nowhere, allowed)
    named = set(find.by_name(db, query.text, allowed)) if mode != "vector" else set()
    ids = {**bm25, **dict.fromkeys([*begun, *named]), **near}
    similarity = near
    if mode == "hybrid":
        similarity = near | _similarities(db, scope, [i for i in ids if i not in near])
    texts = find.judged_texts(db, ids)
    data = find.data(db, ids)
    found = [
        Found(i, texts[i], i in named, bm25.get(i), similarity.get(i), i in data) for i in ids if i in texts
    ]
    idf = information(total, counts)
    return rank(found, query, idf, mode, scope.calibration)


def _similarities(db: sqlite3.Connection, scope: Scope, ids: list[int]) -> dict[int, float]:
    if scope.vector is None or not ids:
        return {}
    found, vectors = embeddings.vectors_of(db, scope.identity_id, ids)
    return dict(zip(found, (vectors @ scope.vector).tolist(), strict=True)) if found else {}


# --- rows → hits ------------------------------------------------------------------------


def _hits(
    db: sqlite3.Connection, store: str, groups: Sequence[Sequence[Ranked]], viewer: Viewer
) -> list[Hit]:
    """A hit for each group; the same passage in other files is named as its copies."""
    rows = find.chunks(db, [item.found.chunk_id for group in groups for item in group])
    ids = {row["document_id"] for row in rows.values()}
    documents = {document.id: document for document in find.documents(db, store, viewer, ids)}
    # What the vector index found is of an earlier snapshot: its id may be another document's by now.
    seen = [
        [item for item in group if rows[item.found.chunk_id]["document_id"] in documents] for group in groups
    ]
    bare = {row["document_id"] for row in rows.values() if not row["text"].strip()} & documents.keys()
    named = find.aliases(db, bare) if bare else {}
    return [_hit(store, group, rows, documents, named) for group in seen if group]


def _hit(
    store: str,
    group: Sequence[Ranked],
    rows: Mapping[int, sqlite3.Row],
    documents: Mapping[int, Document],
    named: Mapping[int, tuple[str, ...]],
) -> Hit:
    best = group[0]
    row = rows[best.found.chunk_id]
    copies = (documents[rows[item.found.chunk_id]["document_id"]].path for item in group[1:])
    return Hit(
        rank=0,
        score=best.score,
        relevant=best.relevant,
        similarity=best.found.similarity,
        bm25=best.found.bm25,
        reasons=best.reasons,
        store=store,
        key=row["key"],
        chunk_index=row["chunk_index"],
        content=row["text"],
        spans=(),
        snippet=(0, 0),
        start_line=row["start_line"],
        end_line=row["end_line"],
        heading_path=tuple(json.loads(row["heading_path"])),
        anchor_type=row["anchor_type"],
        anchor_ref=row["anchor_ref"],
        split_part=row["split_part"],
        document=documents[row["document_id"]],
        copies=tuple(copies),
        aliases=named.get(row["document_id"], ()),
        headings=row["headings"],
    )


def _with_highlights(hit: Hit, query: Query) -> Hit:
    spans = highlight(hit.content, _loose(hit.content, query), query.phrases)
    hidden = markup(hit.content, hit.document.file_type, spans)
    window = best_window(hit.content, spans, hidden=hidden)
    return replace(hit, spans=spans, hidden=hidden, snippet=window, reasons=_reasons(hit, query))


def _loose(text: str, query: Query) -> list[str]:
    """The words of a query that were not quoted, without the parts of numbers that ``text`` has whole."""
    asked = figures(query.text)
    there = {whole for number in numbers(text) for whole in number.wholes} if asked else set()
    typed = (number for number in asked if not there.isdisjoint(number.wholes))
    parts = {part for number in typed for part in number.parts}
    return [word for word in query.loose if word not in parts]


def _reasons(hit: Hit, query: Query) -> tuple[str, ...]:
    """The reasons of a hit, with where its words stand that its text has not: in its names, or in the tags
    and the front matter of its note."""
    if TELLS_OF_WORDS.isdisjoint(hit.reasons) or ITS_NAME in hit.reasons:
        return hit.reasons
    names = " ".join((hit.document.title, hit.document.path, *hit.heading_path, *hit.aliases))
    asked, together = units(query.words), figures(query.text)
    lacking = _lacking(hit.content, asked, together)
    hidden = _lacking(names, lacking, together) if hit.document.file_type == "markdown" else []
    if hidden:
        where = f"{'' if hidden == asked else ', some'} in its tags or front matter"
    else:
        where = " in its name or headings" if asked and lacking == asked else ""
    return tuple(f"{each}{where}" if each in TELLS_OF_WORDS else each for each in hit.reasons)


def _lacking(text: str, asked: Sequence[str], together: Sequence[Number]) -> list[str]:
    held = held_units(f"{fold(text)} {extra_terms(text)}", asked, together)
    return [unit for unit in asked if unit not in held]
