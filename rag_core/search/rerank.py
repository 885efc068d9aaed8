"""The last step of ranking, if the owner chose a reranker. A model reads the best hits together with the
query and orders them again. The scores of hits and whether they fit do not change, so scores may rise down
the list."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rag_core.errors import EmbedderError
from rag_core.text.embedded import embedded_text
from rag_core.types import Hit, Notice, Query, Viewer

if TYPE_CHECKING:
    from rag_core.models.rerank import SharedReranker

TOP = 50  # number of hits that are ordered again, the same for every page of a list


def reranked(
    hits: list[Hit],
    query: Query,
    reranker: SharedReranker,
    may_leave: Collection[str],
    viewer: Viewer,
    *,
    again: bool,
) -> tuple[list[Hit], list[Notice], bool]:
    """Reorder the first TOP hits with a reranker. Return the hits, a notice if it failed, and whether the
    hits were reordered.

    Args:
        hits: The hits of all stores, best first.
        query: The query.
        reranker: Scores each of the hits.
        may_leave: Stores whose private notes a model on another machine may read; hits of others keep their
            places.
        viewer: Who is asking; only the owner is told why the reranker failed.
        again: Whether this is a further page of the list, which must have the order of the first one.

    """
    places: list[int] = []
    for place, hit in enumerate(hits[:TOP]):
        if not (reranker.leaves and hit.document.private) or hit.store in may_leave:
            places.append(place)
    if not query.text or len(places) < 2:
        return hits, [], False
    try:
        scores = reranker.scores(query.text, [passage_text(hits[place]) for place in places], again=again)
    except EmbedderError as error:
        reason = error.as_message() if viewer.is_owner else ""
        return hits, [Notice("not_reranked", {"reason": str(reason)})], False
    reordered, by_score = [*hits], sorted(zip(scores, places, strict=True), key=lambda scored: -scored[0])
    for place, (_, former) in zip(places, by_score, strict=True):
        reordered[place] = hits[former]
    return reordered, [], True


def passage_text(hit: Hit) -> str:
    """Return the text of a hit for a model that compares it with the query: title, headings, content."""
    above = " > ".join(dict.fromkeys((hit.document.title, *hit.heading_path)))
    return embedded_text(above, hit.content, hit.anchor_type)
