"""How near passages are to a question for no reason: for sharing its language, or its generality. It is
measured with fixed questions that a store hardly answers (`store/probes.py`), embedded as questions, and a
question's similarities are then read on the scale of minilm, for which ranking and scores were fitted.

Two things say nothing of whether a passage answers: that a question is near all questions of its language,
and that a passage is. What both have more of this than usual is taken off (T-norm and Z-norm; Auckenthaler,
Carey and Lloyd-Thomas 2000, "Score Normalization for Text-Independent Speaker Verification Systems").
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag_core.types import Vectors

# On the scale of minilm: the median similarity of a passage to one of the fixed questions, and the highest
# similarity that most of them stay below.
TYPICAL, HIGHEST = 0.01, 0.3

_STAY_BELOW = 0.9  # of the questions: some may be answered by a store
_OF_QUESTION, _OF_PASSAGE = 0.5, 0.4  # the shares of what they are nearer to all that are taken off
_AS_NEAR = 0.02  # of cosine: languages that a question may be in
_MOST_VECTORS = 50_000
_BLOCK = 5_000
_LEAST_GAP = 0.01  # between the levels
_DIGITS = 5  # of levels: sums depend on the order of passages, which may tell of private ones


@dataclass(frozen=True, slots=True)
class Level:
    """What was measured with the fixed questions of one language."""

    language: str
    mean: str  #: The mean of their vectors; float32 in base64.
    kinship: float  #: Their mean similarity to each other.
    typical: float  #: Median similarity of passages to them.
    highest: float  #: The similarity of the nearest passage that most of them stay below.
    passages: float  #: The mean similarity of passages to their mean.

    @classmethod
    def of(cls, language: str, vector: Vectors, **levels: float) -> Level:
        """Make a level from the mean ``vector`` and from numbers, which are rounded."""
        mean = base64.b64encode(np.asarray(vector, np.float32).tobytes()).decode()
        return cls(language, mean, **{name: round(number, _DIGITS) for name, number in levels.items()})

    @property
    def vector(self) -> Vectors:
        """The mean of their vectors."""
        return np.frombuffer(base64.b64decode(self.mean), np.float32)


@dataclass(frozen=True, slots=True)
class QuestionScale:
    """Reads the similarities to one question on minilm's scale."""

    level: Level
    offset: float  #: What the question is nearer to all of its language than the fixed ones.

    def apply(self, similarity: float, to_all: float) -> float:
        """Convert the similarity of a passage, which has a similarity ``to_all`` fixed questions (to their
        mean), in two linear parts: below ``highest``, and from there to 1."""
        level = self.level
        value = similarity - self.offset - _OF_PASSAGE * (to_all - level.passages)
        if value <= level.highest:
            steps = (value - level.typical) / (level.highest - level.typical)
            return TYPICAL + steps * (HIGHEST - TYPICAL)
        return 1 - (1 - value) / (1 - level.highest) * (1 - HIGHEST)

    def applied(self, similarities: Mapping[int, float], to_all: Mapping[int, float]) -> dict[int, float]:
        """Convert the similarity of each passage, given those ``to_all``; keys are chunk ids."""
        return {chunk: self.apply(value, to_all[chunk]) for chunk, value in similarities.items()}


def scale_of(levels: Sequence[Level], question: Vectors) -> QuestionScale | None:
    """Return the scale of the language whose fixed questions are nearest to a question. If several are about
    as near, as for names, return the strictest of their scales; None if nothing was measured."""
    kinships = [float(level.vector @ question) for level in levels]
    nearest = max(kinships, default=0.0)
    scales = [
        QuestionScale(level, _OF_QUESTION * (kinship - level.kinship))
        for level, kinship in zip(levels, kinships, strict=True)
        if kinship >= nearest - _AS_NEAR
    ]
    return max(scales, key=lambda scale: scale.level.highest + scale.offset, default=None)


def measure_levels(
    db: sqlite3.Connection, identity_id: int, probes: Mapping[str, Vectors], condition: str
) -> list[Level]:
    """Measure how near a store's vectors are to fixed questions: for each language of ``probes``, how near
    passages usually are, and how near the nearest of them.

    Languages in which the two are nearly the same are left out. ``condition`` is SQL over ``embeddings e``
    that chooses the vectors."""
    measures = {language: _Measure(vectors) for language, vectors in probes.items()}
    for block in _blocks(db, identity_id, condition):
        for measure in measures.values():
            measure.add(block)
    levels = [measure.level(language) for language, measure in measures.items()]
    return [level for level in levels if level]


class _Measure:
    """Measures a store with the fixed questions of one language."""

    def __init__(self, questions: Vectors) -> None:
        self._questions, self._mean = questions, questions.mean(0)
        self._best = np.full(len(questions), -np.inf, np.float32)
        self._medians: list[float] = []
        self._to_all = np.empty(0, np.float32)

    def add(self, passages: Vectors) -> None:
        """Look at some of the store's vectors."""
        similarities, to_all = self._questions @ passages.T, passages @ self._mean
        self._medians.append(float(np.median(similarities)))
        self._best = np.maximum(self._best, (similarities - _OF_PASSAGE * to_all).max(1))
        self._to_all = np.concatenate([self._to_all, to_all])

    def level(self, language: str) -> Level | None:
        """Return what was found; None without vectors, or if the levels are too close."""
        if not self._medians:
            return None
        alike = self._questions @ self._questions.T
        others = (alike.sum(1) - alike.diagonal()) / (len(alike) - 1)
        kinship, passages = float(others.mean()), float(self._to_all.mean())
        best = self._best + _OF_PASSAGE * passages - _OF_QUESTION * (others - kinship)
        typical, highest = float(np.mean(self._medians)), float(np.quantile(best, _STAY_BELOW))
        if highest - typical < _LEAST_GAP or 1 - highest < _LEAST_GAP:
            return None
        return Level.of(
            language, self._mean, kinship=kinship, typical=typical, highest=highest, passages=passages
        )


def _blocks(db: sqlite3.Connection, identity_id: int, condition: str) -> Iterator[Vectors]:
    """The vectors of an embedder in blocks; of very many a part, spread evenly."""
    rows_of = f"FROM embeddings e WHERE e.identity_id = ? AND e.vector <> x'' AND {condition}"
    count = db.execute(f"SELECT count(*) {rows_of}", (identity_id,)).fetchone()[0]
    step = 1 + count // _MOST_VECTORS
    rows = db.execute(f"SELECT e.vector {rows_of} AND e.id % ? = 0", (identity_id, step))
    while block := rows.fetchmany(_BLOCK):
        joined = b"".join(row[0] for row in block)
        yield np.frombuffer(joined, "<f2").reshape(len(block), -1).astype(np.float32)
