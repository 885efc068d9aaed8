"""The last stage of a search: results become hits. Hits that are shown get highlights and a snippet."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_core.search.fold import FoldedResult
from rag_core.search.reasons import ITS_NAME, TELLS_OF_WORDS
from rag_core.search.snippet import best_window, highlight, left_out_spans
from rag_core.search.weigh import RELEVANT, Weighed
from rag_core.store import find, listing, view
from rag_core.text import furniture
from rag_core.text.numbers import numbers
from rag_core.text.words import extra_terms, fold, occurrences
from rag_core.types import Document, Forms, Hit, Query, Viewer


def hits(
    db: sqlite3.Connection, store: str, places: Sequence[FoldedResult], most: float, viewer: Viewer
) -> list[Hit]:
    """Create a hit for each result, with no score above ``most``. A result is left out if all its documents
    were deleted meanwhile."""
    ids: list[int] = []
    for place in places:
        ids += [passage.candidate.chunk_id for passage in place.passages]
    rows = find.chunks(db, ids)
    documents: dict[int, Document] = {}
    for document in listing.documents(db, store, viewer, [row["document_id"] for row in rows.values()]):
        documents[document.id] = document
    shown = [_hit(db, place, most, rows, documents, viewer) for place in places]
    return [hit for hit in shown if hit]


def _hit(
    db: sqlite3.Connection,
    place: FoldedResult,
    most: float,
    rows: Mapping[int, sqlite3.Row],
    documents: Mapping[int, Document],
    viewer: Viewer,
) -> Hit | None:
    """Create the hit for a result. Equal passages in other files become its copies. Return None if the
    document was deleted after its vector was found, because another document may now have the same id."""
    passages: list[Weighed] = []
    paths: list[str] = []
    for passage in place.passages:
        if document := documents.get(rows[passage.candidate.chunk_id]["document_id"]):
            passages.append(passage)
            paths.append(document.address)
    if not passages:
        return None
    best, row = passages[0], rows[passages[0].candidate.chunk_id]
    hit, score = _bare(db, row, documents[row["document_id"]]), min(best.score, most)
    return replace(
        hit,
        score=score,
        relevant=score >= RELEVANT,
        similarity=best.candidate.similarity,
        bm25=best.bm25 if viewer.is_owner else None,
        reasons=best.reasons,
        words_share=best.words_share,
        copies=tuple(paths[1:]),
        more=place.more,
    )


def _bare(db: sqlite3.Connection, row: sqlite3.Row, document: Document) -> Hit:
    """Create a hit for a passage, without rank, score and highlights."""
    heading_path, headings = find.headings(row, document.file_type)
    return Hit(
        rank=0,
        score=0.0,
        relevant=False,
        similarity=None,
        bm25=None,
        reasons=(),
        store=document.store,
        key=row["key"],
        chunk_index=row["chunk_index"],
        content=row["text"],
        spans=(),
        snippet=(0, 0),
        start_line=row["start_line"],
        end_line=row["end_line"],
        heading_path=heading_path,
        headings=headings,
        anchor_type=row["anchor_type"],
        anchor_ref=row["anchor_ref"],
        split_part=row["split_part"],
        document=document,
        hidden=() if row["kept"] is None else tuple(furniture.hidden(row["text"], row["kept"])),
        aliases=() if row["text"].strip() else view.aliases(db, document.id),
        aside=row["tags"],
    )


def with_highlights(hit: Hit, rank: int, query: Query) -> Hit:
    """Return the hit with its rank, highlights and snippet, and with reasons that say where the query's words
    are."""
    words = _but_parts_of_numbers(hit, query) if query.terms.numbers else query.terms.loose
    spans = highlight(hit.content, words, query.phrases, hit.document.file_type)
    hidden = left_out_spans(hit.content, hit.document.file_type, spans, hit.hidden)
    snippet = best_window(hit.content, spans, hidden=hidden)
    reasons = hit.reasons
    if ITS_NAME not in reasons and not TELLS_OF_WORDS.isdisjoint(reasons):
        where = _where_words_stand(hit, query)
        reasons = tuple([f"{reason}{where}" if reason in TELLS_OF_WORDS else reason for reason in reasons])
    return replace(hit, rank=rank, spans=spans, hidden=hidden, snippet=snippet, reasons=reasons)


def _but_parts_of_numbers(hit: Hit, query: Query) -> Mapping[str, Forms]:
    """Return the query's units to highlight. If the text contains a whole number of the query, the parts of
    that number are left out."""
    wholes = {whole for number in numbers(hit.content) for whole in number.wholes}
    parts: set[str] = set()
    for number in query.terms.numbers:
        if not wholes.isdisjoint(number.wholes):
            parts.update(number.parts)
    return {unit: forms for unit, forms in query.terms.loose.items() if unit not in parts}


def _where_words_stand(hit: Hit, query: Query) -> str:
    """Return words that say where a hit has the query words missing in its text: in its name or headings, or
    in tags or front matter; '' if there is nothing to say."""

    def held(text: str, wanted: Mapping[str, Forms]) -> Mapping[str, Forms]:
        counts = occurrences(f"{fold(text)} {extra_terms(text)}", wanted, query.terms.numbers)
        return {unit: forms for unit, forms in wanted.items() if unit in counts}

    names = " ".join((hit.document.title, hit.document.path, *hit.heading_path, *hit.aliases))
    forms = query.terms.forms
    in_text = held(hit.content, forms)
    in_names = held(names, forms)
    lacking = {unit: forms[unit] for unit in forms if unit not in in_text and unit not in in_names}
    if lacking and hit.document.file_type == "markdown" and (aside := held(hit.aside, lacking)):
        return f"{'' if aside == forms else ', some'} in its tags or front matter"
    return " in its name or headings" if not in_text and not lacking else ""
