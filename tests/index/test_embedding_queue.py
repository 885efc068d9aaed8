"""Words first, vectors when they can be had; each text embedded once, by one embedder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rag_core.index.index
import rag_core.index.requests
from rag_core.errors import EmbedderError, ModelMissing
from rag_core.index.embedding import BATCH
from rag_core.library import Library
from rag_core.models import Embedder
from rag_core.models.hashing import Hashing
from rag_core.store import Store
from rag_core.types import OWNER, Job, Vectors, Viewer
from tests.conftest import index
from tests.support.consistency import check, check_library
from tests.support.stored import found


class Flaky(Hashing):
    """Refuses texts that hold ``poison``, reads no Greek, and keeps what it was given."""

    def __init__(self, poison: str = "poison") -> None:
        super().__init__(64)
        self.poison = poison
        self.given: list[str] = []

    def reads(self, text: str) -> bool:
        return "α" not in text

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if any(self.poison in text for text in texts):
            raise EmbedderError("The text was refused.", "Write another one.")
        self.given += texts
        return super().embed_documents(texts)


def run(store: Store, embedder: Embedder) -> Job:
    rag_core.index.requests.request(store, None)
    job = rag_core.index.index.run(store, lambda _: embedder)
    assert job is not None
    return job


@pytest.fixture
def store(library: Library, notes: Path) -> Store:
    library.create_store(OWNER, "s", "hashing:64")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library._shared.stores.open(OWNER, "s").store


def rows(store: Store, sql: str) -> list[tuple[object, ...]]:
    with store.read() as db:
        return [tuple(row) for row in db.execute(sql)]


def test_without_the_model_words_are_found_and_the_queue_waits(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "s", "minilm")
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("The giraffe sleeps.\n", "utf-8")

    job = index(library, "s", notes)

    assert (job.state, job.failed, job.texts_embedded) == ("done", 0, 0)
    assert "commonplace model install" in job.message
    assert "words" in job.message
    assert found(library, "zebra") == ["a.md"]
    assert library.stores.info(OWNER, "s").pending == 2
    check_library(library, "s")


def test_when_the_embedder_comes_the_next_run_embeds_the_queue(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.create_store(OWNER, "s", "minilm")
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    monkeypatch.setattr("rag_core.models.registry.open_embedder", lambda name, model_dir: Hashing())

    job = index(library, "s")

    assert (job.counts, job.texts_embedded, job.message) == ({"unchanged": 1}, 1, "")
    assert library.stores.info(OWNER, "s").pending == 0
    check_library(library, "s")


def test_an_edit_while_texts_wait_leaves_only_the_new_ones_waiting(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "s", "minilm")
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("The giraffe sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "a.md").write_text("The hyena sleeps.\n", "utf-8")
    (notes / "b.md").unlink()

    index(library, "s")

    assert library.stores.info(OWNER, "s").pending == 1
    check_library(library, "s")


def test_a_refused_text_is_recorded_every_other_one_embedded_and_it_is_tried_again(
    store: Store, notes: Path
) -> None:
    for n in range(40):
        (notes / f"{n:02}.md").write_text(
            "It holds poison.\n" if n == 17 else f"It tells of subject{n}.\n", "utf-8"
        )

    job = run(store, Flaky())

    assert (job.state, job.texts_embedded) == ("done", 39)
    assert "refused" in job.message
    assert rows(store, "SELECT count(*), min(error), min(attempts) > 0 FROM queue") == [
        (1, "The text was refused.", 1)
    ]
    check(store)

    job = run(store, Flaky(poison="nothing like it"))

    assert (job.texts_embedded, job.message) == (1, "")
    assert rows(store, "SELECT * FROM queue") == []


def test_a_text_that_the_embedder_cannot_read_does_not_wait_and_is_found_by_words(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("αβγ δεζ\n", "utf-8")
    (notes / "b.md").write_text("The zebra sleeps.\n", "utf-8")

    job = run(store, Flaky())

    assert (job.state, job.texts_embedded) == ("done", 1)
    assert rows(store, "SELECT count(*) FROM queue") == [(0,)]
    assert found(library, "αβγ") == ["a.md"]
    assert run(store, Flaky()).texts_embedded == 0
    check(store)


def test_what_people_wrote_is_embedded_before_code_and_code_before_data(store: Store, notes: Path) -> None:
    for age, name in enumerate(["rows.csv", "app.log", "tool.py", "letter.txt", "note.md"]):
        (notes / name).write_text(f"It is {name}.\n", "utf-8")
        os.utime(notes / name, (1_700_000_000 + age, 1_700_000_000 + age))
    long = notes / "long.csv"
    long.write_text("".join(f"row {number} {'word ' * 120}\n" for number in range(2_100)), "utf-8")
    os.utime(long, (1_800_000_000, 1_800_000_000))
    embedder = Flaky()
    run(store, embedder)
    given = [text.strip() for text in embedder.given[1:]]  # after the canary
    assert given[:3] == ["It is note.md.", "It is letter.txt.", "It is tool.py."]
    assert given.index("It is app.log.") == 3 + 2_000
    assert given.index("It is rows.csv.") == 3 + 2_000 + 1
    assert len(given) > 3 + 2_000 + 2


def test_the_newest_texts_are_embedded_first(store: Store, notes: Path) -> None:
    def nothing(_: str) -> Embedder:
        raise ModelMissing("It is not there.", "Install it.")

    for n in range(BATCH + 8):
        (notes / f"old{n}.md").write_text(f"It is old, {n}.\n", "utf-8")
    rag_core.index.requests.request(store, None)
    rag_core.index.index.run(store, nothing)
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    embedder = Flaky()

    run(store, embedder)

    assert embedder.given[1] == "It is new."  # behind the canary
    assert len(embedder.given) == BATCH + 10


def test_unreadable_passages_are_counted_with_a_model_that_reads_them(
    library: Library, store: Store, notes: Path
) -> None:
    (notes / "a.md").write_text("Greek: α.\n", "utf-8")
    (notes / "b.md").write_text("---\nprivate: true\n---\nMore Greek: α, α.\n", "utf-8")
    (notes / "c.md").write_text("The zebra sleeps.\n", "utf-8")

    job = run(store, Flaky())

    assert job.message.startswith("2 passages in a script that this model cannot read: found by words only.")
    assert "ollama:bge-m3" in job.message
    info = library.stores.info(OWNER, "s")
    assert (info.unreadable, info.pending) == (2, 0)
    assert library.stores.info(Viewer("friend", stores=frozenset({"s"})), "s").unreadable == 1
    assert run(store, Flaky()).message == "", "nothing new was met"


class Drifted(Hashing):
    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.roll(super().embed_documents(texts), 1, axis=1)


class Renewed(Hashing):
    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.identity = replace(self.identity, digest="f" * 64)


@pytest.mark.parametrize("other", [Drifted(64), Renewed(64)], ids=["other vectors", "another digest"])
def test_another_model_of_the_same_name_is_not_mixed_in(
    library: Library, store: Store, notes: Path, other: Embedder
) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    run(store, Hashing(64))
    (notes / "b.md").write_text("The giraffe sleeps.\n", "utf-8")

    job = run(store, other)

    assert (job.state, job.texts_embedded) == ("done", 0)
    assert "The vectors of store 's' are from" in job.message
    assert found(library, "giraffe") == ["b.md"]
    assert library.stores.info(OWNER, "s").pending == 1
    assert run(store, Hashing(64)).texts_embedded == 1


def test_a_vector_that_no_passage_needs_is_removed_and_made_again_later(store: Store, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("The giraffe sleeps.\n", "utf-8")
    run(store, Hashing(64))
    (notes / "a.md").write_text("The hyena sleeps.\n", "utf-8")
    run(store, Hashing(64))
    assert rows(store, "SELECT count(*) FROM embeddings") == [(2,)]

    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    assert run(store, Hashing(64)).texts_embedded == 1


def test_an_unforeseen_error_of_the_embedder_ends_the_run_and_the_next_one_goes_on(
    store: Store, notes: Path
) -> None:
    class Crashing(Flaky):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            if self.poison in texts[0]:
                raise ZeroDivisionError
            return super().embed_documents(texts)

    (notes / "a.md").write_text("It holds poison.\n", "utf-8")
    rag_core.index.requests.request(store, None)
    with pytest.raises(ZeroDivisionError):
        rag_core.index.index.run(store, lambda _: Crashing())
    assert rows(store, "SELECT state, message FROM jobs") == [
        ("failed", "The run stopped unexpectedly: ZeroDivisionError.")
    ]
    check(store)

    assert run(store, Hashing(64)).texts_embedded == 1
