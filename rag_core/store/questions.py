"""How near passages are to a question for no reason: for sharing its language, or its generality. It is
measured with fixed questions that a store hardly answers (`store/probes.py`), embedded as questions, and a
question's similarities are then read on the scale of minilm, for which ranking and scores were fitted.

Three things say nothing of whether a passage answers: that a question is near all questions of its language,
that a passage is, and that both are in the same language. A part of what they have more of this than usual is
taken off (T-norm and Z-norm; Auckenthaler, Carey and Lloyd-Thomas 2000, "Score Normalization for
Text-Independent Speaker Verification Systems"). The language of a passage is that of the fixed questions
whose mean has the most similar direction.
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

_STAY_BELOW = 0.9  # of the questions: some may be answered by a store
# The shares that are taken off: of what a question, a passage among those of its language, and the language
# of a passage have more than usual.
_OF_QUESTION, _OF_PASSAGE, _OF_LANGUAGE = 0.5, 0.5, 0.4
_FEW = 5  # passages of a language say little: as many like all others are added
_STEEPER = 2  # at most, above the highest than straight to 1: with hardly any gap below, it would be a step
_OTHER_LANGUAGE = 1.3  # steeper above the highest than below: in other languages an answer is less near
_ANSWERS = 0.45  # on the scale of minilm, what answers mostly have
_AS_NEAR = 0.02  # of cosine: languages that a question may be in
_MOST_VECTORS = 50_000
_BLOCK = 5_000
_LEAST_GAP = 0.01  # between the levels
_Number = TypeVar("_Number", float, npt.NDArray[np.float64])
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
    #: The same of the passages in each language; empty if it was not measured yet.
    by_language: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, language: str, vector: Vectors, by_language: Mapping[str, float], **levels: float) -> Level:
        """Make a level of the mean ``vector`` and numbers, which are rounded."""
        mean = base64.b64encode(np.asarray(vector, np.float32).tobytes()).decode()
        rounded = {name: round(number, _DIGITS) for name, number in levels.items()}
        usual = {name: round(number, _DIGITS) for name, number in by_language.items()}
        return cls(language, mean, by_language=usual, **rounded)

    @property
    def vector(self) -> Vectors:
        """The mean of their vectors."""
        return np.frombuffer(base64.b64decode(self.mean), np.float32)


@dataclass(frozen=True, slots=True)
class QuestionScale:
    """Reads the similarities to one question on minilm's scale."""

    level: Level
    offset: float  #: What the question is nearer to all of its language than the fixed ones.
    languages: Sequence[str]  #: The languages that were measured.
    directions: Vectors  #: The directions of the means of their questions, shape (languages, dimension).

    def apply(self, similarity: float, to_all: float, usual: float) -> float:
        """Convert the similarity of a passage.

        Args:
            similarity: The cosine to the question.
            to_all: The similarity of the passage to the fixed questions (to their mean).
            usual: The mean of ``to_all`` of the passages in its language.

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
        """Convert the similarity of each of ``chunks``; ``vectors`` has a row for each of them."""
        level = self.level
        nearest = (vectors @ self.directions.T).argmax(1).tolist() if chunks else []
        converted: dict[int, float] = {}
        for chunk, to_all, number in zip(chunks, (vectors @ level.vector).tolist(), nearest, strict=True):
            usual = level.by_language.get(self.languages[number], level.passages)
            converted[chunk] = self.apply(similarities[chunk], to_all, usual)
        return converted


def _off_passage(to_all: float, usual: _Number, passages: float) -> _Number:
    """What is taken off the similarity of a passage that has a similarity ``to_all`` fixed questions, while
    those in its language have ``usual`` and all have ``passages``."""
    return _OF_PASSAGE * (to_all - usual) + _OF_LANGUAGE * (usual - passages)


def scale_of(levels: Sequence[Level], question: Vectors) -> QuestionScale | None:
    """Return the scale for a question: that of the language whose fixed questions it is nearest to, and of
    several that are about as near, as for names, the strictest. None if nothing was measured."""
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
    """The means of the questions of each language, with length 1."""
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def on_scale(similarity: float, highest: float) -> float:
    """Read a similarity of minilm so that the store's ``highest`` becomes `HIGHEST`: in two linear parts,
    below it and from there to 1. Higher similarities stay higher."""
    if similarity > highest:
        return 1 - (1 - similarity) / (1 - highest) * (1 - HIGHEST)
    return similarity * HIGHEST / highest if similarity > 0 else similarity


def measure_levels(
    db: sqlite3.Connection, identity_id: int, probes: Mapping[str, Vectors], condition: str
) -> list[Level]:
    """Measure how near a store's vectors are to fixed questions: for each language of ``probes``, how near
    passages usually are, and how near the nearest of them.

    Languages in which the two are nearly the same are left out. ``condition`` is SQL over ``embeddings e``
    that chooses the vectors."""
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
    """Measures a store with the fixed questions of one language; passages are told apart by their own."""

    def __init__(self, questions: Vectors, languages: int) -> None:
        self._questions, self._mean = questions, questions.mean(0)
        self._best = np.full((languages, len(questions)), -np.inf)
        self._sums, self._counts = np.zeros(languages), np.zeros(languages)
        self._medians: list[float] = []

    def add(self, passages: Vectors, language_of: npt.NDArray[np.intp]) -> None:
        """Look at some of the store's vectors, each with the number of its language."""
        similarities, to_all = self._questions @ passages.T, passages @ self._mean
        self._medians.append(float(np.median(similarities)))
        values = similarities - _OF_PASSAGE * to_all
        for number in np.unique(language_of):
            rows = language_of == number
            self._best[number] = np.maximum(self._best[number], values[:, rows].max(1))
            self._sums[number] += to_all[rows].sum()
            self._counts[number] += rows.sum()

    def level(self, number: int, languages: Sequence[str]) -> Level | None:
        """Return what was found for the questions of one of ``languages``; None without vectors, or if the
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
    """The vectors of an embedder in blocks; of very many a part, spread evenly."""
    rows_of = f"FROM embeddings e WHERE e.identity_id = ? AND e.vector <> x'' AND {condition}"
    count = db.execute(f"SELECT count(*) {rows_of}", (identity_id,)).fetchone()[0]
    step = 1 + count // _MOST_VECTORS
    rows = db.execute(f"SELECT e.vector {rows_of} AND e.id % ? = 0", (identity_id, step))
    while block := rows.fetchmany(_BLOCK):
        joined = b"".join(row[0] for row in block)
        yield np.frombuffer(joined, "<f2").reshape(len(block), -1).astype(np.float32)
