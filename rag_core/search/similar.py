"""The documents nearest in meaning to a document or to a text, from the vectors of a store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from rag_core.search.gather import Scope, nearest
from rag_core.store import embeddings, find, listing
from rag_core.store.calibration import NEIGHBOURS, UNRELATED, Calibration, calibration_of
from rag_core.store.connection import rows_at_once
from rag_core.types import Document, Filters, Similar, Vectors, Viewer

_MOST_PASSAGES = 200  # passages of a document whose vectors are averaged
_NEAREST = 100  # passages that are compared first
_RELEVANT = (UNRELATED + NEIGHBOURS) / 2


def mean_vector(db: sqlite3.Connection, identity_id: int, chunk_ids: Iterable[int]) -> Vectors | None:
    """Return the mean of the vectors of chunks (at most the first 200), scaled to length 1; None if no chunk
    has a vector."""
    embedded, vectors = embeddings.vectors_of(db, identity_id, list(chunk_ids)[:_MOST_PASSAGES])
    if not embedded:
        return None
    mean: Vectors = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length else None


def similar(
    scope: Scope, viewer: Viewer, limit: int, *, without: int | None = None, linked: Collection[str] = ()
) -> list[Similar]:
    """Return the documents with passages nearest to the vector of ``scope``, nearest first.

    Each document appears once, with its nearest passage. Of equal documents only the first by path appears.
    The document ``without`` and its copies are left out. Documents with a path in ``linked`` are marked.
    """
    if scope.vector is None:
        return []
    count = _NEAREST
    while True:
        near = nearest(scope, Filters(), find.visible(viewer), count)
        with scope.store.read() as db:
            passages = _best_passages(db, near)
            documents = listing.documents(db, scope.store.name, viewer, passages)
            texts = _texts(
                db, [document.id for document in documents] + ([] if without is None else [without])
            )
            calibration = calibration_of(db, scope.identity_id, viewer)
        documents.sort(key=lambda document: (-_rounded(near[passages[document.id]["id"]]), document.path))
        chosen = _different(documents, texts, without)
        if len(chosen) >= limit or len(near) < count:
            break
        count *= 4
    return [
        _similar(document, passages[document.id], near, calibration, is_linked=document.path in linked)
        for document in chosen[:limit]
    ]


def _rounded(similarity: float) -> float:
    """Round a similarity, so that equal passages compare as equally near."""
    return round(similarity, 6)


def _best_passages(db: sqlite3.Connection, near: Mapping[int, float]) -> dict[int, sqlite3.Row]:
    """Return the nearest passage of each document, by document id. Of equally near passages, the first in the
    document is returned."""
    rows = find.chunks(db, near)
    best: dict[int, sqlite3.Row] = {}
    for row in sorted(rows.values(), key=lambda row: (-_rounded(near[row["id"]]), row["chunk_index"])):
        best.setdefault(row["document_id"], row)
    return best


def _different(
    documents: Sequence[Document], texts: Mapping[int, frozenset[str]], without: int | None
) -> list[Document]:
    """Return the documents without copies of each other, and without the document ``without`` and its
    copies."""
    seen: set[frozenset[str]] = set()
    if without is not None and without in texts:
        seen.add(texts[without])
    chosen: list[Document] = []
    for document in documents:
        if document.id != without and texts[document.id] not in seen:
            seen.add(texts[document.id])
            chosen.append(document)
    return chosen


def _similar(
    document: Document,
    row: sqlite3.Row,
    near: Mapping[int, float],
    calibration: Calibration | None,
    *,
    is_linked: bool,
) -> Similar:
    similarity = near[row["id"]]
    comparable = calibration.apply(similarity) if calibration else similarity
    return Similar(
        document=document,
        similarity=similarity,
        key=row["key"],
        content=row["text"],
        relevant=comparable >= _RELEVANT,
        heading_path=find.headings(row, document.file_type)[0],
        start_line=row["start_line"],
        end_line=row["end_line"],
        is_linked=is_linked,
    )


def _texts(db: sqlite3.Connection, documents: Collection[int]) -> dict[int, frozenset[str]]:
    """Return the set of passage texts of each document, by document id."""
    sql = """SELECT document_id, json_group_array(text) FROM chunks
             WHERE document_id IN (SELECT value FROM json_each(?)) GROUP BY document_id"""
    rows = rows_at_once(db, ["document", "texts"], sql, (json.dumps(list(documents)),))
    return {document: frozenset(json.loads(texts)) for document, texts in rows}
