"""Measures the typical similarities of an embedder in a store, and converts them to one common scale.

Each model has its own scale: unrelated texts have a cosine of 0.1 with one model and of 0.75 with another.

Two levels are measured on the store's own vectors: how similar passages of different documents usually are,
and how similar neighbouring passages are.

Similarities are then converted to the scale of the built-in model, for which ranking and scores were tuned.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from rag_core.store import find
from rag_core.store.embeddings import count_embedded, vectors_of
from rag_core.store.file import Store, active_identity, target_identity
from rag_core.store.probes import PROBES
from rag_core.store.questions import HIGHEST, Level, QuestionScale, measure_levels, scale_of
from rag_core.types import OWNER, Vectors, Viewer

SAMPLE = 400
"""Maximum number of passages in the measured sample, two of each document."""

GROWTH = 4
"""An embedder is measured again when its store has this many times as many vectors as at the last
measurement."""

GROWTH_OF_FEW = 2
"""The factor that replaces GROWTH while the store has too few documents to measure passages."""

# The built-in model's levels: medians over seven stores of notes, documentation, manual pages and code, where
# they go from 0.12 to 0.25 and from 0.71 to 0.77.
UNRELATED, NEIGHBOURS = 0.17, 0.75

_SCALE = "minilm"  # the provider to whose scale all others are converted
_AS_THEY_ARE = {"hashing"}  # providers that only compare spellings and are not converted
_LEAST = 20  # minimum number of documents, and of pairs of neighbours, for a reliable level
_LEAST_GAP = 0.02  # minimum distance between the levels
_GUEST = Viewer("")  # sees only public documents
_SHOWN = """EXISTS (SELECT 1 FROM chunks c JOIN documents d ON d.id = c.document_id
                    WHERE c.embed_hash = e.hash AND NOT d.private)"""

EmbedProbes = Callable[[Collection[str]], Mapping[str, Vectors]]
"""Embeds the questions in `probes.PROBES` of the languages that the embedder can read. Returns the vectors by
language, with one row for each question."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The typical similarities of an embedder in a store. They serve to compare its similarities with those
    of other embedders."""

    unrelated: float  #: Median cosine of passages of different documents.
    neighbours: float  #: Median cosine of passages that follow each other in a document.
    passages: int  #: Number of passages measured.
    vectors: int  #: Number of vectors in the store when it was measured.
    #: Similarity levels of questions, by language; None if they were not measured yet.
    levels: tuple[Level, ...] | None = None
    is_scale: bool = False  #: Whether this is the built-in model, for which only `highest` is measured.

    @classmethod
    def load(cls, text: str) -> Calibration:
        """Read a calibration from JSON."""
        fields = json.loads(text)
        if fields.get("levels") is not None:
            fields["levels"] = tuple(Level(**level) for level in fields["levels"])
        return cls(**fields)

    @property
    def growth(self) -> int:
        """The factor by which the store must grow before the embedder is measured again; 0 to measure it at
        once."""
        if self.levels is None or not all(level.by_language for level in self.levels):
            return 0
        return GROWTH if self.unrelated != UNRELATED else GROWTH_OF_FEW

    @property
    def highest(self) -> float:
        """The similarity that passages rarely exceed for a question that the store does not answer, on the
        built-in model's scale. It is higher in stores with many short passages."""
        return max([HIGHEST, *[level.highest for level in self.levels or ()]]) if self.is_scale else HIGHEST

    def for_question(self, question: Vectors) -> Calibration | QuestionScale | None:
        """Return the object whose ``apply`` converts similarities to a question, or None for the built-in
        model, which needs no conversion. ``question`` is a vector. If questions were not measured, the result
        is this calibration, which was measured between passages."""
        if self.is_scale:
            return None
        return scale_of(self.levels or (), question) or self

    def apply(self, similarity: float) -> float:
        """Convert a similarity to the built-in model's scale. The conversion is linear up to ``neighbours``,
        and linear again from there to 1. It keeps the order of similarities."""
        if similarity <= self.neighbours:
            steps = (similarity - self.unrelated) / (self.neighbours - self.unrelated)
            return UNRELATED + steps * (NEIGHBOURS - UNRELATED)
        return 1 - (1 - similarity) / (1 - self.neighbours) * (1 - NEIGHBOURS)

    def applied(self, similarities: Mapping[int, float]) -> dict[int, float]:
        """Convert each similarity to the built-in model's scale; keys are chunk ids."""
        return {chunk: self.apply(similarity) for chunk, similarity in similarities.items()}


def calibration_of(db: sqlite3.Connection, identity_id: int, viewer: Viewer = OWNER) -> Calibration | None:
    """Return the calibration of an embedder, or None if it was not measured. If the store has private
    documents, guests get the calibration measured on public documents."""
    sql = "SELECT value FROM meta WHERE key = ?"
    row = None
    if not viewer.is_owner:
        row = db.execute(sql, (_key(identity_id, is_public=True),)).fetchone()
    if row is None and find.sees_all(db, viewer):
        row = db.execute(sql, (_key(identity_id, is_public=False),)).fetchone()
    return Calibration.load(row[0]) if row else None


def of_active(db: sqlite3.Connection, viewer: Viewer = OWNER) -> Calibration | None:
    """Return the calibration of the embedder whose vectors are searched, or None if there are no vectors or
    it was not measured. For guests, it is measured on public documents if the store has private ones."""
    active = active_identity(db)
    return calibration_of(db, active.id, viewer) if active else None


def of_guests(db: sqlite3.Connection) -> Calibration | None:
    """Return the calibration of the embedder whose vectors are searched, measured on public documents.
    Returns None if it was not measured."""
    return of_active(db, _GUEST)


def renew_calibration(store: Store, embed_probes: EmbedProbes) -> None:
    """Measure the similarities of the embedder that runs use, and store the result, on all documents and on
    the public ones. Does nothing if no measurement is due, or if there are too few vectors.

    One is due if the embedder was never measured, or if the number of vectors has grown by
    `Calibration.growth`. ``embed_probes`` is called once if anything is measured; its errors are raised.
    """
    measured: dict[str, Calibration] = {}
    embedded: dict[str, Vectors] = {}

    def embed_once(languages: Collection[str]) -> Mapping[str, Vectors]:
        if not embedded:
            embedded.update(embed_probes(languages))
        return embedded

    with store.read() as db:
        known = target_identity(db)
        if known is None or known.identity.provider in _AS_THEY_ARE:
            return
        for is_public in (False, True):
            key = _key(known.id, is_public=is_public)
            row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            before = Calibration.load(row[0]) if row else None
            least = before.growth * before.vectors if before else 0
            if _vectors(db, known.id, is_public=is_public) >= least:
                is_scale = known.identity.provider == _SCALE
                scale = measure(db, known.id, embed_once, is_scale=is_scale, is_public=is_public)
                measured |= {key: scale} if scale else {}
    if measured:
        with store.write() as db:
            rows = [(key, json.dumps(asdict(calibration))) for key, calibration in measured.items()]
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def forget_public(db: sqlite3.Connection) -> int:
    """Delete the measurements on public documents, after the set of public documents changed. The next run
    measures again. Returns the number of deleted measurements."""
    return db.execute("DELETE FROM meta WHERE key GLOB 'calibration * public'").rowcount


def measure(
    db: sqlite3.Connection,
    identity_id: int,
    embed_probes: EmbedProbes,
    *,
    is_scale: bool = False,
    is_public: bool = False,
) -> Calibration | None:
    """Measure an embedder on a sample of a store. Returns None if the store has too few vectors, or if all
    are about equally similar. The sample depends only on the store's content.

    Args:
        db: The store.
        identity_id: The row id of the embedder.
        embed_probes: Embeds the fixed questions.
        is_scale: Whether the embedder is the built-in model, which is measured only with questions.
        is_public: Whether to use public documents only.

    """
    condition = _SHOWN if is_public else "true"
    vectors_then = _vectors(db, identity_id, is_public=is_public)
    if is_scale:
        levels = measure_levels(db, identity_id, embed_probes(["English"]), condition)
        return Calibration(UNRELATED, NEIGHBOURS, 0, vectors_then, tuple(levels), is_scale=True)
    sampled = [*_sampled(db, identity_id, is_public=is_public)]
    if not sampled:
        return None
    between, compared = _between(db, identity_id, sampled)
    levels = measure_levels(db, identity_id, embed_probes(PROBES), condition)
    if between is None and not levels:
        return None
    unrelated, neighbours = between or (UNRELATED, NEIGHBOURS)  # without conversion
    return Calibration(unrelated, neighbours, compared, vectors_then, tuple(levels))


def _between(
    db: sqlite3.Connection, identity_id: int, sampled: Sequence[tuple[int, int]]
) -> tuple[tuple[float, float] | None, int]:
    """Return `_levels` of a sample of (first passage, next passage), then the number of its passages with
    vectors."""
    firsts = [first for first, _ in sampled]
    pairs = [(first, second) for first, second in sampled if second]
    chunks, vectors = vectors_of(db, identity_id, [*firsts, *(second for _, second in pairs)])
    return (_levels(firsts, pairs, chunks, vectors) if len(firsts) >= _LEAST else None), len(chunks)


def _levels(
    firsts: Sequence[int], pairs: Sequence[tuple[int, int]], chunks: Sequence[int], vectors: Vectors
) -> tuple[float, float] | None:
    """Return two median similarities: of first passages of different documents, and of passages that follow
    each other. Returns None if the two are nearly equal. ``vectors`` has a row for each of ``chunks``."""
    row_of = {chunk: row for row, chunk in enumerate(chunks)}
    start = vectors[[row_of[first] for first in firsts]]
    unrelated = float(np.median((start @ start.T)[np.triu_indices(len(firsts), 1)]))
    if len(pairs) < _LEAST:  # too few documents with two passages: estimate the level from ``unrelated``
        neighbours = 1 - (1 - unrelated) * (1 - NEIGHBOURS) / (1 - UNRELATED)
    else:
        left = vectors[[row_of[first] for first, _ in pairs]]
        right = vectors[[row_of[second] for _, second in pairs]]
        neighbours = float(np.median((left * right).sum(1)))
    if neighbours - unrelated < _LEAST_GAP or 1 - neighbours < _LEAST_GAP:
        return None
    return unrelated, neighbours


def drop_unused(db: sqlite3.Connection) -> None:
    """Remove the measurements of embedders that the store no longer has."""
    sql = "DELETE FROM meta WHERE key GLOB 'calibration *' AND CAST(substr(key, 13) AS INTEGER) NOT IN"
    db.execute(f"{sql} (SELECT id FROM identities)")


def _vectors(db: sqlite3.Connection, identity_id: int, *, is_public: bool) -> int:
    """Return the number of texts that have a vector of an embedder."""
    if not is_public or find.sees_all(db, _GUEST):
        return count_embedded(db, identity_id)
    sql = f"SELECT count(*) FROM embeddings e WHERE e.identity_id = ? AND {_SHOWN}"
    return int(db.execute(sql, (identity_id,)).fetchone()[0])


def _sampled(db: sqlite3.Connection, identity_id: int, *, is_public: bool) -> Iterator[tuple[int, int]]:
    """Yield two passage ids for each of a number of documents spread evenly over the store: the first passage
    with a vector, and the passage after it. The second id is 0 if that passage has no vector."""
    condition = find.visible(_GUEST if is_public else OWNER).sql
    documents = [
        row[0] for row in db.execute(f"SELECT d.id FROM documents d WHERE {condition} ORDER BY d.id")
    ]
    sql = """SELECT c.id, c.chunk_index FROM chunks c CROSS JOIN embeddings e
             ON e.hash = c.embed_hash AND e.identity_id = ? AND e.vector <> x''
             WHERE c.document_id = ? ORDER BY c.chunk_index LIMIT 2"""
    for document_id in documents[:: max(1, math.ceil(len(documents) * 2 / SAMPLE))]:
        rows = db.execute(sql, (identity_id, document_id)).fetchall()
        if rows:
            follows = len(rows) > 1 and rows[1]["chunk_index"] == rows[0]["chunk_index"] + 1
            yield rows[0]["id"], rows[1]["id"] if follows else 0


def _key(identity_id: int, *, is_public: bool) -> str:
    return f"calibration {identity_id}{' public' if is_public else ''}"
