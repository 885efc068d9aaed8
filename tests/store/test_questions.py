"""An embedder's similarities to questions, read on minilm's scale by what was measured with fixed
questions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from rag_core.config import Settings
from rag_core.errors import Unreachable
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store, calibration
from rag_core.store.calibration import Calibration
from rag_core.store.probes import PROBES
from rag_core.store.questions import HIGHEST, TYPICAL, Level, QuestionScale, measure_levels, scale_of
from rag_core.types import OWNER, Job, Vectors
from tests.conftest import index
from tests.support.trees import write


def level(language: str, vector: Vectors, *, highest: float = 0.83) -> Level:
    usual = {"English": 0.75, "German": 0.78}
    made = Level.of(language, vector, usual, kinship=0.8, typical=0.75, highest=highest, passages=0.75)
    assert np.array_equal(made.vector, vector)
    return made


def scale_with(offset: float) -> QuestionScale:
    """The scale of an English question that is so much nearer than usual to others."""
    return QuestionScale(level("English", unit(1, 0)), offset, ["English", "German"], np.eye(2, dtype="f4"))


def unit(*numbers: float) -> Vectors:
    vector = np.array(numbers, np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def test_there_are_twenty_questions_of_each_language() -> None:
    assert {len(questions) for questions in PROBES.values()} == {20}
    texts = [text for questions in PROBES.values() for text in questions]
    assert len(texts) == len({*texts})


def test_the_levels_are_read_as_those_of_minilm() -> None:
    scale = scale_with(0.0)
    values = [scale.apply(value, 0.75, 0.75) for value in (0.75, 0.83, 1.0)]
    assert values == pytest.approx([TYPICAL, HIGHEST, 1.0])
    values = [scale.apply(step / 50, 0.75, 0.75) for step in range(-50, 51)]
    assert values == sorted(values)


def test_what_is_near_all_questions_is_less_near() -> None:
    """Of a question and of a passage alike."""
    usual, general = scale_with(0.0), scale_with(0.03)
    assert general.apply(0.85, 0.75, 0.75) < usual.apply(0.85, 0.75, 0.75)
    near = [usual.apply(0.85, to_all, 0.75) for to_all in (0.80, 0.75, 0.70)]
    assert near == sorted(near)
    assert len({*near}) == 3


def test_a_passage_is_compared_with_those_in_its_language() -> None:
    """A German passage that is as near to all questions as German ones are has hardly anything taken off."""
    scale = scale_with(0.0)
    english, german = unit(1, 0.2), unit(0.2, 1)
    converted = scale.applied({1: 0.85, 2: 0.85, 3: 0.9}, [1, 2], np.stack([english, german]))
    assert converted == pytest.approx(
        {1: scale.apply(0.85, english[0], 0.75), 2: scale.apply(0.85, german[0], 0.78)}, abs=1e-5
    )


def test_a_question_has_the_levels_of_its_language_and_of_several_the_strictest() -> None:
    english, german = level("English", unit(1, 0)), level("German", unit(0, 1), highest=0.87)
    scales = [scale_of([english, german], question) for question in (unit(1, 0.1), unit(0.1, 1), unit(1, 1))]
    assert [scale and scale.level.language for scale in scales] == ["English", "German", "German"]
    assert scale_of([], unit(1, 0)) is None


def test_a_calibration_from_before_is_read_as_between_passages() -> None:
    old = Calibration.load(json.dumps({"unrelated": 0.7, "neighbours": 0.9, "passages": 9, "vectors": 30}))
    assert old.levels is None
    assert old.for_question(unit(1, 0)) is old


def test_levels_from_before_passages_were_told_apart_by_language_are_measured_again() -> None:
    now = Calibration(0.7, 0.9, 9, 30, (level("English", unit(1, 0)),))
    before = replace(now, levels=(replace(level("English", unit(1, 0)), by_language={}),))
    assert (now.growth, before.growth) == (calibration.GROWTH, 0)
    assert Calibration.load(json.dumps(asdict(before))) == before


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setattr(calibration, "_AS_THEY_ARE", frozenset())
    opened = Library.open(Settings(tmp_path / "data", tmp_path / "models", (tmp_path,), embedder="hashing"))
    yield opened
    opened.close()


def fill(library: Library, folder: Path, count: int) -> Job:
    """Index so many notes, each of words of its own."""
    write(
        folder, {f"{at}.md": " ".join(f"word{at * 31 + word}" for word in range(12)) for at in range(count)}
    )
    return index(library, "notes", folder)


def measured(library: Library) -> Calibration | None:
    with Store(library.settings.store_dir / "notes.db").read() as db:
        return calibration.of_active(db)


def test_questions_are_measured_with_the_first_vectors_and_when_a_store_has_grown(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    embed = Hashing.embed_query

    def counted(self: Hashing, text: str) -> Vectors:
        asked.append(text)
        return embed(self, text)

    monkeypatch.setattr(Hashing, "embed_query", counted)
    fill(library, notes, 30)
    first = measured(library)
    assert first is not None
    assert {each.language for each in first.levels or ()} <= {*PROBES}
    assert {text for questions in PROBES.values() for text in questions} <= {*asked}

    asked.clear()
    fill(library, notes, 40)
    assert measured(library) == first
    assert not {*asked} & {*PROBES["English"]}, "the store has hardly grown"
    fill(library, notes, 140)
    assert measured(library) != first


def test_a_store_of_few_notes_is_measured_with_questions_alone(library: Library, notes: Path) -> None:
    fill(library, notes, 5)
    found = measured(library)
    assert found is not None
    assert found.levels
    assert [found.apply(value) for value in (0.3, 0.8)] == pytest.approx([0.3, 0.8]), "passages: as they are"


def test_of_the_built_in_model_only_the_nearest_passages_are_measured(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "_SCALE", "hashing")
    fill(library, notes, 5)
    found = measured(library)
    assert found is not None
    assert (found.highest, found.for_question(unit(1, 0))) == (HIGHEST, None)
    assert [found.apply(value) for value in (-0.1, 0.3, 0.8)] == pytest.approx([-0.1, 0.3, 0.8])
    write(notes, {f"near {at}.md": f"{text} heron" for at, text in enumerate(PROBES["English"])})
    index(library, "notes")
    found = measured(library)
    assert found is not None
    assert found.highest > HIGHEST, "short notes about the questions themselves"
    assert [level.language for level in found.levels or ()] == ["English"]


def test_a_run_ends_well_while_questions_cannot_be_embedded(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(embedder: Hashing, languages: Collection[str]) -> dict[str, Vectors]:
        raise Unreachable("Nobody answers.", "Start it.")

    with monkeypatch.context() as patched:
        patched.setattr("rag_core.index.embedding._embed_probes", away)
        job = fill(library, notes, 30)
        assert job.state == "done"
        assert "The scale of similarities was not measured; the next run tries again. Nobody answers." in (
            job.message or ""
        )
        assert measured(library) is None
    index(library, "notes")
    assert measured(library) is not None


def test_the_nearest_passage_that_most_questions_stay_below_is_the_level(
    library: Library, notes: Path
) -> None:
    fill(library, notes, 30)
    embedder = Hashing()
    questions = np.stack([embedder.embed_query(text) for text in PROBES["English"]])
    with Store(library.settings.store_dir / "notes.db").read() as db:
        [found] = measure_levels(db, 1, {"English": questions}, "true")
        vectors = np.stack(
            [
                np.frombuffer(row[0], "<f2").astype(np.float32)
                for row in db.execute("SELECT vector FROM embeddings")
            ]
        )
    best = (questions @ vectors.T).max(1)
    assert found.typical == pytest.approx(float(np.median(questions @ vectors.T)), abs=1e-4)
    assert found.passages == pytest.approx(float((vectors @ questions.mean(0)).mean()), abs=1e-4)
    assert found.highest == pytest.approx(float(np.quantile(best, 0.9)), abs=0.05)
    assert library.search(OWNER, "word31 word32", ["notes"]).hits
