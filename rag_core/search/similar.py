"""The documents that are nearest in meaning to a document or to a text, from the vectors of a store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable

import numpy as np

from rag_core.search.retrieve import Scope, nearest
from rag_core.store import embeddings, find
from rag_core.store.calibration import NEIGHBOURS, UNRELATED, calibration_of
from rag_core.store.connection import rows_at_once
from rag_core.types import Document, Query, Similar, Vectors, Viewer

_MOST_PASSAGES = 200  # of a document, whose vectors are averaged
_NEAREST = 100  # passages that are looked at first
_RELEVANT = (UNRELATED + NEIGHBOURS) / 2


def mean_vector(db: sqlite3.Connection, identity_id: int, chunk_ids: Iterable[int]) -> Vectors | None:
    """The mean of the vectors of chunks, of length 1; None while none of them has a vector."""
    found, vectors = embeddings.vectors_of(db, identity_id, list(chunk_ids)[:_MOST_PASSAGES])
    if not found:
        return None
    mean: Vectors = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length else None


def similar(
    scope: Scope, viewer: Viewer, limit: int, *, without: int | None = None, linked: Collection[str] = ()
) -> list[Similar]:
    """The documents with the passages nearest to the vector of ``scope``, nearest first, each once and with
    that passage; of copies the first by path. The document ``without`` and its copies are left out. Those
    with a path in ``linked`` are marked."""
    if scope.vector is None:
        return []
    allowed, count = find.visible(viewer), _NEAREST
    while True:
        near = nearest(scope, Query("", "", ()), allowed, count)
        with scope.store.read() as db:
            rows = find.chunks(db, near)
            best: dict[int, int] = {}
            in_order = sorted(rows, key=lambda each: (-round(near[each], 6), rows[each]["chunk_index"]))
            for chunk_id in in_order:  # of equally near passages the first
                best.setdefault(rows[chunk_id]["document_id"], chunk_id)
            known = {each.id: each for each in find.documents(db, scope.store.name, viewer, best)}
            texts = _texts(db, {*known} | ({without} if without is not None else set()))
            measured = calibration_of(db, scope.identity_id, viewer)
        order = sorted(known.values(), key=lambda each: (-round(near[best[each.id]], 6), each.path))
        seen = {texts[without]} if without in texts else set[frozenset[str]]()
        chosen: list[Document] = []
        for document in order:
            if document.id != without and texts[document.id] not in seen:
                seen.add(texts[document.id])
                chosen.append(document)
        if len(chosen) >= limit or len(near) < count:
            break
        count *= 4
    found: list[Similar] = []
    for document in chosen[:limit]:
        row, similarity = rows[best[document.id]], near[best[document.id]]
        found.append(Similar(
            document=document, similarity=similarity, key=row["key"], content=row["text"],
            relevant=(measured.apply(similarity) if measured else similarity) >= _RELEVANT,
            heading_path=find.headings(row, document.file_type)[0], start_line=row["start_line"],
            end_line=row["end_line"], is_linked=document.path in linked,
        ))  # fmt: skip
    return found


def _texts(db: sqlite3.Connection, documents: Collection[int]) -> dict[int, frozenset[str]]:
    """The texts of the passages of each document."""
    sql = """SELECT document_id, json_group_array(text) FROM chunks
             WHERE document_id IN (SELECT value FROM json_each(?)) GROUP BY document_id"""
    rows = rows_at_once(db, ["document", "texts"], sql, (json.dumps(list(documents)),))
    return {document: frozenset(json.loads(texts)) for document, texts in rows}
