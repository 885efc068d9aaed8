"""The vector index inside the store's file: always what the file holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import Store
from rag_core.types import OWNER, Job, Vectors
from rag_core.vectors import Match, local
from rag_core.vectors.local import LocalVectors
from tests.conftest import index

ANIMALS = "otter badger heron adder newt stoat raven tench bison ibex".split()
EMBEDDER = Hashing()


def write(notes: Path, *numbers: int) -> None:
    for number in numbers:
        text = f"The {ANIMALS[number % 10]} met {number} of the {ANIMALS[number % 7]}s."
        (notes / f"{number}.md").write_text(text, "utf-8")


@pytest.fixture
def store(library: Library, notes: Path) -> Iterator[Store]:
    write(notes, *range(40))
    index(library, "zoo", notes)
    opened = Store(library.settings.store_dir / "zoo.db")
    yield opened
    opened.close()


def by_brute_force(store: Store, query: Vectors, k: int) -> list[Match]:
    """Every chunk's similarity, straight from its text and this file's own arithmetic."""
    with store.read() as db:
        rows = db.execute("SELECT key, prefix, text FROM chunks").fetchall()
    texts = ["\n".join(part for part in (row["prefix"], row["text"]) if part) for row in rows]
    vectors = EMBEDDER.embed_documents(texts).astype(np.float16).astype(np.float32)
    matches = [Match(row["key"], float(vector @ query)) for row, vector in zip(rows, vectors, strict=True)]
    return sorted(matches, key=lambda match: (-match.similarity, match.key))[:k]


def assert_same(found: list[Match], expected: list[Match]) -> None:
    within = 2e-5
    similarities = [match.similarity for match in expected]
    assert [match.similarity for match in found] == pytest.approx(similarities, abs=within)
    close = {match.key for match in expected if match.similarity > similarities[-1] + within}
    assert close <= {match.key for match in found}


@pytest.mark.parametrize("k", [1, 3, 17, 40, 41, 1000])
@pytest.mark.parametrize("text", ["otter met heron", "12 badgers", "nothing of the kind"])
def test_nearest_are_exactly_those_of_brute_force(store: Store, text: str, k: int) -> None:
    query = EMBEDDER.embed_query(text)
    assert_same(LocalVectors(store).search(query, k), by_brute_force(store, query, k))


@pytest.mark.parametrize("large", [local.LARGE, 0])
def test_index_follows_new_changed_deleted_and_returned_passages(
    library: Library, notes: Path, store: Store, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(local, "LARGE", large)
    vectors = LocalVectors(store)
    query = EMBEDDER.embed_query("the heron met 12 otters")

    def assert_exact() -> None:
        assert_same(vectors.search(query, 30), by_brute_force(store, query, 30))

    assert_exact()
    write(notes, *range(40, 55))
    index(library, "zoo")
    assert_exact()
    (notes / "50.md").unlink()
    index(library, "zoo")
    assert_exact()
    for number in range(5, 25):
        (notes / f"{number}.md").unlink()
    index(library, "zoo")
    assert_exact()
    write(notes, *range(5, 25))
    (notes / "3.md").write_text("The heron met 12 otters.", "utf-8")
    index(library, "zoo")
    assert_exact()


def test_vectors_are_found_as_their_number_grows_large_and_shrinks_again(
    library: Library, notes: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LARGE", 50 * EMBEDDER.identity.dimension)
    vectors, query = LocalVectors(store), EMBEDDER.embed_query("the heron met 12 otters")
    for numbers, is_large in ((range(40), False), (range(60), True), (range(30), False)):
        for file in notes.glob("*.md"):
            file.unlink()
        write(notes, *numbers)
        index(library, "zoo")
        assert_same(vectors.search(query, 5), by_brute_force(store, query, 5))
        assert vectors._snapshot is not None
        assert vectors._snapshot.matrix.is_large == is_large


def test_passages_with_the_same_text_are_all_found(library: Library, notes: Path, store: Store) -> None:
    for number in range(6):
        (notes / f"same{number}.md").write_text("# Lynx\n\nThe lynx slept.", "utf-8")
    index(library, "zoo")
    found = LocalVectors(store).search(EMBEDDER.embed_query("lynx slept"), 6)
    assert len({match.key for match in found}) == 6
    assert len({match.similarity for match in found}) == 1


def test_vectors_that_no_passage_needs_take_no_place(library: Library, notes: Path, store: Store) -> None:
    """A run that was stopped has dropped passages, and not yet their vectors."""

    def stop(job: Job) -> None:
        if job.progress.phase == "embedding":
            raise KeyboardInterrupt

    for number in range(30):
        (notes / f"{number}.md").unlink()
    write(notes, 100)
    library.jobs.request(OWNER, "zoo")
    with pytest.raises(KeyboardInterrupt):
        library.jobs.run(OWNER, "zoo", stop)
    found = LocalVectors(store).search(EMBEDDER.embed_query("The otter met 0 of the otters."), 5)
    assert len(found) == 5
