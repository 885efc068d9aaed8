"""The last step of ranking, if the owner chose a reranker: a model reads the best hits beside the query and
orders them again. Each hit keeps its own score and whether it fits, so scores may rise down the list, and a
query that nothing fits still has no hit that fits."""

from __future__ import annotations

from collections.abc import Collection

from rag_core.errors import EmbedderError
from rag_core.models.rerank import SharedReranker
from rag_core.types import Hit, Notice, Query, Viewer, embedded_text

TOP = 50  # hits that are ordered again, the same for every page of a list


def reranked(
    hits: list[Hit], query: Query, reranker: SharedReranker, may_leave: Collection[str], viewer: Viewer,
    *, again: bool,
) -> tuple[list[Hit], list[Notice], bool]:  # fmt: skip
    """``hits`` with the first TOP in the reranker's order, a notice where it failed, and whether there is an
    order. Private hits keep their places where the model is on another machine, but for the stores that
    ``may_leave``. ``again``: this is a further page of the list."""
    places = [
        place
        for place, hit in enumerate(hits[:TOP])
        if not (reranker.leaves and hit.document.private) or hit.store in may_leave
    ]
    if not query.text or len(places) < 2:
        return hits, [], False
    try:
        scores = reranker.scores(query.text, [_read(hits[place]) for place in places], again=again)
    except EmbedderError as error:
        reason = error.as_message() if viewer.is_owner else ""
        return hits, [Notice("not_reranked", {"reason": str(reason)})], False
    order = sorted(range(len(places)), key=lambda at: -scores[at])
    found = [*hits]
    for place, at in zip(places, order, strict=True):
        found[place] = hits[places[at]]
    return found, [], True


def _read(hit: Hit) -> str:
    """What the reranker reads of a hit: where it stands, then its text."""
    return embedded_text(" > ".join(dict.fromkeys((hit.document.title, *hit.heading_path))), hit.content)
