"""The read path: query → retrieve → rank → snippet, over one store or several.

Each store is searched on its own; the lists merge by score. A store that fails becomes a
notice, not a failed search.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import chain, filterfalse
from math import floor
from operator import attrgetter, itemgetter

from rag_core.errors import RagError, StoreError, VectorError
from rag_core.search import notices
from rag_core.search.query import with_words
from rag_core.search.rank import (
    ITS_NAME,
    RELEVANT,
    TELLS_OF_WORDS,
    Found,
    Ranked,
    held_units,
    information,
    rank,
    text_score,
)
from rag_core.search.snippet import best_window, highlight, markup
from rag_core.store import Store, embeddings, find, lexical
from rag_core.store.errors import for_viewer
from rag_core.store.file import active_identity
from rag_core.text.numbers import numbers
from rag_core.text.words import extra_terms, fold, is_unspaced, units
from rag_core.types import MAX_DEPTH, Answer, Document, Filters, Hit, Mode, Notice, Query, Vectors, Viewer
from rag_core.vectors import VectorIndex
from rag_core.vectors.local import LocalVectors

CANDIDATES = 100  # by words, and as many by meaning
RAREST = 24
"""How many words of a pasted text are looked for."""

_REACHES = (400, 1600, 6400)  # how far to look where those are not enough
_DISTINCT = 20  # different passages that a reach must give: copies may crowd out the rest
_SPARE = 20  # more that a remote index is asked for: it may still know what is gone here
_FEW = 2000  # so many chunks are compared one by one
_MARGIN = 4  # times as many candidates for a guest, whose scores are counted anew
_COUNTED = 1000  # of the longest words of a pasted text
_NAMED = 5  # documents called as the query
_RUN = 8  # characters of a script without spaces that are looked for together

_OF_CHUNK = "key chunk_index start_line end_line anchor_type anchor_ref split_part headings".split()


@dataclass(frozen=True, slots=True)
class Scope:
    """One store to search: its vector index, and the query's vector from its embedder, which has the row
    ``identity_id`` there. ``vector`` is None if only words can be searched; ``trouble`` is then the error, if
    there was one."""

    store: Store
    index: VectorIndex
    vector: Vectors | None = None
    identity_id: int = 0
    trouble: RagError | None = None


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Search options; ``k_lex`` and ``k_vec`` are the numbers of candidates by words and by meaning."""

    mode: Mode = "hybrid"
    top_k: int = 10
    min_score: float | None = None
    offset: int = 0
    k_lex: int = CANDIDATES
    k_vec: int = CANDIDATES


@dataclass(slots=True)
class _StoreHits:
    """The beginning of a store's list. ``known``: the least length of the list. ``below``: the scores under
    ``min_score``. ``fitting``: the number of passages that fit; ``fits_more`` if further ones may.
    ``pending``: the texts that wait for the embedder. ``is_current``: the vectors are still the store's."""

    hits: list[Hit] = field(default_factory=list)
    known: int = 0
    below: list[float] = field(default_factory=list)
    fitting: int = 0
    fits_more: bool = True  # until one does not fit: no score behind it is higher
    pending: int = 0
    is_current: bool = True


def search(
    scopes: Mapping[str, Callable[[], Scope]], query: Query, options: SearchOptions, viewer: Viewer
) -> Answer:
    """The best passages for ``query`` that ``viewer`` may see, best first. Raises the first error if no store
    could be searched."""
    by_words: dict[str, RagError] = {}
    failed: dict[str, RagError] = {}
    searched: list[Store] = []
    lists: list[_StoreHits] = []
    hits: list[Hit] = []
    for name, open_scope in scopes.items():
        try:
            scope, listed = _search_scope(open_scope, query, options, viewer)
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
    hits.sort(key=attrgetter("score"), reverse=True)  # of equal ones the first store's stay first
    convincing = bool(hits) and hits[0].relevant
    end = options.offset + options.top_k
    shown: list[Hit] = []
    for place, hit in enumerate(hits[options.offset : end], options.offset + 1):
        shown.append(_with_highlights(replace(hit, rank=place), query))
    known = sum(map(attrgetter("known"), lists))
    goes_on = end < min(len(hits), MAX_DEPTH)
    more_fits = goes_on and hits[end].relevant  # no score behind it is higher
    said = notices.words_only(by_words) if by_words else []
    for name, failure in failed.items():
        said.append(Notice.of(failure.as_message(), name))
    said += notices.hints(searched, query, viewer, spelling=not convincing and options.mode != "vector")
    below = [*chain.from_iterable(map(attrgetter("below"), lists))]
    if below and not hits:
        best = floor(max(below) * 10_000) / 10_000  # never rounded up to the minimum
        said.append(Notice("min_score", {"best": best, "least": float(options.min_score or 0)}))
    return Answer(
        query=query, stores=tuple(scopes), mode=options.mode, hits=tuple(shown), convincing=convincing,
        notices=tuple(said), pending=sum(map(attrgetter("pending"), lists)), offset=options.offset,
        has_more=more_fits, unshown=min(known, MAX_DEPTH) - end if goes_on and not more_fits else 0,
        fitting=sum(map(attrgetter("fitting"), lists)), fits_more=any(map(attrgetter("fits_more"), lists)),
        by_words=tuple(by_words),
    )  # fmt: skip


def _search_scope(
    open_scope: Callable[[], Scope], query: Query, options: SearchOptions, viewer: Viewer
) -> tuple[Scope, _StoreHits]:
    """A store and its hits: by words alone if its vector index fails, searched again if its embedder was
    switched meanwhile."""
    for _ in range(2):
        scope = open_scope()
        try:
            listed = _search_store(scope, query, options, viewer)
        except VectorError as error:
            said = error if viewer.is_owner else VectorError("The vector index is not available just now.")
            scope = replace(scope, vector=None, trouble=said)
            listed = _search_store(scope, query, options, viewer)
        if listed.is_current:
            break
    return scope, listed


def _search_store(scope: Scope, query: Query, options: SearchOptions, viewer: Viewer) -> _StoreHits:
    """The beginning of the store's list, as far as it is wanted.

    Pages of one query are parts of one list. It begins with the best of ``k_lex`` candidates by words and
    ``k_vec`` by meaning; candidates of a further reach follow, and no score is higher than the one before.
    """
    mode = options.mode if scope.vector is not None and query.text else "lexical"
    allowed = find.eligible(query, viewer)
    depth = min(options.offset + options.top_k + 1, MAX_DEPTH)  # one more hit tells whether the list goes on
    listed = _StoreHits()
    seen: set[str] = set()
    for further in (0, *_REACHES):
        by_words, by_meaning = max(options.k_lex, further), max(options.k_vec, further)
        reach = {"lexical": by_words, "vector": by_meaning, "hybrid": min(by_words, by_meaning)}[mode]
        near = _by_meaning(scope, query.filters, allowed, by_meaning) if mode != "lexical" else {}
        with scope.store.read() as db:
            active = active_identity(db)
            listed.is_current = not scope.identity_id or bool(active and active.id == scope.identity_id)
            listed.pending = find.waiting(db, viewer)
            groups, count = _candidates(db, scope, query, mode, by_words, allowed, near)
            is_all = count < reach
            if len(groups) < _DISTINCT and not is_all and further != _REACHES[-1]:
                continue
            last = listed.hits[-1].score if listed.hits else 1.0
            placed: list[list[Ranked]] = []
            new = fit = 0
            for text, group in groups.items():
                if text in seen or len(seen) == reach:
                    continue
                seen.add(text)
                new += 1
                if group[0].score < (options.min_score or 0):
                    listed.below.append(group[0].score)
                    continue
                listed.known += 1
                fit += group[0].score >= RELEVANT
                if len(listed.hits) + len(placed) < depth:
                    placed.append(group)
            if listed.fits_more:
                listed.fitting += fit
                listed.fits_more = fit == new and not is_all
            listed.hits += _hits(db, scope.store.name, placed, last, viewer)
        if is_all or len(listed.hits) >= depth or listed.below:
            break
    return listed


def _by_meaning(scope: Scope, filters: Filters, allowed: find.Eligible, count: int) -> dict[int, float]:
    """Chunk id → similarity of the ``count`` nearest eligible chunks.

    The index ignores viewers and some filters, so it is asked for more until enough of its matches are
    eligible. A remote one rounds its numbers, so there the similarity is computed from the store's vectors.
    """
    if scope.vector is None:
        return {}
    if allowed.narrows:
        with scope.store.read() as db:
            few = find.few(db, allowed, _FEW)
            if few is not None:  # a strict filter: no need to look through the whole index
                near = _similarities(db, scope, few)
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
    spare = 0 if isinstance(scope.index, LocalVectors) else _SPARE
    k = count
    while True:
        found = scope.index.search(scope.vector, k + spare, filters)
        matches = dict(found)
        with scope.store.read() as db:
            ids = find.chunk_ids(db, list(matches), allowed)
            if len(ids) >= count or len(found) < k + spare:
                near = dict(zip(ids.values(), map(matches.__getitem__, ids), strict=True))
                near = _similarities(db, scope, list(near)) if spare else near
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
        k *= 4


def _candidates(
    db: sqlite3.Connection, scope: Scope, query: Query, mode: Mode, reach: int, allowed: find.Eligible,
    near: dict[int, float],
) -> tuple[dict[str, list[Ranked]], int]:  # fmt: skip
    """Everything found by words, name or meaning, in order, and how many there are. The same passage in
    several files is one group, in the place of its best."""
    if not query.text:
        ids = find.first_chunks(db, allowed, reach)
        reason = "holds it exactly" if query.phrases else "matches the filters"
        texts, ranked = find.candidates(db, ids), [Ranked(Found(i, ""), 1.0, (reason,)) for i in ids]
    else:
        is_guest = not allowed.viewer.is_owner
        bm25: dict[int, float] = {}
        named: list[int] = []
        begun: list[int] = []
        total, counts = lexical.frequencies(db, query.units, allowed.viewer)
        if mode != "vector":
            bm25 = dict(lexical.by_words(db, query.units, allowed, reach * _MARGIN if is_guest else reach))
            named = find.first_chunks(db, allowed, _NAMED, query.text)
            if nowhere := [word for word in query.words if not counts.get(word, 1)]:
                begun = lexical.by_beginnings(db, nowhere, allowed)
        texts = find.candidates(db, {*bm25, *begun, *named, *near})
        idf = information(total, counts)
        if is_guest:  # FTS5's scores tell how often private notes hold a word
            scores = ((text_score(texts[i].text, idf), -i) for i in bm25 if i in texts)
            bm25 = {-i: score for score, i in nlargest(reach, scores)}
        ids = list(dict.fromkeys((*bm25, *begun, *named, *near)))
        if mode == "hybrid":
            near = near | _similarities(db, scope, list(filterfalse(near.__contains__, ids)))
        found = [
            Found(i, texts[i].text, i in named, bm25.get(i), near.get(i), texts[i].is_data)
            for i in filter(texts.__contains__, ids)
        ]
        ranked = rank(found, query, idf, mode)
    groups: dict[str, list[Ranked]] = {}
    for item in ranked:
        groups.setdefault(texts[item.found.chunk_id].identity, []).append(item)
    return groups, len(ranked)


def _similarities(db: sqlite3.Connection, scope: Scope, ids: list[int]) -> dict[int, float]:
    if scope.vector is None or not ids:
        return {}
    found, vectors = embeddings.vectors_of(db, scope.identity_id, ids)
    return dict(zip(found, (vectors @ scope.vector).tolist(), strict=True)) if found else {}


# --- rows → hits ------------------------------------------------------------------------


def _hits(
    db: sqlite3.Connection, store: str, groups: Iterable[Sequence[Ranked]], most: float, viewer: Viewer
) -> list[Hit]:
    """A hit for each group, with a score of at most ``most``; the same passage in other files is named as its
    copies."""
    rows = find.chunks(db, map(attrgetter("found.chunk_id"), chain(*groups)))
    found = find.documents(db, store, viewer, set(map(itemgetter("document_id"), rows.values())))
    documents = dict(zip(map(attrgetter("id"), found), found, strict=True))
    hits: list[Hit] = []
    for group in groups:
        there: list[tuple[Ranked, Document]] = []
        for item in group:  # the vector index was read earlier: an id may be another document's by now
            document_id = rows[item.found.chunk_id]["document_id"]
            if document_id in documents:
                there.append((item, documents[document_id]))
        if not there:
            continue
        best, document = there[0]
        row, score = rows[best.found.chunk_id], min(best.score, most)
        hit = Hit(
            rank=0, score=score, relevant=score >= RELEVANT, similarity=best.found.similarity,
            bm25=best.found.bm25 if viewer.is_owner else None, reasons=best.reasons, store=store,
            content=row["text"], spans=(), snippet=(0, 0), document=document,
            heading_path=tuple(json.loads(row["heading_path"])),
            copies=tuple(map(attrgetter("path"), map(itemgetter(1), there[1:]))),
            aliases=() if row["text"].strip() else find.aliases(db, document.id),
            **dict(zip(_OF_CHUNK, itemgetter(*_OF_CHUNK)(row), strict=True)),
        )  # fmt: skip
        hits.append(hit)
    return hits


def _with_highlights(hit: Hit, query: Query) -> Hit:
    """A hit with its spans, its snippet and where its words stand."""
    loose: Sequence[str] = query.loose
    if query.numbers:  # without the parts of numbers that the text has whole
        there = {whole for number in numbers(hit.content) for whole in number.wholes}
        typed = (number for number in query.numbers if not there.isdisjoint(number.wholes))
        parts = {part for number in typed for part in number.parts}
        loose = [word for word in query.loose if word not in parts]
    spans = highlight(hit.content, loose, query.phrases)
    hidden = markup(hit.content, hit.document.file_type, spans)
    snippet = best_window(hit.content, spans, hidden=hidden)
    reasons = hit.reasons
    if ITS_NAME not in reasons and not TELLS_OF_WORDS.isdisjoint(reasons):
        where = _where_words_stand(hit, query)
        reasons = tuple(f"{each}{where}" if each in TELLS_OF_WORDS else each for each in reasons)
    return replace(hit, spans=spans, hidden=hidden, snippet=snippet, reasons=reasons)


def _where_words_stand(hit: Hit, query: Query) -> str:
    """Where the words stand that a hit's text lacks: in its names, or in the tags and the front matter."""

    def lacking(text: str, wanted: Sequence[str]) -> tuple[str, ...]:
        held = held_units(f"{fold(text)} {extra_terms(text)}", wanted, query.numbers)
        return tuple(unit for unit in wanted if unit not in held)

    names = " ".join((hit.document.title, hit.document.path, *hit.heading_path, *hit.aliases))
    elsewhere = lacking(hit.content, query.units)
    hidden = lacking(names, elsewhere) if hit.document.file_type == "markdown" else ()
    if hidden:
        return f"{'' if hidden == query.units else ', some'} in its tags or front matter"
    return " in its name or headings" if elsewhere and elsewhere == query.units else ""


# --- a pasted text ----------------------------------------------------------------------


def rarest(query: Query, stores: Sequence[Store], viewer: Viewer) -> Query:
    """``query`` with only its rarest words in the passages of ``stores`` that ``viewer`` may see.

    Words that no passage holds are left out, unless none is held. Only the longest words are counted: they
    are rare.
    """
    words: dict[str, None] = {}
    for word in query.words:
        step = _RUN if is_unspaced(word) else len(word)
        words.update(dict.fromkeys(word[start : start + step] for start in range(0, len(word), step)))
    longest = sorted(words, key=len, reverse=True)[:_COUNTED]
    held: Counter[str] = Counter()
    for store in stores:
        with suppress(StoreError), store.read() as db:
            held.update(lexical.frequencies(db, units(longest), viewer)[1])
    holders = {word: min(held[unit] for unit in units([word])) for word in longest}
    known = [word for word in longest if holders[word]] or longest
    chosen = sorted(known, key=holders.__getitem__)[:RAREST]
    kept = tuple(word for word in words if word in chosen)
    return with_words(query, " ".join(kept), kept, kept)
