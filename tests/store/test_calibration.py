"""An embedder whose cosines are all between 0.7 and 1: scores mean what they mean with the built-in model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.store import Store
from rag_core.store.calibration import NEIGHBOURS, UNRELATED, Calibration, calibration_of
from rag_core.store.file import active_identity
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.models.onnx_models import embedding_model
from tests.support.trees import write

TOPICS = ("cat", "dog", "boat", "ship")
SQUASHED = 1.2
ABSENT = "form form form"  # no note is about it
GUEST = Viewer("guest@example.com", stores=frozenset({"notes"}))


def note(number: int, *, sections: int = 2) -> str:
    topic = TOPICS[number % len(TOPICS)]
    parts = [
        f"# {topic} {number}",
        *(f"## {filler}\n\n{f'{topic} {topic} {topic} {filler} ' * 6}" for filler in ("the", "a")),
    ]
    return "\n\n".join(parts[: sections + 1]) + "\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    long = {"sentence_bert_config": {"max_seq_length": 64}}
    folder = embedding_model(tmp_path / "model", shift=SQUASHED, **long)
    settings = Settings(tmp_path / "data", tmp_path / "models", (tmp_path,), embedder=f"onnx:{folder}")
    opened = Library.open(settings)
    yield opened
    opened.close()


def filled(library: Library, folder: Path, count: int, *, sections: int = 2) -> Calibration | None:
    """Index ``count`` notes; what was measured on them."""
    write(folder, {f"n{at}.md": note(at, sections=sections) for at in range(count)})
    if "notes" not in library.stores.names(OWNER):
        library.create_store(OWNER, "notes", library.settings.embedder)
    index(library, "notes", folder)
    return measured(library)


def measured(library: Library) -> Calibration | None:
    store = Store(library.settings.store_dir / "notes.db")
    with store.read() as db:
        active = active_identity(db)
        assert active is not None
        return calibration_of(db, active.id)


def test_scores_of_squashed_cosines_tell_what_fits(library: Library, notes: Path) -> None:
    found = filled(library, notes, 60)
    assert found is not None
    assert 0.7 < found.unrelated < found.neighbours < 1
    fits = library.search(OWNER, "cat", mode="vector")
    assert fits.convincing
    assert "cat" in fits.hits[0].content
    assert not library.search(OWNER, ABSENT, mode="vector").convincing, "nothing is about that"

    with Store(library.settings.store_dir / "notes.db").write() as db:
        db.execute("DELETE FROM meta WHERE key GLOB 'calibration *'")
    assert library.search(OWNER, ABSENT, mode="vector").convincing, "without it, all fits"


def test_the_levels_become_those_of_the_built_in_model() -> None:
    found = Calibration(0.75, 0.9, 400, 1000)
    assert [found.apply(it) for it in (0.75, 0.9, 1.0)] == pytest.approx([UNRELATED, NEIGHBOURS, 1.0])
    values = [found.apply(step / 50) for step in range(-50, 51)]
    assert values == sorted(values)
    assert max(values) == pytest.approx(1.0)


def test_documents_of_one_passage_calibrate_by_the_level_of_unrelated_ones(
    library: Library, notes: Path
) -> None:
    found = filled(library, notes, 60, sections=1)
    assert found is not None
    assert found.apply(found.unrelated) == pytest.approx(UNRELATED)
    assert found.apply(1.0) == pytest.approx(1.0)
    assert not library.search(OWNER, ABSENT, mode="vector").convincing


def test_few_documents_are_not_measured_and_many_of_them_again(library: Library, notes: Path) -> None:
    few = filled(library, notes, 12)
    assert few is not None
    assert [few.apply(value) for value in (0.2, 0.9)] == pytest.approx([0.2, 0.9]), "passages: as they are"
    first = filled(library, notes, 30)
    assert first is not None
    assert first.unrelated > 0.7
    assert filled(library, notes, 40) == first, "the store has hardly grown"
    grown = filled(library, notes, 130)
    assert grown is not None
    assert grown.passages > first.passages


def test_at_most_400_passages_are_looked_at(library: Library, notes: Path) -> None:
    found = filled(library, notes, 450)
    assert found is not None
    assert 300 <= found.passages <= 400


def test_the_owner_reads_on_how_many_passages(library: Library, notes: Path) -> None:
    found = filled(library, notes, 60)
    assert found is not None
    assert library.stores.info(OWNER, "notes").calibrated == found.passages
    assert library.stores.info(GUEST, "notes").calibrated == 0


def test_what_only_compares_spellings_is_not_measured(tmp_path: Path, notes: Path) -> None:
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", (), embedder="hashing"))
    assert filled(library, notes, 40) is None
    library.close()
