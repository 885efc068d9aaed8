"""Removes the share of a passage's similarity to a question that does not come from an answer.

Passages are similar to a question merely because both are in one language or because one of them is general.
How similar is measured with fixed questions that a store hardly answers (`store/probes.py`).

A question's similarities are then converted to the scale of minilm, for which ranking and scores were tuned.

Three similarities say nothing about an answer: of the question to all questions of its language, of the
passage to these, and of the two languages.

A share of their excess over the usual is subtracted (T-norm and Z-norm; Auckenthaler, Carey and Lloyd-Thomas
2000, "Score Normalization for Text-Independent Speaker Verification Systems").

The language of a passage is taken to be that of the fixed questions whose mean has the most similar
direction.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rag_core.types import Vectors

# On the scale of minilm: the median similarity of a passage to one of the fixed questions, and the highest
# similarity that most of them stay below.
TYPICAL, HIGHEST = 0.01, 0.3

_STAY_BELOW = 0.9  # share of the questions, because a store may answer some of them
# The shares that are subtracted: of the excess similarity of a question, of a passage within its language,
# and of the passage's language.
_OF_QUESTION, _OF_PASSAGE, _OF_LANGUAGE = 0.5, 0.5, 0.4
_FEW = 5  # this many average passages are added to each language, because few passages say little
_STEEPER = 2  # maximum slope above ``highest``, in slopes of a straight line to 1
_OTHER_LANGUAGE = 1.3  # slope above ``highest`` / slope below: other languages have less similar answers
_ANSWERS = 0.45  # usual similarity of an answer on the scale of minilm
_AS_NEAR = 0.02  # maximum difference in cosine between the languages that a question may be in
_MOST_VECTORS = 50_000
_BLOCK = 5_000
_LEAST_GAP = 0.01  # minimum distance between the levels
_Number = TypeVar("_Number", float, npt.NDArray[np.float64])
_DIGITS = 5  # levels are rounded: sums depend on the order of passages, which may reveal private ones


@dataclass(frozen=True, slots=True)
class Level:
    """The measurements with the fixed questions of one language."""

    language: str
    mean: str  #: Mean vector of the questions; float32 in base64.
    kinship: float  #: Mean similarity of the questions to each other.
    typical: float  #: Median similarity of passages to a question.
    highest: float  #: Similarity that the nearest passage to a question rarely exceeds.
    passages: float  #: Mean similarity of passages to the questions' mean.
    #: Like ``passages``, for the passages in each language; empty if it was not measured yet.
    by_language: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, language: str, vector: Vectors, by_language: Mapping[str, float], **levels: float) -> Level:
        """Create a level from the mean ``vector`` and numbers, which are rounded."""
        mean = base64.b64encode(np.asarray(vector, np.float32).tobytes()).decode()
        rounded = {name: round(number, _DIGITS) for name, number in levels.items()}
        usual = {name: round(number, _DIGITS) for name, number in by_language.items()}
        return cls(language, mean, by_language=usual, **rounded)

    @property
    def vector(self) -> Vectors:
        """The mean vector of the questions."""
        return np.frombuffer(base64.b64decode(self.mean), np.float32)


@dataclass(frozen=True, slots=True)
class QuestionScale:
    """Converts the similarities of passages to one question to minilm's scale."""

    level: Level  #: The level of the question's language.
    offset: float  #: The similarity to subtract because the question is general.
    languages: Sequence[str]  #: The languages that were measured.
    directions: Vectors  #: The mean vectors of their questions with length 1, shape (languages, dimension).

    def apply(self, similarity: float, to_all: float, usual: float) -> float:
        """Convert the similarity of a passage.

        Args:
            similarity: Cosine of the passage and the question.
            to_all: Similarity of the passage to the mean of the fixed questions.
            usual: Mean of ``to_all`` over the passages in the same language.

        """
        level = self.level
        value = similarity - self.offset - _off_passage(to_all, usual, level.passages)
        below = (HIGHEST - TYPICAL) / (level.highest - level.typical)
        if value <= level.highest:
            return TYPICAL + (value - level.typical) * below
        to_one = (1 - HIGHEST) / (1 - level.highest)
        above = below * (1 if level.language == "English" else _OTHER_LANGUAGE)
        bend = level.highest + (_ANSWERS - HIGHEST) / max(to_one, min(above, _STEEPER * to_one))
        if value <= bend:
            return HIGHEST + (value - level.highest) * (_ANSWERS - HIGHEST) / (bend - level.highest)
        return 1 - (1 - value) / (1 - bend) * (1 - _ANSWERS)

    def applied(
        self, similarities: Mapping[int, float], chunks: Sequence[int], vectors: Vectors
    ) -> dict[int, float]:
        """Convert the similarity of each of ``chunks`` to the scale of minilm: chunk id → similarity.
        ``vectors`` has the vectors of ``chunks`` as rows, in the same order."""
        level = self.level
        nearest = (vectors @ self.directions.T).argmax(1).tolist() if chunks else []
        converted: dict[int, float] = {}
        for chunk, to_all, number in zip(chunks, (vectors @ level.vector).tolist(), nearest, strict=True):
            usual = level.by_language.get(self.languages[number], level.passages)
            converted[chunk] = self.apply(similarities[chunk], to_all, usual)
        return converted


def _off_passage(to_all: float, usual: _Number, passages: float) -> _Number:
    """Return the similarity to subtract for a passage.

    Args:
        to_all: Similarity of the passage to the fixed questions.
        usual: Mean of ``to_all`` over the passages in the same language.
        passages: Mean of ``to_all`` over all passages.

    """
    return _OF_PASSAGE * (to_all - usual) + _OF_LANGUAGE * (usual - passages)


def scale_of(levels: Sequence[Level], question: Vectors) -> QuestionScale | None:
    """Return the scale for a question, or None if nothing was measured. It is the scale of the language whose
    fixed questions are most similar. If several languages are about equally similar, as for names, the
    strictest scale is returned."""
    if not levels:
        return None
    means = np.stack([level.vector for level in levels])
    kinships = (means @ question).tolist()
    languages, directions = [level.language for level in levels], _directions(means)
    scales = [
        QuestionScale(level, _OF_QUESTION * (kinship - level.kinship), languages, directions)
        for level, kinship in zip(levels, kinships, strict=True)
        if kinship >= max(kinships) - _AS_NEAR
    ]
    return max(scales, key=lambda scale: scale.level.highest + scale.offset)


def _directions(means: Vectors) -> Vectors:
    """Return the mean vectors of the questions of each language, with length 1."""
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def on_scale(similarity: float, highest: float) -> float:
    """Convert a similarity of minilm so that the store's ``highest`` becomes `HIGHEST`. The conversion is
    linear below ``highest``, and linear again from there to 1. It keeps the order of similarities."""
    if similarity > highest:
        return 1 - (1 - similarity) / (1 - highest) * (1 - HIGHEST)
    return similarity * HIGHEST / highest if similarity > 0 else similarity


def measure_levels(
    db: sqlite3.Connection, identity_id: int, probes: Mapping[str, Vectors], condition: str
) -> list[Level]:
    """Measure how similar a store's passages are to fixed questions: usually, and at most. Languages in which
    the two are nearly equal are left out.

    Args:
        db: The store.
        identity_id: The row id of the embedder.
        probes: The vectors of the fixed questions by language.
        condition: SQL on ``embeddings e`` that selects the vectors.

    """
    if not probes:
        return []
    languages = list(probes)
    directions = _directions(np.stack([vectors.mean(0) for vectors in probes.values()]))
    measures = [_Measure(vectors, len(languages)) for vectors in probes.values()]
    for block in _blocks(db, identity_id, condition):
        language_of = (block @ directions.T).argmax(1)
        for measure in measures:
            measure.add(block, language_of)
    levels = [measure.level(number, languages) for number, measure in enumerate(measures)]
    return [level for level in levels if level]


class _Measure:
    """Measures a store with the fixed questions of one language. Passages are counted separately for each of
    their languages."""

    def __init__(self, questions: Vectors, languages: int) -> None:
        self._questions, self._mean = questions, questions.mean(0)
        self._best = np.full((languages, len(questions)), -np.inf)
        self._sums, self._counts = np.zeros(languages), np.zeros(languages)
        self._medians: list[float] = []

    def add(self, passages: Vectors, language_of: npt.NDArray[np.intp]) -> None:
        """Add some of the store's vectors, each with the index of its language."""
        similarities, to_all = self._questions @ passages.T, passages @ self._mean
        self._medians.append(float(np.median(similarities)))
        values = similarities - _OF_PASSAGE * to_all
        for number in np.unique(language_of):
            rows = language_of == number
            self._best[number] = np.maximum(self._best[number], values[:, rows].max(1))
            self._sums[number] += to_all[rows].sum()
            self._counts[number] += rows.sum()

    def level(self, number: int, languages: Sequence[str]) -> Level | None:
        """Return the level of the language with index ``number``. Returns None if there are no vectors or the
        levels are too close."""
        if not self._medians:
            return None
        alike = self._questions @ self._questions.T
        others = (alike.sum(1) - alike.diagonal()) / (len(alike) - 1)
        kinship, passages = float(others.mean()), float(self._sums.sum() / self._counts.sum())
        usual = (self._sums + _FEW * passages) / (self._counts + _FEW)
        best = (self._best - _off_passage(0.0, usual, passages)[:, np.newaxis]).max(0)
        best -= _OF_QUESTION * (others - kinship)
        typical, highest = float(np.mean(self._medians)), float(np.quantile(best, _STAY_BELOW))
        if highest - typical < _LEAST_GAP or 1 - highest < _LEAST_GAP:
            return None
        by_language = dict(zip(languages, usual.tolist(), strict=True))
        levels = {"kinship": kinship, "typical": typical, "highest": highest, "passages": passages}
        return Level.of(languages[number], self._mean, by_language, **levels)


def _blocks(db: sqlite3.Connection, identity_id: int, condition: str) -> Iterator[Vectors]:
    """Yield the vectors of an embedder in blocks. If there are very many, a part spread evenly is used."""
    rows_of = f"FROM embeddings e WHERE e.identity_id = ? AND e.vector <> x'' AND {condition}"
    count = db.execute(f"SELECT count(*) {rows_of}", (identity_id,)).fetchone()[0]
    step = 1 + count // _MOST_VECTORS
    rows = db.execute(f"SELECT e.vector {rows_of} AND e.id % ? = 0", (identity_id, step))
    while block := rows.fetchmany(_BLOCK):
        joined = b"".join(row[0] for row in block)
        yield np.frombuffer(joined, "<f2").reshape(len(block), -1).astype(np.float32)
