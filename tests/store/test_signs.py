"""The sign bits of vectors are about their mean, once an embedder has enough of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rag_core.errors import StoreDamaged
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store, signs
from rag_core.store.file import active_identity
from rag_core.types import OWNER, Vectors
from rag_core.vectors import local
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import store_of

SPECIES = "heron otter lynx badger swift plover kestrel marten".split()


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small store is searched as a large one, and 20 vectors are enough for a mean."""
    monkeypatch.setattr(local, "LARGE", 0)
    monkeypatch.setattr(signs, "ENOUGH", 20)


def zoo(notes: Path, count: int) -> None:
    for number in range(count):
        species = SPECIES[number % len(SPECIES)]
        (notes / f"{number}.md").write_text(
            f"# {species} {number}\n\nThe {species} number {number} is seen.\n", "utf-8"
        )


@contextmanager
def opened(library: Library) -> Iterator[Store]:
    store = store_of(library, "s")
    try:
        yield store
    finally:
        store.close()


def mean(library: Library) -> Vectors:
    with opened(library) as store, store.read() as db:
        known = active_identity(db)
    assert known is not None
    return known.mean


def test_few_vectors_have_no_mean(library: Library, notes: Path) -> None:
    zoo(notes, 10)
    index(library, "s", notes)
    assert not mean(library).any()


def test_the_mean_is_settled_when_there_are_enough_and_again_when_there_are_many_more(
    library: Library, notes: Path
) -> None:
    zoo(notes, 30)
    index(library, "s", notes)
    first = mean(library)
    assert first.any()
    check_library(library, "s")
    zoo(notes, 50)
    index(library, "s")
    assert np.array_equal(mean(library), first)
    check_library(library, "s")
    zoo(notes, 130)
    index(library, "s")
    assert not np.array_equal(mean(library), first)
    check_library(library, "s")


def test_a_text_that_the_model_cannot_read_is_settled_after_the_mean(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo(notes, 30)
    index(library, "s", notes)
    assert mean(library).any()
    monkeypatch.setattr(Hashing, "reads", lambda _, text: "wolf" not in text)
    (notes / "wolf.md").write_text("The wolf is not seen.\n", "utf-8")
    assert index(library, "s").state == "done"
    assert library.stores.info(OWNER, "s").unreadable == 1


def test_searches_meanwhile_and_afterwards_find_the_same(library: Library, notes: Path) -> None:
    zoo(notes, 15)
    index(library, "s", notes)
    before = library.search(OWNER, "lynx 2", mode="vector").hits[0].document.path
    zoo(notes, 90)
    index(library, "s")
    assert library.search(OWNER, "lynx 2", mode="vector").hits[0].document.path == before == "2.md"
    assert library.search(OWNER, "kestrel 86", mode="vector").hits[0].document.path == "86.md"


def test_a_store_without_a_mean_gets_one_in_its_next_run(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo(notes, 30)
    with monkeypatch.context() as older:
        older.setattr(signs, "ENOUGH", 1_000)
        index(library, "s", notes)
    assert not mean(library).any()
    assert index(library, "s").texts_embedded == 0
    assert mean(library).any()
    check_library(library, "s")


def test_how_many_of_the_nearest_are_found_is_measured(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "WIDTHS", ((3, 1), (2, 2)))
    monkeypatch.setattr(local, "_WANTED", 11)
    zoo(notes, 90)
    index(library, "s", notes)
    assert 0.5 <= library.stores.info(OWNER, "s").recall < 1
    with opened(library) as store, store.read() as db:
        known = active_identity(db)
        assert known is not None
        blurred = known._replace(mean=np.full(known.identity.dimension, 9, np.float32))
        kept, found, worse = (
            signs.recall_of(db, known.id),
            local.measured_recall(db, known),
            local.measured_recall(db, blurred),
        )
    assert kept is not None
    assert found is not None
    assert worse is not None
    assert (kept.vectors, kept.share) == (90, pytest.approx(found.share, abs=1e-3))
    assert worse.share < found.share


def test_it_is_chosen_as_widely_as_the_nearest_need(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "WIDTHS", ((2, 1), (9, 9), (80, 80)))
    monkeypatch.setattr(local, "_WANTED", 11)
    zoo(notes, 90)
    index(library, "s", notes)
    with opened(library) as store, store.read() as db:
        known = active_identity(db)
    assert known is not None
    assert known.width == 1
    assert library.stores.info(OWNER, "s").recall == 1


def test_the_mean_of_an_embedder_that_is_not_used_any_more_is_forgotten(
    library: Library, notes: Path
) -> None:
    zoo(notes, 30)
    index(library, "s", notes)
    with opened(library) as store, store.write() as db:
        db.execute("INSERT INTO meta VALUES ('mean:77', 'ff'), ('recall:77', '1 2')")
        signs.drop_unused_means(db)
        keys = {row[0].partition(":")[0] for row in db.execute("SELECT key FROM meta WHERE key GLOB '*:*'")}
    assert keys == {"mean", "mean_of", "recall"}


@pytest.mark.parametrize("damaged", ["zz", "", "00ff" * 3], ids=["no number", "empty", "too short"])
def test_a_damaged_mean_is_a_damaged_store_which_a_repair_mends(
    library: Library, notes: Path, damaged: str
) -> None:
    zoo(notes, 30)
    index(library, "s", notes)
    with opened(library) as store, store.write() as db:
        db.execute("UPDATE meta SET value = ? WHERE key GLOB 'mean:*'", (damaged,))
    with pytest.raises(StoreDamaged):
        library.search(OWNER, "lynx 2", mode="vector")
    library.upkeep.repair(OWNER, "s")
    index(library, "s")
    assert library.search(OWNER, "lynx 2", mode="vector").hits[0].document.path == "2.md"
    assert mean(library).any()
    check_library(library, "s")
