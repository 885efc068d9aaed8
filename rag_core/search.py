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

from rag_core.errors import RagError
from rag_core.rank import Calibration, Found, Ranked, information, merge, rank, units
from rag_core.snippet import best_window, highlight
from rag_core.store import Store, embeddings, find
from rag_core.types import Answer, Document, Hit, Mode, Query, Vectors, Viewer
from rag_core.vectors import VectorIndex
from rag_core.words import match_any

CANDIDATES = 100
_FEW = 2000  # so many chunks are compared one by one
_MOST_CANDIDATES = 6400
_READ_AHEAD = 3  # look at this many times top_k, as copies fold into one


@dataclass(frozen=True, slots=True)
class Scope:
    """One store to search: its vector index, and the query's vector from its embedder.

    ``vector`` is None where only words can be searched; ``warning`` then says why.
    """

    store: Store
    index: VectorIndex
    vector: Vectors | None
    calibration: Calibration
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much of what: the mode, how many hits, from how many candidates, and from which score."""

    mode: Mode = "hybrid"
    top_k: int = 10
    min_score: float | None = None
    k_lex: int = CANDIDATES
    k_vec: int = CANDIDATES


def search(scopes: Mapping[str, Callable[[], Scope]], query: Query, wanted: Wanted, viewer: Viewer) -> Answer:
    """The best passages for ``query`` that ``viewer`` may see, best first.

    Raises what went wrong when no store could be searched.
    """
    warnings: list[str] = []
    lists: list[list[Hit]] = []
    failed: list[RagError] = []
    waiting = 0
    for open_scope in scopes.values():
        try:
            scope = open_scope()
            warnings += [scope.warning] if scope.warning else []
            with scope.store.read() as db:
                waiting += find.waiting(db, viewer)
            lists.append(_search_store(scope, query, wanted, viewer))
        except RagError as error:
            failed.append(error)
    if failed and not lists:
        raise failed[0]
    warnings += map(str, failed)
    hits = merge(lists, wanted.top_k)
    return Answer(
        query=query,
        stores=tuple(scopes),
        mode=wanted.mode,
        hits=tuple(replace(hit, rank=number) for number, hit in enumerate(hits, 1)),
        convincing=any(hit.relevant for hit in hits),
        warnings=tuple(dict.fromkeys(warnings)),
        pending=waiting,
    )


def _search_store(scope: Scope, query: Query, wanted: Wanted, viewer: Viewer) -> list[Hit]:
    if scope.vector is None:
        wanted = replace(wanted, mode="lexical")
    allowed = find.eligible(query, viewer)
    while True:
        near = _by_meaning(scope, wanted, allowed) if query.text else {}
        with scope.store.read() as db:
            ranked = _candidates(db, scope, query, wanted, allowed, near)
            kept = [item for item in ranked if wanted.min_score is None or item.score >= wanted.min_score]
            hits = _hits(db, scope.store.name, kept, query, wanted.top_k, viewer)
        enough = len(hits) == wanted.top_k or len(kept) < len(ranked)
        asked = max(min(wanted.k_lex, wanted.k_vec), wanted.top_k)
        if enough or len(ranked) < asked or asked >= _MOST_CANDIDATES:
            return hits
        # Copies of a few passages crowded out the rest: look further.
        wanted = replace(wanted, k_lex=wanted.k_lex * 4, k_vec=wanted.k_vec * 4)


def _candidates(
    db: sqlite3.Connection,
    scope: Scope,
    query: Query,
    wanted: Wanted,
    allowed: find.Eligible,
    near: dict[int, float],
) -> list[Ranked]:
    if query.text:
        return _ranked(db, scope, query, wanted, allowed, near)
    ids = find.by_filters(db, allowed, max(wanted.k_lex, wanted.top_k))
    return [Ranked(Found(i, ""), 1.0, ("matches the filters",)) for i in ids]


def _by_meaning(scope: Scope, wanted: Wanted, allowed: find.Eligible) -> dict[int, float]:
    """Chunk id → similarity of the ``k_vec`` nearest eligible chunks.

    The index knows nothing of filters and viewers, so it is asked for more until enough of
    what it finds is eligible.
    """
    if wanted.mode == "lexical" or scope.vector is None:
        return {}
    count = k = max(wanted.k_vec, wanted.top_k)
    if allowed.narrows:
        with scope.store.read() as db:
            few = find.few(db, allowed, _FEW)
            if few is not None:  # a strict filter: no need to look through the whole index
                near = _similarities(db, scope.vector, few)
                return dict(nlargest(count, near.items(), key=itemgetter(1)))
    while True:
        matches = scope.index.search(scope.vector, k)
        with scope.store.read() as db:
            ids = find.chunk_ids(db, [match.key for match in matches], allowed)
        if len(ids) >= count or len(matches) < k:
            found = [(ids[match.key], match.similarity) for match in matches if match.key in ids]
            return dict(found[:count])
        k *= 4


def _ranked(
    db: sqlite3.Connection,
    scope: Scope,
    query: Query,
    wanted: Wanted,
    allowed: find.Eligible,
    near: dict[int, float],
) -> list[Ranked]:
    """Everything found by words, by name or by meaning, with each measure that is known, in order."""
    match = match_any(query.words) if wanted.mode != "vector" else ""
    bm25 = dict(find.by_words(db, match, allowed, max(wanted.k_lex, wanted.top_k))) if match else {}
    named = set(find.by_name(db, query.text, allowed)) if wanted.mode != "vector" else set()
    ids = {**bm25, **dict.fromkeys(named), **near}
    similarity = near
    if scope.vector is not None and wanted.mode == "hybrid":
        similarity = near | _similarities(db, scope.vector, [i for i in ids if i not in near])
    texts = find.judged_texts(db, ids)
    found = [Found(i, texts[i], i in named, bm25.get(i), similarity.get(i)) for i in ids]
    wanted_units = units(query.words)
    total, counts = find.frequencies(db, wanted_units, allowed.viewer)
    return rank(found, query.words, information(total, counts), wanted.mode, scope.calibration)


def _similarities(db: sqlite3.Connection, query: Vectors, ids: list[int]) -> dict[int, float]:
    active = embeddings.active_identity(db)
    if active is None or not ids:
        return {}
    return {i: float(vector @ query) for i, vector in embeddings.vectors_of(db, active[0], ids).items()}


# --- rows → hits ------------------------------------------------------------------------


def _hits(
    db: sqlite3.Connection, store: str, ranked: Sequence[Ranked], query: Query, top_k: int, viewer: Viewer
) -> list[Hit]:
    """The first ``top_k`` hits; the same passage in another file becomes a copy of the first."""
    rows: dict[int, sqlite3.Row] = {}
    groups: dict[str, list[Ranked]] = {}
    step = top_k * _READ_AHEAD
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        rows |= find.chunks(db, [item.found.chunk_id for item in batch])
        _fold(groups, batch, rows, top_k)
        if len(groups) == top_k:
            break
    ids = {rows[item.found.chunk_id]["document_id"] for group in groups.values() for item in group}
    documents = {document.id: document for document in find.documents(db, store, viewer, ids)}
    return [_hit(store, group, rows, documents, query) for group in groups.values()]


def _fold(
    groups: dict[str, list[Ranked]], batch: Sequence[Ranked], rows: Mapping[int, sqlite3.Row], top_k: int
) -> None:
    """Add each passage to the group of its text, or as a new group while there are fewer than ``top_k``."""
    for item in batch:
        row = rows[item.found.chunk_id]
        text = row["text"] or row["key"]
        if text in groups:
            groups[text].append(item)
        elif len(groups) < top_k:
            groups[text] = [item]


def _hit(
    store: str,
    group: Sequence[Ranked],
    rows: Mapping[int, sqlite3.Row],
    documents: Mapping[int, Document],
    query: Query,
) -> Hit:
    best = group[0]
    row = rows[best.found.chunk_id]
    spans = highlight(row["text"], query.words, query.phrases)
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
        spans=spans,
        snippet=best_window(row["text"], spans),
        start_line=row["start_line"],
        end_line=row["end_line"],
        heading_path=tuple(json.loads(row["heading_path"])),
        anchor_type=row["anchor_type"],
        anchor_ref=row["anchor_ref"],
        document=documents[row["document_id"]],
        copies=tuple(copies),
    )
